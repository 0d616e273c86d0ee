// Small drawings of numbers, labelled where they are, with a table beside each. No legends, and one scale for what
// stands side by side.

import { html } from '../core.js';

const WIDTH = 320;
const HEIGHT = 84;
/** Room under the bars for the names of days. */
const FOOT = 16;
/** Room over the bars for the largest number. */
const TOP = 14;

/** A day in short, such as `12 Nov`. It has no time, and so no time zone. */
export function dayName(day) {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString([], { day: 'numeric', month: 'short', timeZone: 'UTC' });
}

/**
 * Bars over days. `series` are stacked from the bottom: `{name, of(day)}`, the first in grey and the second in the
 * accent, unless its `tone` is `pale`. `top` is the number that the height stands for, the same for charts that are
 * compared.
 */
export function DayChart({ title, total, note, days, series, top, show }) {
  const sums = days.map((day) => series.reduce((sum, { of }) => sum + (of(day) ?? 0), 0));
  const most = Math.max(...sums, 0);
  const scale = top || most || 1;
  const step = WIDTH / days.length;
  const gap = step > 6 ? 2 : 0.5;
  const peak = sums.indexOf(most);
  const anchor = peak < days.length * 0.15 ? 'start' : peak > days.length * 0.85 ? 'end' : 'middle';
  return html`<section class="chart">
    <h3>${title}</h3><p class="chart-total">${total}</p>${note && html`<p class="chart-note">${note}</p>`}
    <svg viewBox="0 0 ${WIDTH} ${TOP + HEIGHT + FOOT}" role="img"
      aria-label="${title} by day. The table below has the numbers.">
      <line class="axis" x1="0" x2=${WIDTH} y1=${TOP + HEIGHT} y2=${TOP + HEIGHT} />
      ${days.map((day, index) => {
        let floor = TOP + HEIGHT;
        return series.map(({ name, of, tone }, layer) => {
          const height = (of(day) ?? 0) / scale * HEIGHT;
          floor -= height;
          return height > 0 && html`<rect key=${`${index} ${layer}`} class="layer-${tone ?? layer}"
            x=${index * step + gap / 2} width=${step - gap} y=${floor} height=${height}>
            <title>${dayName(day.day)}: ${show(of(day))} ${name}</title></rect>`;
        });
      })}
      ${most > 0 && html`<text x=${(peak + 0.5) * step} y=${TOP + HEIGHT - most / scale * HEIGHT - 4}
        text-anchor=${anchor}>${show(most)}</text>`}
      <text class="foot" x="0" y=${TOP + HEIGHT + FOOT - 3}>${dayName(days[0].day)}</text>
      <text class="foot" x=${WIDTH} y=${TOP + HEIGHT + FOOT - 3} text-anchor="end">${dayName(days.at(-1).day)}</text>
    </svg>
    <details><summary>Table</summary><div class="table" tabindex="0" role="region" aria-label="${title} by day"><table>
      <thead><tr><th scope="col">Day</th>${series.map(({ name }) => html`<th key=${name} scope="col"
        data-align="right">${name}</th>`)}</tr></thead>
      <tbody>${days.filter((_, index) => sums[index] > 0).map((day) => html`<tr key=${day.day}><th
        scope="row">${dayName(day.day)}</th>
        ${series.map(({ name, of }) => html`<td key=${name}
          data-align="right">${show(of(day) ?? 0)}</td>`)}</tr>`)}</tbody>
    </table></div></details>
  </section>`;
}

/** A bar within a row of a table: `parts` are stacked, all rows have the scale `top`. */
export function RowBar({ parts, top }) {
  let from = 0;
  return html`<svg class="row-bar" viewBox="0 0 100 8" preserveAspectRatio="none"
    aria-hidden="true">${parts.map((part, index) => {
    const start = from;
    from += part / (top || 1) * 100;
    return part > 0 && html`<rect key=${index} class="layer-${index}" x=${start} width=${Math.max(from - start, 0.7)}
      y="0" height="8" />`;
  })}</svg>`;
}

/** From the middle to the slow end of times, on one scale in powers of ten for all rows. */
export function RowSpan({ low, high, top }) {
  const place = (ms) => Math.log10(Math.max(1, ms)) / Math.log10(Math.max(10, top)) * 96 + 2;
  return html`<svg class="row-bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <line class="axis" x1="0" x2="100" y1="4" y2="4" /><rect class="layer-0" x=${place(low)}
      width=${Math.max(place(high) - place(low), 1.2)} y="1.5" height="5" rx="1" /></svg>`;
}
