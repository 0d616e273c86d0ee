// Code in its colours, as the service finds them.

import { api, html } from './core.js';

/** Characters above which code stays without colours; the service takes no more. */
const LONGEST = 60_000;
/** Code blocks that are remembered. */
const KEPT = 200;
const known = new Map();

/** The lines of a code as elements; rejects where there are no colours for it. */
export async function highlighted(language, text) {
  const name = `${language}\n${text}`;
  if (text.length > LONGEST) throw new RangeError('the code is too long');
  if (!known.has(name)) known.set(name, api('/highlight', { body: { language, text } }));
  if (known.size > KEPT) known.delete(known.keys().next().value);
  const { lines } = await known.get(name);
  return text.split('\n').map((line, index) => html`<span key=${index} class="chunk">${coloured(line, lines[index] ?? [])}${'\n'}</span>`);
}

/** A line by its spans `[length, kind]`, which go on from each other. What is behind the last has no colour. */
export function coloured(line, spans) {
  const parts = [];
  let at = 0;
  for (const [length, kind] of spans) {
    const part = line.slice(at, at + length);
    parts.push(/^[a-z_]+$/.test(kind ?? '') ? html`<span class=${kind}>${part}</span>` : part);
    at += length;
  }
  parts.push(line.slice(at));
  return parts;
}
