// What every part of the page uses: elements, the API, the stream, and what is known about sessions.

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
      if (Known) return;
      load().then((module) => {
        Known = module.default;
        draw(true);
      }, (error) => tell(`A part of the page could not be loaded: ${error.message}`, 'error'));
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

/** Opens a menu beside a button: `[{label, act, isDanger, isChosen, href}]`, or a promise of them. */
export const openMenu = (button, items) => import('./menu.js').then(({ open }) => open(button, items));

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
/** The project that the user has chosen for what no session decides. */
export const chosenProject = signal(sessionStorage.getItem('project') ?? '');
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
  message.value = { text, level };
}

/** What a screen reader says next. */
export const spoken = signal('');
/** Characters that are said at once. */
const LONGEST_SAID = 600;
export const say = (text) => { spoken.value = text.slice(0, LONGEST_SAID); };

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

/** Takes what the service says of a session, in a list or after a change. */
export function noteSession(brief) {
  const known = sessions.peek();
  const before = known.get(brief.id);
  sessions.value = new Map(known).set(brief.id, { ...before, ...brief, title: brief.title ?? before?.title });
}

/** Forgets a session that was deleted. */
export function dropSession(id) {
  sessions.value = new Map([...sessions.peek()].filter(([known]) => known !== id));
}

// ---- A conversation ----

/** Items that one request brings, and that are kept at once; the far end is dropped beyond. */
const [WINDOW, KEPT] = [100, 400];

/** Counts how often a conversation wants the stream to begin anew at its position. */
export const moves = signal(0);

/** A window over the timeline of a session. Each item is a signal, so that only what changes is drawn again. */
export class Conversation {
  constructor(id) {
    this.id = id;
    /** The signals of the items that are shown, oldest first. */
    this.rows = signal([]);
    this.byId = new Map();
    this.total = signal(0);
    this.through = 0;
    this.facts = signal({});
    this.state = signal('loading');
    /** Messages that wait for the running turn. */
    this.queue = signal([]);
    /** Whether the newest items are in the window. */
    this.atEnd = signal(true);
    /** Which folds and cards the reader has opened, also of items outside of the window. */
    this.opened = new Set();
    /** Whether the reader is at the end, so that the oldest items may go. */
    this.isFollowed = true;
    /** When something was heard of the session. */
    this.heardAt = Date.now();
    this.growing = new Set();
  }

  /** Shows the newest items. */
  async load(given) {
    try {
      const window = given ?? await this.ask({});
      batch(() => {
        this.through = window.through;
        this.facts.value = window.facts;
        this.replace(window);
        this.state.value = 'ready';
      });
      moves.value += 1;
    } catch (error) {
      this.error = error;
      this.state.value = 'failed';
    }
  }

  ask(place) {
    return api(withQuery(`/sessions/${this.id}/timeline`, { limit: WINDOW, ...place }));
  }

  replace({ items, total }) {
    this.byId.clear();
    this.growing.clear();
    this.total.value = total;
    this.rows.value = items.map((item) => this.row(item));
    this.atEnd.value = (items.at(-1)?.id ?? -1) >= total - 1;
  }

  row(item) {
    const row = signal(item);
    row.id = item.id;
    this.byId.set(item.id, row);
    return row;
  }

  forget(rows) {
    rows.forEach(({ id }) => this.byId.delete(id));
  }

  get first() { return this.rows.peek()[0]?.id ?? 0; }
  get last() { return this.rows.peek().at(-1)?.id ?? -1; }

  /** Reads another part of the timeline, one at a time. `use` gets it if the window is still the same. */
  async turn(place, use) {
    if (this.loading) return;
    this.loading = true;
    const rows = [this.first, this.last];
    try {
      const window = await this.ask(place);
      if (this.first !== rows[0] || (this.last !== rows[1] && !this.atEnd.peek())) return;
      batch(() => use(window));
      // What was read is older or newer than what the stream has told: the difference is told once more.
      const isGrowing = window.items.some(({ state }) => state === 'streaming' || state === 'running');
      if (window.through === this.through && !isGrowing) return;
      this.through = Math.min(this.through, window.through);
      moves.value += 1;
    } finally {
      this.loading = false;
    }
  }

  async loadEarlier() {
    if (this.first === 0) return;
    await this.turn({ before: this.first }, ({ items }) => {
      const rows = [...items.map((item) => this.row(item)), ...this.rows.peek()];
      if (rows.length > KEPT) this.atEnd.value = false;
      this.forget(rows.splice(KEPT));
      this.rows.value = rows;
    });
  }

  async loadLater() {
    if (this.atEnd.peek()) return;
    await this.turn({ before: this.last + 1 + WINDOW }, ({ items, total }) => {
      const { last } = this;
      const rows = [...this.rows.peek(), ...items.filter(({ id }) => id > last).map((item) => this.row(item))];
      this.forget(rows.splice(0, Math.max(0, rows.length - KEPT)));
      this.rows.value = rows;
      this.total.value = total;
      this.atEnd.value = this.last >= total - 1;
    });
  }

  async loadFirst() {
    if (this.first > 0) await this.turn({ before: WINDOW }, (window) => this.replace(window));
  }

  /** Takes a batch of the stream. Batches lie end to end: one that was seen changes nothing, a gap is read anew. */
  take({ items, grown, after, through }) {
    this.heardAt = Date.now();
    if (after !== this.through) {
      if (through > this.through) this.load();
      return;
    }
    batch(() => {
      this.through = through;
      // Items come in the order of their last change, so an earlier one may come after a later one.
      const { first } = this;
      const added = [];
      let isOther = false;
      for (const item of items) {
        const row = this.byId.get(item.id);
        const before = row?.peek();
        if (row) {
          row.more = '';
          row.value = item;
        } else if (item.id >= first && this.atEnd.peek()) {
          added.push(this.row(item));
        }
        isOther ||= before?.state !== item.state;
        this.total.value = Math.max(this.total.peek(), item.id + 1);
        this.announce(item, before);
      }
      for (const { id, text } of grown) this.grow(id, text);
      if (added.length) this.append(added);
      // How calls are folded depends on their states.
      else if (isOther) this.rows.value = [...this.rows.peek()];
    });
  }

  /** Text is added once a frame, however many pieces it comes in. */
  grow(id, text) {
    const row = this.byId.get(id);
    if (!row) return;
    row.more = (row.more ?? '') + text;
    this.growing.add(row);
    this.frame ??= requestAnimationFrame(() => batch(() => {
      this.frame = undefined;
      for (const grown of this.growing) {
        grown.value = { ...grown.peek(), text: grown.peek().text + grown.more };
        grown.more = '';
      }
      this.growing.clear();
    }));
  }

  append(added) {
    const rows = [...this.rows.peek(), ...added].sort((one, other) => one.id - other.id);
    if (rows.length > 2 * KEPT && this.isFollowed) {
      this.forget(rows.splice(0, rows.length - KEPT));
    } else if (rows.length > 2 * KEPT) {
      // The reader is at something earlier, which stays.
      this.forget(rows.splice(2 * KEPT));
      this.atEnd.value = false;
    }
    this.rows.value = rows;
  }

  /** Says what is finished, for those who cannot see it. An answer may come whole. */
  announce(item, before) {
    if (item.depth > 0) return;
    if (item.kind === 'answer' && item.state === 'complete' && before?.state !== 'complete') say(item.text);
    if (item.kind === 'notice' && item.level !== 'info' && !before) say(item.text);
    if (item.kind === 'message' && !before) this.arrived?.(item);
  }

  async loadQueue() {
    this.queue.value = (await api(`/sessions/${this.id}/queue`)).messages;
  }
}

/** Reads everything that stands beside the conversations. */
export async function refresh(session) {
  const known = await api(withQuery('/overview', { session }));
  batch(() => {
    overview.value = known;
    // One that is shown may be too old for the list.
    const shown = sessions.peek().get(conversation.peek()?.id);
    const listed = shown ? [shown, ...known.sessions] : known.sessions;
    sessions.value = new Map(listed.map((brief) => [brief.id, brief]));
    questions.value = known.questions;
  });
  return known;
}

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
  const [size, letter] = units.find(([least]) => count >= least) ?? [1, ''];
  const digits = count < 10 * size ? 10 : 1;
  return `${Math.round((count ?? 0) / size * digits) / digits}${letter}`;
}

/** Milliseconds as `2.1 s`, `4 min`. */
export function duration(ms) {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 60_000) return `${Math.round(ms / 1_000)} s`;
  return ms < 3_600_000 ? `${Math.round(ms / 60_000)} min` : `${(ms / 3_600_000).toFixed(1)} h`;
}

/** A moment in short: `09:12` today, `Fri` this week, else the date. */
export function moment(at) {
  const then = new Date(at);
  const days = (new Date().setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86_400_000;
  if (Math.abs(days) < 1) return then.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  return then.toLocaleDateString([], days > 0 && days < 7 ? { weekday: 'short' } : { day: 'numeric', month: 'short' });
}

/** US dollars, with as many digits as matter. */
export const dollars = (cost) => (cost == null ? '' : `$${cost < 0.1 ? cost.toFixed(3) : cost.toFixed(2)}`);

/** `1 file`, `2 files`. */
export const plural = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`;
