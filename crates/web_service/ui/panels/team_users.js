// Users of a team, their roles, and invitations.

import { useState } from 'preact/hooks';
import { api, html, moment, overview, tell } from '../core.js';
import { plain, visible } from './hidden.js';
import { useList } from './team_lists.js';

const ROLES = ['viewer', 'member', 'approver', 'admin'];

export default function Users() {
  const [users, act] = useList('/people', 'users');
  const change = (id, body) => act(() => api(`/people/${encodeURIComponent(id)}`, { method: 'PATCH', body }));
  if (!users) return null;
  return html`<ul class="team-rows">${users.map(({ id, name, email, role, disabled }) => html`<li key=${id}>
      <div><p>${visible(name)}${disabled && html`<span class="team-note"> disabled</span>`}</p>
        ${email && html`<p class="team-note">${visible(email)}</p>`}</div>
      <span class="team-acts"><${RoleChoice} label=${`Role of ${plain(name)}`} value=${role}
        onChange=${({ target }) => change(id, { role: target.value })} />
      <button class="quiet" aria-label=${`${disabled ? 'Enable' : 'Disable'} ${plain(name)}`}
        onClick=${() => change(id, { disabled: !disabled })}>${disabled ? 'Enable' : 'Disable'}</button></span>
    </li>`)}</ul>
    <${Invitations} />`;
}

function Invitations() {
  const [open, act] = useList('/invitations', 'invitations');
  const [link, show] = useState('');
  const names = overview.value.projects.map(({ name }) => name);
  const invite = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const body = { role: form.get('role'), note: form.get('note'), projects: form.getAll('project') };
    act(async () => {
      show((await api('/invitations', { body })).link);
      tell('The invitation is good once, for a week.');
    });
  };
  const withdraw = (id) => act(() => api(`/invitations/${encodeURIComponent(id)}`, { method: 'DELETE' }));
  return html`<h2>Invite a user</h2>
    <form class="team-form" onSubmit=${invite}>
      <label>For <input name="note" maxlength="200" placeholder="a name" /></label>
      <label>Role <${RoleChoice} name="role" value="member" /></label>
      <fieldset><legend>Sees</legend>${names.map((name) => html`<label key=${name} class="team-check"><input
        type="checkbox" name="project" value=${name} checked />${name}</label>`)}</fieldset>
      <button class="go">Invite</button>
    </form>
    <div role="status">${link && html`<p class="team-secret">Send this link. It is shown only now:
      <code>${link}</code></p>`}</div>
    ${open?.length > 0 && html`<h2>Open invitations</h2>
      <ul class="team-rows">${open.map(({ id, note, role, projects, expires }) => html`<li key=${id}>
        <div><p>${visible(note || 'Without a name')}</p><p class="team-note">${role},
          ${' '}${visible(projects.join(', ') || 'no projects')}, until ${moment(expires)}</p></div>
        <button class="quiet" aria-label=${`Withdraw the invitation for ${plain(note || id)}`}
          onClick=${() => withdraw(id)}>Withdraw</button></li>`)}</ul>`}`;
}

function RoleChoice({ label, ...rest }) {
  return html`<select aria-label=${label} ...${rest}>${ROLES.map((role) => html`<option key=${role}
    selected=${role === rest.value}>${role}</option>`)}</select>`;
}
