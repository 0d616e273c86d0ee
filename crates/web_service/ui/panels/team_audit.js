// What was decided by whom: filtered by user, project and time, page by page, and as a file.

import { useEffect, useRef, useState } from 'preact/hooks';
import { api, attempt, html, overview, plural, route, sessionAddress, sessions, withQuery } from '../core.js';
import { plain, visible } from './hidden.js';
import { addressQuery } from './places.js';
import { useNames } from './team_lists.js';

/** Rows of one page. */
const PAGE = 100;
const FORMATS = [['csv', 'text/csv'], ['jsonl', 'application/jsonl']];

const DAY = { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' };

/** What was done. `s` stands for what it was done to. */
const DONE = {
  logged_in: 'logged in',
  logged_out: 'logged out',
  invited: 'made an invitation',
  invitation_withdrawn: 'withdrew an invitation',
  user_added: 'joined the team',
  user_changed: 'changed the user s',
  token_made: 'made a token',
  token_revoked: 'revoked the token s',
  shared: 'shared a project with s',
  unshared: 'ended the share of a project with s',
  visibility_changed: 'changed who sees a session',
  session_deleted: 'deleted the session s',
  budget_set: 'set the budget of s',
  budget_removed: 'removed the budget of s',
  key_kept: 'kept a key for s',
  key_removed: 'removed the key for s',
  approved: 'approved s',
  denied: 'denied s',
  rule_revoked: 'took back the rule s',
  tool_trusted: 'trusted the tool s',
  budget_refused: 'was refused: a budget is used up',
};

export default function Audit() {
  route.value;
  const users = useNames();
  const filter = addressQuery();
  if (!users) return null;
  const nameOf = (id) => users.get(id)?.name ?? id;
  return html`<${Filter} filter=${filter} users=${users} />
    <${Rows} filter=${filter} nameOf=${nameOf} />`;
}

/** What the service is asked for: from the beginning of the first day to the end of the last, by the user's clock. */
function asked({ user, project, since, until }) {
  return { user, project, since: midnight(since, 0), before: midnight(until, 1) };
}

/** When a day begins, or one that is so many days later. */
function midnight(day, later) {
  const at = new Date(`${day}T00:00`);
  at.setDate(at.getDate() + later);
  return Number.isNaN(at.getTime()) ? undefined : at.getTime();
}

function Filter({ filter, users }) {
  const takes = (name) => ({
    value: filter[name] ?? '',
    onChange: ({ target }) => { location.hash = withQuery('#/team/audit', { ...filter, [name]: target.value }); },
  });
  const names = overview.value.projects.map(({ name }) => name);
  return html`<div class="team-form" role="search" aria-label="Which decisions">
    <label>User <select ...${takes('user')}><option value="">All users</option>
      ${[...users.values()].map(({ id, name }) => html`<option key=${id} value=${id}>${plain(name)}</option>`)}
    </select></label>
    <label>Project <select ...${takes('project')}><option value="">All projects</option>
      ${names.map((name) => html`<option key=${name}>${name}</option>`)}</select></label>
    <label>Since <input type="date" max=${filter.until} ...${takes('since')} /></label>
    <label>Until <input type="date" min=${filter.since} ...${takes('until')} /></label>
    <span class="team-exports">Export ${FORMATS.map(([format, type]) => html`<button key=${format} class="quiet"
      aria-label=${`Export as ${format.toUpperCase()}`}
      onClick=${() => exported(filter, format, type)}>${format.toUpperCase()}</button>`)}</span>
  </div>`;
}

/** Has the browser keep what the service exports. It is asked for here, so that a refusal is told in words. */
const exported = (filter, format, type) => attempt(async () => {
  const text = await api(withQuery('/audit/export', { ...asked(filter), format }));
  const href = URL.createObjectURL(new Blob([text], { type }));
  Object.assign(document.createElement('a'), { href, download: `audit.${format}` }).click();
  URL.revokeObjectURL(href);
});

function Rows({ filter, nameOf }) {
  const [known, take] = useState(null);
  const [failure, fail] = useState(null);
  const [isReading, read] = useState(false);
  const wanted = useRef();
  const own = wanted.current = JSON.stringify(filter);
  // What is shown stays until what was chosen is there.
  const load = async (cursor) => {
    read(true);
    try {
      const { entries, next } = await api(withQuery('/audit', { ...asked(filter), limit: PAGE, cursor }));
      if (wanted.current !== own) return;
      const isFull = entries.length >= PAGE;
      take((before) => ({ entries: cursor ? [...before.entries, ...entries] : entries, next, isFull }));
      fail(null);
    } catch (error) {
      if (wanted.current !== own) return;
      if (!cursor) take(null);
      fail({ words: [error.message, error.suggestion].filter(Boolean).join('. '), cursor });
    }
    read(false);
  };
  useEffect(() => { load(); }, [own]);
  const { entries = [], next, isFull } = known ?? {};
  return html`<div aria-busy=${!known && !failure}>
    ${known && entries.length === 0 && html`<p class="team-empty">${Object.keys(filter).length
      ? 'Nothing was decided that fits.' : 'Answers to questions, logins and changes of rights would be here.'}</p>`}
    ${byDay(entries).map(([day, rows]) => html`<section key=${day} class="team-day"><h2>${day}</h2><ol>
      ${rows.map((entry, at) => html`<${Row} key=${at} entry=${entry} nameOf=${nameOf} />`)}</ol></section>`)}
    ${failure && html`<p class="team-error" role="alert">${visible(failure.words)}
      <button class="quiet" onClick=${() => load(failure.cursor)}>Try again</button></p>`}
    ${next && !failure && html`<button class="quiet" disabled=${isReading} onClick=${() => load(next)}>Older</button>`}
    <p class="team-note" role="status">${known && entries.length > 0 && told(entries.length, next, isFull)}</p>
  </div>`;
}

function told(count, next, isFull) {
  if (next) return `${plural(count, 'decision')}, the latest first.`;
  // Nothing is said about a next page, and this one may just have been large enough.
  if (isFull) return `The latest ${count} decisions. The export has all.`;
  return count === 1 ? 'This is the only decision.' : `These are all ${count} decisions.`;
}

/** Rows under the day of the user's clock on which they were made. */
function byDay(entries) {
  const days = new Map();
  for (const entry of entries) {
    const day = new Date(entry.at).toLocaleDateString([], DAY);
    if (!days.has(day)) days.set(day, []);
    days.get(day).push(entry);
  }
  return [...days];
}

function Row({ entry, nameOf }) {
  const { at, user, kind, project, session, subject, detail } = entry;
  const when = new Date(at);
  const time = when.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const [before, after] = (DONE[kind] ?? `${kind.replaceAll('_', ' ')} s`).split(/ s$/);
  // What is done to a user names the user by id, also within the scope of a budget.
  const named = subject.replace(/^\S+/, nameOf);
  const more = [project, detail].filter(Boolean).join(': ');
  return html`<li><time datetime=${when.toISOString()} title=${when.toLocaleString()}>${time}</time>
    <div><p><strong>${user == null ? 'The service' : visible(nameOf(user))}</strong> ${before}
      ${after !== undefined && html` <span class="team-subject">${visible(named)}</span>`}</p>
      ${(more || session) && html`<p class="team-note">${visible(more)}
        ${session && html` <a class="text-link" href=${sessionAddress(session)}>${visible(titleOf(session))}</a>`}</p>`}
    </div></li>`;
}

const titleOf = (session) => sessions.value.get(session)?.title ?? 'Session';
