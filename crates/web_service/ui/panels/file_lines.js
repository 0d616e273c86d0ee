// The lines of a file, loaded a piece at a time as they come into view.

import { api, signal, withQuery } from '../core.js';

/** Lines that one request brings. */
const PIECE = 500;

/** A line as `read_file` numbers it. */
const NUMBERED = /^ *\d+\t/;

export class FileLines {
  constructor(project, path) {
    this.project = project;
    this.path = path;
    /** Counts what has arrived, so that views draw again. */
    this.arrived = signal(0);
    this.total = 0;
    this.facts = null;
    this.outline = [];
    this.outlineTotal = 0;
    this.error = null;
    this.pieces = new Map();
    this.stopping = new AbortController();
  }

  /** The text of a line and its colours; nothing while it is on its way. Lines count from 1. */
  at(line) {
    const piece = this.pieces.get(Math.floor((line - 1) / PIECE));
    return piece?.lines?.[(line - 1) % PIECE];
  }

  /** Asks for the lines of a range that are not there. */
  need(first, last) {
    const end = this.facts ? Math.min(last, this.total) : last;
    for (let number = Math.floor((first - 1) / PIECE); number <= Math.floor((end - 1) / PIECE); number += 1) {
      if (!this.pieces.has(number)) this.load(number);
    }
  }

  async load(number) {
    const piece = {};
    this.pieces.set(number, piece);
    const { project, path } = this;
    const query = { project, path, offset: number * PIECE + 1, limit: PIECE };
    try {
      const answer = await api(withQuery('/files/content', query), { signal: this.stopping.signal });
      this.take(piece, answer);
    } catch (error) {
      if (error.name === 'AbortError') return;
      this.pieces.delete(number);
      if (!this.facts) this.error = error;
    }
    this.arrived.value += 1;
  }

  take(piece, { file, outline, spans }) {
    const lines = file.content === '' ? [] : file.content.split('\n').slice(0, PIECE);
    piece.lines = lines.map((text, index) => ({ text: text.replace(NUMBERED, ''), spans: spans?.[index] }));
    this.facts = file;
    this.total = file.total_lines ?? lines.length;
    // Without a grammar an outline is a selection of lines, which the viewer shows anyway.
    if (outline && outline.by !== 'text') {
      this.outline = readOutline(outline.outline);
      this.outlineTotal = outline.total;
    }
  }

  close() {
    this.stopping.abort();
  }
}

/** `  20: fn name()` as `{line, depth, text}`; a heading without a line belongs to what follows it. */
function readOutline(text) {
  const entries = [];
  for (const written of text.split('\n')) {
    const [, indent, line, rest] = /^( *)(?:(\d+): )?(.*)$/.exec(written);
    if (rest && !rest.startsWith('…'))
      entries.push({ depth: indent.length / 2, line: Number(line) || null, text: rest });
  }
  return entries;
}
