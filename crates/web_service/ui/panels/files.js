// The files of a project: a tree, a viewer with an outline, and ways from a name to where it is defined and used.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api, attempt, html, lazy, openFile, plural, route, styles, tell, withQuery } from '../core.js';
import { FileLines } from './file_lines.js';
import { FileTree } from './file_tree.js';
import { FileView } from './file_view.js';
import { plain, visible } from './hidden.js';
import {
  addressQuery, baseName, filesAddress, noteRecentFile, presentProject, ProjectChoice, realDefinitions,
} from './places.js';

await styles('/panels/files.css');

const Impact = lazy(() => import('./impact.js'));

/** Places that were shown, for back and forward within the panel: `{at, list}` by project. */
const visits = new Map();

function visitsOf(project) {
  if (!visits.has(project)) visits.set(project, { list: [], at: -1 });
  return visits.get(project);
}

function noteVisit(project, path, line) {
  const visited = visitsOf(project);
  const present = visited.list[visited.at];
  if (present?.path === path && present?.line === line) return;
  visited.list = [...visited.list.slice(0, visited.at + 1), { path, line }];
  visited.at = visited.list.length - 1;
}

export default function FilesPanel() {
  // Every change of the address makes a new route.
  route.value;
  const project = presentProject();
  const { path, line, impact } = addressQuery();
  if (!project) return null;
  return html`<div class="files-panel" data-shows=${path || impact ? 'view' : 'tree'}>
    <div class="tree-side">
      <${ProjectChoice} />
      <${FileTree} key=${project} project=${project} shown=${path} />
    </div>
    <div class="view-side">
      ${impact && html`<${Impact} key=${impact} project=${project} target=${impact} />`}
      ${!impact && path && html`<${OpenFile} key=${`${project}:${path}`} project=${project} path=${path}
        at=${Number(line) || null} />`}
      ${!impact && !path && html`<p class="empty nothing">
        Choose a file, or press <kbd>Ctrl K</kbd> to find one by its name, a symbol or its text.</p>`}
    </div>
  </div>`;
}

function OpenFile({ project, path, at }) {
  const file = useMemo(() => new FileLines(project, path), []);
  const [cursor, move] = useState({ line: at ?? 1 });
  const [showsOutline, outline] = useState(false);
  const [found, find] = useState(null);
  // Read, so that this is drawn again when lines arrive.
  file.arrived.value;
  const { error } = file;
  useEffect(() => {
    noteRecentFile(project, path);
    return () => file.close();
  }, []);
  useEffect(() => {
    noteVisit(project, path, at);
    if (at) move({ line: at });
    find(null);
  }, [at]);

  const lookUp = (word) => attempt(async () => {
    const { result } = await api(withQuery('/search', { project, query: word, kind: 'symbols' }));
    const places = realDefinitions(result.definitions ?? []);
    if (places.length === 0) tell(`No definition of ${plain(word)} was found.`);
    else if (places.length === 1) openFile(places[0].path, places[0].line);
    else {
      const title = `${plural(places.length, 'definition')} of ${plain(word)}`;
      find({ title, places: places.map(({ signature, ...rest }) => ({ ...rest, text: signature })) });
    }
  });
  const uses = (word) => attempt(async () => {
    const body = { project, arguments: { symbol: word } };
    const { ok, value, error: failure } = await api('/tools/find_references', { body });
    if (!ok) throw Object.assign(new Error(failure.message), failure);
    const places = value.files.flatMap(({ path: own, lines }) =>
      lines.map((use) => ({ path: own, ...use, kind: use.role })));
    find({ title: `${plural(value.total, 'use')} of ${plain(word)} in ${plural(value.total_files, 'file')}`, places });
  });
  return html`<${FileHead} file=${file} path=${path} project=${project} showsOutline=${showsOutline}
    outline=${outline} />
    ${error && html`<div class="nothing"><p class="notice error">${plain(error.message)}</p><p
      class="empty">${error.suggestion}</p></div>`}
    <div class="text-and-outline">
      ${!error && html`<${FileView} file=${file} at=${at} cursor=${cursor} move=${move} follow=${lookUp} />`}
      ${showsOutline && html`<${Outline} file=${file} close=${() => outline(false)} />`}
    </div>
    ${found && html`<${Found} found=${found} close=${() => find(null)} />`}
    ${!error && html`<${WordBar} cursor=${cursor} lookUp=${lookUp} uses=${uses} />`}`;
}

function FileHead({ file, path, project, showsOutline, outline }) {
  file.arrived.value;
  const visited = visitsOf(project);
  const go = (step) => {
    const next = visited.list[visited.at + step];
    if (!next) return;
    visited.at += step;
    openFile(next.path, next.line);
  };
  const folder = path.slice(0, path.length - baseName(path).length);
  const size = file.facts && `${plural(file.total, 'line')}`;
  return html`<header class="source-head">
    <a class="icon to-tree" href=${filesAddress({})} aria-label="All files" title="All files">☰</a>
    <button class="icon" aria-label="Back" title="Back" disabled=${visited.at < 1} onClick=${() => go(-1)}>←</button>
    <button class="icon" aria-label="Forward" title="Forward" disabled=${visited.at >= visited.list.length - 1}
      onClick=${() => go(1)}>→</button>
    <h2 title=${plain(path)}><span class="folder">${visible(folder)}</span>${visible(baseName(path))}</h2>
    <span class="meta">${size}</span>
    <button class="quiet small" onClick=${() => attach(path)}>Attach</button>
    <a class="quiet small" href=${filesAddress({ impact: path })}>Impact</a>
    <button class="quiet small" aria-pressed=${showsOutline} disabled=${file.outline.length === 0}
      onClick=${() => outline(!showsOutline)}>Outline</button>
  </header>`;
}

/** Puts the path into the message that is being written, as if it had been typed. */
function attach(path) {
  const field = document.querySelector('textarea[aria-label="Message"]');
  if (!field) {
    tell('There is no message to attach it to. Open a session first.');
    return;
  }
  const needsQuotes = /[\s"]|[.,;:!?)\]}']$/.test(path);
  const mention = needsQuotes ? `@"${path}"` : `@${path}`;
  const before = field.value.slice(0, field.selectionStart);
  const gap = before === '' || /\s$/.test(before) ? '' : ' ';
  field.setRangeText(`${gap}${mention} `, field.selectionStart, field.selectionEnd, 'end');
  field.dispatchEvent(new Event('input', { bubbles: true }));
  tell(`${plain(path)} goes with the message.`);
}

function Outline({ file, close }) {
  const first = useRef(null);
  useEffect(() => { first.current?.focus(); }, []);
  const entries = file.outline;
  const pressed = (event) => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    close();
  };
  const nav = useRef(null);
  const jump = (line) => {
    openFile(file.path, line);
    // Where it lies over the text it has to go, so that the line can be seen.
    if (getComputedStyle(nav.current).position === 'absolute') close();
  };
  const firstWithLine = entries.findIndex(({ line }) => line);
  return html`<nav class="outline" aria-label="Outline" ref=${nav} onKeyDown=${pressed}>
    ${entries.map(({ line, depth, text }, index) => (line
      ? html`<button key=${index} ref=${index === firstWithLine ? first : undefined} data-depth=${Math.min(depth, 4)}
        onClick=${() => jump(line)}><span>${visible(text)}</span><em>${line}</em></button>`
      : html`<h3 key=${index} data-depth=${Math.min(depth, 4)}>${visible(text)}</h3>`))}
    ${file.outlineTotal > entries.length && html`<p
      class="empty">${plural(file.outlineTotal - entries.length, 'more line')} of structure</p>`}
  </nav>`;
}

function Found({ found: { title, places }, close }) {
  const list = useRef(null);
  useEffect(() => { list.current.querySelector('li button')?.focus(); }, [places]);
  const pressed = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Escape') {
      event.preventDefault();
      close();
    } else if (step) {
      event.preventDefault();
      const buttons = [...list.current.querySelectorAll('li button')];
      buttons[buttons.indexOf(document.activeElement) + step]?.focus();
    }
  };
  return html`<section class="found" aria-label=${title} ref=${list} onKeyDown=${pressed}>
    <header><h3>${title}</h3><button class="icon" aria-label="Close the list" onClick=${close}>×</button></header>
    <ul>${places.map(({ path, line, text, kind }, index) => html`<li key=${index}><button
      onClick=${() => openFile(path, line)}>
      <span class="where">${visible(path)}:${line}</span>
        <code>${visible(text ?? '')}</code>${kind && html`<em>${kind}</em>`}</button></li>`)}</ul>
  </section>`;
}

/** The chosen word and what can be asked about it. */
function WordBar({ cursor: { line, word }, lookUp, uses }) {
  return html`<footer class="word-bar">
    <span role="status">Line ${line}${word ? html`: <code>${word}</code>` : ''}</span>
    <span class="grow"></span>
    ${word
      ? html`<button class="quiet small" onClick=${() => lookUp(word)}>Definition</button>
        <button class="quiet small" onClick=${() => uses(word)}>Uses</button>
        <a class="quiet small" href=${filesAddress({ impact: word })}>Impact</a>`
      : html`<span class="empty">Choose a word to look it up</span>`}
  </footer>`;
}
