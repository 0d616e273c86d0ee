// What can be meant: files and symbols after `@`, commands after `/`. The focus stays in the field.

import { useEffect, useRef, useState } from 'preact/hooks';
import { api, html, say, withQuery } from './core.js';
import { COMMANDS } from './commands.js';

/** Milliseconds after a key before the service is asked. */
const PAUSE = 60;
const MOST = 12;

export default function Completion({ asked, project, session, keys, pick, field }) {
  const [options, offer] = useState([]);
  const [at, move] = useState(0);
  const list = useRef(null);
  const { kind, query } = asked;

  useEffect(() => {
    const stopping = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const found = await (kind === 'mention' ? files(query, project, stopping.signal) : commands(query, session));
        offer(found);
        move(0);
        if (found.length) say(`${found.length} suggestions`);
      } catch {
        // Without suggestions the text is what was typed.
      }
    }, kind === 'mention' ? PAUSE : 0);
    return () => {
      clearTimeout(timer);
      stopping.abort();
    };
  }, [kind, query, project]);

  useEffect(() => {
    const { current: area } = field;
    const isOpen = options.length > 0;
    if (isOpen) {
      area.setAttribute('aria-controls', 'suggestions');
      area.setAttribute('aria-activedescendant', `suggestion-${at}`);
      list.current?.children[at]?.scrollIntoView({ block: 'nearest' });
    }
    keys.current = (event) => {
      if (!isOpen) return false;
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) move((at + step + options.length) % options.length);
      else if ((event.key === 'Enter' && !event.shiftKey) || event.key === 'Tab') {
        // A command that is typed in full is run by Enter.
        if (event.key === 'Enter' && options[at].insert.trim() === `/${query}` && kind === 'command') return false;
        pick(options[at]);
      } else return false;
      event.preventDefault();
      return true;
    };
    return () => {
      keys.current = null;
      area.removeAttribute('aria-controls');
      area.removeAttribute('aria-activedescendant');
    };
  }, [options, at]);

  if (options.length === 0) return null;
  const choose = (option) => (event) => {
    // The field keeps the focus.
    event.preventDefault();
    pick(option);
  };
  return html`<ul class="suggestions" id="suggestions" role="listbox" aria-label="Suggestions" ref=${list}>
    ${options.map((option, index) => html`<li key=${option.label} id=${`suggestion-${index}`} role="option" aria-selected=${index === at}
      onPointerDown=${(event) => event.preventDefault()} onClick=${choose(option)}>
      <span>${option.label}</span><small>${option.note}</small></li>`)}</ul>`;
}

function commands(query, session) {
  const fitting = COMMANDS.filter(({ name, inSession }) => name.startsWith(query) && (session || !inSession));
  return fitting.map(({ name, words }) => ({ label: `/${name}`, note: words, insert: `/${name}` }));
}

async function files(query, project, signal) {
  const { result } = await api(withQuery('/search', { kind: 'files', project, query: globOf(query) }), { signal });
  return result.files.slice(0, MOST).map((path) => {
    const cut = path.lastIndexOf('/') + 1;
    return { label: path.slice(cut), note: path.slice(0, cut), insert: `${path} `, file: path };
  });
}

/** A glob for paths that hold these parts, in upper or lower case. */
export function globOf(query) {
  const letters = (part) => [...part].map((letter) => {
    const [low, high] = [letter.toLowerCase(), letter.toUpperCase()];
    if (low !== high) return `[${low}${high}]`;
    return /[\w.-]/.test(letter) ? letter : '?';
  }).join('');
  return `**/*${query.split('/').map(letters).join('*/*')}*`.replace(/\*{2,}(?!\/)/g, '*');
}
