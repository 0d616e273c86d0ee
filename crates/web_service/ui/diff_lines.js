// The lines of a diff as data: which stand beside each other, which words differ, and into which pieces a line is cut.

/** Lines longer than this are not compared word by word. */
const LONGEST_COMPARED = 1_000;
/** Words of two lines that are compared with each other, at most. */
const MOST_COMPARISONS = 40_000;
/** Below this share of common text two lines are different lines, and marks would only be noise. */
const LEAST_COMMON = 0.35;

/** The lines of a hunk with their numbers before and after the change. */
export function numbered(hunk) {
  let before = hunk.old_start + (hunk.old_lines ? 0 : 1);
  let after = hunk.new_start + (hunk.new_lines ? 0 : 1);
  return hunk.lines.map((line) => {
    const at = { line, before: null, after: null, next: after };
    if (line.kind !== 'add') at.before = before++;
    if (line.kind !== 'remove') at.after = after++;
    return at;
  });
}

/** Rows of two sides: `[left, right]`, either of which may be missing. Runs that go and come are paired in order. */
export function paired(lines) {
  const rows = [];
  let index = 0;
  const run = (kind) => {
    const from = index;
    while (index < lines.length && lines[index].line.kind === kind) index += 1;
    return lines.slice(from, index);
  };
  while (index < lines.length) {
    for (const same of run('context')) rows.push([same, same]);
    const gone = run('remove');
    const come = run('add');
    for (let at = 0; at < Math.max(gone.length, come.length); at += 1) rows.push([gone[at], come[at]]);
  }
  return rows;
}

/** Tells each line that goes or comes its counterpart, with which it is compared when it is drawn. */
export function withPeers(lines) {
  for (const [left, right] of paired(lines)) {
    if (left && right && left !== right) [left.peer, right.peer] = [right, left];
  }
  return lines;
}

/** The words of a line that its counterpart has not: as the service tells them, else as they are found here. */
function wordsOf(at) {
  if (at.line.words) return at.line.words;
  if (!at.peer) return [];
  if (!at.words) {
    const [gone, come] = at.line.kind === 'remove' ? [at, at.peer] : [at.peer, at];
    [gone.words, come.words] = changedWords(gone.line.text, come.line.text);
  }
  return at.words;
}

function tokens(text) {
  return text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

/** The parts of two lines that the other has not, as `[from, to]` each; none if the lines have little in common. */
export function changedWords(one, other) {
  if (one.length > LONGEST_COMPARED || other.length > LONGEST_COMPARED) return [[], []];
  const [left, right] = [tokens(one), tokens(other)];
  if (left.length * right.length > MOST_COMPARISONS) return [[], []];
  const [keptLeft, keptRight] = longestCommon(left, right);
  const kept = left.reduce((sum, token, index) => sum + (keptLeft.has(index) ? token.trim().length : 0), 0);
  const most = Math.max(one.replace(/\s/g, '').length, other.replace(/\s/g, '').length);
  if (most === 0 || kept / most < LEAST_COMMON) return [[], []];
  return [rangesBeside(left, keptLeft), rangesBeside(right, keptRight)];
}

/** Which tokens of both lists are in their longest common subsequence. */
function longestCommon(left, right) {
  const width = right.length + 1;
  const lengths = new Uint16Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = left[i] === right[j]
        ? lengths[(i + 1) * width + j + 1] + 1
        : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const kept = [new Set(), new Set()];
  for (let i = 0, j = 0; i < left.length && j < right.length;) {
    if (left[i] === right[j]) {
      kept[0].add(i++);
      kept[1].add(j++);
    } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return kept;
}

/** The tokens that are not kept, as ranges of the text. Blanks between two of them belong to both. */
function rangesBeside(list, kept) {
  const ranges = [];
  let at = 0;
  list.forEach((token, index) => {
    const isBlankBetween = kept.has(index) && !token.trim() && index > 0 && !kept.has(index - 1)
      && index + 1 < list.length && !kept.has(index + 1);
    if (!kept.has(index) || isBlankBetween) {
      const last = ranges.at(-1);
      if (last?.[1] === at) last[1] += token.length;
      else ranges.push([at, at + token.length]);
    }
    at += token.length;
  });
  const text = list.join('');
  return ranges.map(([from, to]) => {
    const marked = text.slice(from, to);
    return marked.trim() ? [to - marked.trimStart().length, from + marked.trimEnd().length] : [from, to];
  });
}

/** Marks count in bytes of UTF-8; the page in units of UTF-16. */
function inUnits(text, marks) {
  if (!marks?.length || /^[\x00-\x7f]*$/.test(text)) return marks ?? [];
  const unitAt = new Map();
  let bytes = 0;
  let units = 0;
  for (const character of text) {
    unitAt.set(bytes, units);
    const code = character.codePointAt(0);
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    units += character.length;
  }
  unitAt.set(bytes, units);
  return marks.map(({ start, end, kind }) => ({ start: unitAt.get(start) ?? 0, end: unitAt.get(end) ?? units, kind }));
}

const KIND_OF_MARK = { escape: 'hidden', trailing_space: 'trailing_space' };

/** A line cut into pieces: `{text, kind, isWord}`. Syntax and hidden characters are kinds, words lie over them. */
export function pieces(at) {
  const { line } = at;
  const { text } = line;
  const kinds = [];
  if (line.spans) {
    let from = 0;
    for (const [length, kind] of line.spans) {
      if (kind) kinds.push([from, from + length, kind]);
      from += length;
    }
  } else {
    for (const { start, end, kind } of inUnits(text, line.marks)) kinds.push([start, end, KIND_OF_MARK[kind] ?? kind]);
  }
  const marked = wordsOf(at);
  if (kinds.length === 0 && marked.length === 0) return [{ text }];
  const cuts = new Set([0, text.length]);
  for (const [from, to] of kinds) cuts.add(from).add(to);
  for (const [from, to] of marked) cuts.add(from).add(to);
  const places = [...cuts].filter((place) => place <= text.length).sort((one, other) => one - other);
  const within = (from) => ([start, end]) => start <= from && from < end;
  return places.slice(0, -1).map((from, index) => ({
    text: text.slice(from, places[index + 1]),
    kind: kinds.find(within(from))?.[2],
    isWord: marked.some(within(from)),
  }));
}

const WIDE = new RegExp('[\\u1100-\\u115f\\u2e80-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f'
  + '\\uff00-\\uff60\\uffe0-\\uffe6\\u{1f300}-\\u{3fffd}]', 'u');

/** How many columns a line takes, with tabs of four and wide characters of two. */
export function columns(text) {
  let count = 0;
  for (const character of text) {
    if (character === '\t') count += 4 - (count % 4);
    else count += WIDE.test(character) ? 2 : 1;
  }
  return count;
}

// Controls other than tab, marks of direction, zero width, invisible fillers, odd blanks and tags.
const HIDDEN = new RegExp('[\\u0000-\\u0008\\u000a-\\u001f\\u007f-\\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160'
  + '\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u3000\\u3164\\ufe00-\\ufe0f'
  + '\\ufeff\\uffa0\\ufff0-\\ufffb\\u{e0000}-\\u{e0fff}]', 'gu');

// What joins and colours emoji can be seen by what it does.
const JOINED = /\p{Extended_Pictographic}\ufe0f?\u200d(?=\p{Extended_Pictographic})|[\p{Extended_Pictographic}0-9#*]\ufe0f/gu;

/** The characters of a text that cannot be seen, with their places. */
function hiddenIn(text) {
  const found = [...text.matchAll(HIDDEN)];
  if (found.length === 0) return found;
  const joined = new Set();
  for (const { 0: part, index } of text.matchAll(JOINED)) {
    for (let at = 1; at < part.length; at += 1) joined.add(index + at);
  }
  return found.filter(({ index }) => !joined.has(index));
}

const codeOf = (character) => character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');

/** A raw line of a file as a line of a diff: what cannot be seen is written as an escape and marked. */
export function rawLine(text) {
  const kinds = [];
  let drawn = '';
  let from = 0;
  for (const { 0: character, index } of hiddenIn(text)) {
    drawn += text.slice(from, index);
    if (drawn) kinds.push([drawn.length - kinds.reduce((sum, [length]) => sum + length, 0), null]);
    const escape = `\\u{${codeOf(character)}}`;
    kinds.push([escape.length, 'hidden']);
    drawn += escape;
    from = index + character.length;
  }
  return { kind: 'context', text: drawn + text.slice(from), spans: kinds };
}

/** The lines of a text that hold hidden characters, from 1, with the names of these. */
export function hiddenLines(text) {
  const found = [];
  text.split(/\r?\n/).forEach((line, index) => {
    const names = hiddenIn(line).map(([character]) => `U+${codeOf(character)}`);
    if (names.length) found.push({ line: index + 1, names: [...new Set(names)] });
  });
  return found;
}
