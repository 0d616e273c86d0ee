// What the user makes of a proposal before it is answered: parts that are left out, other text, comments on lines.

import { signal } from '../core.js';
import { numbered } from '../diff_lines.js';

/** Drafts by the question's hash: a glance at another question loses nothing. */
const drafts = new Map();
/** Drafts that are kept. */
const KEPT = 20;

/** The draft for a question with all it is about. */
export function draftOf(whole) {
  const draft = drafts.get(whole.question) ?? new ReviewDraft(whole);
  drafts.delete(whole.question);
  drafts.set(whole.question, draft);
  if (drafts.size > KEPT) drafts.delete(drafts.keys().next().value);
  return draft;
}

/** How many parts of a file can be accepted one by one. A new directory comes with what is in it. */
export function partsOf(file) {
  return file.kind === 'make_dir' ? 0 : Math.max(file.hunks.length, 1);
}

class ReviewDraft {
  constructor({ diffs, proposal }) {
    this.files = diffs;
    this.changes = proposal.changes ?? [];
    this.version = signal(0);
    this.accepted = new Map(diffs.map((file) => [file.path, new Set(Array(partsOf(file)).keys())]));
    /** By path, by the name of the line. */
    this.comments = new Map();
    this.open = null;
    /** Other text by path; null while it is the proposed one. */
    this.edits = new Map();
  }

  change(act) {
    act();
    this.version.value += 1;
  }

  // ---- Parts ----

  isAccepted(path, part) {
    return this.accepted.get(path).has(part);
  }

  /** `all`, `some` or `none` of a file. */
  share(file) {
    const { size } = this.accepted.get(file.path);
    return size === 0 ? 'none' : size < partsOf(file) ? 'some' : 'all';
  }

  toggle(path, part) {
    if (this.edits.has(path)) return;
    this.change(() => {
      const parts = this.accepted.get(path);
      if (!parts.delete(part)) parts.add(part);
    });
  }

  toggleFile(file) {
    const isAll = this.share(file) === 'all';
    this.change(() => {
      this.accepted.set(file.path, new Set(isAll ? [] : Array(partsOf(file)).keys()));
      if (isAll) this.edits.delete(file.path);
    });
  }

  get parts() {
    return this.files.reduce((sum, file) => sum + partsOf(file), 0);
  }

  get taken() {
    return this.files.reduce((sum, { path }) => sum + this.accepted.get(path).size, 0);
  }

  // ---- Text ----

  /** The whole text of a file after the change, if it is text. */
  proposed(path) {
    return this.changes.find((change) => change.op === 'write' && change.path === path)?.content.text;
  }

  /** Why a file cannot be edited here; undefined if it can. */
  obstacle(path) {
    const text = this.proposed(path);
    if (text === undefined) return 'only text can be edited here';
    const bare = text.replaceAll('\r\n', '');
    // A text field knows only one kind of line end.
    const isMixed = bare.includes('\r') || (text.includes('\r\n') && bare.includes('\n'));
    return isMixed ? 'its lines end in different ways' : undefined;
  }

  edit(path) {
    this.change(() => {
      this.edits.set(path, null);
      this.accepted.set(path, new Set(Array(partsOf(this.files.find((file) => file.path === path))).keys()));
    });
  }

  /** Takes the text of the field, which knows only line feeds. */
  write(path, text) {
    const before = this.proposed(path);
    const written = before.includes('\r\n') ? text.replaceAll('\n', '\r\n') : text;
    this.change(() => this.edits.set(path, written === before ? null : written));
  }

  discard(path) {
    this.change(() => this.edits.delete(path));
  }

  get edited() {
    return [...this.edits].filter(([, text]) => text !== null);
  }

  // ---- Comments ----

  /** What the diff of a file needs to show and take comments. */
  talk(file) {
    const of = this.comments.get(file.path);
    const { open } = this;
    return {
      path: file.path,
      version: this.version.value,
      open: open?.path === file.path ? open.name : null,
      has: (name) => of?.has(name) || (open?.path === file.path && open.name === name),
      text: (name) => of?.get(name) ?? '',
      begin: (name) => this.change(() => { this.open = { path: file.path, name }; }),
      save: (name, text) => this.change(() => {
        this.open = null;
        const all = this.comments.get(file.path) ?? new Map();
        if (text) all.set(name, text);
        else all.delete(name);
        this.comments.set(file.path, all);
      }),
    };
  }

  /** The comments as the service takes them: each at a line as it would be after the change. */
  get sentComments() {
    return this.files.flatMap((file) => [...this.comments.get(file.path) ?? []].map(([name, text]) => {
      const number = Number(name.slice(1));
      if (name[0] === 'n') return { path: file.path, line: number, text };
      const lines = file.hunks.flatMap(numbered);
      const gone = lines.find(({ before, after }) => before === number && after === null);
      const place = `(on the removed line ${number}, "${gone?.line.text.trim() ?? ''}")`;
      return { path: file.path, line: Math.max(gone?.next ?? 1, 1), text: `${place} ${text}` };
    }));
  }

  // ---- The answer ----

  get isWhole() {
    return this.taken === this.parts && this.edited.length === 0;
  }

  /** A yes to what is left. */
  get body() {
    const hunks = this.files.filter((file) => partsOf(file) && this.share(file) !== 'all')
      .map(({ path }) => [path, [...this.accepted.get(path)].sort((one, other) => one - other)]);
    return {
      approve: true,
      ...(hunks.length && { hunks: Object.fromEntries(hunks) }),
      ...(this.edited.length && { files: Object.fromEntries(this.edited) }),
      ...(this.sentComments.length && { comments: this.sentComments }),
    };
  }
}
