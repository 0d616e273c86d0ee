// The tool console: every tool as a form, what the policy says about a call, and its answer as a value and as a model
// reads it.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api, attempt, duration, html, lazy, plural, questions, signal, styles } from '../core.js';
import { plain, visible } from './hidden.js';
import { JsonTree } from './json_tree.js';
import { offeredTools, presentProject, ProjectChoice } from './places.js';
import { SchemaFields } from './schema_form.js';

await styles('/panels/console.css');

const QuestionCard = lazy(() => import('../question.js'));

/** What was typed for each tool, so that a glance elsewhere loses nothing. */
const drafts = new Map();
/**
 * The last call of each tool, `{stopping, began}` or `{report}`. It goes on while another panel is looked at, such as
 * the review of what it asks.
 */
const calls = new Map();
let lastTool = null;

const CHOOSE = 'Choose a tool. It runs with the same policy as for a model: what would need approval asks you here.';

function callOf(place) {
  if (!calls.has(place)) calls.set(place, signal({}));
  return calls.get(place);
}

export default function Console() {
  const project = presentProject();
  const [tools, know] = useState(null);
  const [name, choose] = useState(lastTool);
  useEffect(() => {
    if (project) attempt(async () => know(await offeredTools(project)));
  }, [project]);
  useEffect(() => { lastTool = name; }, [name]);
  const tool = tools?.find((one) => one.name === name);
  return html`<div class="console" data-shows=${tool ? 'tool' : 'list'} aria-busy=${!tools}>
    <${ToolList} tools=${tools ?? []} name=${name} choose=${choose} />
    ${tool
      ? html`<${ToolForm} key=${`${project} ${name}`} project=${project} tool=${tool} back=${() => choose(null)} />`
      : html`<p class="empty nothing">${CHOOSE}</p>`}
  </div>`;
}

function ToolList({ tools, name, choose }) {
  const [query, type] = useState('');
  const groups = useMemo(() => {
    const words = query.toLowerCase();
    const shown = tools.filter((tool) => `${tool.name} ${tool.description}`.toLowerCase().includes(words));
    return Map.groupBy ? [...Map.groupBy(shown, ({ category }) => category)] : grouped(shown);
  }, [tools, query]);
  return html`<nav class="tool-list" aria-label="Tools">
    <${ProjectChoice} />
    <input type="search" aria-label="Filter the tools" placeholder=${`Filter ${plural(tools.length, 'tool')}`}
      value=${query} onInput=${(event) => type(event.target.value)} />
    ${groups.map(([category, own]) => html`<section key=${category}><h3>${category}</h3>
      ${own.map((tool) => html`<button key=${tool.name} aria-current=${tool.name === name ? 'true' : undefined}
        onClick=${() => choose(tool.name)}>
        <b>${tool.name}</b><span>${visible(tool.description)}</span></button>`)}</section>`)}
    ${tools.length > 0 && groups.length === 0 && html`<p
      class="empty">No tool has that in its name or description.</p>`}
  </nav>`;
}

function grouped(tools) {
  const groups = new Map();
  for (const tool of tools) groups.set(tool.category, [...(groups.get(tool.category) ?? []), tool]);
  return [...groups];
}

function ToolForm({ project, tool, back }) {
  const place = `${project} ${tool.name}`;
  const [given, keep] = useState(drafts.get(place) ?? {});
  const [isRaw, raw] = useState(false);
  const [explained, explain] = useState(null);
  const call = callOf(place);
  const { stopping: running, began, report } = call.value;
  const change = (next) => {
    drafts.set(place, next);
    keep(next);
    explain(null);
  };

  const ask = () => attempt(async () => {
    try {
      explain(await api('/policy/explain', { body: { project, tool: tool.name, arguments: given } }));
    } catch (error) {
      explain({ error });
    }
  });
  const start = async (event) => {
    event.preventDefault();
    if (running) return;
    const stopping = new AbortController();
    const since = Date.now();
    call.value = { stopping, began: since };
    const body = { project, arguments: given };
    try {
      const answer = await api(`/tools/${encodeURIComponent(tool.name)}`, { body, signal: stopping.signal });
      call.value = { report: { ...answer, took: Date.now() - since } };
    } catch (error) {
      const isStopped = error.name === 'AbortError';
      call.value = { report: { ok: false, isStopped, error: isStopped ? null : error, took: Date.now() - since } };
    }
  };
  const asked = questions.value.filter(({ owner }) => owner === `project:${project}`);
  return html`<div class="tool">
    <header><button class="icon to-list" aria-label="All tools" title="All tools" onClick=${back}>←</button>
      <h2>${tool.name}</h2>
      <span class="grow"></span>
      ${tool.example && html`<button class="quiet small" onClick=${() => change(tool.example)}>Example</button>`}
      <button class="quiet small" aria-pressed=${isRaw} onClick=${() => raw(!isRaw)}>JSON</button></header>
    <p class="about">${visible(tool.description)}</p>
    <form onSubmit=${start}>
      ${isRaw ? html`<${RawArguments} value=${given} change=${change} />` : html`<${SchemaFields} key=${tool.name}
        schema=${tool.parameters} value=${given} change=${change} folds=${true} />`}
      <div class="run-acts">
        ${running
          ? html`<button type="button" class="quiet" onClick=${() => running.abort()}>Stop</button><${Elapsed}
            since=${began} />`
          : html`<button class="go">Run</button>`}
        <button type="button" class="quiet" onClick=${ask}>What would the policy say?</button>
      </div>
    </form>
    ${explained && html`<${Explained} explained=${explained} />`}
    ${asked.length > 0 && html`<${QuestionCard} key=${asked[0].question} question=${asked[0]}
      more=${asked.length - 1} />`}
    ${report && html`<${Report} report=${report} />`}
  </div>`;
}

/** The arguments as JSON. The form shows the same value; a text that is not valid changes nothing there. */
function RawArguments({ value, change }) {
  const [text, type] = useState(() => JSON.stringify(value, null, 2));
  const own = useRef(value);
  const [problem, complain] = useState('');
  useEffect(() => {
    // Another part has changed it, such as the example.
    if (own.current !== value) type(JSON.stringify(value, null, 2));
    own.current = value;
  }, [value]);
  const typed = (event) => {
    type(event.target.value);
    try {
      const next = JSON.parse(event.target.value || '{}');
      if (next === null || typeof next !== 'object' || Array.isArray(next)) throw new Error('arguments are an object');
      own.current = next;
      change(next);
      complain('');
    } catch (error) {
      complain(`Not valid, so the arguments stay as they were: ${error.message}`);
    }
  };
  return html`<div class="field"><label for="raw-arguments">Arguments</label>
    <textarea id="raw-arguments" rows="10" value=${text} spellcheck=${false} aria-invalid=${!!problem} onInput=${typed}>
      </textarea>
    ${problem && html`<p class="notice error" role="alert">${problem}</p>`}</div>`;
}

function Elapsed({ since }) {
  const [now, tick] = useState(since);
  useEffect(() => {
    const timer = setInterval(() => tick(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [since]);
  return html`<span
    class="meta">Running${now > since ? ` for ${duration(Math.round((now - since) / 1_000) * 1_000)}` : '…'}</span>`;
}

const DECISIONS = { allow: 'Would run without a question', ask: 'Would ask first', deny: 'Would be refused' };

function Explained({ explained: { error, decision, explanation, effects } }) {
  if (error) return html`<${Failure} error=${error} />`;
  return html`<section class="explained" role="status" data-decision=${decision}>
    <strong>${DECISIONS[decision] ?? decision}</strong><p>${visible(explanation)}</p>
    ${effects?.length > 0 && html`<ul>${effects.map((effect, index) => html`<li
      key=${index}>${visible(effect)}</li>`)}</ul>`}
  </section>`;
}

function Failure({ error: { code, message, suggestion } }) {
  return html`<section class="failure" role="alert"><p>
    <code>${code}</code> ${visible(message)}</p>${suggestion && html`<p
    class="suggestion">${visible(suggestion)}</p>`}</section>`;
}

function Report({ report: { ok, value, error, text, title, took, isStopped } }) {
  const [shows, show] = useState(value === undefined ? 'text' : 'value');
  const place = useRef(null);
  useEffect(() => { place.current.scrollIntoView({ block: 'nearest' }); }, []);
  const has = { value: value !== undefined, text: text != null };
  return html`<section class="report" aria-label="Answer" ref=${place}>
    <header><strong>${isStopped ? 'Stopped' : ok ? plain(title ?? 'Done') : 'Failed'}</strong><span
      class="meta">${duration(took)}</span><span class="grow"></span>
      ${has.value && has.text && html`<button class="quiet small" aria-pressed=${shows === 'value'}
        onClick=${() => show('value')}>Value</button>
        <button class="quiet small" aria-pressed=${shows === 'text'}
          onClick=${() => show('text')}>As the model sees it</button>`}</header>
    ${isStopped && html`<p class="empty">The call was ended. What it had not been allowed to do was not done.</p>`}
    ${error && html`<${Failure} error=${error} />`}
    ${shows === 'value' && has.value && html`<${JsonTree} value=${value} label="Value of the answer" />`}
    ${shows === 'text' && has.text && html`<pre tabindex="0" aria-label="Text of the answer">${visible(text)}</pre>`}
  </section>`;
}
