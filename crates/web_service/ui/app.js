// The frame of the page: the list of sessions, the conversation, the panel beside it, and how to get around.

import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import {
  api, attempt, connection, conversation, html, latestSessions, lazy, message, moment, openConversation, openPanel, overview,
  questions, refresh, route, sessionAddress, signal, stream, tell,
} from './core.js';
import { ConversationView } from './conversation.js';
import { Composer } from './composer.js';

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
};

// ---- The list of sessions ----

const STATES = { working: 'working', waiting: 'waits for you', paused: 'paused', interrupted: 'interrupted', idle: '' };

function SessionLink({ session }) {
  const isHere = route.value.session === session.id;
  const state = STATES[session.state] ?? '';
  return html`<a class="session" href=${sessionAddress(session.id)} aria-current=${isHere ? 'page' : undefined}>
    <i class="dot ${session.failure ? 'failed' : session.state}" aria-hidden="true"></i>
    <span class="title">${session.title ?? 'New session'}</span>
    <span class="note">${state || (session.updated ? moment(session.updated) : '')}</span>
  </a>`;
}

function Rail() {
  const projects = overview.value?.projects ?? [];
  const listed = latestSessions.value;
  const waiting = questions.value.length;
  return html`<nav class="rail" aria-label="Sessions">
    <header>
      <a class="brand" href="#/"><i class="kiln" aria-hidden="true"></i>Toolkiln</a>
      <a class="icon" href="#/" aria-label="New session" title="New session">+</a>
    </header>
    <button class="find" onClick=${() => { paletteIsOpen.value = true; }}><span>Search everything</span><kbd>Ctrl K</kbd></button>
    ${waiting > 0 && html`<a class="inbox" href="#/inbox">${waiting === 1 ? '1 question waits' : `${waiting} questions wait`}</a>`}
    <div class="lists">
      ${projects.map(({ name }) => {
        const own = listed.filter((session) => session.project === name);
        return html`<section key=${name}>
          <h2>${name}</h2>
          ${own.map((session) => html`<${SessionLink} key=${session.id} session=${session} />`)}
          ${own.length === 0 && html`<p class="empty">Sessions of this project will be here.</p>`}
        </section>`;
      })}
    </div>
    <footer>
      ${Object.entries(VIEWS).map(([name, { title }]) => html`<a key=${name} href="#/${name}"
        aria-current=${route.value.view === name ? 'page' : undefined}>${title}</a>`)}
    </footer>
  </nav>`;
}

// ---- The panel ----

function Panel() {
  const name = route.value.panel;
  const part = PANELS[name];
  if (!part) return null;
  return html`<aside class="panel" aria-label=${part.title}>
    <header class="tabs">
      ${Object.entries(PANELS).map(([other, { title }]) => html`<button key=${other} aria-pressed=${other === name}
        onClick=${() => openPanel(other)}>${title}</button>`)}
      <span class="grow"></span>
      <button class="icon" aria-label="Close the panel" title="Close the panel (Esc)" onClick=${() => openPanel('')}>×</button>
    </header>
    <${part.Shown} key=${name} conversation=${conversation.value} />
  </aside>`;
}

// ---- The middle ----

function Start() {
  const known = overview.value;
  const [project, choose] = useState(known?.projects[0]?.name);
  return html`<main class="talk" id="talk">
    <header class="bar"><${RailButton} /><h1>New session</h1></header>
    <div class="start">
      <h2>What should be done?</h2>
      ${known && known.projects.length > 1 && html`<label>Project <select value=${project} onChange=${(event) => choose(event.target.value)}>
        ${known.projects.map(({ name }) => html`<option key=${name}>${name}</option>`)}</select></label>`}
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

function Middle() {
  const { view, session } = route.value;
  if (view === 'session') return html`<${ConversationView} key=${session} railButton=${RailButton} />`;
  const part = VIEWS[view];
  if (!part) return html`<${Start} key=${overview.value ? 'known' : 'unknown'} />`;
  return html`<main class="talk wide" id="talk">
    <header class="bar"><${RailButton} /><h1>${part.title}</h1></header>
    <${part.Shown} key=${view} />
  </main>`;
}

// ---- What stands over everything ----

export const paletteIsOpen = signal(false);
const railIsOpen = signal(false);
const Palette = lazy(() => import('./panels/palette.js'));

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

function Login() {
  const [code, type] = useState('');
  const enter = (event) => {
    event.preventDefault();
    attempt(() => logIn(code.trim()));
  };
  return html`<main class="login">
    <form onSubmit=${enter}>
      <h1><i class="kiln" aria-hidden="true"></i>Toolkiln</h1>
      <p>Open the link that <code>toolkiln web</code> has printed, or paste the token that
        <code>toolkiln web --print-url</code> shows.</p>
      <label>Token <input type="password" autocomplete="current-password" value=${code} onInput=${(event) => type(event.target.value)} /></label>
      <button class="go">Log in</button>
    </form>
    <${MessageLine} />
  </main>`;
}

function Page() {
  if (connection.value === 'login') return html`<${Login} />`;
  const { panel, session } = route.value;
  useEffect(() => { railIsOpen.value = false; }, [route.value]);
  const has = `${PANELS[panel] ? ' with-panel' : ''}${railIsOpen.value ? ' with-rail' : ''}`;
  return html`<div class="app${has}">
    <a class="skip" href="#talk" onClick=${skip}>Skip to the conversation</a>
    <${Rail} />
    <${Middle} />
    <${Panel} key=${session} />
    <${ConnectionLine} />
    <${MessageLine} />
    ${paletteIsOpen.value && html`<${Palette} close=${() => { paletteIsOpen.value = false; }} />`}
  </div>`;
}

function skip(event) {
  event.preventDefault();
  document.querySelector('textarea')?.focus();
}

// ---- Keys and the beginning ----

addEventListener('keydown', (event) => {
  const isTyping = event.target.closest?.('input, textarea, select, [contenteditable]');
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    paletteIsOpen.value = !paletteIsOpen.value;
  } else if (event.key === 'Escape' && !isTyping && !event.defaultPrevented && route.value.panel) {
    openPanel('');
  }
});

function applyTheme() {
  const theme = localStorage.getItem('theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
}

async function logIn(code) {
  await api('/login', { body: { code } });
  connection.value = 'connecting';
  await begin();
}

async function begin() {
  const { session } = route.value;
  try {
    const known = await refresh(session || undefined);
    if (session) await openConversation(session, known.timeline);
  } catch (error) {
    if (connection.value === 'login') return;
    connection.value = 'lost';
  }
  stream.run();
}

async function main() {
  applyTheme();
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  // The code is good once; it is not kept in the history.
  if (code) history.replaceState(null, '', '/');
  render(html`<${Page} />`, document.body);
  if (code) await api('/login', { body: { code } }).catch((error) => tell(error.message, 'error'));
  await begin();
  route.subscribe(({ session }) => { openConversation(session); });
}

main();
