// Characters that a reader would not see, or that reorder what is around them, written out.

import { html, styles } from '../core.js';

await styles('/panels/hidden.css');

// Controls other than tab and line feed, marks of direction, zero width, invisible fillers, and tags.
const HIDDEN = new RegExp(
  '[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5'
  + '\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0d\\ufeff\\uffa0\\ufff0-\\ufffb'
  + '\\u{e0000}-\\u{e0fff}]', 'gu',
);

/** The name of a character, such as `U+202E`. */
export function characterName(character) {
  return `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Where hidden characters stand in a text: `[from, to]` each. */
export function hiddenRanges(text) {
  return [...text.matchAll(HIDDEN)].map(({ 0: character, index }) => [index, index + character.length]);
}

/** A text as nodes: what can be seen as it is, what cannot by its name. */
export function visible(text) {
  const nodes = [];
  let from = 0;
  for (const [start, end] of hiddenRanges(text)) {
    if (start > from) nodes.push(text.slice(from, start));
    // The character itself stays out: it could still reorder its neighbours.
    nodes.push(html`<span class="hidden-character">${characterName(text.slice(start, end))}</span>`);
    from = end;
  }
  if (from === 0) return text;
  if (from < text.length) nodes.push(text.slice(from));
  return nodes;
}

/** A text on one line, for labels and attributes, where no element can stand. */
export function plain(text) {
  return String(text).replace(HIDDEN, characterName).replace(/\s+/g, ' ');
}
