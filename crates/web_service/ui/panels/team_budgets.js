// What may be spent in a day, by whom and where, and what was spent today.

import { useRef, useState } from 'preact/hooks';
import { api, dollars, html, overview, withQuery } from '../core.js';
import { plain, visible } from './hidden.js';
import { useList, useNames } from './team_lists.js';

/** What a budget leaves open means each and all. */
const EVERY = { user: 'All users', project: 'all projects' };
const NOTHING = { user: '', project: '', usd: '' };
/** The most that the service takes, in dollars. */
const MOST = 1_000_000;

export default function Budgets() {
  const users = useNames();
  const [budgets, act] = useList('/budgets', 'budgets');
  const [spending] = useList('/spending', 'spending');
  const [typed, type] = useState(NOTHING);
  const amount = useRef(null);
  if (!users || !budgets || !spending) return null;
  const nameOf = (id) => users.get(id)?.name ?? id;
  const edit = ({ user, project, usd_per_day: usd }) => {
    type({ user: user ?? '', project: project ?? '', usd: String(usd) });
    amount.current?.focus();
  };
  const remove = ({ user, project }) =>
    act(() => api(withQuery('/budgets', { user, project }), { method: 'DELETE' }));
  const set = async (event) => {
    event.preventDefault();
    const { user, project, usd } = typed;
    const body = { user: user || undefined, project: project || undefined, usd_per_day: Number(usd) };
    if (await act(() => api('/budgets', { method: 'PUT', body }))) type(NOTHING);
  };
  return html`<p class="team-lead">A budget is for a day that begins at midnight UTC. Once one is used up, messages that
      it holds for are refused, and a turn that runs pauses.</p>
    ${budgets.length === 0
      ? html`<p class="team-empty">There are no budgets: nothing is refused for what it costs.</p>`
      : html`<ul class="team-rows">${budgets.map((budget) => html`<${Budget}
        key=${`${budget.user ?? ''} ${budget.project ?? ''}`} budget=${budget} spent=${spentOf(budget, spending)}
        nameOf=${nameOf} edit=${edit} remove=${remove} />`)}</ul>`}
    <h2>Set a budget</h2>
    <${BudgetForm} typed=${typed} type=${type} set=${set} users=${users} amount=${amount} />
    <h2>Spent today</h2>
    <${Spent} spending=${spending} nameOf=${nameOf} />`;
}

/** What was spent of a budget, by the same rule as in the service. */
function spentOf({ user, project }, spending) {
  const counts = (row) => (user == null || row.user === user) && (project == null || row.project === project);
  return spending.filter(counts).reduce((sum, { usd }) => sum + usd, 0);
}

function Budget({ budget, spent, nameOf, edit, remove }) {
  const [isSure, ask] = useState(false);
  const { user, project, usd_per_day: most } = budget;
  const whose = `${user == null ? EVERY.user : nameOf(user)} in ${project ?? EVERY.project}`;
  const isUsedUp = spent >= most;
  return html`<li><div class="team-budget"><p>${visible(whose)}</p>
      <${Bar} part=${spent} whole=${most} />
      <p class="team-note">${money(spent)} of ${money(most)} spent today${isUsedUp && html`, <b>used up</b>`}</p></div>
    <span class="team-acts">${isSure
      ? html`<button class="quiet" onClick=${() => ask(false)}>Keep</button>
        <button class="go" onClick=${() => remove(budget)}>Remove it</button>`
      : html`<button class="quiet" aria-label=${`Change the budget of ${plain(whose)}`}
          onClick=${() => edit(budget)}>Change</button>
        <button class="quiet" aria-label=${`Remove the budget of ${plain(whose)}`}
          onClick=${() => ask(true)}>Remove…</button>`}</span></li>`;
}

function BudgetForm({ typed, type, set, users, amount }) {
  const takes = (name) => ({ value: typed[name], onInput: ({ target }) => type({ ...typed, [name]: target.value }) });
  const projects = overview.value.projects.map(({ name }) => name);
  // One that is changed may be of a project that is served elsewhere, or of a user who is gone.
  const listed = (known, one) => (one && !known.includes(one) ? [...known, one] : known);
  return html`<form class="team-form" onSubmit=${set}>
    <label>User <select ...${takes('user')}><option value="">${EVERY.user}</option>
      ${listed([...users.keys()], typed.user).map((id) => html`<option key=${id}
        value=${id}>${plain(users.get(id)?.name ?? id)}</option>`)}</select></label>
    <label>Project <select ...${takes('project')}><option value="">All projects</option>
      ${listed(projects, typed.project).map((name) => html`<option key=${name}>${name}</option>`)}</select></label>
    <label>Dollars a day <input ref=${amount} type="number" required min="0" max=${MOST} step="any" inputmode="decimal"
      ...${takes('usd')} /></label>
    <button class="go">Set</button>
  </form>`;
}

function Spent({ spending, nameOf }) {
  if (spending.length === 0) return html`<p class="team-empty">Nothing was spent since midnight UTC.</p>`;
  const rows = [...spending].sort((one, other) => other.usd - one.usd);
  const sum = rows.reduce((all, { usd }) => all + usd, 0);
  return html`<div class="table" tabindex="0" role="region" aria-label="Spent today"><table class="team-spent">
    <thead><tr><th scope="col">User</th><th scope="col">Project</th><th scope="col" data-align="right">Dollars</th><th
      scope="col"><span class="unseen">Part</span></th></tr></thead>
    <tbody>${rows.map(({ user, project, usd }) => html`<tr key=${`${user} ${project}`}><th
      scope="row">${user == null ? 'No user' : visible(nameOf(user))}</th><td>${visible(project)}</td><td
      data-align="right">${money(usd)}</td><td><${Bar} part=${usd} whole=${sum} /></td></tr>`)}</tbody>
    <tfoot><tr><th scope="row" colspan="2">Together</th><td data-align="right">${money(sum)}</td><td></td></tr></tfoot>
  </table></div>`;
}

const money = (usd) => (usd === 0 || Number.isInteger(usd) ? `$${usd}` : dollars(usd));

/** How much of something; what is beyond it is not drawn. */
function Bar({ part, whole }) {
  const share = whole > 0 ? Math.min(1, part / whole) : 1;
  return html`<svg class="team-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"
    data-full=${part >= whole && whole > 0 ? 'true' : undefined}><rect class="team-bar-whole" width="100" height="4" />
    <rect class="team-bar-part" width=${100 * share} height="4" /></svg>`;
}
