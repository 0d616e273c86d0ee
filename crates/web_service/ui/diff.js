// A diff as the approver reads it: split or unified, in slices that are drawn when they come near.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { html, openFile, plural, signal, styles } from './core.js';
import { columns, numbered, paired, pieces, rawLine, withPeers } from './diff_lines.js';
import { NoteRow } from './diff_notes.js';

styles('/diff.css');

/** Rows that are drawn at once. */
const SLICE = 50;
/** The height of a row in pixels, as the style sheet has it. */
const ROW = 24;
/** How far from what can be seen rows are drawn. */
const NEAR = '900px 0px';
/** A panel narrower than this many pixels has no room for two sides. */
const NARROW = 620;
/** A panel at least this wide shows two sides unless told otherwise. */
const ROOMY = 820;

// ---- How it is shown ----

const remembered = (name) => {
  const kept = signal(localStorage.getItem(name));
  kept.subscribe((value) => value != null && localStorage.setItem(name, value));
  return kept;
};
/** `split`, `unified`, or null for what fits. */
const layout = remembered('diff-layout');
/** `wrap` or `scroll`. */
const wrapping = remembered('diff-lines');

/** The width of an element in pixels, as it changes. */
export function useWidth(element) {
  const [width, set] = useState(0);
  useEffect(() => {
    const watcher = new ResizeObserver(([{ contentRect }]) => set(Math.round(contentRect.width)));
    watcher.observe(element.current);
    return () => watcher.disconnect();
  }, []);
  return width;
}

/** How diffs are drawn in a place of this width. */
export function diffStyle(width) {
  const isSplit = width >= NARROW && (layout.value ? layout.value === 'split' : width >= ROOMY);
  return { isSplit, wraps: wrapping.value !== 'scroll' };
}

/** The buttons that choose how diffs are drawn. */
export function DiffTools({ width }) {
  const { isSplit, wraps } = diffStyle(width);
  return html`<span class="diff-tools">
    ${width >= NARROW && html`<span class="segments" role="group" aria-label="Layout">
      <button aria-pressed=${isSplit} onClick=${() => { layout.value = 'split'; }}>Split</button>
      <button aria-pressed=${!isSplit} onClick=${() => { layout.value = 'unified'; }}>Unified</button>
    </span>`}
    <button class="quiet small" aria-pressed=${wraps}
      onClick=${() => { wrapping.value = wraps ? 'scroll' : 'wrap'; }}>Wrap lines</button>
  </span>`;
}

// ---- Files in words ----

const KINDS = {
  create: ['A', 'new file'], write: ['M', 'changed'], delete: ['D', 'deleted'], move: ['R', 'renamed'],
  link: ['L', 'symbolic link'], make_dir: ['A', 'new directory'], remove_dir: ['D', 'directory removed'],
};
/** Permission bits that are not worth a word. */
const USUAL = { create: '644', make_dir: '755' };

const octal = (mode) => (mode & 0o7777).toString(8).padStart(3, '0');
const bytes = (size) => (size < 10_000 ? plural(size, 'byte') : `${Math.round(size / 1_000)} kB`);

/** What happens to a file beside its lines, in words. Other line endings are among its warnings. */
export function fileWords(file) {
  const words = [];
  if (file.kind !== 'write') words.push(KINDS[file.kind][1]);
  if (file.from_path) words.push(`from ${drawnPath(file.from_path)}`);
  const { old_mode: old, new_mode: set, binary } = file;
  if (old != null && set != null) words.push(`mode changes from ${octal(old)} to ${octal(set)}`);
  else if (set != null && octal(set) !== USUAL[file.kind]) words.push(`mode ${octal(set)}`);
  if (binary) {
    const [was, is] = [binary.old && bytes(binary.old.size), binary.new && bytes(binary.new.size)];
    words.push(`not shown as text, ${was && is ? `${was} become ${is}` : was ?? is ?? 'empty'}`);
  }
  return words;
}

/** A path with what cannot be seen written out. */
export function drawnPath(path) {
  return rawLine(path).text;
}

/** A letter for what happens to a file. */
export function KindMark({ kind }) {
  const [letter, words] = KINDS[kind];
  return html`<i class="file-kind ${kind}" title=${words} aria-label=${words} role="img">${letter}</i>`;
}

export function Counts({ added, removed }) {
  if (added + removed === 0) return null;
  return html`<span class="counts"><span class="plus">+${added}</span> <span class="minus">−${removed}</span></span>`;
}

/** The lines of a hunk in words, as they would be after the change. */
export function hunkWords({ new_start: first, new_lines: count, old_start: before, old_lines: gone }) {
  if (count === 0) return gone === 1 ? `Line ${before} goes` : `Lines ${before} to ${before + gone - 1} go`;
  return count === 1 ? `Line ${first}` : `Lines ${first} to ${first + count - 1}`;
}

// ---- Lines ----

function textOf(at) {
  if (!at) return null;
  return pieces(at).map(({ text, kind, isWord }) => {
    if (!kind && !isWord) return text;
    const named = kind === 'hidden' ? 'A character that cannot be seen' : undefined;
    const inner = kind ? html`<span class="s-${kind}" title=${named}>${text}</span>` : text;
    return isWord ? html`<mark>${inner}</mark>` : inner;
  });
}

/** The name of a line within its file: `n12` after the change, `o7` before it. */
const keyOf = (at) => (at.after != null ? `n${at.after}` : `o${at.before}`);

function numberOf(at, side, verb) {
  if (!at) return html`<td class="num void"></td>`;
  const number = side === 'old' ? at.before : at.after;
  const kind = at.line.kind === 'context' ? '' : ` ${at.line.kind}`;
  // A line that stays has one button, on the new side.
  const isButton = number != null && verb && !(side === 'old' && at.after != null);
  if (!isButton) return html`<td class="num${kind}">${number}</td>`;
  const words = `${verb} ${side === 'old' ? 'removed line' : 'line'} ${number}`;
  return html`<td class="num${kind}"><button data-key=${keyOf(at)} tabindex="-1" aria-label=${words}
    title=${words}>${number}</button></td>`;
}

const codeClass = ({ line: { kind } }) => (kind === 'context' ? 'source' : `source ${kind}`);

function rowOf([left, right], isSplit, verb) {
  const code = (at) => html`<td class=${at ? codeClass(at) : 'void'}>${textOf(at)}</td>`;
  if (!isSplit) return html`<tr>${numberOf(left, 'old', verb)}${numberOf(left, 'new', verb)}${code(left)}</tr>`;
  return html`<tr>${numberOf(left, 'old', verb)}${code(left)}${numberOf(right, 'new', verb)}${code(right)}</tr>`;
}

function endRow(row, isSplit) {
  if (!row.some((at) => at?.line.no_newline)) return null;
  const note = (at) => at?.line.no_newline && 'No line end at the end of the file';
  return isSplit
    ? html`<tr class="remark"><td></td><td>${note(row[0])}</td>
      <td></td><td>${row[1] !== row[0] && note(row[1])}</td></tr>`
    : html`<tr class="remark"><td></td><td></td><td>${note(row[0])}</td></tr>`;
}

let watcher;
const watching = new WeakMap();

/** Tells whether an element is near what can be seen, whenever that changes. */
function watchNear(element, tell) {
  watcher ??= new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) watching.get(target)?.(isIntersecting);
  }, { rootMargin: NEAR, scrollMargin: NEAR });
  watching.set(element, tell);
  watcher.observe(element);
  return () => watcher.unobserve(element);
}

/** Some rows as a table of their own, which is there while it is near what can be seen: a long diff stays light. */
function Slice({ rows, isSplit, talk, verb, isEager }) {
  const place = useRef(null);
  const height = useRef(rows.length * ROW);
  const [isDrawn, draw] = useState(isEager);
  useEffect(() => watchNear(place.current, (isNear) => {
    const { current: element } = place;
    // Firefox still tells of an element that has just gone.
    if (!element) return;
    // What is being written in it would be lost.
    if (!isNear && element.contains(document.activeElement)) return;
    if (!isNear && element.firstElementChild) height.current = element.offsetHeight;
    draw(isNear);
  }), []);
  const table = useMemo(() => isDrawn && html`<table class="diff ${isSplit ? 'split' : 'unified'}">
    <colgroup>${(isSplit ? SPLIT : UNIFIED).map((kind) => html`<col class=${kind} />`)}</colgroup>
    <tbody>${rows.map((row) => rowsOf(row, isSplit, talk, verb))}</tbody>
  </table>`, [rows, isSplit, isDrawn, verb, talk?.version]);
  const minHeight = isDrawn ? '' : `${height.current}px`;
  return html`<div class="diff-slice" ref=${place} style=${{ minHeight }}>${table}</div>`;
}

const SPLIT = ['num', '', 'num', ''];
const UNIFIED = ['num', 'num', ''];

/** A row with what stands below it: the end of the file, and comments. */
function rowsOf(row, isSplit, talk, verb) {
  const keys = talk ? [...new Set(row.filter(Boolean).map(keyOf))].filter(talk.has) : [];
  const { length: span } = isSplit ? SPLIT : UNIFIED;
  return html`${rowOf(row, isSplit, verb)}${endRow(row, isSplit)}
    ${keys.map((key) => html`<${NoteRow} key=${key} name=${key} talk=${talk} span=${span} />`)}`;
}

/** The rows of some numbered lines with everything around them. `verb` says what the buttons on line numbers do. */
export function Lines({ lines, isSplit, wraps, talk, verb, onLine, isEager }) {
  const slices = useMemo(() => {
    const rows = isSplit ? paired(lines) : lines.map((at) => [at]);
    const count = Math.ceil(rows.length / SLICE);
    return Array.from({ length: count }, (_, index) => rows.slice(index * SLICE, (index + 1) * SLICE));
  }, [lines, isSplit]);
  // Tables of one hunk are equally wide, although each knows only its own lines.
  const widest = useMemo(() => (wraps ? 0 : Math.max(...lines.map(({ line }) => columns(line.text)))), [lines, wraps]);
  const box = useRef(null);
  useEffect(() => {
    // One line is in the order of Tab, arrows lead to the others.
    const first = box.current.querySelector('button[data-key]');
    if (first && !box.current.querySelector('button[data-key][tabindex="0"]')) first.tabIndex = 0;
  });
  const clicked = (event) => {
    const isTouch = event.pointerType === 'touch' && getSelection().isCollapsed;
    // A finger is wider than a number: the whole line will do.
    const button = event.target.closest('button[data-key]')
      ?? (isTouch && event.target.closest('td.source')?.parentElement.querySelector('button[data-key]'));
    if (button) onLine(button.dataset.key);
  };
  const pressed = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const button = event.target.closest('button[data-key]');
    if (!step || !button) return;
    const all = [...box.current.querySelectorAll('button[data-key]')];
    const next = all[all.indexOf(button) + step];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    button.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  };
  return html`<div class="diff-lines${wraps ? '' : ' scrolls'}" ref=${box} onClick=${clicked} onKeyDown=${pressed}
    style=${{ '--columns': `${widest + 2}ch` }}>
    ${slices.map((rows, index) => html`<${Slice} key=${`${index}${isSplit}`} ...${{ rows, isSplit, talk, verb }}
      isEager=${isEager && index === 0} />`)}
  </div>`;
}

/** Lines between hunks that stay. They are there to be opened if the whole text is known. */
function Fold({ from, to, shift, after, look }) {
  const [isOpen, open] = useState(false);
  const lines = useMemo(() => isOpen && after.slice(from - 1, to).map((text, index) => ({
    line: rawLine(text), before: from + index - shift, after: from + index, next: from + index,
  })), [isOpen, after, from, to]);
  const words = from === to ? `Line ${from} is unchanged` : `Lines ${from} to ${to} are unchanged`;
  if (!after) return html`<p class="skipped">${words}</p>`;
  if (!isOpen) return html`<button class="skipped" aria-expanded="false" onClick=${() => open(true)}>${words}</button>`;
  return html`<button class="skipped" aria-expanded="true" onClick=${() => open(false)}>${words}: hide them</button>
    <${Lines} lines=${lines} ...${look} talk=${null} verb=${null} />`;
}

/**
 * The hunks of a file. `after` are the lines of its whole text after the change, if known; `Head` stands over each hunk
 * and gets its number; `talk` has the comments; without it line numbers lead to the file.
 */
export function Hunks({ file, look, after, Head, talk, isEager }) {
  const hunks = useMemo(() => file.hunks.map((hunk) => withPeers(numbered(hunk))), [file]);
  const verb = talk ? 'Comment on' : 'Open';
  const chosen = (key) => (talk ? talk.begin(key) : openFile(file.path, Number(key.slice(1))));
  let next = 1;
  let shift = 0;
  const parts = file.hunks.map((hunk, index) => {
    const start = hunk.new_lines ? hunk.new_start : hunk.new_start + 1;
    const fold = start > next && { from: next, to: start - 1, shift };
    next = start + hunk.new_lines;
    shift += hunk.new_lines - hunk.old_lines;
    return html`${fold && html`<${Fold} key=${`fold${index}`} ...${fold} after=${after} look=${look} />`}
      <section key=${index} class="hunk" tabindex="0" data-hunk=${index}
        aria-label="${hunkWords(hunk)} of ${drawnPath(file.path)}">
        ${Head && html`<${Head} index=${index} hunk=${hunk} />`}
        <${Lines} lines=${hunks[index]} ...${{ ...look, talk, verb }} onLine=${chosen}
          isEager=${isEager && index < 4} />
      </section>`;
  });
  const isCut = after && after.length >= next && file.hunks.length > 0;
  const rest = isCut && { from: next, to: after.length, shift, after, look };
  return html`${parts}${rest && html`<${Fold} key="end" ...${rest} />`}`;
}

/** Diffs of several files to be read, one below the other. */
export default function DiffView({ diffs, tools }) {
  const place = useRef(null);
  const width = useWidth(place);
  const look = diffStyle(width);
  return html`<div class="diff-view" ref=${place}>
    ${tools !== false && html`<div class="diff-bar"><${DiffTools} width=${width} /></div>`}
    ${width > 0 && diffs.map((file, index) => html`<section key=${file.path} class="file"
      aria-label=${drawnPath(file.path)}>
      <${FileHead} file=${file} Name="h2" />
      <${Hunks} file=${file} look=${look} isEager=${index < 6} />
    </section>`)}
  </div>`;
}

/** The line above a file: its name, what happens to it, and warnings. */
export function FileHead({ file, box, children, Name = 'h3' }) {
  const words = fileWords(file);
  return html`<header class="file-head">
    <div class="file-line">${box}<${KindMark} kind=${file.kind} />
      <${Name} class="file-name">${drawnPath(file.path)}<//> <${Counts} added=${file.added} removed=${file.removed} />
      <p class="grow">${words.join(', ')}</p>${children}</div>
    ${(file.warnings ?? []).map((warning) => html`<p key=${warning} class="warning">${warning}</p>`)}
  </header>`;
}
