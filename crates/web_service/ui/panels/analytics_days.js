// The same facts day by day: small charts on one axis of days.

import { dollars, duration, html, short } from '../core.js';
import { DayChart } from './charts.js';

const DAY = 86_400_000;
const NUMBERS = ['calls', 'successes', 'failures', 'refusals', 'approvals', 'input', 'output', 'cost'];

const CALLS = [
  { name: 'went well', of: (day) => day.calls - day.failures },
  { name: 'failed', of: (day) => day.failures },
];
const TIMES = [
  { name: 'p50', of: (day) => day.p50 },
  { name: 'more at p95', of: (day) => day.p95 - day.p50, tone: 'pale' },
];

/** A day of an answer, whichever way its tokens and cost are nested. */
function dayOf(row) {
  const { usage = {}, tokens = {}, latency = {} } = row;
  return {
    ...row,
    day: row.day ?? row.date,
    input: row.tokens_in ?? tokens.in ?? (usage.input ?? 0) + (usage.cache_read ?? 0) + (usage.cache_write ?? 0),
    output: row.tokens_out ?? tokens.out ?? usage.output ?? 0,
    cost: row.cost_usd ?? row.cost ?? 0,
    p50: row.p50_ms ?? latency.p50_ms ?? 0,
    p95: row.p95_ms ?? latency.p95_ms ?? 0,
  };
}

/** Every day of the range, also those without anything, summed over projects. */
function allDays(answers, since, count) {
  const byDay = new Map();
  for (let index = 0; index < count; index += 1) {
    const day = new Date(since + index * DAY).toISOString().slice(0, 10);
    byDay.set(day, { day, p50: 0, p95: 0, ...Object.fromEntries(NUMBERS.map((name) => [name, 0])) });
  }
  for (const row of answers.flatMap(({ days }) => days).map(dayOf)) {
    const known = byDay.get(row.day);
    if (!known) continue;
    for (const name of NUMBERS) known[name] += row[name] ?? 0;
    if (row.p95 > known.p95) Object.assign(known, { p50: row.p50, p95: row.p95 });
  }
  return [...byDay.values()];
}

export function DayCharts({ answers, since, count }) {
  const days = allDays(answers, since, count);
  const sum = (name) => days.reduce((all, day) => all + day[name], 0);
  const most = (...names) => Math.max(...days.flatMap((day) => names.map((name) => day[name])));
  const tokens = most('input', 'output');
  const slow = most('p95');
  return html`<section class="plots"><h2>By day</h2><div class="charts">
    <${DayChart} title="Calls" total=${short(sum('calls'))}
      note=${html`<b>${sum('failures')} failed</b>`} days=${days} show=${short}
      series=${CALLS} />
    <${DayChart} title="Answers to questions" total=${short(sum('approvals') + sum('refusals'))}
      note=${html`<b>${sum('refusals')} refused</b>`} days=${days} show=${short}
      series=${[{ name: 'approved', of: (day) => day.approvals }, { name: 'refused', of: (day) => day.refusals }]} />
    <${DayChart} title="Cost" total=${dollars(sum('cost'))} note="where prices are known" days=${days} show=${dollars}
      series=${[{ name: 'US dollars', of: (day) => day.cost }]} />
    <${DayChart} title="Tokens read" total=${short(sum('input'))} note="same scale as written" days=${days}
      top=${tokens} show=${short} series=${[{ name: 'read', of: (day) => day.input }]} />
    <${DayChart} title="Tokens written" total=${short(sum('output'))} note="same scale as read" days=${days}
      top=${tokens} show=${short} series=${[{ name: 'written', of: (day) => day.output }]} />
    <${DayChart} title="Working time of a call" total=${duration(slow)}
      note="p95 of the slowest day; p50 is the darker part" days=${days} show=${duration}
      series=${TIMES} />
  </div></section>`;
}
