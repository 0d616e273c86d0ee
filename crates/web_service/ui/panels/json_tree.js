// A JSON value as a tree that can be folded. Long lists and texts are shown a part at a time.

import { useState } from 'preact/hooks';
import { html, plural } from '../core.js';
import { plain, visible } from './hidden.js';

/** Children that are shown at once. */
const SHOWN = 100;
/** Characters of a text that are shown at once. */
const LONG = 1_200;
/** Fields that a closed branch shows, and characters of each. */
const PREVIEWED = 4;
const PREVIEW = 60;
/** Levels that are open from the beginning. */
const OPEN = 2;

export function JsonTree({ value, label }) {
  return html`<div class="json" role="group" aria-label=${label}><${Entry} value=${value} depth=${0} /></div>`;
}

function Entry({ name, value, depth }) {
  const key = name === undefined ? null : html`<span class="json-key">${visible(String(name))}</span>`;
  if (value !== null && typeof value === 'object') return html`<${Branch} label=${key} value=${value}
    depth=${depth} />`;
  return html`<div class="json-row">${key}<${Leaf} value=${value} /></div>`;
}

function Branch({ label, value, depth }) {
  const children = Object.entries(value);
  const [isOpen, open] = useState(depth < OPEN && children.length > 0);
  const [count, more] = useState(SHOWN);
  const isList = Array.isArray(value);
  const words = isList ? plural(children.length, 'element') : plural(children.length, 'field');
  if (children.length === 0) return html`<div class="json-row">${label}<span
    class="json-count">${isList ? '[]' : '{}'}</span></div>`;
  return html`<div class="json-branch">
    <button class="json-fold" aria-expanded=${isOpen} onClick=${() => open(!isOpen)}><i
      aria-hidden="true">${isOpen ? '▾' : '▸'}</i>
      ${label}${' '}<span class="json-count">${isOpen ? words : inShort(children, isList) || words}</span></button>
    ${isOpen && html`<div class="json-children">
      ${children.slice(0, count).map(([key, child]) => html`<${Entry} key=${key} name=${key} value=${child}
        depth=${depth + 1} />`)}
      ${children.length > count && html`<button class="quiet small"
        onClick=${() => more(count + SHOWN)}>Show more (${children.length - count} left)</button>`}
    </div>`}
  </div>`;
}

/** What is in a closed branch, as far as it fits on a line. */
function inShort(children, isList) {
  const leaves = children.filter(([, child]) => child === null || typeof child !== 'object');
  const parts = leaves.slice(0, PREVIEWED).map(([key, child]) => {
    const text = plain(child).slice(0, PREVIEW);
    return isList ? text : `${plain(key)}: ${text}`;
  });
  return parts.join(', ');
}

function Leaf({ value }) {
  const [isWhole, showAll] = useState(false);
  if (typeof value !== 'string') return html`<span class="json-plain">${String(value)}</span>`;
  const isLong = value.length > LONG && !isWhole;
  return html`<span class="json-text">${visible(isLong ? value.slice(0, LONG) : value)}</span>
    ${isLong && html`<button class="quiet small"
      onClick=${() => showAll(true)}>Show all (${value.length - LONG} more characters)</button>`}`;
}
