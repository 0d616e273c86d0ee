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
import {
  baseName, chooseProject, filesAddress, offers, presentProject, realDefinitions, recentFiles,
} from './places.js';
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
  note: `${kind ? `${kind} · ` : ''}${path}${line ? `:${line}` : ''}`,
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

function symbolGroup(name, definitions, more) {
  if (definitions.length === 0) return [];
  const impact = {
    key: `impact ${name}`,
    title: `What depends on ${name}`,
    note: 'impact graph',
    act: go(filesAddress({ impact: name })),
  };
  const first = definitions.slice(0, SHOWN - 1);
  const entries = first.map((one) => elsewhere(one.project ?? presentProject(), asSymbol(one)));
  return group('Symbols', [...entries, impact], more);
}

/** What the service finds. `take` gets groups by their kind as soon as they are known. */
export async function foundThings(query, stop, take) {
  const missing = await offers('/api/search/all') ? await searchAll(query, stop, take) : ['files', 'symbols', 'text'];
  await searchEach(query, stop, take, missing);
}

/**
 * One request over all projects and what was said in all sessions. Answers the kinds to look for otherwise: completion
 * knows no file and no symbol before its first list is made.
 */
async function searchAll(query, stop, take) {
  try {
    const { sessions, files, symbols, text } = await api(withQuery('/search/all', { query }), { signal: stop });
    const readable = files.found.filter(({ kind }) => kind === 'file');
    take('sessions', group('Sessions', sessions.found.map(asFoundSession), sessions.more));
    take('files', group('Files', readable.map((file) => elsewhere(file.project, asFile(file.text))), files.more));
    take('symbols', symbolGroup(symbols.found[0]?.text, symbols.found.map(symbolPlace), symbols.more));
    const lines = text.found.filter((line) => line.text != null);
    take('text', group('Text', lines.map((line) => elsewhere(line.project, asText(line))), text.more));
    return [readable.length === 0 && 'files', symbols.found.length === 0 && 'symbols'];
  } catch (error) {
    if (error.name !== 'AbortError' && error.status) tell(error.message, 'error');
    return [];
  }
}

const asFoundSession = ({ session, title, project, at, excerpt }) => ({
  ...asSession({ id: session, title, project, updated: at }),
  ...(excerpt && { note: excerpt }),
});

/** An entry of another project than the one that is shown leaves the session and goes there. */
function elsewhere(project, entry) {
  if (project === presentProject()) return entry;
  const act = () => {
    location.hash = '#/start/files';
    chooseProject(project);
    // The address decides which project is meant, so it has to be there first.
    addEventListener('hashchange', () => entry.act(), { once: true });
  };
  return { ...entry, key: `${project} ${entry.key}`, note: `${project} · ${entry.note}`, act };
}

/** A symbol of the completion, whose detail is `struct src/kiln.rs:19`. */
function symbolPlace({ project, text, target, detail }) {
  const [, kind, line] = /^(\S*) .*:(\d+)$/.exec(detail ?? '') ?? [];
  return { project, name: text, path: target, kind, line: Number(line) || undefined };
}

/** A request for each kind, each shown when it is ready, so that a slow one holds up none. */
function searchEach(query, stop, take, kinds) {
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
  const readFiles = ({ files, total }) => group('Files', files.map((file) => asFile(file.path ?? file)), total > SHOWN);
  const readSymbols = ({ definitions, total }) => symbolGroup(query, realDefinitions(definitions), total >= SHOWN);
  const readText = ({ matches, total }) => {
    const lines = matches.filter(({ text }) => text != null);
    return group('Text', lines.map(asText), total > SHOWN);
  };
  return Promise.all([
    kinds.includes('files') && ask('files', globOf(query), readFiles),
    kinds.includes('symbols') && isName && ask('symbols', query, readSymbols),
    kinds.includes('text') && query.length >= LEAST_TEXT && ask('text', literal, readText),
  ]);
}
