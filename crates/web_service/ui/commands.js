// Commands that are typed with a slash. Anything else that begins with one is a message.

import { api, dollars, openPanel, sessions, short, tell } from './core.js';
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
  { name: 'undo', words: 'Undo the last change', inSession: true, act: undo },
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

async function undo({ session, type }) {
  type('');
  const { project } = sessions.peek().get(session) ?? {};
  const { ok, error, title } = await api('/tools/undo', { body: { project, arguments: {} } });
  tell(ok ? title ?? 'Undone' : error.message, ok ? 'info' : 'error');
}

/** Runs a command if the text is one. Answers whether it was. */
export async function run(text, place) {
  const [, name] = /^\/(\w+)\s*$/.exec(text) ?? [];
  const command = COMMANDS.find((known) => known.name === name);
  if (!command) return false;
  if (command.inSession && !place.session) {
    tell(`/${name} needs a session`, 'error');
    return true;
  }
  try {
    await command.act(place);
  } catch (error) {
    tell(error.message, 'error');
  }
  return true;
}
