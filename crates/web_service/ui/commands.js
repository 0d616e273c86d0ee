// Commands that are typed with a slash. Anything else that begins with one is a message.

import { api, dollars, openPanel, sessions, short, tell, withQuery } from './core.js';
import { paletteIsOpen } from './app.js';

/** The commands: what they do in a few words, and the doing. Those with `inSession` need one. */
export const COMMANDS = [
  { name: 'new', words: 'Begin another session', act: ({ type }) => { type(''); location.hash = '#/'; } },
  { name: 'resume', words: 'Find an earlier session', act: ({ type }) => { type(''); paletteIsOpen.value = true; } },
  { name: 'model', words: 'Choose the model', act: ({ type, chooseModel }) => { type(''); chooseModel(); } },
  { name: 'review', words: 'Open the review', act: opens('review') },
  { name: 'diff', words: 'What this session has changed', inSession: true, act: opens('history') },
  { name: 'files', words: 'Look at files', act: opens('files') },
  { name: 'cost', words: 'Tokens and costs of this session', inSession: true, act: cost },
  { name: 'undo', words: 'Undo the last change', inSession: true, act: takesBack('undo') },
  { name: 'redo', words: 'Redo what was undone last', inSession: true, act: takesBack('redo') },
  { name: 'help', words: 'All commands', act: ({ type }) => type('/') },
];

function opens(panel) {
  return ({ type }) => {
    type('');
    openPanel(panel);
  };
}

async function cost({ session, type }) {
  type('');
  const { usage, cost_usd: dollar } = await api(`/sessions/${session}`);
  const read = usage.input + usage.cache_read + usage.cache_write;
  tell([`${short(read)} tokens in, ${short(usage.output)} out`, dollars(dollar)].filter(Boolean).join(' · '));
}

function takesBack(way) {
  return async ({ session, type }) => {
    type('');
    const { project } = sessions.peek().get(session) ?? {};
    const { ok, error, title } = await api(`/history/${way}`, { body: { project } });
    tell(ok ? title ?? 'Done' : error.message, ok ? 'info' : 'error');
  };
}

/** Runs a command if the text is one. `sends` is what is to be said then; nothing if it is done. */
export async function run(text, place) {
  const [, name, rest = ''] = /^\/([\w-]+)(?:\s+([^]*))?$/.exec(text) ?? [];
  if (!name) return { sends: text };
  try {
    const found = await written(name, rest, place.project);
    const own = COMMANDS.find((known) => known.name === name && !rest.trim());
    // What the user has written comes first; what no command has as its name is a message.
    if (found?.message) return { sends: found.message };
    if (!own && !found) return { sends: text };
    if (!own) tell(found.refused ?? `/${name} is a command of the terminal; it does nothing here`, 'error');
    else if (own.inSession && !place.session) tell(`/${name} needs a session`, 'error');
    else await own.act(place);
  } catch (error) {
    tell(error.message, 'error');
  }
  return {};
}

/** The command of that name that the service knows: of the user, with what it sends, or of the terminal. */
async function written(name, rest, project) {
  const { commands } = await api(withQuery('/complete', { kind: 'command', project, query: name, arguments: rest }));
  return commands.find((known) => known.name === name);
}
