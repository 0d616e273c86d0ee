// What was done over days: calls, time, tokens, cost and answers to questions, per tool, model, project and session.

import { useEffect, useState } from 'preact/hooks';
import { api, dollars, duration, html, overview, plural, sessionAddress, short, styles, withQuery } from '../core.js';
import { DayCharts } from './analytics_days.js';
import { RowBar, RowSpan } from './charts.js';
import { visible } from './hidden.js';

await styles('/panels/analytics.css');

const RANGES = [7, 30, 90];
const SESSIONS_SHOWN = 12;

const sumOf = (rows, of) => rows.reduce((sum, row) => sum + (of(row) ?? 0), 0);
const readTokens = ({ usage }) => usage.input + usage.cache_read + usage.cache_write;
/** A sum of costs, unknown where all of them are. */
const costOf = (rows) => {
  const known = rows.map(({ cost_usd: cost }) => cost).filter((cost) => cost != null);
  return known.length ? sumOf(known, (cost) => cost) : null;
};

/** The statistics of each project, `{project, tools, models, sessions}`. */
async function readStats(projects, since, stop) {
  return Promise.all(projects.map(async (project) => {
    const stats = await api(withQuery('/stats', { project, since }), { signal: stop });
    return { project, ...stats };
  }));
}

/** What was done on each day of the user's clock. */
async function readDays(project, since, stop) {
  const ahead = -new Date().getTimezoneOffset();
  const answer = await api(withQuery('/stats/days', { project, since, ahead_minutes: ahead }), { signal: stop });
  return answer.days;
}

/** The midnight with which the range begins. */
function beginOf(range) {
  const today = new Date();
  return new Date(today.getFullYear(), today.getMonth(), today.getDate() - range + 1).getTime();
}

export default function Analytics() {
  const names = (overview.value?.projects ?? []).map(({ name }) => name);
  const [range, choose] = useState(Number(localStorage.getItem('analytics-days')) || 30);
  const [project, pick] = useState('');
  const [known, take] = useState(null);
  const [error, fail] = useState(null);
  const key = names.join('\n');
  useEffect(() => {
    if (!key) return undefined;
    const stopping = new AbortController();
    const since = beginOf(range);
    const chosen = project ? [project] : names;
    Promise.all([readStats(chosen, since, stopping.signal), readDays(project, since, stopping.signal)]).then(
      ([stats, days]) => { fail(null); take({ stats, days, since, range }); },
      (problem) => { if (problem.name !== 'AbortError') fail(problem); },
    );
    localStorage.setItem('analytics-days', String(range));
    return () => stopping.abort();
  }, [range, project, key]);
  return html`<div class="analytics" aria-busy=${!known && !error}>
    <div class="analytics-choice">
      <span role="group" aria-label="Time range">${RANGES.map((days) => html`<button key=${days} class="quiet small"
        aria-pressed=${days === range}
        onClick=${() => choose(days)}>${days} days</button>`)}</span>
      ${names.length > 1 && html`<label>Project <select value=${project}
        onChange=${(event) => pick(event.target.value)}>
        <option value="">All</option>${names.map((name) => html`<option key=${name}
          value=${name}>${name}</option>`)}</select></label>`}
    </div>
    ${error && html`<p class="notice error">${error.message}</p>`}
    ${known && html`<${Report} ...${known} />`}
  </div>`;
}

function Report({ stats, days, since, range }) {
  const tools = merged(stats.flatMap((one) => one.tools), 'tool');
  const models = merged(stats.flatMap((one) => one.models), 'model');
  const sessions = stats.flatMap((one) => one.sessions);
  if (tools.length + models.length === 0) {
    return html`<div class="analytics-empty"><h2>Nothing in these ${range} days</h2>
      <p>Once a session has run, this shows its calls and how many went well,
      how long they worked, tokens and cost by day, and which questions were approved or refused.</p></div>`;
  }
  return html`<${Totals} tools=${tools} models=${models} sessions=${sessions} />
    <${DayCharts} days=${days} since=${since} count=${range} />
    <${Tools} tools=${tools} />
    <${Models} models=${models} />
    ${stats.length > 1 && html`<${Projects} stats=${stats} />`}
    <${Sessions} sessions=${sessions} />`;
}

/** Rows of several projects under one name. Times cannot be added up; the slowest project speaks for all. */
function merged(rows, name) {
  const all = new Map();
  for (const row of rows) {
    const key = name === 'model' ? `${row.provider} ${row.model}` : row[name];
    const known = all.get(key);
    all.set(key, known ? added(known, row) : row);
  }
  return [...all.values()].sort((one, other) => (other.calls ?? other.answers) - (one.calls ?? one.answers));
}

function added(one, other) {
  const sum = { ...one };
  for (const [field, value] of Object.entries(other)) {
    if (field === 'latency') sum.latency = value.p95_ms > one.latency.p95_ms ? value : one.latency;
    else if (typeof value === 'number') sum[field] = (one[field] ?? 0) + value;
    else if (value && typeof value === 'object') sum[field] = added(one[field] ?? {}, value);
  }
  return sum;
}

function Totals({ tools, models, sessions }) {
  const calls = sumOf(tools, (tool) => tool.calls);
  const ok = sumOf(tools, (tool) => tool.ok);
  const asked = sumOf(tools, (tool) => tool.asked);
  const denied = sumOf(tools, (tool) => tool.denied);
  const cost = costOf(models);
  const cached = sumOf(models, ({ usage }) => usage.cache_read);
  const written = sumOf(models, ({ usage }) => usage.output);
  const answers = sumOf(models, (model) => model.answers);
  const tiles = [
    ['Calls of tools', short(calls), calls > 0 && `${percent(ok, calls)} went well`],
    ['Sessions', short(sessions.length), plural(sumOf(sessions, ({ turns }) => turns), 'turn')],
    ['Tokens read', short(sumOf(models, readTokens)), `${short(cached)} of them from the cache`],
    ['Tokens written', short(written), plural(answers, 'answer')],
    ['Cost', cost == null ? 'unknown' : dollars(cost), `${cost == null ? 'no prices are' : 'where prices are'} known`],
    ['Questions', short(asked), `${denied} refused`],
  ];
  return html`<dl class="totals">${tiles.map(([name, value, note]) => html`<div key=${name}><dt>${name}</dt>
    <dd>${value}</dd>${note && html`<dd class="note">${note}</dd>`}</div>`)}</dl>`;
}

function percent(part, whole) {
  return part === whole ? '100%' : `${(Math.floor(part / whole * 1000) / 10).toFixed(1)}%`;
}

function Tools({ tools }) {
  const most = Math.max(...tools.map(({ calls }) => calls));
  const slowest = Math.max(...tools.map(({ latency }) => latency.p95_ms));
  const asked = Math.max(...tools.map((tool) => tool.asked));
  return html`<section class="plots"><h2>Tools</h2>
    ${tools.length === 0 ? html`<p class="empty">Tools that were called would be here.</p>` : html`<div class="table"
      tabindex="0" role="region" aria-label="Tools"><table>
      <thead><tr><th scope="col">Tool</th><th scope="col">Calls</th><th
        scope="col">Working time, middle to slow (p50 to p95)</th><th scope="col">Questions</th></tr></thead>
      <tbody>${tools.map((tool) => html`<tr key=${tool.tool}><th scope="row"><code>${visible(tool.tool)}</code></th>
        <td><${RowBar} parts=${[tool.ok, tool.calls - tool.ok]} top=${most} />
          <span>${tool.calls}${tool.calls > tool.ok ? html`, <b>${tool.calls - tool.ok} failed</b>` : ''}</span></td>
        <td><${RowSpan} low=${tool.latency.p50_ms} high=${tool.latency.p95_ms} top=${slowest} />
          <span>${spanOf(tool.latency)}</span></td>
        <td>${tool.asked > 0 ? html`<${RowBar} parts=${[tool.asked - tool.denied, tool.denied]} top=${asked} />
          <span>${answersOf(tool)}</span>` : html`<span class="none">none</span>`}</td></tr>`)}</tbody>
    </table></div>
    <${AllNumbers} tools=${tools} />`}
  </section>`;
}

const COLUMNS = [
  ['Calls', ({ calls }) => calls],
  ['Well', ({ ok }) => ok],
  ['Failed', ({ calls, ok }) => calls - ok],
  ['p50', ({ latency }) => duration(latency.p50_ms)],
  ['p95', ({ latency }) => duration(latency.p95_ms)],
  ['Tokens of results', ({ result_tokens: tokens }) => short(tokens)],
  ['Asked', ({ asked }) => asked],
  ['Approved', ({ approved }) => approved],
  ['Changed', ({ edited }) => edited],
  ['Refused', ({ denied }) => denied],
];

function AllNumbers({ tools }) {
  const errors = (tool) => Object.entries(tool.errors ?? {}).map(([code, count]) => `${code} ${count}`).join(', ');
  return html`<details><summary>All numbers</summary>
    <div class="table" tabindex="0" role="region" aria-label="All numbers of tools"><table>
      <thead><tr><th scope="col">Tool</th>
        ${COLUMNS.map(([title]) => html`<th key=${title} scope="col" data-align="right">${title}</th>`)}
        <th scope="col">Errors</th></tr></thead>
      <tbody>${tools.map((tool) => html`<tr key=${tool.tool}><th scope="row">${visible(tool.tool)}</th>
        ${COLUMNS.map(([title, of]) => html`<td key=${title} data-align="right">${of(tool)}</td>`)}
        <td>${errors(tool)}</td></tr>`)}</tbody>
    </table></div></details>`;
}

function spanOf({ p50_ms: low, p95_ms: high }) {
  return low === high ? duration(low) : `${duration(low)} to ${duration(high)}`;
}

function answersOf({ approved, edited, denied, asked }) {
  const open = asked - approved - edited - denied;
  const parts = [[approved, 'approved'], [edited, 'changed'], [denied, 'refused'], [open, 'not answered']];
  return parts.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`).join(', ');
}

function Models({ models }) {
  const most = Math.max(...models.map((model) => Math.max(readTokens(model), model.usage.output)));
  const slowest = Math.max(...models.map(({ latency }) => latency.p95_ms));
  return html`<section class="plots"><h2>Models</h2>
    ${models.length === 0 ? html`<p class="empty">Models that answered would be here.</p>` : html`<div class="table"
      tabindex="0" role="region" aria-label="Models"><table>
      <thead><tr><th scope="col">Model</th><th scope="col">Tokens read</th><th scope="col">Tokens written</th><th
        scope="col">Time of an answer (p50 to p95)</th>
        <th scope="col" data-align="right">Answers</th><th scope="col" data-align="right">Failed</th><th scope="col"
          data-align="right">Cost</th></tr></thead>
      <tbody>${models.map((model) => html`<tr key=${`${model.provider} ${model.model}`}><th
        scope="row">${visible(model.model)} <small>${visible(model.provider)}</small></th>
        <td><${RowBar} parts=${[readTokens(model)]} top=${most} /><span>${short(readTokens(model))}</span></td>
        <td><${RowBar} parts=${[model.usage.output]} top=${most} /><span>${short(model.usage.output)}</span></td>
        <td><${RowSpan} low=${model.latency.p50_ms} high=${model.latency.p95_ms} top=${slowest} />
          <span>${spanOf(model.latency)}</span></td>
        <td data-align="right">${model.answers}</td><td data-align="right">${model.failures}</td><td
          data-align="right">${dollars(model.cost_usd) || 'unknown'}</td></tr>`)}</tbody>
    </table></div>`}
  </section>`;
}

function Projects({ stats }) {
  const rows = stats.map(({ project, tools, models }) => ({
    project,
    calls: sumOf(tools, ({ calls }) => calls),
    ok: sumOf(tools, (tool) => tool.ok),
    tokens: sumOf(models, readTokens),
    cost: costOf(models),
  }));
  const most = Math.max(...rows.map(({ calls }) => calls));
  const tokens = Math.max(...rows.map((row) => row.tokens));
  return html`<section class="plots"><h2>Projects</h2><div class="table" tabindex="0" role="region"
    aria-label="Projects"><table>
    <thead><tr><th scope="col">Project</th><th scope="col">Calls</th><th scope="col">Tokens read</th><th scope="col"
      data-align="right">Cost</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.project}><th scope="row">${visible(row.project)}</th>
      <td><${RowBar} parts=${[row.ok, row.calls - row.ok]} top=${most} />
        <span>${row.calls}${row.calls > row.ok ? html`, <b>${row.calls - row.ok} failed</b>` : ''}</span></td>
      <td><${RowBar} parts=${[row.tokens]} top=${tokens} /><span>${short(row.tokens)}</span></td><td
        data-align="right">${dollars(row.cost) || 'unknown'}</td></tr>`)}</tbody>
  </table></div></section>`;
}

function Sessions({ sessions }) {
  if (sessions.length === 0) return null;
  const rows = [...sessions].sort((one, other) => readTokens(other) - readTokens(one)).slice(0, SESSIONS_SHOWN);
  const most = readTokens(rows[0]);
  return html`<section class="plots"><h2>Sessions that read most</h2><div class="table" tabindex="0" role="region"
    aria-label="Sessions"><table>
    <thead><tr><th scope="col">Session</th><th scope="col">Tokens read</th><th scope="col" data-align="right">Turns</th>
      <th scope="col" data-align="right">Calls</th><th scope="col" data-align="right">Cost</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.session}><th scope="row"><a class="path-link"
      href=${sessionAddress(row.session)}>${visible(row.title ?? 'New session')}</a></th>
      <td><${RowBar} parts=${[readTokens(row)]} top=${most} /><span>${short(readTokens(row))}</span></td><td
        data-align="right">${row.turns}</td><td data-align="right">${row.calls}</td>
      <td data-align="right">${dollars(row.cost_usd) || 'unknown'}</td></tr>`)}</tbody>
  </table></div></section>`;
}
