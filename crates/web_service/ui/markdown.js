// Markdown as elements: marked finds the tokens, nothing is ever inserted as markup.

import { lexer } from 'marked';
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './core.js';

// ---- Reading ----

/** Characters that are read at once, so that the time for a long text grows with its length only. */
const READ = 32_768;
/** A block that is longer is shown as several. */
const LONGEST = 16_384;
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
    /** The head of a table that was cut, for its other rows. */
    this.head = '';
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
    if (part.length > LONGEST) return this.cut(tokens[0]?.type, part);
    this.open = isAll ? lexer(part) : [];
    return false;
  }

  finish(tokens) {
    for (const token of tokens) {
      this.at += token.raw.length - this.head.length;
      this.head = '';
      if (token.type !== 'space') this.finished.push(token);
    }
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
  return html`<div class="prose${isGrowing ? ' growing' : ''}">${slices}<div class="slice" key="rest">
    ${rest.map(drawn)}
    ${open.map((token, index) => html`<${Block} key=${rest.length + index} token=${token} />`)}</div></div>`;
}

const vnodes = new WeakMap();

/** What is finished is made once: the same element is not compared again. */
function drawn(token, index) {
  if (!vnodes.has(token)) vnodes.set(token, html`<${Block} key=${index} token=${token} />`);
  return vnodes.get(token);
}

function Block({ token }) {
  switch (token.type) {
    case 'heading': return html`<${`h${Math.min(6, token.depth + 1)}`}>${inline(token.tokens)}</>`;
    case 'paragraph': return html`<p>${inline(token.tokens)}</p>`;
    case 'text': return html`<span>${token.tokens ? inline(token.tokens) : decoded(token.text)}</span>`;
    case 'code': return html`<${CodeBlock} token=${token} />`;
    case 'blockquote': return html`<blockquote>${blocks(token.tokens)}</blockquote>`;
    case 'list': return html`<${token.ordered ? 'ol' : 'ul'} start=${token.ordered ? token.start : undefined}>
      ${token.items.map(listItem)}</>`;
    case 'table': return html`<${Table} token=${token} />`;
    case 'hr': return html`<hr />`;
    case 'space': case 'def': case 'checkbox': return null;
    default: return html`<p class="raw">${token.raw}</p>`;
  }
}

function blocks(tokens) {
  return tokens.map((token, index) => html`<${Block} key=${index} token=${token} />`);
}

function listItem(item, index) {
  return html`<li key=${index} class=${item.task ? 'task' : undefined}>
    ${item.task && html`<input type="checkbox" disabled checked=${item.checked}
      aria-label=${item.checked ? 'Done' : 'To do'} />`}
    ${blocks(item.tokens)}</li>`;
}

/** It scrolls inside itself, by keyboard too. */
function Table({ token: { header, align, rows } }) {
  const cells = (row, Kind) => row.map((cell, index) => html`<${Kind} key=${index} data-align=${align[index]}>
    ${inline(cell.tokens)}</>`);
  return html`<div class="table" tabindex="0" role="region" aria-label="Table"><table>
    <thead><tr>${cells(header, 'th')}</tr></thead>
    <tbody>${rows.map((row, index) => html`<tr key=${index}>${cells(row, 'td')}</tr>`)}</tbody>
  </table></div>`;
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
