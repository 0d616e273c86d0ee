// The question above the input, and how any question is answered. It never takes the focus, and it takes no answer
// in its first moments.

import { useEffect, useRef, useState } from 'preact/hooks';
import {
  api, attempt, effect, html, openPanel, plural, questions, route, sessions, signal, styles, tell,
} from './core.js';

styles('/question.css');

/** Milliseconds in which a question takes no answer: it has not been read yet. */
export const INERT = 500;
/** Milliseconds after which the log is looked at for an answer that was given elsewhere. */
const LOG_WAITS = [0, 100, 400, 1500];
/** Files that the card names. */
const NAMED_FILES = 4;

/** Whether something was on the screen for long enough. */
export function useReady(name) {
  const [ready, become] = useState(null);
  useEffect(() => {
    const timer = setTimeout(() => become(name), INERT);
    return () => clearTimeout(timer);
  }, [name]);
  // Compared, not reset: not even the first drawing of another question is ready.
  return ready === name;
}

// ---- Which question ----

/** The hash of the question that is looked at. */
export const chosen = signal('');

/** The open questions of a session and of calls by hand in its project; all of them without a session. */
export function questionsFor(session) {
  if (!session) return questions.value;
  const byHand = `project:${sessions.value.get(session)?.project}`;
  return questions.value.filter(({ owner }) => owner === session || owner === byHand);
}

/** The question of a list that is looked at, and how to get to the others. */
export function lookedAt(list) {
  const found = list.findIndex(({ question }) => question === chosen.value);
  const index = Math.max(found, 0);
  const go = (step) => { chosen.value = list[(index + step + list.length) % list.length].question; };
  return { question: list[index], index, go };
}

/** `1 of 3` with a way to the others. */
export function Pager({ list }) {
  if (list.length < 2) return null;
  const { index, go } = lookedAt(list);
  return html`<span class="pager" role="group" aria-label="Questions">
    <button class="icon" aria-label="Previous question" onClick=${() => go(-1)}>‹</button>
    <span>${index + 1} of ${list.length}</span>
    <button class="icon" aria-label="Next question" onClick=${() => go(1)}>›</button>
  </span>`;
}

// ---- In words ----

/** What is asked, in words: `Write src/main.rs`. */
export function titleWords({ kind, title, files }) {
  if (kind === 'left_behind') return `Keep ${plural(files.length, 'changed file')}`;
  return title;
}

export function FileCounts({ files }) {
  if (files.length === 0) return null;
  const sum = (name) => files.reduce((all, file) => all + file[name], 0);
  if (sum('added') + sum('removed') === 0) return null;
  return html`<span class="counts"><span class="plus">+${sum('added')}</span>
    ${' '}<span class="minus">−${sum('removed')}</span></span>`;
}

/** Whose call it is that belongs to no session. */
const callerWords = ({ call_id: call }) => (call.startsWith('mcp-') ? 'A call of another agent' : 'A call by hand');

/** What stands below the title: whose it is, why it is asked if a rule says so, files and warnings. */
export function QuestionNotes({ question, withFiles, isGrouped }) {
  const { owner, kind, title, files, is_routine: isRoutine, reason, warnings } = question;
  const names = files.slice(0, NAMED_FILES).map(({ path }) => path);
  const more = files.length - names.length;
  const isNamed = files.length === 1 && title.endsWith(files[0].path);
  return html`
    ${revisions.value.has(question.question) && html`<p class="revised">${revisions.value.get(question.question)}</p>`}
    ${kind === 'left_behind' && html`<p>It was left behind on a copy by: ${title}</p>`}
    ${!isGrouped && owner.startsWith('project:') && html`<p>${callerWords(question)} in ${question.project}</p>`}
    ${!isRoutine && reason && html`<p>${reason}</p>`}
    ${withFiles && names.length > 0 && !isNamed && html`<p class="names">${names.join(', ')}
      ${more > 0 && ` and ${plural(more, 'more file')}`}</p>`}
    ${warnings.map((warning) => html`<p key=${warning} class="warning">${warning.replace(/^! /, '')}</p>`)}`;
}

// ---- Answering ----

/** The questions that were answered in this window, with what was said. */
const ours = new Map();
/** Those that this window has answered too late, and has been told so. */
const late = new Set();
/** What is said of questions that are earlier ones revised, by their hashes. */
export const revisions = signal(new Map());

const nameOf = ({ owner, question }) => `${owner}/${question}`;

/** Answers a question. The first answer of any client counts, and only for the very proposal that was shown. */
export function answer(question, body) {
  return attempt(async () => {
    ours.set(nameOf(question), body);
    try {
      await api(`/approvals/${encodeURIComponent(question.owner)}/${question.question}`, { body });
    } catch (error) {
      ours.delete(nameOf(question));
      if (error.status !== 409) throw error;
      await explainLate(question, error);
    }
  });
}

/** Another answer was faster, or the proposal is another one by now. Nothing was done by this one. */
async function explainLate(question, error) {
  const { questions: open } = await api('/approvals');
  late.add(nameOf(question));
  questions.value = open;
  if (open.some((other) => nameOf(other) === nameOf(question))) throw error;
  const isRevised = open.some(({ owner, call_id: call }) => owner === question.owner && call === question.call_id);
  tell(isRevised ? 'The proposal has changed meanwhile. Your answer was not used: this is the new one.'
    : 'It was answered in another window first. Your answer was not used.');
}

function revisionWords(body) {
  if (!body) return 'Revised in another window. This is the new proposal.';
  if (body.files) return 'The same question with your text. Once more, because it is another proposal now.';
  if (body.hunks) return 'The same question without what you left out. Once more, because it is another proposal now.';
  return 'The same call asks again: this is another proposal than before.';
}

/** What a question is about, whatever its proposal. */
const matterOf = ({ owner, call_id: call, kind }) => `${owner}/${call}/${kind}`;
/** The last questions that went, by their matter: one that comes after it is the same one revised. */
const went = new Map();
let before = [];

/** Tells of questions that others have answered, and finds those that are earlier ones revised. */
effect(() => {
  const now = questions.value;
  const isIn = (list) => (one) => list.some((other) => nameOf(other) === nameOf(one));
  const gone = before.filter((old) => !isIn(now)(old));
  const come = now.filter((one) => !isIn(before)(one));
  before = now;
  for (const old of gone) {
    const body = ours.get(nameOf(old));
    went.set(matterOf(old), { old, body });
    if (!body && !late.has(nameOf(old))) tellGone(old);
  }
  for (const next of come) {
    const earlier = went.get(matterOf(next));
    if (!earlier || earlier.old.question === next.question) continue;
    revisions.value = new Map(revisions.peek()).set(next.question, revisionWords(earlier.body));
    if (chosen.peek() === earlier.old.question) chosen.value = next.question;
  }
});

/** How a question ended that this window has not answered; the log knows. */
async function tellGone({ owner, call_id: call, title }) {
  if (owner.startsWith('project:')) {
    tell(`${title}: answered in another window, or the call has ended`);
    return;
  }
  let reply;
  // A question goes a moment before its answer is written down.
  for (const wait of LOG_WAITS) {
    await new Promise((resolve) => { setTimeout(resolve, wait); });
    const timeline = await api(`/sessions/${owner}/timeline?limit=50`).catch(() => null);
    const card = timeline?.items.findLast(({ kind, call_id: id }) => kind === 'call' && id === call);
    reply = card?.questions?.at(-1)?.reply;
    if (reply || card?.state !== 'waiting_for_approval') break;
  }
  tell(reply ? `${title}: answered in another window: ${reply.words}` : `${title}: is not asked any more`);
}

/**
 * The buttons that answer. Their order is fixed, and what they open comes beside them: the button that acts is never
 * where the pointer was a moment before. `yes` is `{label, body}`; a no takes `comments` along.
 */
export function Verdict({ question, yes, comments = [], isWhole = true, isBlocked = false, children }) {
  const [mode, turn] = useState('');
  const isSending = useRef(false);
  const isReady = useReady(`${nameOf(question)} ${mode}`);
  const decide = async (body) => {
    // Not by disabling the button: it would lose the focus.
    if (!isReady || isSending.current) return;
    isSending.current = true;
    await answer(question, body);
    isSending.current = false;
  };
  const always = isWhole && question.always;
  const back = () => turn('');
  if (mode === 'deny') return html`<${Denial} ...${{ isReady, comments, back, decide }} />`;
  if (mode === 'always' && always) {
    const keep = (scope) => () => decide({ ...yes.body, remember: { scope, rule: always } });
    return html`<div class="verdict-more always" role="group" aria-label="Always">
      <p>This rule would be kept: <q>${always}</q></p>
      <div class="ask-acts">
        <button class="quiet" disabled=${!isReady} onClick=${keep('session')}>In this session</button>
        <button class="quiet" disabled=${!isReady} onClick=${keep('project')}>In this project, for good</button>
        <span class="grow"></span><button class="quiet back" onClick=${back}>Back</button>
      </div>
    </div>`;
  }
  return html`<div class="ask-acts">
    <button class="quiet" disabled=${!isReady} onClick=${() => turn('deny')}>Deny…</button>
    ${children}
    ${question.always && html`<button class="quiet" disabled=${!isReady || !always}
      onClick=${() => turn('always')}>Always…</button>`}
    <button class="go" disabled=${!isReady || isBlocked} onClick=${() => decide(yes.body)}>${yes.label}</button>
  </div>`;
}

/** A no in words. It is sent by the button alone: keys in the field only write. */
function Denial({ isReady, comments, back, decide }) {
  const [reason, say] = useState('');
  const field = useRef(null);
  useEffect(() => field.current.focus(), []);
  const deny = (event) => {
    event.preventDefault();
    decide({ approve: false, reason: reason.trim() || undefined, comments });
  };
  const pressed = (event) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    back();
  };
  return html`<form class="verdict-more" onSubmit=${deny}>
    <label>Why not? What should be done instead?
      <textarea ref=${field} rows="2" value=${reason} placeholder="Nothing has to be said"
        onInput=${(event) => say(event.target.value)} onKeyDown=${pressed}></textarea></label>
    <div class="ask-acts">
      <button type="button" class="quiet" onClick=${back}>Back</button><span class="grow"></span>
      <button class="quiet danger" disabled=${!isReady}>Deny
        ${comments.length > 0 && ` with ${plural(comments.length, 'comment')}`}</button>
    </div>
  </form>`;
}

// ---- The card ----

export default function QuestionCard() {
  const { session, panel } = route.value;
  const list = questionsFor(session);
  const { question } = lookedAt(list);
  if (!question) return null;
  return html`<${Card} key=${nameOf(question)} question=${question} list=${list} isReviewed=${panel === 'review'} />`;
}

function Card({ question, list, isReviewed }) {
  const isReady = useReady(nameOf(question));
  const review = () => {
    chosen.value = question.question;
    openPanel('review');
  };
  return html`<section class="ask" aria-label="Question" data-ready=${isReady}>
    <div class="ask-text">
      <div class="ask-title"><strong>${titleWords(question)}</strong> <${FileCounts} files=${question.files} />
        <span class="grow"></span><${Pager} list=${list} /></div>
      ${isReviewed ? html`<p>Its answer is given in the review.</p>`
        : html`<${QuestionNotes} question=${question} withFiles />`}
    </div>
    ${!isReviewed && html`<${Verdict} question=${question} yes=${{ label: 'Approve', body: { approve: true } }}>
      <button class="quiet" onClick=${review}>Review</button><//>`}
  </section>`;
}
