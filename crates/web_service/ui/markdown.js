// Markdown as elements: marked finds the tokens, nothing is ever inserted as markup.

import { lexer } from 'marked';
import { useMemo } from 'preact/hooks';
import { html } from './core.js';

/** A text in Markdown. While it grows, only its last block is read again. */
export function Markdown({ text, isGrowing }) {
  const blocks = useMemo(() => read(text), [text]);
  return html`<div class="prose${isGrowing ? ' growing' : ''}">${blocks.map((token, index) => html`<${Block} key=${index} token=${token} />`)}</div>`;
}


function read(text) {
  return lexer(text);
}

function Block({ token }) {
  switch (token.type) {
    case 'heading': return html`<${`h${Math.min(6, token.depth + 1)}`}>${inline(token.tokens)}</>`;
    case 'paragraph': return html`<p>${inline(token.tokens)}</p>`;
    case 'text': return html`<span>${token.tokens ? inline(token.tokens) : token.text}</span>`;
    case 'code': return html`<pre data-language=${token.lang || undefined}><code>${token.text}</code></pre>`;
    case 'blockquote': return html`<blockquote>${blocks(token.tokens)}</blockquote>`;
    case 'list': return html`<${token.ordered ? 'ol' : 'ul'} start=${token.ordered ? token.start : undefined}>${token.items.map(listItem)}</>`;
    case 'table': return html`<div class="table"><table>
      <thead><tr>${token.header.map((cell, index) => html`<th key=${index} data-align=${token.align[index]}>${inline(cell.tokens)}</th>`)}</tr></thead>
      <tbody>${token.rows.map((row, at) => html`<tr key=${at}>${row.map((cell, index) => html`<td key=${index} data-align=${token.align[index]}>${inline(cell.tokens)}</td>`)}</tr>`)}</tbody>
    </table></div>`;
    case 'hr': return html`<hr />`;
    case 'space': case 'def': return null;
    default: return html`<p>${token.raw}</p>`;
  }
}

function blocks(tokens) {
  return tokens.map((token, index) => html`<${Block} key=${index} token=${token} />`);
}

function listItem(item, index) {
  return html`<li key=${index}>${item.task && html`<input type="checkbox" disabled checked=${item.checked} aria-label="Done" />`}${blocks(item.tokens)}</li>`;
}

function inline(tokens) {
  return tokens.map((token) => {
    switch (token.type) {
      case 'strong': return html`<strong>${inline(token.tokens)}</strong>`;
      case 'em': return html`<em>${inline(token.tokens)}</em>`;
      case 'del': return html`<del>${inline(token.tokens)}</del>`;
      case 'codespan': return html`<code>${token.text}</code>`;
      case 'br': return html`<br />`;
      case 'link': return link(token);
      case 'text': case 'escape': return token.tokens ? inline(token.tokens) : token.text;
      // Pictures from elsewhere would tell others what is read here; markup is shown as it was written.
      default: return token.raw;
    }
  });
}

const SAFE = /^(https?:|mailto:)/i;

function link({ href, tokens }) {
  if (!SAFE.test(href)) return inline(tokens);
  return html`<a href=${href} target="_blank" rel="noopener noreferrer nofollow">${inline(tokens)}</a>`;
}
