// The text of a file: only the lines around what can be seen are drawn, so that long files stay light.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html } from '../core.js';
import { characterName, hiddenRanges } from './hidden.js';

/** Pixels from line to line; `files.css` says the same. */
const LINE = 20;
/** Lines drawn beyond both edges, so that fast scrolling shows no gap. */
const BEYOND = 40;
/** Lines by which the drawn part moves. */
const STEP = 20;
/** Characters of a line that are drawn. Minified files have lines that would stop the browser. */
const LONGEST = 4_000;

const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/gu;

/** The word at or right before a position of a line. */
function wordAt(text, offset) {
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (index <= offset && offset <= index + word.length) return { from: index, to: index + word.length, word };
  }
  return null;
}

/** A line cut where its look changes: colours, hidden characters, the chosen word. */
function piecesOf({ text, spans }, chosen) {
  const shown = text.slice(0, LONGEST);
  const ranges = [];
  let at = 0;
  for (const [length, kind] of spans ?? []) {
    if (kind) ranges.push([at, at + length, kind]);
    at += length;
  }
  const hidden = hiddenRanges(shown);
  const cuts = new Set([0, shown.length]);
  for (const [from, to] of [...ranges, ...hidden]) {
    cuts.add(Math.min(from, shown.length));
    cuts.add(Math.min(to, shown.length));
  }
  if (chosen) cuts.add(chosen.from).add(chosen.to);
  const places = [...cuts].sort((one, other) => one - other);
  return places.slice(0, -1).map((from, index) => {
    const to = places[index + 1];
    const isHidden = hidden.some(([start, end]) => start <= from && to <= end);
    const kind = ranges.find(([start, end]) => start <= from && to <= end)?.[2];
    return { from, text: shown.slice(from, to), kind, isHidden, isChosen: chosen?.from === from };
  });
}

function Line({ number, line, chosen, isHere }) {
  const rest = (line?.text.length ?? 0) - LONGEST;
  return html`<div class="source-line" data-line=${number} data-here=${isHere || undefined}>
    <span class="line-number" aria-hidden="true">${number}</span>
      <code>${line && piecesOf(line, chosen).map((piece) => (piece.isHidden
      ? html`<span key=${piece.from} class="hidden-character">${characterName(piece.text)}</span>`
      : html`<span key=${piece.from} data-from=${piece.from} data-kind=${piece.kind}
        data-chosen=${piece.isChosen || undefined}
        >${piece.text}</span>`))}${rest > 0 && html`<span class="empty"> … ${rest} more characters</span>`}</code>
  </div>`;
}

/** The offset in its line of what is under the pointer. */
function offsetUnder(event) {
  const caret = document.caretPositionFromPoint?.(event.clientX, event.clientY);
  const range = caret ? null : document.caretRangeFromPoint?.(event.clientX, event.clientY);
  const node = caret?.offsetNode ?? range?.startContainer;
  const piece = node?.parentElement?.closest?.('[data-from]');
  return piece ? Number(piece.dataset.from) + (caret?.offset ?? range.startOffset) : null;
}

/** `at` is the line to show; `cursor` and `move` are the chosen place; `follow` looks up a word. */
export function FileView({ file, at, cursor, move, follow }) {
  const place = useRef(null);
  const [[from, to], show] = useState([1, 100]);
  const count = file.arrived.value;
  const look = () => {
    if (!place.current) return;
    const { scrollTop, clientHeight } = place.current;
    // In steps, so that most of scrolling draws nothing anew.
    const top = Math.floor(scrollTop / LINE / STEP) * STEP;
    const first = Math.max(1, top + 1 - BEYOND);
    const last = top + STEP + Math.ceil(clientHeight / LINE) + BEYOND;
    show(([one, other]) => (one === first && other === last ? [one, other] : [first, last]));
    file.need(first, last);
  };
  useEffect(() => { file.need(at ?? 1, at ?? 1); }, [file]);
  // Once the height is known, the line that was asked for comes into view, a third from the top.
  const isKnown = file.total > 0;
  useLayoutEffect(() => {
    if (!isKnown) return;
    if (at) place.current.scrollTop = Math.max(0, (at - 1) * LINE - place.current.clientHeight / 3);
    look();
  }, [file, at, isKnown]);
  useEffect(() => {
    const watcher = new ResizeObserver(look);
    watcher.observe(place.current);
    return () => watcher.disconnect();
  }, [file]);

  const reveal = ({ line }) => {
    const { current: box } = place;
    const top = (line - 1) * LINE;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + 2 * LINE > box.scrollTop + box.clientHeight) box.scrollTop = top + 2 * LINE - box.clientHeight;
    requestAnimationFrame(() => {
      box.querySelector('[data-chosen]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    });
  };
  const toLine = (line) => {
    const next = { line: Math.min(file.total, Math.max(1, line)) };
    move(next);
    reveal(next);
  };
  const toWord = (step) => {
    const words = [...(file.at(cursor.line)?.text ?? '').matchAll(WORD)];
    const present = words.findIndex(({ index }) => index === cursor.from);
    const next = words[present < 0 ? (step > 0 ? 0 : words.length - 1) : present + step];
    if (!next) return;
    const chosen = { line: cursor.line, from: next.index, to: next.index + next[0].length, word: next[0] };
    move(chosen);
    reveal(chosen);
  };
  const pressed = (event) => {
    if (event.altKey) return;
    const page = Math.max(1, Math.floor(place.current.clientHeight / LINE) - 2);
    const moves = {
      ArrowDown: () => toLine(cursor.line + 1),
      ArrowUp: () => toLine(cursor.line - 1),
      PageDown: () => toLine(cursor.line + page),
      PageUp: () => toLine(cursor.line - page),
      Home: () => toLine(1),
      End: () => toLine(file.total),
      ArrowRight: () => toWord(1),
      ArrowLeft: () => toWord(-1),
      Enter: () => cursor.word && follow(cursor.word),
      F12: () => cursor.word && follow(cursor.word),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  };
  const clicked = (event) => {
    const row = event.target.closest('.source-line');
    // A selection with the mouse is for copying.
    if (!row || String(getSelection())) return;
    const line = Number(row.dataset.line);
    const offset = offsetUnder(event);
    const chosen = offset === null ? null : wordAt(file.at(line)?.text ?? '', offset);
    move({ line, ...chosen });
    if (chosen && (event.ctrlKey || event.metaKey)) follow(chosen.word);
  };
  const lines = [];
  for (let number = from; number <= Math.min(to, file.total); number += 1) {
    const isHere = number === cursor.line;
    lines.push(html`<${Line} key=${number} number=${number} line=${file.at(number)} isHere=${isHere}
      chosen=${isHere && cursor.word ? cursor : null} />`);
  }
  return html`<div class="source-lines" ref=${place} tabindex="0" role="region" aria-label="Text of the file"
    aria-describedby="lines-help"
    data-arrived=${count} onScroll=${look} onKeyDown=${pressed} onClick=${clicked}>
    <p id="lines-help" class="unseen">Arrow keys choose a line and a word in it; Enter goes to its definition.</p>
    <div class="all-lines" style=${{ height: `${file.total * LINE}px` }}>
      <div class="drawn" style=${{ transform: `translateY(${(from - 1) * LINE}px)` }}>${lines}</div>
    </div>
  </div>`;
}
