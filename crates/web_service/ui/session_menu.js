// What can be done with a session in the list: naming, exporting, deleting.

import { api, attempt, dropSession, html, noteSession, route } from './core.js';

/** What can be done with a session as a whole. */
export function sessionActs({ id }, renamed) {
  const remove = () => attempt(async () => {
    await api(`/sessions/${id}`, { method: 'DELETE' });
    dropSession(id);
    if (route.value.session === id) location.hash = '#/';
  });
  const exported = (format) => `/api/sessions/${id}/export?format=${format}`;
  return [
    { label: 'Rename', act: () => { renamed.value = id; } },
    { label: 'Export as Markdown', href: exported('markdown'), download: `${id}.md` },
    { label: 'Export as a web page', href: exported('html'), download: `${id}.html` },
    { label: 'Delete…', isDanger: true, items: [
      { label: 'Delete it for good', isDanger: true, act: remove },
      { label: 'Keep it' },
    ] },
  ];
}

/** The name of a session while it is changed. */
export default function TitleField({ session: { id, title }, renamed }) {
  const finish = (text) => {
    if (renamed.peek() !== id) return;
    renamed.value = null;
    const name = text.trim();
    if (name && name !== title) attempt(async () => noteSession(await api(`/sessions/${id}`, { method: 'PATCH', body: { title: name } })));
  };
  const pressed = (event) => {
    if (event.key === 'Enter') finish(event.target.value);
    else if (event.key === 'Escape') renamed.value = null;
    else return;
    event.preventDefault();
  };
  return html`<input class="rename" aria-label="Name of the session" value=${title ?? ''} onKeyDown=${pressed}
    onBlur=${(event) => finish(event.target.value)} ref=${(field) => field?.select()} />`;
}
