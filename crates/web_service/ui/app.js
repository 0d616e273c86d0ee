// The frame of the page: the list of sessions, the conversation, the panel beside it, the stream, and getting around.

import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import {
  api, attempt, chosenProject, connection, Conversation, conversation, effect, html, latestSessions, lazy, message,
  moment, moves, noteSession, openMenu, openPanel, overview, questions, refresh, route, sessionAddress, sessions,
  signal, spoken, tell, withQuery,
} from './core.js';
import { ConversationView } from './conversation.js';
import { Composer, interrupt } from './composer.js';

// Parts that are loaded when they are first opened.
const PANELS = {
  review: { title: 'Review', Shown: lazy(() => import('./panels/review.js')) },
  files: { title: 'Files', Shown: lazy(() => import('./panels/files.js')) },
  history: { title: 'History', Shown: lazy(() => import('./panels/history.js')) },
  console: { title: 'Console', Shown: lazy(() => import('./panels/console.js')) },
};
const VIEWS = {
  inbox: { title: 'Questions', Shown: lazy(() => import('./panels/inbox.js')) },
  analytics: { title: 'Analytics', Shown: lazy(() => import('./panels/analytics.js')) },
  settings: { title: 'Settings', Shown: lazy(() => import('./panels/settings.js')) },
  team: { title: 'Team', Shown: lazy(() => import('./panels/team.js')), need: 'admin' },
};

// ---- The list of sessions ----

const STATES = { working: 'working', waiting: 'waits for you', paused: 'paused', interrupted: 'interrupted', idle: '' };
/** The session that is being named. */
const renamed = signal(null);
const TitleField = lazy(() => import('./session_menu.js'));
const sessionActs = async (session) => (await import('./session_menu.js')).sessionActs(session, renamed);

function SessionLink({ session }) {
  const { id, title, failure, state, updated } = session;
  const isHere = route.value.session === id;
  if (renamed.value === id) return html`<${TitleField} session=${session} renamed=${renamed} />`;
  const words = failure ? 'failed' : STATES[state] ?? '';
  return html`<div class="session" aria-current=${isHere ? 'true' : undefined}>
    <a href=${sessionAddress(id)} aria-current=${isHere ? 'page' : undefined} title=${title ?? undefined}>
      <i class="dot ${failure ? 'failed' : state}" aria-hidden="true"></i>
      <span class="title">${title ?? 'New session'}</span>
      <span class="note">${words || (updated ? moment(updated) : '')}</span>
    </a>
    ${isHere && html`<button class="icon" aria-label="Rename, export or delete" aria-haspopup="menu"
      onClick=${(event) => openMenu(event.currentTarget, sessionActs(session))}>⋯</button>`}
  </div>`;
}

function Project({ name, isOnly }) {
  const own = latestSessions.value.filter((session) => session.project === name);
  const today = new Date().setHours(0, 0, 0, 0);
  const isNew = ({ updated }) => updated >= today;
  const parts = [['Today', own.filter(isNew)], ['Earlier', own.filter((session) => !isNew(session))]];
  return html`<section aria-label=${name}>
    <h2>${name}${!isOnly && html`<a class="icon" href="#/" aria-label=${`New session in ${name}`}
      title=${`New session in ${name}`} onClick=${() => { chosenProject.value = name; }}>+</a>`}</h2>
    ${parts.map(([title, listed]) => listed.length > 0 && html`<div key=${title}>
      ${own.length > listed.length && html`<h3>${title}</h3>`}
      ${listed.map((session) => html`<${SessionLink} key=${session.id} session=${session} />`)}
    </div>`)}
    ${own.length === 0 && html`<p class="empty">No sessions yet.</p>`}
  </section>`;
}

function Rail() {
  const waiting = questions.value.length;
  const { projects = [], user } = overview.value ?? {};
  return html`<nav class="rail" aria-label="Sessions">
    <header>
      <a class="brand" href="#/"><i class="kiln" aria-hidden="true"></i>Toolkiln</a>
      <a class="icon" href="#/" aria-label="New session" title="New session"
        onClick=${() => { railIsOpen.value = false; }}>+</a>
      <button class="icon only-narrow" aria-label="Close the list" onClick=${closeRail}>×</button>
    </header>
    <button class="find" onClick=${() => { paletteIsOpen.value = true; }}>
      <span>Search everything</span><kbd>Ctrl K</kbd></button>
    ${waiting > 0 && html`<a class="inbox" href="#/inbox">
      ${waiting === 1 ? '1 question waits' : `${waiting} questions wait`}</a>`}
    <div class="lists">${projects.map(({ name }) => html`<${Project} key=${name} name=${name}
      isOnly=${projects.length === 1} />`)}</div>
    <footer>
      ${Object.entries(VIEWS).map(([name, { title, need }]) => (!need || user?.scopes.includes(need)) && html`<a
        key=${name} href="#/${name}" aria-current=${route.value.view === name ? 'page' : undefined}>${title}</a>`)}
    </footer>
  </nav>`;
}

// ---- The panel ----

const narrow = matchMedia('(max-width: 1100px)');
const isNarrow = signal(narrow.matches);
narrow.onchange = () => { isNarrow.value = narrow.matches; };

function Panel() {
  const name = route.value.panel;
  const part = PANELS[name];
  if (!part) return null;
  // Where it takes the place of the conversation, it is the main thing.
  const Kind = isNarrow.value ? 'main' : 'aside';
  return html`<${Kind} class="panel" aria-label=${part.title}>
    <header class="tabs">${isNarrow.value && html`<h1 class="unseen">${part.title}</h1>`}
      ${Object.entries(PANELS).map(([other, { title }]) => html`<button key=${other} aria-pressed=${other === name}
        onClick=${() => openPanel(other)}>${title}</button>`)}
      <span class="grow"></span>
      <button class="icon" aria-label="Close the panel" title="Close the panel (Esc)"
        onClick=${() => openPanel('')}>×</button>
    </header>
    <${part.Shown} key=${name} conversation=${conversation.value} />
  </>`;
}

// ---- The middle ----

function Start() {
  const known = overview.value;
  const names = (known?.projects ?? []).map(({ name }) => name);
  const project = names.includes(chosenProject.value) ? chosenProject.value : names[0];
  return html`<main class="talk" id="talk">
    <header class="bar"><${RailButton} /><h1>New session</h1></header>
    <div class="start">
      <h2>What should be done?</h2>
      ${names.length > 1 && html`<label>Project <select value=${project}
        onChange=${(event) => { chosenProject.value = event.target.value; }}>
        ${names.map((name) => html`<option key=${name}>${name}</option>`)}</select></label>`}
      <p>Nothing is written before you have seen it and said yes.</p>
    </div>
    <${Composer} project=${project} />
  </main>`;
}

/** Shows the list of sessions where there is no room for it beside the rest. */
function RailButton() {
  return html`<button class="icon only-narrow" aria-label="Sessions" aria-expanded=${railIsOpen.value}
    onClick=${() => { railIsOpen.value = !railIsOpen.value; }}>☰</button>`;
}

/** Back to what the list has covered. */
function closeRail() {
  railIsOpen.value = false;
  requestAnimationFrame(() => document.querySelector('.talk .only-narrow')?.focus());
}

function Middle() {
  const { view, session } = route.value;
  if (view === 'session') return html`<${ConversationView} key=${session} railButton=${RailButton} />`;
  const part = VIEWS[view];
  if (!part) return html`<${Start} />`;
  return html`<main class="talk wide" id="talk">
    <header class="bar"><${RailButton} /><h1>${part.title}</h1></header>
    <${part.Shown} key=${view} />
  </main>`;
}

// ---- What stands over everything ----

export const paletteIsOpen = signal(false);
const railIsOpen = signal(false);
const Palette = lazy(() => import('./panels/palette.js'));
const Login = lazy(() => import('./login.js'));

function MessageLine() {
  const told = message.value;
  useEffect(() => {
    if (!told || told.level === 'error') return undefined;
    const timer = setTimeout(() => { message.value = null; }, 6_000);
    return () => clearTimeout(timer);
  }, [told]);
  return html`<div class="message-line" role="status">${told && html`<p class=${told.level}>${told.text}
    <button class="icon" aria-label="Dismiss" onClick=${() => { message.value = null; }}>×</button></p>`}</div>`;
}

function ConnectionLine() {
  const isLost = connection.value === 'lost';
  return html`<div class="connection-line" role="status">${isLost && html`<p>Toolkiln does not answer. Trying again…
    Nothing is lost: what happens meanwhile is in its log.</p>`}</div>`;
}

function Page() {
  const { panel, session } = route.value;
  const isOut = connection.value === 'login';
  useEffect(() => { railIsOpen.value = false; }, [route.value]);
  // Behind the login everything stays as it is, drafts too.
  const login = isOut && html`<${Login} logIn=${logIn} />`;
  if (isOut && !overview.value) return html`${login}<${MessageLine} />`;
  const has = `${PANELS[panel] ? ' with-panel' : ''}${railIsOpen.value ? ' with-rail' : ''}`;
  return html`<div class="app${has}" inert=${isOut}>
    <a class="skip" href="#talk" onClick=${skip}>Skip to the conversation</a>
    <${Rail} />
    <${Middle} />
    <${Panel} key=${session} />
    <${ConnectionLine} />
    <div class="unseen" role="log" aria-label="News" aria-live="polite">${canNotify ? '' : spoken.value}</div>
    ${paletteIsOpen.value && html`<${Palette} close=${() => { paletteIsOpen.value = false; }} />`}
  </div>${login}<${MessageLine} />`;
}

function skip(event) {
  event.preventDefault();
  document.querySelector('textarea')?.focus();
}

// ---- The stream ----

/** Without a byte for this many beats the connection counts as dead, whatever the browser believes. */
const SILENT_BEATS = 2.5;
const LONGEST_WAIT = 5_000;

/** One stream over all sessions. It comes back by itself and goes on where it was. */
const stream = {
  beat: 15_000,
  heardAt: 0,

  async run() {
    if (this.isRunning) return this.restart();
    this.isRunning = true;
    let wait = 0;
    while (connection.value !== 'login') {
      this.isRestarting = false;
      const began = Date.now();
      await this.read().catch(() => {});
      if (this.isRestarting) continue;
      if (connection.value !== 'login') connection.value = 'lost';
      wait = Date.now() - began > LONGEST_WAIT ? 200 : Math.min(LONGEST_WAIT, 2 * wait + 200);
      await new Promise((resolve) => {
        this.wake = resolve;
        setTimeout(resolve, wait);
      });
    }
    this.isRunning = false;
  },

  /** Connects anew at once: another session is shown, or the computer has slept. */
  restart() {
    this.isRestarting = true;
    this.stopping?.abort();
    this.wake?.();
  },

  async read() {
    const shown = conversation.peek();
    const follow = shown?.state.peek() === 'ready' ? `${shown.id}:${shown.through}` : '';
    const stopping = this.stopping = new AbortController();
    const response = await fetch(withQuery('/api/events', { follow }), { signal: stopping.signal });
    if (response.status === 401) connection.value = 'login';
    // The session was deleted; the rest goes on without it.
    if (response.status === 404 && follow) {
      shown.state.value = 'failed';
      this.isRestarting = true;
    }
    if (!response.ok) throw new Error(`the stream answered ${response.status}`);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    try {
      for (;;) {
        clearTimeout(this.watch);
        this.watch = setTimeout(() => stopping.abort(), SILENT_BEATS * this.beat);
        const { done, value } = await reader.read();
        if (done) throw new Error('the stream has ended');
        this.heardAt = Date.now();
        const events = (text + value).split('\n\n');
        text = events.pop();
        for (const event of events) {
          // What comes after a restart was asked for is told again.
          if (stopping.signal.aborted) return;
          take(event);
        }
      }
    } finally {
      clearTimeout(this.watch);
    }
  },
};

function take(event) {
  const fields = Object.fromEntries(event.split('\n').map((line) => {
    const colon = line.indexOf(': ');
    return [line.slice(0, colon), line.slice(colon + 2)];
  }));
  handlers[fields.event]?.(JSON.parse(fields.data ?? 'null'));
}

const handlers = {
  hello({ beat_ms: beat }) {
    stream.beat = beat;
    if (connection.value === 'lost') attempt(async () => (await import('./news.js')).recover());
    connection.value = 'live';
  },
  items(told) {
    const shown = conversation.peek();
    if (shown?.id === told.session) shown.take(told);
  },
  session(brief) {
    const before = sessions.peek().get(brief.id);
    const isOther = before?.state !== brief.state;
    noteSession({ failure: undefined, ...brief, ...(isOther && { updated: Date.now() }) });
    const shown = conversation.peek();
    if (shown?.id === brief.id && (brief.queued || shown.queue.peek().length)) shown.loadQueue().catch(() => {});
    // Its name and what it costs are not in the stream.
    if (isOther) api(`/sessions/${brief.id}`).then(noteSession, () => {});
  },
  closed(brief) {
    noteSession(brief);
  },
  questions({ questions: open }) {
    const known = new Set(questions.peek().map(({ question }) => question));
    questions.value = open;
    const added = open.filter(({ question }) => !known.has(question));
    if (added.length) import('./news.js').then(({ bringUp }) => added.forEach(bringUp), () => {});
  },
};

// A computer that wakes up has a connection that only looks alive.
addEventListener('visibilitychange', () => {
  const isOld = Date.now() - stream.heardAt > 1.5 * stream.beat;
  if (document.visibilityState === 'visible' && isOld) stream.restart();
});
addEventListener('online', () => stream.restart());

// ---- Keys, the title and the beginning ----

addEventListener('keydown', (event) => {
  const isTyping = event.target.closest?.('input, textarea, select, dialog, [popover], [contenteditable]');
  const { panel, session } = route.value;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    paletteIsOpen.value = !paletteIsOpen.value;
  } else if (event.key === 'Escape' && !isTyping && !event.defaultPrevented) {
    if (railIsOpen.value) closeRail();
    else if (panel) openPanel('');
    else if (['working', 'waiting'].includes(sessions.peek().get(session)?.state)) interrupt(session);
  }
});

// Where the browser can speak by itself, the text need not stand on the page a second time.
const canNotify = Boolean(document.ariaNotify);
if (canNotify) effect(() => { if (spoken.value) document.ariaNotify(spoken.value); });

// A session that is shown decides what is meant afterwards, also after the page was loaded again.
effect(() => {
  chosenProject.value = sessions.value.get(route.value.session)?.project ?? chosenProject.value;
  sessionStorage.setItem('project', chosenProject.value);
});

const icon = document.querySelector('link[rel="icon"]');
const usualIcon = icon.href;
const waitingIcon = usualIcon.replace('%3C/svg', "%3Ccircle cx='12' cy='4' r='4' fill='%23e8a200'/%3E%3C/svg");

effect(() => {
  const waiting = questions.value.length;
  const { session, view } = route.value;
  const title = sessions.value.get(session)?.title ?? VIEWS[view]?.title;
  document.title = `${waiting ? `(${waiting}) ` : ''}${title ? `${title} · ` : ''}Toolkiln`;
  icon.href = waiting ? waitingIcon : usualIcon;
});

/** Shows a session, or none. `window` is its timeline, if that is known already. */
async function openConversation(id, window) {
  if ((conversation.peek()?.id ?? '') === id) return;
  conversation.value = id ? new Conversation(id) : null;
  if (!id) return;
  // Old sessions are not in the list.
  if (!sessions.peek().has(id)) api(`/sessions/${id}`).then(noteSession, () => {});
  await conversation.peek().load(window);
}

async function logIn(code, name) {
  await api('/login', { body: { code, name } });
  connection.value = 'connecting';
  message.value = null;
  await begin();
}

async function begin() {
  const { session } = route.value;
  try {
    const known = await refresh(session || undefined);
    await openConversation(session, known.timeline);
  } catch {
    if (connection.value === 'login') return;
    connection.value = 'lost';
  }
  stream.run();
}

async function main() {
  const theme = localStorage.getItem('theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  // Only a browser that comes with something to show loads the part that shows it.
  const arrives = location.hash.includes('code=') || new URLSearchParams(location.search).has('state');
  const arrived = arrives ? (await import('./arrival.js')).arrive() : null;
  render(html`<${Page} />`, document.body);
  await arrived?.catch((error) => tell(error.message, 'error'));
  moves.subscribe(() => stream.restart());
  await begin();
  route.subscribe(({ session }) => { openConversation(session); });
}

main();
