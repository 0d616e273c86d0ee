// Where the palette looks: sessions, commands, files, symbols and text, each as groups of entries.

import {
  api,
  attempt,
  connection,
  latestSessions,
  moment,
  openPanel,
  openFile,
  route,
  sessionAddress,
  tell,
  withQuery,
} from '../core.js';
import { baseName, filesAddress, presentProject, realDefinitions, recentFiles } from './places.js';
import { setTheme } from './theme.js';

/** Entries of a group. */
const SHOWN = 6;
/** A search for text begins at this many characters: one matches everything. */
const LEAST_TEXT = 2;

const go = (hash) => () => {
  location.hash = hash;
};

/** Everything that can be done from anywhere: `{title, words, act}`. */
function commands() {
  const { view, session } = route.value;
  const isSession = view === 'session';
  return [
    { title: 'New session', words: 'begin start', act: go('#/') },
    { title: 'Questions that wait', words: 'inbox approvals', act: go('#/inbox') },
    { title: 'Review', words: 'diff changes panel', act: () => openPanel('review') },
    { title: 'Files', words: 'tree panel open', act: () => openPanel('files') },
    { title: 'History', words: 'undo redo journal panel', act: () => openPanel('history') },
    { title: 'Tool console', words: 'tools run by hand panel', act: () => openPanel('console') },
    { title: 'Analytics', words: 'statistics costs tokens', act: go('#/analytics') },
    { title: 'Settings', words: 'policy rules model theme', act: go('#/settings') },
    isSession && {
      title: 'Stop the running turn',
      words: 'interrupt cancel',
      act: () => attempt(() => api(`/sessions/${session}/interrupt`, { body: {} })),
    },
    { title: 'Light theme', words: 'appearance colours', act: () => setTheme('light') },
    { title: 'Dark theme', words: 'appearance colours', act: () => setTheme('dark') },
    { title: 'Theme of the system', words: 'appearance colours', act: () => setTheme('system') },
    {
      title: 'Log out',
      words: 'leave',
      act: () =>
        attempt(async () => {
          await api('/logout', { body: {} });
          connection.value = 'login';
        }),
    },
  ].filter(Boolean);
}

/** Whether every word of a query is in a text. */
function has(text, query) {
  const lower = text.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

function group(title, entries, more = false) {
  return entries.length ? [{ title, entries: entries.slice(0, SHOWN), more: more || entries.length > SHOWN }] : [];
}

const asCommand = ({ title, act }) => ({ key: `command ${title}`, title, act });
const asSession = ({ id, title, project, updated, state }) => ({
  key: `session ${id}`,
  title: title ?? 'New session',
  note: [project, updated && moment(updated)].filter(Boolean).join(' · '),
  state,
  act: go(sessionAddress(id)),
});
const asFile = (path) => ({ key: `file ${path}`, title: baseName(path), note: path, act: () => openFile(path) });
const asSymbol = ({ path, line, kind, signature, name }) => ({
  key: `symbol ${path}:${line}`,
  title: signature ?? name,
  isCode: true,
  note: `${kind ? `${kind} · ` : ''}${path}:${line}`,
  act: () => openFile(path, line),
});
const asText = ({ path, line, text }) => ({
  key: `text ${path}:${line}`,
  title: text.trim(),
  isCode: true,
  note: `${path}:${line}`,
  act: () => openFile(path, line),
});

/** What is shown before anything is typed. */
export function recentThings() {
  const project = presentProject();
  const files = recentFiles()
    .filter((file) => file.project === project)
    .map(({ path }) => asFile(path));
  return [
    ...group('Latest sessions', latestSessions.value.slice(0, SHOWN).map(asSession)),
    ...group('Latest files', files.slice(0, SHOWN)),
    ...group('Commands', commands().map(asCommand).slice(0, SHOWN)),
  ];
}

/** What the page finds by itself, at once. */
export function knownThings(query) {
  return [
    ...group(
      'Commands',
      commands()
        .filter(({ title, words }) => has(`${title} ${words}`, query))
        .map(asCommand),
    ),
    ...group('Sessions', latestSessions.value.filter(({ title }) => has(title ?? '', query)).map(asSession)),
  ];
}

/** A path pattern that finds the query anywhere in the last parts of a path. */
function globOf(query) {
  const parts = query
    .trim()
    .split('/')
    .map((part) => part.replace(/[\\*?[\]{}!,]/g, '?').replace(/\s+/g, '*'));
  return `**/${parts.map((part) => `*${part}*`).join('/')}`;
}

function symbolGroup(query, definitions, total) {
  if (definitions.length === 0) return [];
  const impact = {
    key: `impact ${query}`,
    title: `What depends on ${query}`,
    note: 'impact graph',
    act: go(filesAddress({ impact: query })),
  };
  return group('Symbols', [...definitions.slice(0, SHOWN - 1).map(asSymbol), impact], total >= SHOWN);
}

/** What the service finds: files, symbols and text. Each answers when it is ready, so that a slow one holds up none. */
export function foundThings(query, stop, take) {
  const project = presentProject();
  const ask = async (kind, words, read) => {
    try {
      const { result } = await api(withQuery('/search', { project, kind, query: words }), { signal: stop });
      take(kind, read(result));
    } catch (error) {
      if (error.name === 'AbortError') return;
      // A query that is not a name is nothing to report; that the service is gone is told elsewhere.
      take(kind, []);
      if (error.status === 403) tell(error.message, 'error');
    }
  };
  const isName = /^[\p{L}_$][\p{L}\p{N}_$:.]*$/u.test(query);
  const literal = query.replace(/[\\^$.*+?()[\]{}|#&~-]/g, '\\$&');
  return Promise.all([
    ask('files', globOf(query), ({ files, total }) =>
      group(
        'Files',
        files.map((file) => asFile(file.path ?? file)),
        total > SHOWN,
      ),
    ),
    isName &&
      ask('symbols', query, ({ definitions, total }) => symbolGroup(query, realDefinitions(definitions), total)),
    query.length >= LEAST_TEXT &&
      ask('text', literal, ({ matches, total }) =>
        group('Text', matches.filter(({ text }) => text != null).map(asText), total > SHOWN),
      ),
  ]);
}
