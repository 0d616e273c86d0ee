// The conversation: a window over the timeline of a session, and the question above the input.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import {
  api, attempt, conversation, dollars, duration, html, lazy, openPanel, plural, questions, route, sessionAddress, sessions, short,
} from './core.js';
import { Composer } from './composer.js';
import { Markdown } from './markdown.js';

// Most visits do not meet one.
const QuestionCard = lazy(() => import('./question.js'));

/** Pixels from the end within which the view stays at the end. */
const NEAR = 80;
/** Pixels from the beginning at which earlier items are loaded. */
const EARLY = 600;

export function ConversationView({ railButton: RailButton }) {
  const shown = conversation.value;
  const { session: id } = route.value;
  const session = sessions.value.get(id);
  // Calls by hand belong to no session: they are asked about wherever the project is.
  const isAsked = questions.value.some(({ owner }) => owner === id || owner === `project:${session?.project}`);
  return html`<main class="talk" id="talk">
    <header class="bar"><${RailButton} />
      <h1>${session?.title ?? 'New session'}</h1>
      <${Meta} session=${session} />
      <${PanelButtons} />
    </header>
    ${shown?.id === id && html`<${Log} key=${id} shown=${shown} />`}
    ${isAsked && html`<${QuestionCard} />`}
    <${Composer} session=${id} shown=${shown} state=${session?.state} />
  </main>`;
}

function Meta({ session }) {
  if (!session) return null;
  const { usage, model, cost_usd: cost } = session;
  const read = usage ? usage.input + usage.cache_read + usage.cache_write : 0;
  const parts = [model, usage && `${short(read)} in, ${short(usage.output)} out`, dollars(cost)];
  return html`<span class="meta">${parts.filter(Boolean).join(' · ')}</span>`;
}

function PanelButtons() {
  const { panel } = route.value;
  const toggle = (name) => () => openPanel(panel === name ? '' : name);
  return html`<span class="panel-buttons">
    ${[['review', 'Review'], ['files', 'Files'], ['history', 'History'], ['console', 'Console']].map(([name, title]) => html`<button
      key=${name} class="quiet small" aria-pressed=${panel === name} onClick=${toggle(name)}>${title}</button>`)}
  </span>`;
}

// ---- The log ----

function Log({ shown }) {
  const log = useRef(null);
  const isAtEnd = useRef(true);
  const height = useRef(0);
  const rows = shown.rows.value;

  // The reader stays where they are: at the end if they were, else at the same text while earlier text comes in above.
  useLayoutEffect(() => {
    const { current: place } = log;
    const first = rows[0]?.id ?? 0;
    if (isAtEnd.current) place.scrollTop = place.scrollHeight;
    else if (place.first > first) place.scrollTop += place.scrollHeight - height.current;
    place.first = first;
    height.current = place.scrollHeight;
  }, [rows]);

  // Text that streams into the last item makes it taller without new rows.
  useEffect(() => {
    const inner = log.current.firstElementChild;
    const watcher = new ResizeObserver(() => {
      // It may be told once more after it was left.
      if (!log.current) return;
      if (isAtEnd.current) log.current.scrollTop = log.current.scrollHeight;
      height.current = log.current.scrollHeight;
    });
    watcher.observe(inner);
    return () => watcher.disconnect();
  }, []);

  const scrolled = () => {
    const { scrollTop, scrollHeight, clientHeight } = log.current;
    isAtEnd.current = shown.atEnd.peek() && scrollHeight - scrollTop - clientHeight < NEAR;
    if (scrollTop < EARLY) shown.loadEarlier();
  };
  const state = shown.state.value;
  return html`<div class="log" ref=${log} onScroll=${scrolled} tabindex="0" role="log" aria-label="Conversation" aria-live="off">
    <div class="column">
      ${state === 'failed' && html`<p class="notice error">${shown.error?.message ?? 'The session cannot be read.'}</p>`}
      ${state === 'ready' && rows.length === 0 && html`<p class="empty">Nothing was said yet.</p>`}
      ${grouped(rows).map((group) => html`<${Group} key=${group[0].id} rows=${group} />`)}
      ${!shown.atEnd.value && html`<button class="quiet jump" onClick=${() => { isAtEnd.current = true; shown.load(); }}>Back to the newest</button>`}
    </div>
  </div>`;
}

/** Consecutive calls that only look stand together. */
function grouped(rows) {
  const groups = [];
  for (const row of rows) {
    const last = groups.at(-1);
    if (last && isQuiet(row.peek()) && isQuiet(last[0].peek())) last.push(row);
    else groups.push([row]);
  }
  return groups;
}

const LOOKING = new Set(['Read', 'Searched', 'Listed', 'Looked', 'Found', 'Outlined']);

function isQuiet(item) {
  return item.kind === 'call' && item.state === 'done' && item.depth === 0 && LOOKING.has(item.headline.verb);
}

function Group({ rows }) {
  const [isOpen, open] = useState(false);
  if (rows.length < 3 || isOpen) return rows.map((row) => html`<${Entry} key=${row.id} row=${row} />`);
  const verbs = new Map();
  for (const row of rows) {
    const { verb } = row.value.headline;
    verbs.set(verb, (verbs.get(verb) ?? 0) + 1);
  }
  const words = [...verbs].map(([verb, count]) => (verb === 'Read' ? `Read ${plural(count, 'file')}` : `${verb} ${plural(count, 'time')}`));
  return html`<button class="step fold" aria-expanded="false" onClick=${() => open(true)}>${words.join(', ')}</button>`;
}

const KINDS = { message: Message, answer: Answer, thinking: Thinking, call: Call, plan: Plan, notice: NoticeLine, turn: TurnLine };

function Entry({ row }) {
  const item = row.value;
  const Kind = KINDS[item.kind];
  if (!Kind) return null;
  return html`<article class="item ${item.kind}${item.rewound ? ' rewound' : ''}" data-depth=${Math.min(item.depth, 3)}><${Kind} item=${item} /></article>`;
}

// ---- Kinds of items ----

function Message({ item }) {
  const { id: session } = conversation.value;
  const rewind = (files) => attempt(async () => {
    const { text } = await api(`/sessions/${session}/rewind`, { body: { to: item.sequence, files } });
    conversation.value.draft?.(text);
  });
  const fork = () => attempt(async () => {
    const { id } = await api(`/sessions/${session}/fork`, { body: { at: item.sequence - 1 } });
    location.hash = sessionAddress(id);
  });
  return html`<div class="said">
    <p>${item.text}</p>
    ${item.attached?.map(({ title, text }, index) => html`<details key=${index} class="attached"><summary>${title}</summary><pre>${text}</pre></details>`)}
    ${item.images?.map((image, index) => html`<${SessionImage} key=${index} image=${image} />`)}
    ${item.depth === 0 && item.sequence && html`<details class="more"><summary aria-label="What can be done with this message">⋯</summary><div class="menu">
      <button onClick=${() => rewind('keep')}>Go back to here</button>
      <button onClick=${() => rewind('restore')}>Go back, files too</button>
      <button onClick=${fork}>New session from here</button>
    </div></details>`}
  </div>`;
}

export function SessionImage({ image }) {
  const { id } = conversation.value;
  const address = image.hash && `/api/sessions/${id}/images/${image.hash}`;
  return address ? html`<img class="shot" src=${address} alt=${image.name ?? 'Image'} loading="lazy" />` : html`<p class="notice">Image</p>`;
}

function Answer({ item }) {
  return html`<${Markdown} text=${item.text} isGrowing=${item.state === 'streaming'} />
    ${item.state === 'cut' && html`<p class="notice warning">The answer broke off here.</p>`}`;
}

function Thinking({ item }) {
  const words = item.took_ms == null ? 'Thinking…' : `Thought for ${duration(item.took_ms)}`;
  return html`<details class="thoughts"><summary>${words}</summary><p>${item.text}</p></details>`;
}

function Call({ item }) {
  const { verb, object, result } = item.headline;
  const [isOpen, open] = useState(false);
  const isBad = item.state === 'failed' || item.state === 'refused' || item.state === 'interrupted';
  const live = item.state === 'running' && item.output?.text;
  const [added, removed] = (item.diffs ?? []).reduce(([plus, minus], diff) => [plus + diff.added, minus + diff.removed], [0, 0]);
  return html`<div class="call ${item.state}">
    <button class="step" aria-expanded=${isOpen} onClick=${() => open(!isOpen)}>
      <b>${verb}</b> <span>${object}</span>
      ${added + removed > 0 && html`<span class="counts"><span class="plus">+${added}</span> <span class="minus">−${removed}</span></span>`}
      ${' '}<em class=${isBad ? 'bad' : ''}>${isBad ? item.failure?.message ?? item.state : result}</em>
      ${item.working_ms >= 1000 && html` <em>${duration(item.working_ms)}</em>`}
    </button>
    ${live && !isOpen && html`<pre class="live">${tail(item.output.text)}</pre>`}
    ${isOpen && html`<${CallDetail} item=${item} />`}
  </div>`;
}

function tail(text, lines = 6) {
  return text.split('\n').slice(-lines - 1).join('\n');
}

function CallDetail({ item }) {
  const printed = item.output?.text || item.detail;
  return html`<div class="detail">
    ${item.arguments && html`<h4>Arguments</h4><pre>${item.arguments}</pre>`}
    ${printed && html`<h4>${item.output?.text ? 'Output' : 'Result'}</h4><pre>${printed}</pre>`}
    ${item.failure && html`<p class="notice error">${item.failure.code}: ${item.failure.message} ${item.failure.suggestion ?? ''}</p>`}
    ${item.questions?.map((question, index) => html`<p key=${index} class="notice">${question.reason}: ${question.reply?.words ?? 'not answered yet'}</p>`)}
    ${item.images?.map((image, index) => html`<${SessionImage} key=${index} image=${image} />`)}
  </div>`;
}

function Plan({ item }) {
  return html`<ol class="plan">${item.steps.map((step, index) => html`<li key=${index} class=${step.status}>${step.content ?? step.text}</li>`)}</ol>`;
}

function NoticeLine({ item }) {
  return html`<p class="notice ${item.level}">${item.text}</p>`;
}

function TurnLine({ item }) {
  const { usage, cost_usd: cost, working_ms: ms } = item;
  const words = [duration(ms), `${short(usage.input + usage.cache_read + usage.cache_write)} in, ${short(usage.output)} out`, dollars(cost)];
  return html`<p class="turn-end">${words.filter(Boolean).join(' · ')}</p>`;
}
