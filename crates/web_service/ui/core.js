// What every part of the page uses: elements, the API, the stream, and what is known about sessions.
// Long because: every module of the first paint is one request more.

import { h } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { batch, computed, effect, signal } from '@preact/signals';
import htm from 'htm';

export { batch, computed, effect, signal };
export const html = htm.bind(h);

/** A component whose module is loaded when it is first shown. */
export function lazy(load) {
  let Known;
  return function Later(given) {
    const [, draw] = useState(false);
    useEffect(() => {
      let isHere = true;
      if (!Known) {
        load().then((module) => {
          Known = module.default;
          if (isHere) draw(true);
        }, (error) => tell(`A part of the page could not be loaded: ${error.message}`, 'error'));
      }
      return () => { isHere = false; };
    }, []);
    return Known ? h(Known, given) : null;
  };
}

const sheets = new Map();

/** Loads a sheet of styles once; resolves when it holds, or at once where it cannot be had. */
export function styles(path) {
  if (!sheets.has(path)) {
    sheets.set(path, new Promise((resolve) => {
      const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: path });
      link.onload = link.onerror = resolve;
      document.head.append(link);
    }));
  }
  return sheets.get(path);
}

// ---- The API ----

/** An answer that is an error: its code, message and suggestion are the service's own. */
export class ApiFailure extends Error {
  constructor(status, { code, message, suggestion }) {
    super(message);
    Object.assign(this, { status, code, suggestion });
  }
}

/** Asks the service. `body` makes it a request that changes something, unless the method says otherwise. */
export async function api(path, { method, body, signal: stop } = {}) {
  const response = await fetch(`/api${path}`, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    // Forms of other pages cannot send this header.
    headers: { 'x-toolkiln': 'page', ...(body !== undefined && { 'content-type': 'application/json' }) },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: stop,
  });
  if (response.status === 401) connection.value = 'login';
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  const answer = isJson ? await response.json() : await response.text();
  if (response.ok) return answer;
  throw new ApiFailure(response.status, answer?.error ?? { code: 'INTERNAL', message: response.statusText });
}

/** A path of the API with the values that are set as its query. */
export function withQuery(path, values) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value != null && value !== '') query.set(name, value);
  return query.size ? `${path}?${query}` : path;
}

// ---- What is known ----

/** The answer of `/api/overview`; null until it is there. */
export const overview = signal(null);
/** The sessions by their ids. */
export const sessions = signal(new Map());
/** The open questions of all sessions and calls by hand. */
export const questions = signal([]);
/** `connecting`, `live`, `lost`, or `login` where this browser has none. */
export const connection = signal('connecting');
/** The conversation that is shown, if one is. */
export const conversation = signal(null);
/** One line for the user that goes away by itself: `{text, level}`. */
export const message = signal(null);

/** Sessions, the one written last first. */
export const latestSessions = computed(() =>
  [...sessions.value.values()].sort((one, other) => (other.updated ?? 0) - (one.updated ?? 0)));

/** Shows a line to the user. */
export function tell(text, level = 'info') {
  message.value = { text, level, at: Date.now() };
}

/** Does something for the user and tells what went wrong, if it did. Answers whether it went well. */
export async function attempt(action) {
  try {
    await action();
    return true;
  } catch (error) {
    if (error.name !== 'AbortError') tell([error.message, error.suggestion].filter(Boolean).join('. '), 'error');
    return false;
  }
}

function takeSession(brief) {
  const all = new Map(sessions.value);
  all.set(brief.id, { ...all.get(brief.id), ...brief });
  sessions.value = all;
}

/** Takes what the service says of a session, in a list or after a change. */
export function noteSession(brief) {
  takeSession(brief);
}

/** Forgets a session that was deleted. */
export function dropSession(id) {
  const all = new Map(sessions.value);
  all.delete(id);
  sessions.value = all;
}

// ---- A conversation ----

/** Items that one request brings. */
const WINDOW = 100;
/** Items that are kept at once; the far end is dropped beyond. */
const KEPT = 400;

/** A window over the timeline of a session. Each item is a signal, so that only what changes is drawn again. */
export class Conversation {
  constructor(id) {
    this.id = id;
    /** The signals of the items that are shown, oldest first. */
    this.rows = signal([]);
    this.total = signal(0);
    this.facts = signal({});
    this.state = signal('loading');
    /** Messages that wait for the running turn. */
    this.queue = signal([]);
    this.byId = new Map();
    this.through = 0;
    /** Whether the newest items are in the window. */
    this.atEnd = signal(true);
  }

  async load(given) {
    try {
      const window = given ?? await api(withQuery(`/sessions/${this.id}/timeline`, { limit: WINDOW }));
      batch(() => {
        this.through = window.through;
        this.total.value = window.total;
        this.facts.value = window.facts;
        this.replace(window.items);
        this.atEnd.value = true;
        this.state.value = 'ready';
      });
    } catch (error) {
      this.error = error;
      this.state.value = 'failed';
    }
  }

  replace(items) {
    this.byId.clear();
    this.rows.value = items.map((item) => this.row(item));
  }

  row(item) {
    const row = signal(item);
    row.id = item.id;
    this.byId.set(item.id, row);
    return row;
  }

  /** The id of the first item that is in the window. */
  get first() {
    return this.rows.value[0]?.id ?? 0;
  }

  async loadEarlier() {
    if (this.first === 0 || this.loading) return;
    this.loading = true;
    try {
      const path = `/sessions/${this.id}/timeline`;
      const window = await api(withQuery(path, { limit: WINDOW, before: this.first }));
      const rows = [...window.items.map((item) => this.row(item)), ...this.rows.value];
      for (const row of rows.splice(KEPT)) {
        this.byId.delete(row.id);
        this.atEnd.value = false;
      }
      this.rows.value = rows;
    } finally {
      this.loading = false;
    }
  }

  /** Takes a batch of the stream. */
  take({ items, grown, through }) {
    batch(() => {
      this.through = Math.max(this.through, through);
      // Items come in the order of their last change, so an earlier one may come after a later one.
      const { first } = this;
      const added = [];
      for (const item of items) {
        const row = this.byId.get(item.id);
        if (row) row.value = item;
        else if (item.id >= first && this.atEnd.value) added.push(this.row(item));
        this.total.value = Math.max(this.total.value, item.id + 1);
      }
      for (const { id, text } of grown) {
        const row = this.byId.get(id);
        if (row) row.value = { ...row.value, text: row.value.text + text };
      }
      if (added.length) this.append(added);
    });
  }

  append(added) {
    const rows = [...this.rows.value, ...added].sort((one, other) => one.id - other.id);
    for (const row of rows.splice(0, Math.max(0, rows.length - 2 * KEPT))) this.byId.delete(row.id);
    this.rows.value = rows;
  }

  async loadQueue() {
    this.queue.value = (await api(`/sessions/${this.id}/queue`)).messages;
  }
}

/** Shows a session, or none. `window` is its timeline, if that is known already. */
export async function openConversation(id, window) {
  if (conversation.peek()?.id === id) return;
  if (!id) {
    conversation.value = null;
    return;
  }
  const opened = new Conversation(id);
  conversation.value = opened;
  await opened.load(window);
  stream.restart();
}

// ---- The stream ----

/** Without a byte for this many beats the connection counts as dead, whatever the browser believes. */
const SILENT_BEATS = 2.5;
const LONGEST_WAIT = 5_000;

/** One stream over all sessions. It comes back by itself and goes on where it was. */
export const stream = {
  stopping: null,
  wake: null,
  watch: 0,
  beat: 15_000,

  async run() {
    let wait = 0;
    for (;;) {
      const began = Date.now();
      try {
        await this.read();
        wait = 0;
      } catch (error) {
        if (connection.value === 'login') return;
        if (error.name !== 'AbortError' || !this.isRestarting) {
          connection.value = 'lost';
          wait = Date.now() - began > LONGEST_WAIT ? 0 : Math.min(LONGEST_WAIT, 2 * wait + 200);
        }
      }
      if (this.isRestarting) wait = 0;
      this.isRestarting = false;
      if (wait) await new Promise((resolve) => {
        this.wake = resolve;
        setTimeout(resolve, wait);
      });
    }
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
    this.stopping = new AbortController();
    const response = await fetch(withQuery('/api/events', { follow }), { signal: this.stopping.signal });
    if (response.status === 401) connection.value = 'login';
    if (response.status === 404 && shown) shown.state.value = 'failed';
    if (!response.ok) throw new Error(`the stream answered ${response.status}`);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    try {
      for (;;) {
        this.watchFor(this.stopping);
        const { done, value } = await reader.read();
        if (done) throw new Error('the stream has ended');
        text += value;
        const events = text.split('\n\n');
        text = events.pop();
        for (const event of events) this.take(event);
      }
    } finally {
      clearTimeout(this.watch);
    }
  },

  watchFor(stopping) {
    clearTimeout(this.watch);
    this.watch = setTimeout(() => stopping.abort(), SILENT_BEATS * this.beat);
  },

  take(event) {
    const fields = Object.fromEntries(event.split('\n').map((line) => {
      const colon = line.indexOf(': ');
      return [line.slice(0, colon), line.slice(colon + 2)];
    }));
    const data = JSON.parse(fields.data ?? 'null');
    handlers[fields.event]?.(data);
  },
};

const handlers = {
  hello({ beat_ms: beat }) {
    stream.beat = beat;
    if (connection.value === 'lost') refresh();
    connection.value = 'live';
  },
  items(batch) {
    const shown = conversation.peek();
    if (shown?.id === batch.session) shown.take(batch);
  },
  session(brief) {
    const before = sessions.peek().get(brief.id);
    takeSession({ ...brief, ...(before?.state !== brief.state && { updated: Date.now() }) });
    const shown = conversation.peek();
    if (shown?.id === brief.id) shown.loadQueue().catch(() => {});
  },
  closed(brief) {
    takeSession(brief);
  },
  questions({ questions: open }) {
    questions.value = open;
  },
  beat() {},
};

/** Reads everything that stands beside the conversations. */
export async function refresh(session) {
  const known = await api(withQuery('/overview', { session }));
  batch(() => {
    overview.value = known;
    sessions.value = new Map(known.sessions.map((brief) => [brief.id, brief]));
    questions.value = known.questions;
  });
  return known;
}

// A computer that wakes up has a connection that only looks alive.
addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible' && connection.value === 'lost') stream.restart();
});
addEventListener('online', () => stream.restart());

// ---- Where the page is ----

/** `#/session/ID/PANEL` or `#/VIEW`. */
function readRoute() {
  const [, first = '', second = '', third = ''] = location.hash.split('?')[0].split('/').map(decodeURIComponent);
  if (first === 'session') return { view: 'session', session: second, panel: third };
  return { view: first || 'start', session: '', panel: second };
}

export const route = signal(readRoute());
addEventListener('hashchange', () => {
  route.value = readRoute();
});

/** The address of a session, with one of the panels or without. */
export function sessionAddress(id, panel = '') {
  return `#/session/${encodeURIComponent(id)}${panel && `/${panel}`}`;
}

/** Opens a panel beside what is shown, or closes it with an empty name. */
export function openPanel(panel) {
  const { view, session } = route.value;
  location.hash = view === 'session' ? sessionAddress(session, panel) : `#/start${panel && `/${panel}`}`;
}

/** Shows a file in the panel beside what is shown, at a line from 1 if one is named. */
export function openFile(path, line) {
  const { view, session } = route.value;
  const panel = view === 'session' ? sessionAddress(session, 'files') : '#/start/files';
  location.hash = withQuery(panel, { path, line });
}

// ---- Small things in words ----

const units = [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']];

/** 18400 as `18k`. */
export function short(count) {
  for (const [size, letter] of units) if (count >= size) return `${Math.round(count / size * (count < 10 * size ? 10 : 1)) / (count < 10 * size ? 10 : 1)}${letter}`;
  return String(count ?? 0);
}

/** Milliseconds as `2.1 s`, `4 min`. */
export function duration(ms) {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 60_000) return `${Math.round(ms / 1_000)} s`;
  return ms < 3_600_000 ? `${Math.round(ms / 60_000)} min` : `${(ms / 3_600_000).toFixed(1)} h`;
}

/** A moment as a person would say it: `09:12` today, `Fri` this week, else the date. */
export function moment(at) {
  const then = new Date(at);
  const days = (new Date().setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86_400_000;
  if (days < 1) return then.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  return then.toLocaleDateString([], days < 7 ? { weekday: 'short' } : { day: 'numeric', month: 'short' });
}

/** US dollars, with as many digits as matter. */
export function dollars(cost) {
  return cost == null ? '' : `$${cost < 0.1 ? cost.toFixed(3) : cost.toFixed(2)}`;
}

/** `1 file`, `2 files`. */
export function plural(count, word) {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}
