// A call, opened: input, output as the model saw it, what it changed, what was asked, how long it took.

import { duration, html, moment, openFile } from './core.js';
import { LiveOutput, SessionImage } from './conversation.js';
import { CopyButton } from './markdown.js';

/** Lines of a diff that are shown here; the review and the history show all. */
const MOST_LINES = 400;

export default function CallDetail({ item }) {
  const { failure, output, detail, questions = [], images = [], outcome = [] } = item;
  const isRevised = questions.at(-1)?.reply?.revised && item.state === 'done';
  const printed = output?.text || detail;
  const left = output?.left_out ? ` (the first ${output.left_out} bytes are left out)` : '';
  return html`<div class="detail">
    <${Times} item=${item} />
    ${item.arguments && html`<${Part} title="Input" text=${item.arguments} />`}
    ${item.diffs?.length > 0 && !isRevised && html`<${Diffs} diffs=${item.diffs} />`}
    ${item.told_diff && (isRevised || !item.diffs?.length) && html`<section><h2>Change</h2>
      <${Unified} text=${item.told_diff} /></section>`}
    ${printed && (item.state === 'running'
      ? html`<section><h2>Output so far</h2><${LiveOutput} text=${printed} /></section>`
      : html`<${Part} title=${`Output, as the model saw it${left}`} text=${printed} />`)}
    ${!printed && !item.diffs?.length && outcome.map((line) => html`<p key=${line} class="notice">${line}</p>`)}
    ${item.dropped && html`<p class="notice">${item.dropped}</p>`}
    ${failure && html`<p class="notice error">${failure.code}: ${failure.message} ${failure.suggestion ?? ''}</p>`}
    ${questions.map(({ reason, reply, at }) => html`<p key=${at} class="notice">
      ${reason ? `${reason.replace(/\.$/, '')}: ` : ''}${reply?.words ?? 'not answered yet'}</p>`)}
    ${images.map((image, index) => html`<${SessionImage} key=${index} image=${image} />`)}
  </div>`;
}

function Times({ item: { tool, started_at: at, working_ms: working, exit_code: code } }) {
  const words = [tool, at && moment(at), working != null && duration(working), code != null && `exit code ${code}`];
  return html`<p class="notice">${words.filter(Boolean).join(' · ')}</p>`;
}

function Part({ title, text }) {
  return html`<section><header><h2>${title}</h2><${CopyButton} text=${text} /></header>
    <pre tabindex="0" aria-label=${title}>${text}</pre></section>`;
}

const SIGNS = { add: '+', remove: '−', context: ' ' };

function Diffs({ diffs }) {
  return diffs.map(({ path, hunks, added, removed, warnings = [] }) => html`<section key=${path}>
    <header><h2><button type="button" class="link"
      onClick=${() => openFile(path, hunks[0]?.new_start)}>${path}</button></h2>
      <span class="counts"><span class="plus">+${added}</span> <span class="minus">−${removed}</span></span></header>
    ${warnings.map((warning) => html`<p key=${warning} class="notice warning">${warning}</p>`)}
    <${Lines} lines=${hunks.flatMap(({ lines, old_start: old, new_start: fresh }) => [
      { kind: 'gap', text: `from line ${fresh || old}` }, ...lines])} />
  </section>`);
}

/** A diff as text. */
function Unified({ text }) {
  const kinds = { '+': 'add', '-': 'remove', '@': 'gap' };
  const lines = text.split('\n').map((line) => {
    const kind = kinds[line[0]] ?? 'context';
    return { kind, text: kind === 'gap' ? line : line.slice(1) };
  });
  return html`<${Lines} lines=${lines} />`;
}

function Lines({ lines }) {
  const left = lines.length - MOST_LINES;
  const shown = lines.slice(0, MOST_LINES);
  return html`<pre class="change-lines" tabindex="0" aria-label="Change">${shown.map(({ kind, text }, index) => html`<span
    key=${index} class=${kind}>${kind === 'gap' ? '' : `${SIGNS[kind]} `}${text}</span>`)}</pre>
    ${left > 0 && html`<p class="notice">${left} more lines are in the history</p>`}`;
}
