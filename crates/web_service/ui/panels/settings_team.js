// Settings of a user of a team's server: one's own account, tokens, and what one has spent.

import { useState } from 'preact/hooks';
import { api, dollars, html, moment, overview } from '../core.js';
import { visible } from './hidden.js';
import { useList } from './team_lists.js';

/** The part of the settings that only a team has. */
export default function Account() {
  const { user: me, projects } = overview.value;
  const [tokens, act] = useList('/me/tokens', 'tokens');
  const [made, show] = useState('');
  const make = (event) => {
    event.preventDefault();
    const name = new FormData(event.target).get('name');
    act(async () => show((await api('/me/tokens', { body: { name, scopes: me.scopes } })).token));
  };
  const names = projects.map(({ name }) => name).join(', ');
  return html`<p><strong>${visible(me.name)}</strong>, ${me.role}. Projects: ${visible(names) || 'none'}.</p>
    <${OwnSpending} me=${me} />
    ${tokens?.length > 0 && html`<ul class="rules">${tokens.map(({ id, name, scopes, expires }) => html`<li key=${id}>
      <div><p>${visible(name)}</p><p class="hint">${scopes.join(', ')}, until ${moment(expires)}</p></div>
      <button class="quiet" onClick=${() => act(() => api(`/me/tokens/${id}`, { method: 'DELETE' }))}>Revoke</button>
    </li>`)}</ul>`}
    ${made && html`<p>The token is shown once: <code>${made}</code></p>`}
    <form class="token-form" onSubmit=${make}><label>Name <input name="name" required maxlength="100" /></label>
      <button class="quiet">Make a token</button></form>`;
}

function OwnSpending({ me }) {
  const [spending] = useList('/spending', 'spending');
  if (!spending) return null;
  const own = spending.filter(({ user }) => user === me.id);
  const parts = own.map(({ project, usd }) => `${dollars(usd)} in ${project}`).join(', ');
  return html`<p>Spent today, since midnight UTC: ${visible(parts) || 'nothing'}.</p>`;
}
