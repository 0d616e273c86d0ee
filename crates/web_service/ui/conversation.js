// The conversation: a window over the timeline of a session, and the question above the input.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import {
  api, attempt, conversation, dollars, duration, html, lazy, openMenu, openPanel, plural, questions, route,
  sessions, short,
} from './core.js';
import { Composer } from './composer.js';
import { Markdown } from './markdown.js';

// Most visits do not meet a question, and open few calls.
const QuestionCard = lazy(() => import('./question.js'));
const CallDetail = lazy(() => import('./call_detail.js'));

/** Pixels from the end within which the view stays at the end. */
const NEAR = 80;
/** Pixels from either end of the window at which more items are loaded. */
const EARLY = 1_600;

export function ConversationView({ railButton: RailButton }) {
  const shown = conversation.value;
  const { session: id } = route.value;
  const session = sessions.value.get(id);
  // Calls by hand belong to no session: they are asked about wherever the project is.
  const isAsked = questions.value.some(({ owner }) => owner === id || owner === `project:${session?.project}`);
  return html`<main class="talk" id="talk">
    <header class="bar"><${RailButton} />
      <h1>${session?.title ?? 'New session'}</h1>
      <${PanelButtons} />
    </header>
    ${shown?.id === id && html`<${Log} key=${id} shown=${shown} />`}
    ${isAsked && html`<${QuestionCard} />`}
    <${Composer} key=${`composer ${id}`} session=${id} project=${session?.project} shown=${shown} />
  </main>`;
}

function PanelButtons() {
  const { panel } = route.value;
  const toggle = (name) => () => openPanel(panel === name ? '' : name);
  const panels = [['review', 'Review'], ['files', 'Files'], ['history', 'History'], ['console', 'Console']];
  const choices = panels.map(([name, label]) => ({ label, act: toggle(name) }));
  return html`<span class="panel-buttons">
    ${panels.map(([name, title]) => html`<button key=${name} class="quiet small" aria-pressed=${panel === name}
      onClick=${toggle(name)}>${title}</button>`)}
  </span><button class="icon only-phone" aria-label="Panels" aria-haspopup="menu"
    onClick=${(event) => openMenu(event.currentTarget, choices)}>◫</button>`;
}

// ---- The log ----

function Log({ shown }) {
  const log = useRef(null);
  const kept = useRef({ isAtEnd: true, top: 0 });
  const [isAway, goAway] = useState(false);
  const rows = shown.rows.value;

  // The reader stays where they are: at the end if they were, else at the same item, whatever comes above or below.
  const keep = () => {
    const { current: box } = log;
    if (!box) return;
    const { isAtEnd, anchor, offset, below } = kept.current;
    if (isAtEnd && shown.atEnd.peek()) box.scrollTop = box.scrollHeight;
    else if (anchor?.isConnected) box.scrollTop += anchor.getBoundingClientRect().top - offset;
    else if (below !== undefined) box.scrollTop = box.scrollHeight - below;
    kept.current.top = box.scrollTop;
  };
  const scrolled = () => {
    const { current: box } = log;
    const { scrollTop, scrollHeight, clientHeight } = box;
    const before = kept.current;
    const isNear = shown.atEnd.peek() && scrollHeight - scrollTop - clientHeight < NEAR;
    // Text that has just come in is no reason to leave the end; only the reader is.
    const isAtEnd = isNear || (before.isAtEnd && scrollTop >= before.top - 1 && shown.atEnd.peek());
    const anchor = firstVisible(box);
    const offset = anchor?.getBoundingClientRect().top;
    kept.current = { isAtEnd, anchor, offset, below: scrollHeight - scrollTop, top: scrollTop };
    shown.isFollowed = isAtEnd;
    goAway(!isAtEnd);
    if (scrollTop < EARLY) attempt(() => shown.loadEarlier());
    else if (scrollHeight - scrollTop - clientHeight < EARLY) attempt(() => shown.loadLater());
  };
  useLayoutEffect(keep, [rows]);
  // Text that streams in, and what the reader opens, make items taller without new rows.
  useEffect(() => {
    const watcher = new ResizeObserver(keep);
    watcher.observe(log.current.firstElementChild);
    watcher.observe(log.current);
    return () => watcher.disconnect();
  }, []);

  const toEnd = () => attempt(async () => {
    shown.isFollowed = true;
    if (!shown.atEnd.peek()) await shown.load();
    // Only now: what is scrolled until then is the window before.
    kept.current = { isAtEnd: true, top: 0 };
    shown.isFollowed = true;
    keep();
    goAway(false);
  });
  const toStart = () => attempt(async () => {
    kept.current = { isAtEnd: false, top: 0 };
    await shown.loadFirst();
    log.current?.scrollTo(0, 0);
  });
  const pressed = (event) => {
    const go = { Home: toStart, End: toEnd }[event.key];
    if (!go || event.ctrlKey || event.shiftKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    go();
  };
  const state = shown.state.value;
  return html`<div class="log" ref=${log} onScroll=${scrolled} onKeyDown=${pressed} tabindex="0"
    role="log" aria-label="Conversation" aria-live="off">
    <div class="column">
      ${state === 'failed' && html`<p class="notice error">${shown.error?.message ?? 'The session cannot be read.'}
        ${' '}<button class="quiet small" onClick=${() => shown.load()}>Try again</button></p>`}
      ${state === 'ready' && rows.length === 0 && html`<p class="empty">Nothing was said yet.</p>`}
      <${Nodes} nodes=${arrange(rows)} shown=${shown} />
      ${shown.atEnd.value && html`<${Doing} shown=${shown} />`}
    </div>
    ${(isAway || !shown.atEnd.value) && html`<button class="jump" onClick=${toEnd}>Back to the newest ↓</button>`}
  </div>`;
}

/** The first item that the reader sees some of. */
function firstVisible(box) {
  const { children } = box.firstElementChild;
  const top = box.getBoundingClientRect().top;
  let [low, high] = [0, children.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (children[middle].getBoundingClientRect().bottom > top) high = middle;
    else low = middle + 1;
  }
  return children[low];
}

const LOOKING = new Set(['Read', 'Searched', 'Listed', 'Looked', 'Found', 'Outlined', 'Look']);
const OPEN = new Set(['pending', 'running']);

function isQuiet({ kind, state, headline }) {
  return kind === 'call' && (state === 'done' || OPEN.has(state)) && LOOKING.has(headline.verb);
}

/** Items as they stand on the page: calls that only look together, what a sub-agent did under its call. */
export function arrange(rows) {
  const nodes = [];
  const inside = new Map();
  for (const row of rows) {
    const item = row.peek();
    const around = inside.get(item.parent) ?? nodes;
    const isLooking = isQuiet(item);
    if (isLooking && around.at(-1)?.isLooking) {
      around.at(-1).rows.push(row);
      continue;
    }
    around.push({ id: row.id, rows: [row], isLooking, inner: [] });
    if (item.kind === 'call') inside.set(row.id, around.at(-1).inner);
  }
  return nodes;
}

/** So few calls are shown one by one. */
const FEW = 2;

function Nodes({ nodes, shown }) {
  // One flat list: arrays within it would be told apart by their places, and drawn anew when earlier items come in.
  return nodes.flatMap(({ id, rows, inner }) => {
    if (rows.length > FEW) return html`<${Fold} key=${`fold${id}`} rows=${rows} shown=${shown} />`;
    const own = inner.length ? inner : undefined;
    return rows.map((row) => html`<${Entry} key=${row.id} row=${row} inner=${own} shown=${shown} />`);
  });
}

/** Whether the reader has opened something. That is remembered for items that leave the window and come back. */
function useOpened(shown, name, isUsual = false) {
  const [, draw] = useState(0);
  const isOpen = shown.opened.has(name) !== isUsual;
  return [isOpen, () => {
    if (!shown.opened.delete(name)) shown.opened.add(name);
    draw((count) => count + 1);
  }];
}

function Fold({ rows, shown }) {
  const [, draw] = useState(0);
  // Calls may join before and after: it is open if any of its calls was in it when it was opened.
  const isOpen = rows.some(({ id }) => shown.opened.has(`fold${id}`));
  const toggle = () => {
    for (const { id } of rows) shown.opened[isOpen ? 'delete' : 'add'](`fold${id}`);
    draw((count) => count + 1);
  };
  const heads = rows.map((row) => row.value.headline);
  const files = [...new Set(heads.filter(({ verb }) => verb === 'Read').map(({ object }) => object))];
  const times = new Map();
  for (const { verb } of heads) if (verb !== 'Read') times.set(verb, (times.get(verb) ?? 0) + 1);
  const parts = [...times].map(([verb, count]) => [verb, count === 1 ? 'once' : `${count} times`]);
  if (files.length) parts.unshift(['Read', plural(files.length, 'file')]);
  const names = files.slice(0, 3).map((path) => path.split('/').at(-1)).join(', ');
  return html`<article class="item call folded">
    <button class="step" aria-expanded=${isOpen} onClick=${toggle}>
      ${parts.map(([verb, rest], index) => html`${index > 0 && ', '}<b>${index ? verb.toLowerCase() : verb}</b>
        ${' '}<span>${rest}</span>`)}
      ${!isOpen && names && html` <em>${names}${files.length > 3 ? ', …' : ''}</em>`}</button>
    ${isOpen && html`<div class="inner">
      ${rows.map((row) => html`<${Entry} key=${row.id} row=${row} shown=${shown} />`)}</div>`}
  </article>`;
}

const KINDS = {
  message: Message, answer: Answer, thinking: Thinking, call: Call, plan: Plan, notice: NoticeLine, turn: TurnLine,
};

function Entry({ row, inner, shown }) {
  const item = row.value;
  const Kind = KINDS[item.kind];
  if (!Kind) return null;
  return html`<article class="item ${item.kind}${item.rewound ? ' rewound' : ''}">
    ${item.rewound && item.kind === 'message' && html`<p class="unseen">Taken back:</p>`}
    <${Kind} item=${item} shown=${shown} />
    ${inner && html`<${Agent} item=${item} inner=${inner} shown=${shown} />`}
  </article>`;
}

/** What a sub-agent did. It is open while it works. */
function Agent({ item, inner, shown }) {
  const wasOpen = useRef(OPEN.has(item.state));
  const [isOpen, toggle] = useOpened(shown, `agent${item.id}`, wasOpen.current);
  return html`<div class="agent">
    <button class="step" aria-expanded=${isOpen} onClick=${toggle}>
      ${isOpen ? 'Hide' : 'Show'} what the sub-agent did</button>
    ${isOpen && html`<div class="inner"><${Nodes} nodes=${inner} shown=${shown} /></div>`}
  </div>`;
}

// ---- Kinds of items ----

/** A message that is longer is cut until the reader wants all of it. */
const LONG_MESSAGE = 1_600;

const messageActs = async (item, shown) => (await import('./message_menu.js')).messageActs(item, shown);

function Message({ item, shown }) {
  const [isOpen, toggle] = useOpened(shown, `message${item.id}`);
  const words = item.words ?? item.text;
  const isLong = words.length > LONG_MESSAGE || words.split('\n', 26).length > 25;
  const beginning = () => `${words.slice(0, LONG_MESSAGE).split('\n').slice(0, 20).join('\n')} …`;
  const text = isLong && !isOpen ? beginning() : words;
  return html`<div class="said">
    ${words && html`<div class="words"><p>${text}</p>
      ${isLong && html`<button class="quiet small" aria-expanded=${isOpen} onClick=${toggle}>
        ${isOpen ? 'Show less' : 'Show all'}</button>`}</div>`}
    ${item.attached?.map((attached, index) => html`<details key=${index} class="attached">
      <summary>${attached.title}</summary><pre tabindex="0">${attached.text}</pre></details>`)}
    ${item.images?.map((image, index) => html`<${SessionImage} key=${index} image=${image} />`)}
    ${item.depth === 0 && html`<button class="icon more" aria-label="Go back, fork or copy" aria-haspopup="menu"
      onClick=${(event) => openMenu(event.currentTarget, messageActs(item, shown))}>⋯</button>`}
  </div>`;
}

export function SessionImage({ image }) {
  const { name, width, height, hash } = image;
  const [isGone, miss] = useState(!hash);
  if (isGone) return html`<p class="notice">Image ${name}, ${width} × ${height}</p>`;
  const address = `/api/sessions/${conversation.value.id}/images/${hash}`;
  return html`<a href=${address} target="_blank"><img class="shot" src=${address} alt=${name || 'Image'} loading="lazy"
    width=${width} height=${height} onError=${() => miss(true)} /></a>`;
}

/** Whether something that has not ended still goes on: after a crash its end was not written. */
function goesOn(shown) {
  return ['working', 'waiting'].includes(sessions.value.get(shown.id)?.state);
}

function Answer({ item, shown }) {
  const isGrowing = item.state === 'streaming';
  const isCut = item.state === 'cut' || (isGrowing && !goesOn(shown));
  return html`<${Markdown} text=${item.text} isGrowing=${isGrowing && !isCut} />
    ${isCut && html`<p class="notice warning">The answer broke off here.</p>`}`;
}

function Thinking({ item, shown }) {
  const [isOpen, toggle] = useOpened(shown, `thought${item.id}`);
  const time = item.took_ms < 1_000 ? 'a moment' : duration(item.took_ms ?? 0);
  const words = item.took_ms == null ? 'Thinking' : `Thought for ${time}`;
  return html`<div class="thoughts"><button class="step" aria-expanded=${isOpen} onClick=${toggle}>${words}</button>
    ${isOpen && html`<p>${item.text}</p>`}</div>`;
}

const BAD = new Set(['failed', 'refused', 'interrupted']);
const COUNTS = /^\+\d+ −\d+[ ,:·]*/;

function Call({ item, shown }) {
  const { verb, object, result } = item.headline;
  const [isOpen, toggle] = useOpened(shown, `call${item.id}`);
  const state = OPEN.has(item.state) && !goesOn(shown) ? 'interrupted' : item.state;
  const added = item.diffs?.reduce((sum, diff) => sum + diff.added, 0) ?? 0;
  const removed = item.diffs?.reduce((sum, diff) => sum + diff.removed, 0) ?? 0;
  const said = added + removed > 0 ? result.replace(COUNTS, '') : result;
  const outcome = { waiting_for_approval: 'waits for you', interrupted: 'interrupted' }[state]
    ?? (BAD.has(state) ? said || item.failure?.message || state : said);
  return html`<div class="call ${state}">
    <button class="step" aria-expanded=${isOpen} onClick=${toggle}><b>${verb}</b> <span>${object}</span>
      ${added + removed > 0 && html` <span class="counts"><span class="plus">+${added}</span>
        ${' '}<span class="minus">−${removed}</span></span>`}
      ${outcome && html` <em class=${BAD.has(state) || item.exit_code > 0 ? 'bad' : state}>${outcome}</em>`}
      ${item.working_ms >= 1000 && html` <em>${duration(item.working_ms)}</em>`}
    </button>
    ${item.checks?.map((check) => html`<p key=${check} class="notice warning">${check}</p>`)}
    ${state === 'running' && item.output?.text && !isOpen && html`<${LiveOutput} text=${item.output.text} />`}
    ${isOpen && html`<${CallDetail} item=${item} shown=${shown} />`}
  </div>`;
}

/** Characters of running output that are shown; all of it is in the opened card. */
const LIVE = 8_000;

/** What a command prints. It stays at its end unless the reader scrolls in it. */
export function LiveOutput({ text }) {
  const box = useRef(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    if (isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  const scrolled = ({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < 8;
  };
  return html`<pre class="live" ref=${box} tabindex="0" aria-label="Output"
    onScroll=${scrolled}>${text.slice(-LIVE)}</pre>`;
}

const MARKS = { done: ['✓', 'Done'], in_progress: ['▸', 'Now'], pending: ['○', 'To do'] };

function Plan({ item }) {
  return html`<ol class="steps" aria-label="Plan">${item.steps.map(({ text, status }, index) => html`<li key=${index}
    class=${status}><i aria-hidden="true">${MARKS[status]?.[0]}</i><span class="unseen">${MARKS[status]?.[1]}: </span>
    <span>${text}</span></li>`)}</ol>`;
}

function NoticeLine({ item }) {
  return html`<p class="notice ${item.level}">${item.text}</p>`;
}

const ENDS = {
  refused: 'The model will not answer', max_tokens: 'The answer was cut at its longest', failed: 'The model failed',
  context_full: 'The conversation is full', cancelled: 'Stopped', stopped: 'Stopped', interrupted: 'Interrupted',
};

function TurnLine({ item }) {
  const { usage, cost_usd: cost, working_ms: ms, end } = item;
  const read = usage.input + usage.cache_read + usage.cache_write;
  const words = [ENDS[end], duration(ms), `${short(read)} in, ${short(usage.output)} out`, dollars(cost)];
  return html`<p class="turn-end">${words.filter(Boolean).join(' · ')}</p>`;
}

// ---- What goes on ----

/** Milliseconds without a sign of the model after which that is said. */
const SILENCE = 10_000;

function Doing({ shown }) {
  const { state, failure } = sessions.value.get(shown.id) ?? {};
  const [now, tick] = useState(Date.now());
  useEffect(() => {
    if (state !== 'working') return undefined;
    const timer = setInterval(() => tick(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [state]);
  if (failure) return html`<p class="notice error">${failure}</p>`;
  if (state === 'interrupted') return html`<p class="doing">Left in the middle of a turn. Say how to go on.</p>`;
  if (state === 'paused') {
    const goOn = () => attempt(() => api(`/sessions/${shown.id}/continue`, { body: {} }));
    return html`<p class="doing waiting">Paused <button class="quiet small" onClick=${goOn}>Go on</button></p>`;
  }
  if (state !== 'working') return null;
  const rows = shown.rows.value;
  const call = rows.slice(-20).map((row) => row.value).find((item) => item.kind === 'call' && item.state === 'running');
  const last = rows.at(-1)?.value ?? {};
  // The turn is over; that the session is idle is told a moment later.
  if (last.kind === 'turn') return null;
  const began = rows.findLast((row) => row.peek().kind === 'message' && row.peek().depth === 0)?.peek().at ?? now;
  const seconds = Math.round((now - began) / 1_000);
  const silent = now - shown.heardAt;
  let words = 'Waiting for the model';
  if (call) words = call.title;
  else if (silent > SILENCE) words = `The model is silent since ${Math.round(silent / 1_000)} s`;
  else if (last.kind === 'thinking' && last.took_ms == null) words = 'Thinking';
  else if (last.kind === 'answer' && last.state === 'streaming') words = 'Writing';
  return html`<p class="doing"><b>${words}</b>${seconds > 0 && html`<span>· ${seconds} s</span>`}</p>`;
}
