// What was changed: the whole diff of the session, and its changes one by one with undo and redo.

import { useEffect, useState } from 'preact/hooks';
import { api, attempt, html, moment, plural, sessions, signal, styles, tell } from '../core.js';
import DiffView, { Counts, drawnPath } from '../diff.js';

styles('/panels/history.css');

/** Items of the timeline in which changes are looked for. */
const LOOKED_AT = 500;
const view = signal('diff');

/** The changes of a session as its cards tell them, newest first. */
function changesIn(items) {
  const isDone = ({ kind, state, diffs, dropped }) => kind === 'call' && state === 'done' && diffs?.length && !dropped;
  return items.filter(isDone).reverse();
}

/** What is known about the changes of a session. It is read again when the session has worked. */
function useChanges(id, state) {
  const [known, take] = useState(null);
  const [count, again] = useState(0);
  useEffect(() => {
    if (!id) return undefined;
    const stop = new AbortController();
    const read = (path) => api(`/sessions/${id}/${path}`, { signal: stop.signal });
    const wanted = Promise.all([read('diff'), read(`timeline?limit=${LOOKED_AT}`)]);
    wanted.then(([diff, { items }]) => take({ diff, changes: changesIn(items) }),
      (error) => error.name !== 'AbortError' && tell(error.message, 'error'));
    return () => stop.abort();
  }, [id, state, count]);
  return [known, () => again(count + 1)];
}

export default function HistoryPanel({ conversation }) {
  const id = conversation?.id;
  const session = sessions.value.get(id);
  const [known, again] = useChanges(id, session?.state);
  const shown = view.value;
  return html`<div class="history">
    <div class="history-bar">
      ${known && html`<span class="segments" role="group" aria-label="What is shown">
        <button aria-pressed=${shown === 'diff'} onClick=${() => { view.value = 'diff'; }}>All changes</button>
        <button aria-pressed=${shown === 'steps'} onClick=${() => { view.value = 'steps'; }}>One by one</button>
      </span>`}
      <span class="grow"></span>
      <${BackAndForth} project=${session?.project} again=${again} />
    </div>
    <div class="history-body" tabindex="0" role="region" aria-label="Changes">
      ${!id && html`<p class="empty">Open a session to see what it has changed.</p>`}
      ${known && shown === 'diff' && html`<${Whole} diff=${known.diff} hasChanged=${known.changes.length > 0} />`}
      ${known && shown === 'steps' && html`<${Steps} changes=${known.changes} />`}
    </div>
  </div>`;
}

/** Undo and redo, which go through the same question as any other change. */
function BackAndForth({ project, again }) {
  const [running, run] = useState('');
  const call = (tool) => async () => {
    if (running) return;
    run(tool);
    await attempt(async () => {
      const { ok, title, error } = await api(`/tools/${tool}`, { body: { project, arguments: {} } });
      if (ok) tell(title ?? 'Done');
      else if (error.code === 'REJECTED') tell(error.message);
      else tell([error.message, error.suggestion].filter(Boolean).join('. '), 'error');
    });
    run('');
    again();
  };
  return html`<span class="back-and-forth">
    ${running && html`<span class="note" role="status">You are asked first</span>`}
    <button class="quiet small" aria-disabled=${Boolean(running)} onClick=${call('undo')}>Undo the last change</button>
    <button class="quiet small" aria-disabled=${Boolean(running)} onClick=${call('redo')}>Redo</button>
  </span>`;
}

function Whole({ diff, hasChanged }) {
  const { files, notes = [] } = diff;
  if (files.length === 0 && notes.length === 0) return html`<${Unchanged} hasChanged=${hasChanged} />`;
  const sum = (name) => files.reduce((all, file) => all + file[name], 0);
  return html`<p class="history-sum">${plural(files.length, 'file')}
      ${' '}<${Counts} added=${sum('added')} removed=${sum('removed')} /></p>
    ${notes.map((note) => html`<p key=${note} class="notice">${note}</p>`)}
    <${DiffView} diffs=${files} />`;
}

function Unchanged({ hasChanged }) {
  if (hasChanged) {
    return html`<div class="history-empty"><h2>Nothing is left of its changes</h2>
      <p>All files that this session has changed are as they were before it.</p></div>`;
  }
  return html`<div class="history-empty"><h2>Nothing was changed yet</h2>
    <p>What this session writes will be here, as one diff and change by change.</p></div>`;
}

function Steps({ changes }) {
  if (changes.length === 0) return html`<${Unchanged} />`;
  return html`<ol class="history-steps" reversed>
    ${changes.map((card) => html`<${Step} key=${card.id} card=${card} />`)}</ol>`;
}

function Step({ card }) {
  const [isOpen, open] = useState(false);
  const sum = (name) => card.diffs.reduce((all, file) => all + file[name], 0);
  const reply = card.questions?.at(-1)?.reply;
  return html`<li>
    <button class="history-step" aria-expanded=${isOpen} onClick=${() => open(!isOpen)}>
      <time>${moment(card.at)}</time>
      <span><b>${card.headline.verb}</b> ${card.headline.object || drawnPath(card.diffs[0].path)}</span>
      <${Counts} added=${sum('added')} removed=${sum('removed')} />
    </button>
    ${isOpen && html`<div class="history-detail">
      ${reply && html`<p class="notice">${reply.words}</p>`}
      ${reply?.revised && html`<p class="notice">The diff is the one that was asked about last.</p>`}
      <${DiffView} diffs=${card.diffs} tools=${false} /></div>`}
  </li>`;
}
