// All open questions of all sessions, their sub-agents and calls by hand, answered in one place.

import { useEffect, useRef } from 'preact/hooks';
import { html, lazy, plural, questions, route, sessionAddress, sessions, styles } from '../core.js';
import { FileCounts, QuestionNotes, Verdict, chosen, titleWords, useReady } from '../question.js';

styles('/panels/inbox.css');
const Review = lazy(() => import('./review.js').then(({ Review: Shown }) => ({ default: Shown })));

/** Questions with the same owner, in the order in which they are told. */
function grouped(list) {
  const groups = new Map();
  for (const question of list) groups.set(question.owner, [...groups.get(question.owner) ?? [], question]);
  return [...groups];
}

export default function Inbox() {
  const list = questions.value;
  // The question that is reviewed is part of the address, so that Back leads back.
  const reviewed = list.find(({ question }) => question === (route.value.panel && chosen.value));
  const close = () => { location.hash = '#/inbox'; };
  useEffect(() => { if (route.value.panel) chosen.value = route.value.panel; }, [route.value.panel]);
  const before = useRef({ wasReviewed: false });
  useEffect(() => {
    // Its question was answered: the list is next, unless the user has gone on to another one. The address tells that
    // before the route does.
    const { wasReviewed, panel } = before.current;
    if (wasReviewed && !reviewed && location.hash === `#/inbox/${panel}`) close();
    before.current = { wasReviewed: Boolean(reviewed), panel: route.value.panel };
  }, [reviewed, route.value.panel]);
  if (list.length === 0) {
    return html`<div class="inbox-empty"><h2>No questions</h2>
      <p>Whatever needs your yes is asked here: changes, commands and requests of all sessions, their sub-agents, and
        calls by hand.</p></div>`;
  }
  return html`<div class="inbox-view${reviewed ? ' with-review' : ''}">
    <div class="inbox-list" tabindex="0" role="region" aria-label="Open questions">
      <p class="sum">${list.length === 1 ? '1 question waits' : `${plural(list.length, 'question')} wait`}</p>
      ${grouped(list).map(([owner, own]) => html`<section key=${owner}>
        <${OwnerHead} owner=${owner} project=${own[0].project} />
        ${own.map((question) => html`<${InboxCard} key=${question.question} question=${question}
          isReviewed=${question === reviewed} isBeside=${Boolean(reviewed)} />`)}
      </section>`)}
    </div>
    ${reviewed && html`<${Review} key=${reviewed.question} question=${reviewed} list=${list} back=${close} />`}
  </div>`;
}

function OwnerHead({ owner, project }) {
  if (owner.startsWith('project:')) return html`<h2>Other agents and calls by hand <span>${project}</span></h2>`;
  const title = sessions.value.get(owner)?.title ?? 'New session';
  return html`<h2><a href=${sessionAddress(owner)}>${title}</a> <span>${project}</span></h2>`;
}

/** Beside a review only that is answered, so that no two places answer different things. */
function InboxCard({ question, isReviewed, isBeside }) {
  const isReady = useReady(question.question);
  const review = html`<a class="quiet button" href="#/inbox/${question.question}">Review</a>`;
  return html`<article class="ask" data-ready=${isReady} aria-current=${isReviewed ? 'true' : undefined}
    aria-label=${titleWords(question)}>
    <div class="ask-text">
      <div class="ask-title"><strong>${titleWords(question)}</strong> <${FileCounts} files=${question.files} /></div>
      ${!isBeside && html`<${QuestionNotes} question=${question} withFiles isGrouped />`}
    </div>
    ${isBeside ? !isReviewed && review
      : html`<${Verdict} question=${question} yes=${{ label: 'Approve', body: { approve: true } }}>${review}<//>`}
  </article>`;
}
