// What can be meant: files and symbols after `@`, commands after `/`. The focus stays in the field.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { api, html, say, tell, withQuery } from './core.js';
import { COMMANDS } from './commands.js';

/** Milliseconds after a key before the service is asked. */
const PAUSE = 60;
const MOST = 12;

/** Suggestions, with the question that they answer. */
const NOTHING = { kind: '', query: '', found: [] };

export default function Completion({ asked, project, session, keys, pick: insert, field }) {
  const pick = (option) => (option.refused ? tell(option.refused, 'error') : insert(option));
  const [answer, take] = useState(NOTHING);
  const [at, move] = useState(0);
  const list = useRef(null);
  const { kind, query } = asked;
  const isCurrent = answer.kind === kind && answer.query === query;
  const own = kind === 'command' ? ownCommands(query, session) : [];
  // A command of the user's takes the place of ours.
  const known = own.filter(({ name }) => !answer.found.some((one) => one.name === name && !one.refused));
  const options = isCurrent || kind === 'mention' ? [...known, ...answer.found] : known;

  useEffect(() => {
    const stopping = new AbortController();
    const timer = setTimeout(async () => {
      const look = kind === 'mention' ? mentions : writtenCommands;
      // Without suggestions the text is what was typed.
      const found = await look(query, { project, signal: stopping.signal }).catch(() => []);
      if (stopping.signal.aborted) return;
      take({ kind, query, found });
      move(0);
      if (known.length + found.length) say(`${known.length + found.length} suggestions`);
    }, kind === 'mention' ? PAUSE : 0);
    return () => {
      clearTimeout(timer);
      stopping.abort();
    };
  }, [kind, query, project]);

  // Before the next key: what it picks is what is shown for what is typed.
  useLayoutEffect(() => {
    const { current: area } = field;
    const isOpen = options.length > 0;
    if (isOpen) {
      area.setAttribute('aria-controls', 'suggestions');
      area.setAttribute('aria-activedescendant', `suggestion-${at}`);
      list.current?.children[at]?.scrollIntoView({ block: 'nearest' });
    }
    keys.current = (event) => {
      const picks = (event.key === 'Enter' && !event.shiftKey) || event.key === 'Tab';
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      // Files for other letters are on the screen; those for these letters are on their way.
      if (picks && isOpen && kind === 'mention' && !isCurrent) event.preventDefault();
      else if (!isOpen) return false;
      else if (step) move((at + step + options.length) % options.length);
      else if (picks) {
        const option = options[at] ?? options[0];
        // A command that is typed in full is run by Enter.
        if (event.key === 'Enter' && option.insert.trim() === `/${query}` && kind === 'command') return false;
        pick(option);
      } else return false;
      event.preventDefault();
      return true;
    };
    return () => {
      keys.current = null;
      area.removeAttribute('aria-controls');
      area.removeAttribute('aria-activedescendant');
    };
  }, [answer, at, kind, query]);

  if (options.length === 0) return null;
  const choose = (option) => (event) => {
    // The field keeps the focus.
    event.preventDefault();
    pick(option);
  };
  return html`<ul class="suggestions" id="suggestions" role="listbox" aria-label="Suggestions" ref=${list}>
    ${options.map((option, index) => html`<li key=${`${option.note}${option.label}`} id=${`suggestion-${index}`}
      role="option" aria-selected=${index === at} onClick=${choose(option)}
      onPointerDown=${(event) => event.preventDefault()}>
      <span>${option.label}</span><small>${option.note}</small></li>`)}</ul>`;
}

/** Commands of the page. */
function ownCommands(query, session) {
  const fitting = COMMANDS.filter(({ name, inSession }) => name.startsWith(query) && (session || !inSession));
  return fitting.map(({ name, words }) => ({ name, label: `/${name}`, note: words, insert: `/${name}` }));
}

/** Commands that the user has written, also those that cannot be used, with the reason. */
async function writtenCommands(query, { project, signal }) {
  const found = await api(withQuery('/complete', { kind: 'command', project, query }), { signal });
  const written = found.commands.filter(({ message, refused }) => message || refused);
  return written.map(({ name, usage, about, message, refused }) => ({
    // One that takes something is completed by the user, any other is shown as what it sends.
    name, label: usage, note: about, refused, insert: usage === `/${name}` ? message ?? '' : `/${name} `,
  }));
}

/** Files, directories and symbols. */
async function mentions(query, { project, signal }) {
  const found = await api(withQuery('/complete', { kind: 'mention', project, query }), { signal });
  return found.mentions.slice(0, MOST).map(({ kind, text, target, detail }) => ({
    label: text, note: detail || (kind === 'file' ? '' : kind), insert: `${text} `, file: target ?? text,
  }));
}
