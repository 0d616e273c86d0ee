// Where the palette looks: sessions, commands, files, symbols and text, each as groups of entries.

import {
  api,
  attempt,
  connection,
  latestSessions,
  moment,
  openPanel,
  openFile,
  overview,
  route,
  sessionAddress,
  tell,
  withQuery,
} from '../core.js';
import { baseName, chooseProject, filesAddress, presentProject, recentFiles } from './places.js';
import { setTheme } from './theme.js';

/** Entries of a group. */
const SHOWN = 6;

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
    overview.value?.user?.scopes.includes('admin') && { title: 'Team', words: 'users shares budgets audit', act: go('#/team') },
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

/** Where one project is served, it goes without saying. */
const isOneOfMany = () => overview.peek()?.projects.length > 1;
const asCommand = ({ title, act }) => ({ key: `command ${title}`, title, act });
const asSession = ({ id, title, project, updated, state }) => ({
  key: `session ${id}`,
  title: title ?? 'New session',
  note: [isOneOfMany() && project, updated && moment(updated)].filter(Boolean).join(' · '),
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

/**
 * What the service finds, by one request over all projects and what was said in all sessions: groups by their kind.
 * A search that fails is told and finds nothing.
 */
export async function foundThings(query, stop) {
  try {
    const { sessions, files, symbols, text } = await api(withQuery('/search/all', { query }), { signal: stop });
    const readable = files.found.filter(({ kind }) => kind === 'file');
    const lines = text.found.filter((line) => line.text != null);
    return {
      sessions: group('Sessions', sessions.found.map(asFoundSession), sessions.more),
      files: group('Files', readable.map((file) => elsewhere(file.project, asFile(file.text))), files.more),
      symbols: symbolGroup(symbols.found[0]?.text, symbols.found.map(symbolPlace), symbols.more),
      isUnfinished: symbols.unfinished,
      text: group('Text', lines.map((line) => elsewhere(line.project, asText(line))), text.more),
    };
  } catch (error) {
    if (error.name !== 'AbortError' && error.status) tell(error.message, 'error');
    return {};
  }
}

const asFoundSession = ({ session, title, project, at, excerpt }) => ({
  ...asSession({ id: session, title, project, updated: at }),
  ...(excerpt && excerpt !== title && { note: excerpt }),
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
