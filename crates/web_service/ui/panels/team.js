// The team, for admins: its users, who sees which project, what may be spent, and what was decided by whom.

import { html, lazy, overview, route, styles } from '../core.js';

await styles('/panels/team.css');

// Parts that are loaded when they are first opened.
const TABS = {
  users: { title: 'Users', Shown: lazy(() => import('./team_users.js')) },
  projects: { title: 'Projects', Shown: lazy(() => import('./team_projects.js')) },
  budgets: { title: 'Budgets', Shown: lazy(() => import('./team_budgets.js')) },
  audit: { title: 'Audit', Shown: lazy(() => import('./team_audit.js')) },
};

export default function TeamView() {
  const chosen = TABS[route.value.panel] ? route.value.panel : 'users';
  if (!overview.value) return null;
  const { user } = overview.value;
  if (!user) return html`<p class="team team-empty">This service has one user, and no team.</p>`;
  if (!user.scopes.includes('admin')) {
    return html`<p class="team team-empty">Users, projects, budgets and the audit are managed by admins. Your own
      account is in the <a class="text-link" href="#/settings">settings</a>.</p>`;
  }
  const { title, Shown } = TABS[chosen];
  return html`<div class="team">
    <nav class="team-tabs" aria-label="Parts of the team">${Object.entries(TABS).map(([name, tab]) => html`<a
      key=${name} href="#/team/${name}" aria-current=${name === chosen ? 'page' : undefined}>${tab.title}</a>`)}</nav>
    <section key=${chosen} aria-label=${title}><${Shown} /></section>
  </div>`;
}
