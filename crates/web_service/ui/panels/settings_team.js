// Settings of a team's server: one's own account and tokens, and for admins users and invitations.

import { useEffect, useState } from 'preact/hooks';
import { api, attempt, html, moment, tell } from '../core.js';
import { loginWays } from '../arrival.js';
import { visible } from './hidden.js';

const ROLES = ['viewer', 'member', 'approver', 'admin'];

/** Parts of the settings that only a team has. */
export function Team({ Part }) {
  const [me, know] = useState(null);
  useEffect(() => { loginWays().then(async ({ team }) => team && know(await api('/me')), () => {}); }, []);
  if (!me) return null;
  return html`<${Part} title="Account"><${Account} me=${me} /></>
    ${me.scopes.includes('admin') && html`<${Part} title="Team"><${People} me=${me} /></>`}`;
}

/** What a route lists, and a way to list it again after something was done. */
function useList(path, name) {
  const [listed, take] = useState([]);
  const list = () => attempt(async () => take((await api(path))[name]));
  useEffect(() => { list(); }, []);
  const act = (action) => attempt(async () => {
    await action();
    await list();
  });
  return [listed, act];
}

function Account({ me }) {
  const [tokens, act] = useList('/me/tokens', 'tokens');
  const [made, show] = useState('');
  const make = (event) => {
    event.preventDefault();
    const name = new FormData(event.target).get('name');
    act(async () => show((await api('/me/tokens', { body: { name, scopes: me.scopes } })).token));
  };
  return html`<p><strong>${visible(me.name)}</strong>, ${me.role}. Projects: ${visible(me.projects.join(', ')) || 'none'}.</p>
    <ul class="rules">${tokens.map(({ id, name, scopes, expires }) => html`<li key=${id}>
      <div><p>${visible(name)}</p><p class="hint">${scopes.join(', ')}, until ${moment(expires)}</p></div>
      <button class="quiet" onClick=${() => act(() => api(`/me/tokens/${id}`, { method: 'DELETE' }))}>Revoke</button>
    </li>`)}</ul>
    ${made && html`<p>The token is shown once: <code>${made}</code></p>`}
    <form class="choices" onSubmit=${make}><label>Name <input name="name" required maxlength="100" /></label>
      <button class="quiet">Make a token</button></form>`;
}

function People({ me }) {
  const [users, act] = useList('/people', 'users');
  const [link, show] = useState('');
  const change = (id, body) => act(() => api(`/people/${id}`, { method: 'PATCH', body }));
  const invite = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const body = { role: form.get('role'), note: form.get('note'), projects: me.projects };
    attempt(async () => {
      show((await api('/invitations', { body })).link);
      tell('The invitation is good once, for a week.');
    });
  };
  return html`<ul class="rules">${users.map(({ id, name, email, role, disabled }) => html`<li key=${id}>
      <div><p>${visible(name)}${disabled ? ' (disabled)' : ''}</p><p class="hint">${visible(email ?? '')}</p></div>
      <span class="sure"><${RoleChoice} label=${`Role of ${visible(name)}`} value=${role}
        onChange=${({ target }) => change(id, { role: target.value })} />
      <button class="quiet" onClick=${() => change(id, { disabled: !disabled })}>
        ${disabled ? 'Enable' : 'Disable'}</button></span>
    </li>`)}</ul>
    ${link && html`<p>The link is shown once: <code>${link}</code></p>`}
    <form class="choices" onSubmit=${invite}><label>For <input name="note" maxlength="200" /></label>
      <${RoleChoice} label="Role" name="role" value="member" /><button class="quiet">Invite</button></form>
    <p class="hint">The invited user sees all projects that are served here. Shares, budgets and the audit are
      at <code>/api</code>.</p>`;
}

function RoleChoice({ label, ...rest }) {
  return html`<select aria-label=${label} ...${rest}>${ROLES.map((role) => html`<option key=${role}
    selected=${role === rest.value}>${role}</option>`)}</select>`;
}
