// One field over everything: sessions, files, symbols, text and commands.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { html, styles } from '../core.js';
import { visible } from './hidden.js';
import { foundThings, knownThings, recentThings } from './palette_sources.js';

await styles('/panels/palette.css');

/** Milliseconds without a key after which the service is asked. */
const PAUSE = 120;
/** Milliseconds after which it is asked again what it could not answer yet. */
const LATER = 400;
const MOST_TIMES = 30;
const ORDER = ['sessions', 'files', 'symbols', 'text'];

export default function Palette({ close }) {
  const dialog = useRef(null);
  const [query, type] = useState('');
  const [found, take] = useState({});
  const [isBusy, work] = useState(false);
  const [chosen, choose] = useState(0);
  const words = query.trim();

  useEffect(() => {
    const before = document.activeElement;
    dialog.current.showModal();
    return () => before?.focus?.();
  }, []);
  useEffect(() => {
    choose(0);
    if (!words) {
      take({});
      work(false);
      return undefined;
    }
    const stopping = new AbortController();
    work(true);
    const look = async () => {
      // What was found for the word before stays until something takes its place, so that nothing blinks.
      const { isUnfinished, ...fresh } = await foundThings(words, stopping.signal);
      if (stopping.signal.aborted) return;
      take(fresh);
      times += 1;
      const goesOn = isUnfinished && times < MOST_TIMES;
      work(goesOn);
      if (goesOn) timer = setTimeout(look, LATER);
    };
    let times = 0;
    let timer = setTimeout(look, PAUSE);
    return () => {
      clearTimeout(timer);
      stopping.abort();
    };
  }, [words]);

  const groups = useMemo(() => {
    if (!words) return recentThings();
    // The service knows what was said in sessions, the page only how they are called.
    const known = knownThings(words).filter(({ title }) => title !== 'Sessions' || !found.sessions);
    return [...known, ...ORDER.flatMap((kind) => found[kind] ?? [])];
  }, [words, found]);
  const entries = groups.flatMap((one) => one.entries);
  const current = Math.min(chosen, entries.length - 1);
  useEffect(() => {
    dialog.current.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [current, groups]);
  const act = (entry) => {
    close();
    entry.act();
  };
  const pressed = (event) => {
    if (event.isComposing) return;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 6, PageUp: -6 };
    if (steps[event.key] && entries.length) {
      event.preventDefault();
      const next = current + steps[event.key];
      const isStep = Math.abs(steps[event.key]) === 1;
      choose(isStep ? (next + entries.length) % entries.length : Math.min(entries.length - 1, Math.max(0, next)));
    } else if (event.key === 'Enter' && entries[current]) {
      event.preventDefault();
      act(entries[current]);
    }
  };
  const count = entries.length === 1 ? '1 entry' : `${entries.length} entries`;
  const status = isBusy ? 'Searching…' : words && count;
  let number = -1;
  return html`<dialog class="palette" ref=${dialog} aria-label="Search everything" onClose=${close}
    onClick=${(event) => event.target === dialog.current && close()}>
    <div class="palette-body">
      <input type="text" role="combobox" aria-label="Search everything" aria-expanded="true"
        aria-controls="palette-list" aria-autocomplete="list"
        aria-activedescendant=${entries.length ? `palette-${current}` : undefined}
        placeholder="Sessions, files, symbols, text, commands" autocomplete="off" spellcheck=${false} value=${query}
        onInput=${(event) => type(event.target.value)} onKeyDown=${pressed} />
      <div id="palette-list" class="palette-list" role="listbox" aria-label="Found">
        ${groups.map(({ title, entries: own, more }) => html`<div key=${title} role="group" aria-label=${title}>
          <p class="palette-title" aria-hidden="true">${title}${more ? ' · first matches' : ''}</p>
          ${own.map((entry) => {
            number += 1;
            const index = number;
            return html`<div key=${entry.key} id=${`palette-${index}`} class="palette-entry" role="option"
              aria-selected=${index === current}
              onClick=${() => act(entry)}>
              <span class=${entry.isCode ? 'is-code' : ''}>${visible(entry.title)}</span>
                <em>${visible(entry.note ?? '')}</em></div>`;
          })}
        </div>`)}
      </div>
      ${words && entries.length === 0 && !isBusy && html`<p
        class="empty">Nothing was found. Files and symbols are found by letters in their order, text as it is.</p>`}
      <footer><span role="status">${status}</span>
        <span class="grow"></span><kbd>↑↓</kbd> choose <kbd>Enter</kbd> open <kbd>Esc</kbd> close</footer>
    </div>
  </dialog>`;
}
