// The same facts day by day: small charts on one axis of days, of everything or of one tool, model or project.

import { useState } from 'preact/hooks';
import { dollars, duration, html, short } from '../core.js';
import { DayChart } from './charts.js';
import { plain } from './hidden.js';

const CALLS = [
  { name: 'went well', of: (day) => day.successes },
  { name: 'failed or refused', of: (day) => day.calls - day.successes },
];
const ANSWERS = [
  { name: 'approved', of: (day) => day.approvals },
  { name: 'refused', of: (day) => day.denials },
];
const TIMES = [
  { name: 'p50', of: (day) => day.p50_ms },
  { name: 'more at p95', of: (day) => day.p95_ms - day.p50_ms, tone: 'pale' },
];
const COST = [{ name: 'US dollars', of: (day) => day.cost_usd }];
const READ = [{ name: 'read', of: (day) => day.tokens_in }];
const WRITTEN = [{ name: 'written', of: (day) => day.tokens_out }];

const GROUPS = [['tools', 'Tools'], ['models', 'Models'], ['projects', 'Projects']];
const NOTHING = {
  calls: 0, successes: 0, failures: 0, refusals: 0, approvals: 0, denials: 0, p50_ms: 0, p95_ms: 0, answers: 0,
  tokens_in: 0, tokens_out: 0,
};

/** A number that stands out if there is something to look at, in the colour of its part of the bars. */
const warned = (count, words) => (count > 0 ? html`<b>${count} ${words}</b>` : `${count} ${words}`);

/** A day of the user's clock, such as `2026-11-16`. */
function dateOf(time) {
  const two = (number) => String(number).padStart(2, '0');
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
}

/** Every day of the range, also those on which nothing was done. `choice` is `[group, name]`, or nothing for all. */
function allDays(days, since, count, choice) {
  const known = new Map(days.map((day) => [day.date, choice ? day[choice[0]][choice[1]] : day.all]));
  const begin = new Date(since);
  return Array.from({ length: count }, (_, index) => {
    // By the calendar: not every day has 24 hours.
    const day = dateOf(new Date(begin.getFullYear(), begin.getMonth(), begin.getDate() + index));
    return { day, ...NOTHING, ...known.get(day) };
  });
}

function namesOf(days, group) {
  return [...new Set(days.flatMap((day) => Object.keys(day[group])))].sort();
}

export function DayCharts({ days: known, since, count }) {
  const [choice, choose] = useState('');
  const chosen = choice ? JSON.parse(choice) : null;
  const days = allDays(known, since, count, chosen);
  const sum = (name) => days.reduce((all, day) => all + (day[name] ?? 0), 0);
  const most = (...names) => Math.max(...days.flatMap((day) => names.map((name) => day[name])));
  const tokens = most('tokens_in', 'tokens_out');
  const bad = sum('calls') - sum('successes');
  const hasCost = days.some((day) => day.cost_usd != null);
  const isModel = chosen?.[0] === 'models';
  return html`<section class="plots"><header class="plots-head"><h2>By day</h2>
    <label>Charts of <select value=${choice} onChange=${(event) => choose(event.target.value)}>
      <option value="">everything</option>
      ${GROUPS.map(([group, title]) => html`<optgroup key=${group} label=${title}>
        ${namesOf(known, group).map((name) => html`<option key=${name} value=${JSON.stringify([group, name])}
          >${plain(name)}</option>`)}</optgroup>`)}
    </select></label></header>
    <div class="charts">
    <${DayChart} title="Calls" total=${short(sum('calls'))} note=${warned(bad, 'failed or refused')} days=${days}
      show=${short} series=${CALLS} />
    <${DayChart} title="Answers to questions" total=${short(sum('approvals') + sum('denials'))}
      note=${warned(sum('denials'), 'refused')} days=${days} show=${short} series=${ANSWERS} />
    <${DayChart} title="Cost" total=${hasCost ? dollars(sum('cost_usd')) : 'unknown'}
      note="where prices are known" days=${days} show=${dollars} series=${COST} />
    <${DayChart} title="Tokens read" total=${short(sum('tokens_in'))}
      note="same scale as written" days=${days} top=${tokens} show=${short} series=${READ} />
    <${DayChart} title="Tokens written" total=${short(sum('tokens_out'))}
      note="same scale as read" days=${days} top=${tokens} show=${short} series=${WRITTEN} />
    <${DayChart} title=${isModel ? 'Time of an answer' : 'Working time of a call'} total=${duration(most('p95_ms'))}
      note="p95 of the slowest day; p50 is the stronger part" days=${days} show=${duration} series=${TIMES} />
  </div></section>`;
}
