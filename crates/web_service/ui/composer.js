// Where the user types: messages, files that go with them, commands, and what waits for the running turn.

import { useEffect, useRef, useState } from 'preact/hooks';
import { api, attempt, html, noteSession, sessionAddress, tell } from './core.js';

/** The tallest that the field grows by itself, in pixels. */
const TALLEST = 320;
/** Drafts by session, so that a glance elsewhere loses nothing. */
const drafts = new Map();

export function Composer({ session, project, shown, state }) {
  const field = useRef(null);
  const place = session ?? `new:${project}`;
  const [text, type] = useState(drafts.get(place) ?? '');
  const isWorking = state === 'working' || state === 'waiting';

  useEffect(() => {
    drafts.set(place, text);
    const { current: area } = field;
    area.style.height = 'auto';
    area.style.height = `${Math.min(area.scrollHeight, TALLEST)}px`;
  }, [text]);
  useEffect(() => {
    if (shown) shown.draft = (draft) => { type(draft); field.current.focus(); };
    // Only where there is a keyboard: on a phone it would cover the page.
    if (matchMedia('(hover: hover)').matches) field.current.focus();
  }, [shown]);

  const send = () => {
    if (!text.trim()) return;
    attempt(async () => {
      let id = session;
      if (!id) {
        const begun = await api('/sessions', { body: { project } });
        noteSession({ ...begun, updated: Date.now() });
        id = begun.id;
      }
      const { notes } = await api(`/sessions/${id}/messages`, { body: { text } });
      type('');
      drafts.delete(place);
      notes.forEach((note) => tell(note));
      if (!session) location.hash = sessionAddress(id);
    });
  };
  const interrupt = () => attempt(() => api(`/sessions/${session}/interrupt`, { body: {} }));
  const pressed = (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    } else if (event.key === 'Escape' && isWorking) {
      event.preventDefault();
      interrupt();
    }
  };
  return html`<form class="prompt" onSubmit=${(event) => { event.preventDefault(); send(); }}>
    <${Waiting} shown=${shown} take=${type} />
    <textarea ref=${field} rows="2" value=${text} aria-label="Message"
      placeholder=${isWorking ? 'Say something that the running turn takes up' : 'Reply, @ to attach a file, / for commands'}
      onInput=${(event) => type(event.target.value)} onKeyDown=${pressed}></textarea>
    <div class="acts">
      <span class="grow"></span>
      ${isWorking && html`<button type="button" class="quiet small" onClick=${interrupt}>Stop <kbd>Esc</kbd></button>`}
      <button class="send" aria-label="Send" disabled=${!text.trim()}>↑</button>
    </div>
  </form>`;
}

/** Messages that wait for the running turn. They can be taken back and said otherwise. */
function Waiting({ shown, take }) {
  const waiting = shown?.queue.value ?? [];
  if (waiting.length === 0) return null;
  const withdraw = ({ id }) => attempt(async () => {
    const { text } = await api(`/sessions/${shown.id}/queue/${id}`, { method: 'DELETE' });
    take(text);
    await shown.loadQueue();
  });
  return html`<ul class="queue" aria-label="Messages that wait">${waiting.map((waits) => html`<li key=${waits.id}>
    <span>${waits.text}</span><button type="button" class="quiet small" onClick=${() => withdraw(waits)}>Take back</button></li>`)}</ul>`;
}
