// The review of a proposal: exactly what would happen, and every way to answer it.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api, html, lazy, plural, route, signal, styles } from '../core.js';
import { Counts, DiffTools, FileHead, Hunks, KindMark, diffStyle, drawnPath, hunkWords, useWidth } from '../diff.js';
import { FileCounts, Pager, QuestionNotes, Verdict, lookedAt, questionsFor, titleWords } from '../question.js';
import { draftOf, partsOf } from './review_draft.js';

const ready = styles('/panels/review.css');
const EditField = lazy(() => import('./review_edit.js'));
const Effect = lazy(() => import('./review_effect.js'));

/** Whether the review takes the place of the conversation, too. */
const isWide = signal(localStorage.getItem('review-wide') === 'yes');
isWide.subscribe((wide) => localStorage.setItem('review-wide', wide ? 'yes' : 'no'));
/** Whether the focus was in the review when its question went, so that it belongs there and not nowhere. */
let hadFocus = false;

export default function ReviewPanel() {
  const list = questionsFor(route.value.session);
  const { question } = lookedAt(list);
  if (!question) return html`<${Nothing} />`;
  return html`<${Review} key=${question.question} question=${question} list=${list} canWiden />`;
}

function Nothing() {
  const place = useRef(null);
  useKeptFocus(place);
  return html`<div class="review-empty" tabindex="-1" ref=${place}>
    <h2>Nothing waits for you</h2>
    <p>Changes, commands and requests that need your yes are shown here before anything is done.</p>
  </div>`;
}

/** Keeps the focus in the review while one question follows another; on no button, so that it answers nothing. */
function useKeptFocus(place) {
  useLayoutEffect(() => {
    const { current: element } = place;
    if (hadFocus && document.activeElement === document.body) element.focus();
    hadFocus = false;
    return () => { hadFocus = element.contains(document.activeElement); };
  }, []);
}

/** A question with all it is about. It is named by the hash of its proposal, so what is loaded never changes. */
function useWhole({ owner, question }) {
  const [whole, take] = useState(null);
  const [failure, fail] = useState(null);
  useEffect(() => {
    const stop = new AbortController();
    const asked = api(`/approvals/${encodeURIComponent(owner)}/${question}`, { signal: stop.signal });
    // Styles first: nothing is drawn that jumps afterwards.
    Promise.all([asked, ready]).then(([found]) => take(found), (error) => error.name !== 'AbortError' && fail(error));
    return () => stop.abort();
  }, [owner, question]);
  return { whole, failure };
}

/** One question. `list` are those that can be turned to. */
export function Review({ question, list, canWiden, back }) {
  const place = useRef(null);
  const width = useWidth(place);
  const { whole, failure } = useWhole(question);
  useKeptFocus(place);
  const draft = whole && draftOf(whole);
  const isChanges = whole?.proposal.kind === 'changes';
  return html`<div class="review" ref=${place} tabindex="-1" data-wide=${canWiden && isWide.value ? 'yes' : undefined}
    onKeyDown=${(event) => draft && pressed(event, place.current, draft)}>
    <header class="review-head">
      <div class="review-title">
        ${back && html`<button class="quiet small" onClick=${back}>Back</button>`}
        <h2>${titleWords(question)}</h2> <${FileCounts} files=${question.files} />
        <span class="grow"></span><${Pager} list=${list} />
      </div>
    </header>
    <div class="review-body" tabindex="0" aria-label="What would happen" role="region">
      <div class="review-notes"><${QuestionNotes} question=${notesOf(question)} /></div>
      ${isChanges && html`<div class="review-tools"><${DiffTools} width=${width} /><span class="grow"></span>
        ${canWiden && html`<button class="quiet small wide-only" aria-pressed=${isWide.value}
          onClick=${() => { isWide.value = !isWide.value; }}>Full width</button>`}</div>`}
      ${failure && html`<p class="notice error">${failure.message}</p>`}
      ${whole && (isChanges ? html`<${Changes} draft=${draft} look=${diffStyle(width)} />`
        : html`<${Effect} whole=${whole} />`)}
    </div>
    ${whole && html`<${Answer} question=${question} draft=${draft} isChanges=${isChanges} />`}
  </div>`;
}

/** Warnings about files stand at the files. Why a command is asked about is said in any case. */
function notesOf(question) {
  const isChanges = question.kind === 'changes' || question.kind === 'left_behind';
  return isChanges ? { ...question, warnings: [] } : { ...question, is_routine: false };
}

// ---- Keys ----

/** Keys of the review; never those of a text field. */
function pressed(event, place, draft) {
  const { target, key } = event;
  const isTyping = target.closest('textarea, select, input:not([type="checkbox"])');
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const hunk = target.closest('.hunk');
  const isHunk = target === hunk;
  const step = { j: 1, k: -1, ...(isHunk && { ArrowDown: 1, ArrowUp: -1 }) }[key];
  if (step) {
    const all = [...place.querySelectorAll('.hunk')];
    const next = all[hunk ? all.indexOf(hunk) + step : step > 0 ? 0 : all.length - 1];
    if (!next) return;
    event.preventDefault();
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: next.offsetHeight > place.clientHeight / 2 ? 'start' : 'nearest' });
  } else if (isHunk && key === ' ') {
    event.preventDefault();
    draft.toggle(hunk.closest('.file').dataset.path, Number(hunk.dataset.hunk));
  } else if (isHunk && key === 'c') {
    event.preventDefault();
    hunk.querySelector('.begin-comment')?.click();
  }
}

// ---- Changes ----

function Changes({ draft, look }) {
  draft.version.value;
  const { files } = draft;
  return html`
    ${files.length > 1 && html`<${FileList} draft=${draft} />`}
    ${files.map((file, index) => html`<${ReviewedFile} key=${file.path} ...${{ file, draft, look }}
      isEager=${index < 6} />`)}`;
}

/** The box for all of a file, where there is more than that to choose from. */
function FileBox({ file, draft, words }) {
  if (draft.parts === 1) return null;
  if (partsOf(file) === 0) return html`<span class="part-box"></span>`;
  const share = draft.share(file);
  return html`<label class="part-box"><input type="checkbox" checked=${share === 'all'}
    indeterminate=${share === 'some'} aria-label="${words} ${drawnPath(file.path)}"
    onChange=${() => draft.toggleFile(file)} /></label>`;
}

function FileList({ draft }) {
  const show = (event, path) => {
    const review = event.currentTarget.closest('.review');
    const section = [...review.querySelectorAll('.file')].find(({ dataset }) => dataset.path === path);
    section.scrollIntoView({ block: 'start' });
    section.querySelector('.hunk')?.focus({ preventScroll: true });
  };
  return html`<ul class="review-files" aria-label="Files">${draft.files.map((file) => html`<li key=${file.path}>
    <span class="part-box-place"><${FileBox} file=${file} draft=${draft} words="Take" /></span>
    <button onClick=${(event) => show(event, file.path)}><${KindMark} kind=${file.kind} />
      <span>${drawnPath(file.path)}</span> <${Counts} added=${file.added} removed=${file.removed} /></button>
  </li>`)}</ul>`;
}

function ReviewedFile({ file, draft, look, isEager }) {
  const version = draft.version.value;
  const { path } = file;
  const after = useMemo(() => linesOf(draft.proposed(path)), [draft, path]);
  const Head = useMemo(() => (given) => html`<${HunkHead} ...${given} file=${file} draft=${draft} />`, [file, draft]);
  const talk = useMemo(() => draft.talk(file), [version]);
  const isEdited = draft.edits.has(path);
  const obstacle = draft.obstacle(path);
  const isText = !file.binary && file.kind !== 'link' && (file.hunks.length > 0 || after?.length > 0);
  return html`<section class="file" data-path=${path} aria-label=${drawnPath(path)}>
    <${FileHead} file=${file} box=${html`<${FileBox} file=${file} draft=${draft} words="Take all of" />`}>
      ${isText && !obstacle && (isEdited
        ? html`<button class="quiet small" onClick=${() => draft.discard(path)}>Discard the edit</button>`
        : html`<button class="quiet small" onClick=${() => draft.edit(path)}>Edit</button>`)}
    <//>
    ${isEdited ? html`<${EditField} path=${path} draft=${draft} />`
      : html`<${Hunks} file=${file} look=${look} after=${after} Head=${Head} talk=${talk} isEager=${isEager} />`}
    ${!isEdited && file.hunks.length === 0 && partsOf(file) > 0 && html`<section class="hunk bare" tabindex="0"
      data-hunk="0" aria-label="All of ${drawnPath(path)}">
      <p>There are no lines to compare: it is taken or left out as a whole.</p></section>`}
  </section>`;
}

/** The lines of a text without their ends. */
function linesOf(text) {
  if (text === undefined) return undefined;
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function HunkHead({ index, hunk, file, draft }) {
  draft.version.value;
  const begin = () => {
    const changed = hunk.lines.findIndex(({ kind }) => kind !== 'context');
    const before = hunk.lines.slice(0, changed).length;
    const isGone = hunk.lines[changed].kind === 'remove' && !hunk.lines.some(({ kind }) => kind === 'add');
    const name = isGone ? `o${hunk.old_start + before}` : `n${hunk.new_start + before}`;
    draft.talk(file).begin(name);
  };
  const isTaken = draft.isAccepted(file.path, index);
  return html`<header class="hunk-head${isTaken ? '' : ' out'}">
    ${partsOf(file) === 1 ? html`<span>${hunkWords(hunk)}${isTaken ? '' : ', left out'}</span>`
      : html`<label><input type="checkbox" checked=${isTaken} onChange=${() => draft.toggle(file.path, index)} />
        <span>${hunkWords(hunk)}${isTaken ? '' : ', left out'}</span></label>`}
    <span class="grow"></span>
    <button class="quiet small begin-comment" onClick=${begin}>Comment</button>
  </header>`;
}

// ---- The answer ----

function Answer({ question, draft, isChanges }) {
  draft.version.value;
  const comments = isChanges ? draft.sentComments : [];
  const { parts, taken, edited } = draft;
  const isWhole = !isChanges || draft.isWhole;
  const words = [
    isChanges && parts > 1 && `${taken} of ${plural(parts, 'part')}`,
    edited.length > 0 && `${plural(edited.length, 'file')} edited`,
    comments.length > 0 && plural(comments.length, 'comment'),
  ].filter(Boolean);
  let label = parts > 1 ? 'Approve all' : 'Approve';
  if (comments.length) label = `Approve with ${plural(comments.length, 'comment')}`;
  if (!isWhole) label = edited.length ? 'Continue with your text' : `Continue with ${taken} of ${parts}`;
  const isNothing = isChanges && parts > 0 && taken === 0;
  let note = isWhole ? '' : '. You see what remains before it is done.';
  if (isNothing) note = '. Nothing is left: deny it instead.';
  return html`<footer class="review-answer">
    <p role="status">${words.join(', ')}${note}</p>
    <${Verdict} ...${{ question, comments, isWhole }} isBlocked=${isNothing || draft.open !== null}
      yes=${{ label, body: isChanges ? draft.body : { approve: true } }} />
  </footer>`;
}
