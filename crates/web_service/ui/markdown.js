// Markdown as elements: marked finds the tokens, nothing is ever inserted as markup.

import { lexer } from 'marked';
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './core.js';

// ---- Reading ----

/** Characters that are read at once, so that the time for a long text grows with its length only. */
const READ = 32_768;
/** A block that is longer is shown as several. */
const LONGEST = 16_384;
/** Items of a list and rows of a table that are finished together. */
const [ITEMS, ROWS] = [8, 16];
/** A list or table with more of them is shown as several: the browser lays one out as a whole. */
const MOST = 192;
const FENCE = /^ {0,3}(`{3,}|~{3,})([^\n]*)\n/;

/** Reads a text that grows. What is finished is not read again. */
export class MarkdownReader {
  constructor() {
    this.reset();
  }

  reset() {
    this.text = '';
    /** Up to here all blocks are finished. */
    this.at = 0;
    this.finished = [];
    /** The last blocks, which more text may change. */
    this.open = [];
    /** The code block that is not closed yet. */
    this.fence = null;
    /** The head of a table of which some was read, for its other rows. */
    this.head = '';
    /** The list or table that was read in part: its finished items or rows are in `parts`. */
    this.run = null;
  }

  /** Takes the whole text as far as it is there. */
  take(given) {
    const text = given.includes('\r') ? given.replace(/\r\n?/g, '\n') : given;
    if (text === this.text) return this;
    if (!text.startsWith(this.text)) this.reset();
    this.text = text;
    this.open = [];
    while (this.at < text.length && this.step()) { /* The next part. */ }
    return this;
  }

  /** Reads the next part. Answers whether there is more to read. */
  step() {
    const { text, at } = this;
    if (this.fence ?? this.openFence()) return this.readFence();
    const part = this.head + text.slice(at, at + READ);
    const isAll = at + READ >= text.length;
    // What a line is shows at its end.
    const lines = part.slice(0, part.lastIndexOf('\n') + 1);
    const tokens = lexer(lines);
    // A list may go on after an empty line.
    const kept = tokens.at(-1)?.type === 'space' ? 2 : 1;
    const done = tokens.slice(0, -kept);
    if (done.length > 0) {
      this.finish(done);
      return true;
    }
    if (this.divide(tokens[0])) return true;
    if (part.length > LONGEST) return this.cut(tokens[0]?.type, part);
    this.open = isAll ? lexer(part) : [];
    if (this.open.length > 0) this.open[0] = this.joined(this.open[0]);
    return false;
  }

  finish(tokens) {
    for (const token of tokens) {
      const { at } = this;
      const length = Math.max(0, token.raw.length - this.head.length);
      // It is read in the same parts, however much of it came at once.
      const isDivided = this.divide(token);
      const rest = isDivided ? lexer(this.head + this.text.slice(this.at, at + length))[0] : token;
      this.at = at + length;
      if (token.type !== 'space') this.finished.push(this.joined(rest));
      this.head = '';
      this.run = null;
    }
  }

  /** Puts the finished items or rows of a long list or table away, so that they are not read again. */
  divide(token) {
    if (token?.type !== 'list' && token?.type !== 'table') return false;
    const [all, some] = token.type === 'list' ? [token.items, ITEMS] : [token.rows, ROWS];
    // The last one may go on.
    const count = Math.floor((all.length - 1) / some) * some;
    if (count <= 0) return false;
    this.run ??= { ...token, parts: [], raw: '' };
    for (let from = 0; from < count; from += some) {
      this.putAway(all.slice(from, from + some), token);
      const { parts, start } = this.run;
      if (parts.length * some < MOST) continue;
      this.finished.push({ ...this.run, items: [], rows: [] });
      this.run = { ...this.run, parts: [], raw: '', start: start + MOST };
    }
    return true;
  }

  putAway(own, { type, raw: whole }) {
    if (type === 'list') {
      const raw = own.map((item) => item.raw).join('');
      this.run.parts.push(lexer(raw).flatMap(({ items = [] }) => items));
      this.run.raw += raw;
      this.at += raw.length;
      return;
    }
    // A row is a line; the first two are the head.
    const head = whole.split('\n', 2).map((line) => `${line}\n`).join('');
    if (!this.head) this.at += head.length;
    this.head = head;
    let end = this.at;
    for (const _ of own) end = this.text.indexOf('\n', end) + 1;
    this.run.parts.push(own);
    this.run.raw ||= head;
    this.run.raw += this.text.slice(this.at, end);
    this.at = end;
  }

  /** The rest of a list or table together with what was read of it before. */
  joined(token) {
    const { run } = this;
    if (!run || run.type !== token.type) return token;
    const { parts, ordered, start } = run;
    return { ...token, parts, ordered, start, raw: run.raw + token.raw.slice(this.head.length) };
  }

  /** Cuts a block that is too long at the end of a line. */
  cut(type, part) {
    const line = part.lastIndexOf('\n', LONGEST) + 1;
    this.finish(lexer(part.slice(0, line > this.head.length ? line : LONGEST)));
    if (type === 'table') this.head = part.split('\n', 2).map((row) => `${row}\n`).join('');
    return true;
  }

  /** Finds out whether a code block begins here. */
  openFence() {
    const found = FENCE.exec(this.text.slice(this.at, this.at + LONGEST));
    if (!found || (found[1][0] === '`' && found[2].includes('`'))) return null;
    const begin = this.at + found[0].length;
    this.fence = { mark: found[1], lang: found[2].trim(), begin, searched: begin };
    return this.fence;
  }

  /** Looks for the end of a code block in what is new. */
  readFence() {
    const { mark, lang, begin, searched } = this.fence;
    const end = new RegExp(`^ {0,3}\\${mark[0]}{${mark.length},} *$`, 'gm');
    end.lastIndex = searched;
    const found = end.exec(this.text);
    const isOver = found && (this.text[end.lastIndex] === '\n' || this.text.length > end.lastIndex);
    const stop = found ? Math.max(begin, found.index - 1) : this.text.length;
    const token = { type: 'code', lang, text: this.text.slice(begin, stop), isOpen: !found };
    if (!isOver) {
      // The line that the text ends with may become the end of the block.
      this.fence.searched = Math.max(begin, this.text.lastIndexOf('\n') + 1);
      this.open = [token];
      return false;
    }
    this.finished.push(token);
    this.at = end.lastIndex + 1;
    this.fence = null;
    return true;
  }
}

// ---- Showing ----

/** Blocks that stand together, so that a long text is drawn again in its last part only. */
const TOGETHER = 24;

/** A text in Markdown. */
export function Markdown({ text, isGrowing }) {
  const reader = useRef(null);
  reader.current ??= Object.assign(new MarkdownReader(), { slices: [] });
  const { finished, open, slices } = reader.current.take(text);
  const full = Math.floor(finished.length / TOGETHER);
  if (slices.length > full) slices.length = 0;
  while (slices.length < full) {
    const from = slices.length * TOGETHER;
    const own = finished.slice(from, from + TOGETHER);
    slices.push(html`<div class="slice" key=${`slice${from}`}>${own.map(drawn)}</div>`);
  }
  const rest = finished.slice(full * TOGETHER);
  const last = open.map((token, index) => html`<${Block} key=${rest.length + index} token=${token} />`);
  // It keeps its key when it is full, so that nothing is drawn anew then.
  return html`<div class="prose${isGrowing ? ' growing' : ''}">${[...slices,
    html`<div class="slice" key=${`slice${full * TOGETHER}`}>${[...rest.map(drawn), ...last]}</div>`]}</div>`;
}

/** What is finished is made once: the same element is not compared again. */
function once(make) {
  const made = new WeakMap();
  return (thing, ...more) => {
    if (!made.has(thing)) made.set(thing, make(thing, ...more));
    return made.get(thing);
  };
}

const drawn = once((token, index) => html`<${Block} key=${index} token=${token} />`);

function Block({ token }) {
  switch (token.type) {
    case 'heading': return html`<${`h${Math.min(6, token.depth + 1)}`}>${inline(token.tokens)}</>`;
    case 'paragraph': return html`<p>${inline(token.tokens)}</p>`;
    case 'text': return html`<span>${token.tokens ? inline(token.tokens) : decoded(token.text)}</span>`;
    case 'code': return html`<${CodeBlock} token=${token} />`;
    case 'blockquote': return html`<blockquote>${blocks(token.tokens)}</blockquote>`;
    case 'list': return html`<${List} token=${token} />`;
    case 'table': return html`<${Table} token=${token} />`;
    case 'hr': return html`<hr />`;
    case 'space': case 'def': case 'checkbox': return null;
    default: return html`<p class="raw">${token.raw}</p>`;
  }
}

function blocks(tokens) {
  return tokens.map((token, index) => html`<${Block} key=${index} token=${token} />`);
}

function List({ token: { ordered, start, parts = [], items } }) {
  const inside = html`${parts.map(drawnItems)}${items.map(listItem)}`;
  if (!ordered) return html`<ul>${inside}</ul>`;
  // The largest number needs room, or its first digit is cut off.
  const last = Number(start) + parts.length * ITEMS + items.length;
  const paddingLeft = `${Math.max(2, String(last).length) + 1.5}ch`;
  return html`<ol start=${start} style=${{ paddingLeft }}>${inside}</ol>`;
}

const drawnItems = once((items, index) => html`<${Items} key=${index} items=${items} />`);

function Items({ items }) {
  return items.map(listItem);
}

function listItem(item, index) {
  return html`<li key=${index} class=${item.task ? 'task' : undefined}>
    ${item.task && html`<input type="checkbox" disabled checked=${item.checked}
      aria-label=${item.checked ? 'Done' : 'To do'} />`}
    ${blocks(item.tokens)}</li>`;
}

/** It scrolls inside itself, by keyboard too. */
function Table({ token: { header, align, rows, parts } }) {
  return html`<div class="table" tabindex="0" role="region" aria-label="Table"><table>
    <thead><tr>${cells(header, align, 'th')}</tr></thead>
    <tbody>${parts?.map((part, index) => drawnRows(part, index, align))}<${Rows} rows=${rows} align=${align} /></tbody>
  </table></div>`;
}

const drawnRows = once((rows, index, align) => html`<${Rows} key=${index} rows=${rows} align=${align} />`);

function Rows({ rows, align }) {
  return rows.map((row, index) => html`<tr key=${index}>${cells(row, align, 'td')}</tr>`);
}

function cells(row, align, Kind) {
  return row.map((cell, index) => html`<${Kind} key=${index} data-align=${align[index]}>${inline(cell.tokens)}</>`);
}

function inline(tokens) {
  return tokens.map((token) => {
    switch (token.type) {
      case 'strong': return html`<strong>${inline(token.tokens)}</strong>`;
      case 'em': return html`<em>${inline(token.tokens)}</em>`;
      case 'del': return html`<del>${inline(token.tokens)}</del>`;
      case 'codespan': return html`<code>${token.text}</code>`;
      case 'br': return html`<br />`;
      case 'link': return link(token.href, inline(token.tokens));
      // Pictures from elsewhere would tell others what is read here.
      case 'image': return link(token.href, `Image: ${token.text || token.href}`);
      case 'text': return token.tokens ? inline(token.tokens) : decoded(token.text);
      case 'escape': return token.text;
      case 'checkbox': return null;
      // Markup is shown as it was written.
      default: return token.raw;
    }
  });
}

const SAFE = /^(https?:\/\/|mailto:)/i;

function link(href, content) {
  if (!SAFE.test(href)) return content;
  return html`<a href=${href} target="_blank" rel="noopener noreferrer nofollow">${content}</a>`;
}

const ENTITIES = {
  amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', hellip: '…', mdash: '—', ndash: '–',
};

/** Entities as the characters that they stand for, which are text like any other. */
function decoded(text) {
  return text.includes('&') ? text.replace(/&([a-z]+);/g, (whole, name) => ENTITIES[name] ?? whole) : text;
}

// ---- Code ----

/** Characters of code in one element, so that only the last one grows. */
const CHUNK = 8_192;

/** Cuts code at the ends of lines. `known` are the parts that were cut before. */
function chunks(text, known) {
  known.pop();
  let at = known.reduce((sum, part) => sum + part.length + 1, 0);
  for (;;) {
    const end = text.indexOf('\n', at + CHUNK);
    if (end < 0) break;
    known.push(text.slice(at, end));
    at = end + 1;
  }
  known.push(text.slice(at));
  return known;
}

function CodeBlock({ token: { text, lang, isOpen } }) {
  const language = lang?.match(/^[\w+#.-]+/)?.[0] ?? '';
  const parts = useRef([]);
  const [lines, colour] = useState(null);
  useEffect(() => {
    if (isOpen || !language) return;
    import('./highlight.js').then(({ highlighted }) => highlighted(language, text)).then(colour, () => {});
  }, [isOpen, text]);
  if (!text.startsWith(parts.current[0] ?? '')) parts.current = [];
  const plain = () => chunks(text, parts.current)
    .map((part, index) => html`<span key=${index} class="chunk">${part}</span>`);
  return html`<div class="code-block">
    <header><span>${language || 'text'}</span><${CopyButton} text=${text} /></header>
    <pre tabindex="0" aria-label=${`Code${language && ` in ${language}`}`}><code>${lines ?? plain()}</code></pre>
  </div>`;
}

/** Copies a text. Says so for a moment. */
export function CopyButton({ text }) {
  const [word, tell] = useState('Copy');
  const copy = () => navigator.clipboard.writeText(text).then(() => tell('Copied'), () => tell('Not allowed'));
  useEffect(() => {
    if (word === 'Copy') return undefined;
    const timer = setTimeout(() => tell('Copy'), 2_000);
    return () => clearTimeout(timer);
  }, [word]);
  return html`<button type="button" class="quiet small" aria-live="polite" onClick=${copy}>${word}</button>`;
}
