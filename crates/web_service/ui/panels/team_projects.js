// Which users a project is shared with.

import { useId, useState } from 'preact/hooks';
import { api, html, overview, plural } from '../core.js';
import { plain, visible } from './hidden.js';
import { useList } from './team_lists.js';

/** Users above which there is a field to look for some. */
const MANY = 12;

export default function Projects() {
  const [users] = useList('/people', 'users');
  const [shares, act] = useList('/shares', 'shares');
  const [looked, look] = useState('');
  if (!users || !shares) return null;
  const served = overview.value.projects.map(({ name }) => name);
  // Projects of other replicas can be taken away from users here, too.
  const names = [...new Set([...served, ...shares.map(({ project }) => project)])].sort();
  const words = looked.trim().toLowerCase();
  const found = users.filter(({ name, email }) => `${name} ${email ?? ''}`.toLowerCase().includes(words));
  return html`<p class="team-lead">A user sees the projects that are shared with the user, and their files from
      the role member on. Admins see all projects.</p>
    ${users.length > MANY && html`<label class="team-look">Look for a user <input type="search" value=${looked}
      onInput=${(event) => look(event.target.value)} /></label>`}
    ${found.length === 0 && html`<p class="team-empty">No user has such a name.</p>`}
    ${found.length > 0 && names.map((project) => html`<${Project} key=${project} project=${project} users=${found}
      shared=${new Set(shares.filter((share) => share.project === project).map(({ user }) => user))}
      isServed=${served.includes(project)} act=${act} />`)}`;
}

function Project({ project, users, shared, isServed, act }) {
  const id = useId();
  const count = shared.size ? plural(shared.size, 'user') : 'no user: only admins see it';
  return html`<div class="team-card" role="group" aria-labelledby=${id}>
    <h2 id=${id}>${visible(project)} <span class="team-note">shared with ${count}</span></h2>
    ${!isServed && html`<p class="team-note">It is served by another replica: here it can be taken away only.</p>`}
    <ul class="team-checks">${users.map((user) => html`<${Sharing} key=${user.id} user=${user} project=${project}
      is=${shared.has(user.id)} canShare=${isServed} act=${act} />`)}</ul>
  </div>`;
}

function Sharing({ user, project, is, canShare, act }) {
  // What was chosen, until the service has said what is.
  const [wanted, want] = useState(null);
  const path = `/projects/${encodeURIComponent(project)}/people/${encodeURIComponent(user.id)}`;
  const change = async () => {
    want(!is);
    await act(() => api(path, { method: is ? 'DELETE' : 'PUT' }));
    want(null);
  };
  const role = user.role === 'admin' ? 'admin, sees all' : user.role;
  const note = user.disabled ? `${role}, disabled` : role;
  return html`<li><label class="team-check"><input type="checkbox" checked=${wanted ?? is}
    aria-label=${`${plain(project)} is shared with ${plain(user.name)}`} disabled=${!is && !canShare}
    onChange=${change} /><span>${visible(user.name)} <span class="team-note">${note}</span></span></label></li>`;
}
