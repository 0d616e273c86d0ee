// What is told beside the conversation: questions to those who look elsewhere, and what a restart has lost.

import { conversation, refresh, say, sessionAddress, sessions, tell } from './core.js';

/** Tells of a question those who look elsewhere. */
export function bringUp({ owner, title, headline }) {
  const words = `Question: ${headline?.verb ? `${headline.verb} ${headline.object}` : title}`;
  say(words);
  const isWanted = globalThis.Notification?.permission === 'granted' && localStorage.getItem('notifications') !== 'off';
  if (!isWanted || document.hasFocus()) return;
  const note = new Notification('Toolkiln waits for you', { body: words, tag: owner });
  note.onclick = () => {
    focus();
    location.hash = sessions.peek().has(owner) ? sessionAddress(owner) : '#/inbox';
    note.close();
  };
}

/** After the service was away: what it knows, and which waiting messages it has forgotten. */
export async function recover() {
  await refresh();
  const shown = conversation.peek();
  if (shown?.state.peek() === 'failed') await shown.load();
  const waited = shown?.queue.peek() ?? [];
  if (waited.length === 0) return;
  await shown.loadQueue();
  const { items } = await shown.ask({});
  const messages = items.filter(({ kind }) => kind === 'message');
  const known = new Set([...shown.queue.peek(), ...messages].map(({ text }) => text));
  const lost = waited.filter(({ text }) => !known.has(text)).map(({ text }) => text);
  if (lost.length === 0) return;
  shown.giveBack?.(lost.join('\n\n'));
  tell('Toolkiln has ended before it took up what waited. It is in the field again.');
}
