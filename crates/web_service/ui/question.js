// The question above the input. It never takes the focus, and it takes no answer in its first moments.

import { useEffect, useState } from 'preact/hooks';
import { api, attempt, html, openPanel, plural } from './core.js';

/** Milliseconds in which a question takes no answer: nobody has read it yet. */
export const INERT = 500;

/** Whether a question was on the screen for long enough. */
export function useReady(name) {
  const [ready, become] = useState(false);
  useEffect(() => {
    become(false);
    const timer = setTimeout(() => become(true), INERT);
    return () => clearTimeout(timer);
  }, [name]);
  return ready;
}

/** Answers a question. The first answer of anybody counts. */
export function answer({ owner, question }, body) {
  return attempt(() => api(`/approvals/${encodeURIComponent(owner)}/${question}`, { body }));
}

export default function QuestionCard({ question, more }) {
  const isReady = useReady(question.question);
  const [reason, say] = useState(null);
  const { files, title, warnings, always } = question;
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);
  const decide = (body) => (event) => {
    event.preventDefault();
    if (isReady) answer(question, body);
  };
  return html`<section class="ask" aria-label="Question" data-ready=${isReady}>
    <div class="ask-text">
      <strong>${title}</strong>
      ${files.length > 0 && html`<span class="counts"><span class="plus">+${added}</span> <span class="minus">−${removed}</span></span>`}
      <p>${question.reason}</p>
      ${files.length > 0 && html`<p>${files.slice(0, 4).map(({ path }) => path).join(', ')}${files.length > 4 ? ` and ${plural(files.length - 4, 'more file')}` : ''}</p>`}
      ${warnings.map((warning) => html`<p key=${warning} class="warning">${warning}</p>`)}
      ${more > 0 && html`<p>${plural(more, 'more question')} behind this one</p>`}
    </div>
    ${reason === null
      ? html`<div class="ask-acts">
        <button class="quiet" disabled=${!isReady} onClick=${() => say('')}>Deny…</button>
        <button class="quiet" onClick=${() => openPanel('review')}>Review</button>
        ${always && html`<details class="always"><summary class="quiet">Always…</summary><div class="menu">
          <p>Keeps this rule: <code>${always}</code></p>
          <button disabled=${!isReady} onClick=${decide({ approve: true, remember: { scope: 'session', rule: always } })}>In this session</button>
          <button disabled=${!isReady} onClick=${decide({ approve: true, remember: { scope: 'project', rule: always } })}>In this project, for good</button>
        </div></details>`}
        <button class="go" disabled=${!isReady} onClick=${decide({ approve: true })}>Approve</button>
      </div>`
      : html`<form class="ask-acts" onSubmit=${decide({ approve: false, reason: reason || undefined })}>
        <input aria-label="Why not" placeholder="What should be done instead?" value=${reason} onInput=${(event) => say(event.target.value)} />
        <button type="button" class="quiet" onClick=${() => say(null)}>Back</button>
        <button class="go">Deny</button>
      </form>`}
  </section>`;
}
