// What was changed: the whole diff of the session, and its changes one by one with undo and redo.

import { useEffect, useState } from 'preact/hooks';
import { api, attempt, html, moment, plural, sessions, signal, styles, tell, withQuery } from '../core.js';
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

/** The project's own record of the changes of a session, by the calls that made them. */
async function recordOf(id, project, signal) {
  const { changes } = await api(withQuery('/history', { project, limit: LOOKED_AT }), { signal });
  return new Map(changes.filter(({ session }) => session === id).map((change) => [change.call, change]));
}

/** What is known about the changes of a session. It is read again when the session has worked. */
function useChanges(id, project, state) {
  const [known, take] = useState(null);
  const [count, again] = useState(0);
  useEffect(() => {
    if (!id || !project) return undefined;
    const stop = new AbortController();
    const read = (path) => api(`/sessions/${id}/${path}`, { signal: stop.signal });
    const record = recordOf(id, project, stop.signal);
    const wanted = Promise.all([read('diff'), read(`timeline?limit=${LOOKED_AT}`), record]);
    wanted.then(([diff, { items }, record]) => take({ diff, record, changes: changesIn(items) }),
      (error) => error.name !== 'AbortError' && tell(error.message, 'error'));
    return () => stop.abort();
  }, [id, project, state, count]);
  return [known, () => again((before) => before + 1)];
}

export default function HistoryPanel({ conversation }) {
  const id = conversation?.id;
  const session = sessions.value.get(id);
  const [known, again] = useChanges(id, session?.project, session?.state);
  const takeBack = useTakeBack(session?.project, again);
  const shown = view.value;
  return html`<div class="history">
    <div class="history-bar">
      ${known && html`<span class="segments" role="group" aria-label="What is shown">
        <button aria-pressed=${shown === 'diff'} onClick=${() => { view.value = 'diff'; }}>All changes</button>
        <button aria-pressed=${shown === 'steps'} onClick=${() => { view.value = 'steps'; }}>One by one</button>
      </span>`}
      <span class="grow"></span>
      <${BackAndForth} takeBack=${takeBack} />
    </div>
    <div class="history-body" tabindex="0" role="region" aria-label="Changes">
      ${!id && html`<p class="empty">Open a session to see what it has changed.</p>`}
      ${known && shown === 'diff' && html`<${Whole} diff=${known.diff} hasChanged=${known.changes.length > 0} />`}
      ${known && shown === 'steps' && html`<${Steps} changes=${known.changes} record=${known.record}
        takeBack=${takeBack} />`}
    </div>
  </div>`;
}

/** Undo and redo, of the last change or one by its id. They go through the same question as any other change. */
function useTakeBack(project, again) {
  const [isRunning, run] = useState(false);
  const call = (way, id) => async () => {
    if (isRunning) return;
    run(true);
    await attempt(async () => {
      const { ok, title, error } = await api(`/history/${way}`, { body: { project, id } });
      if (ok) tell(title ?? 'Done');
      else if (error.code === 'REJECTED') tell(error.message);
      else tell([error.message, error.suggestion].filter(Boolean).join('. '), 'error');
    });
    run(false);
    again();
  };
  return { isRunning, call };
}

function BackAndForth({ takeBack: { isRunning, call } }) {
  return html`<span class="back-and-forth">
    ${isRunning && html`<span class="note" role="status">You are asked first</span>`}
    <button class="quiet small" aria-disabled=${isRunning} onClick=${call('undo')}>Undo the last change</button>
    <button class="quiet small" aria-disabled=${isRunning} onClick=${call('redo')}>Redo</button>
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

function Steps({ changes, record, takeBack }) {
  if (changes.length === 0) return html`<${Unchanged} />`;
  return html`<ol class="history-steps" reversed>
    ${changes.map((card) => html`<${Step} key=${card.id} card=${card} change=${record.get(card.call_id)}
      takeBack=${takeBack} />`)}</ol>`;
}

function Step({ card, change, takeBack: { isRunning, call } }) {
  const [isOpen, open] = useState(false);
  const sum = (name) => card.diffs.reduce((all, file) => all + file[name], 0);
  const reply = card.questions?.at(-1)?.reply;
  const isUndone = Boolean(change?.undone_by);
  const name = card.headline.object || drawnPath(card.diffs[0].path);
  const [way, words] = isUndone ? ['redo', 'Redo'] : ['undo', 'Undo'];
  return html`<li class=${isUndone ? 'undone' : undefined}>
    <div class="history-line">
      <button class="history-step" aria-expanded=${isOpen} onClick=${() => open(!isOpen)}>
        <time>${moment(card.at)}</time>
        <span><b>${card.headline.verb}</b> <span class="history-name">${name}</span></span>
        ${isUndone && html`<em>undone</em>`}
        <${Counts} added=${sum('added')} removed=${sum('removed')} />
      </button>
      ${change && html`<button class="quiet small" aria-disabled=${isRunning} aria-label=${`${words} ${name}`}
        onClick=${call(way, change.id)}>${words}</button>`}
    </div>
    ${isOpen && html`<div class="history-detail">
      ${reply && html`<p class="notice">${reply.words}</p>`}
      ${reply?.revised && html`<p class="notice">The diff is the one that was asked about last.</p>`}
      <${DiffView} diffs=${card.diffs} tools=${false} /></div>`}
  </li>`;
}
