// Comments on lines of a diff: written below the line, kept until the review is sent.

import { useEffect, useRef, useState } from 'preact/hooks';
import { html, openFile } from './core.js';

/** `line 12`, `removed line 7`. */
export function lineWords(key) {
  return `${key[0] === 'o' ? 'removed line' : 'line'} ${key.slice(1)}`;
}

/** A comment below its line, or the form in which it is written. */
export function NoteRow({ name, talk, span }) {
  const isOpen = talk.open === name;
  return html`<tr class="note"><td colspan=${span}>${isOpen
    ? html`<${NoteForm} name=${name} talk=${talk} />`
    : html`<div class="note-text"><b>You, ${lineWords(name)}</b><p>${talk.text(name)}</p>
      <button class="quiet small" onClick=${() => talk.begin(name)}>Change</button>
      <button class="quiet small" onClick=${() => talk.save(name, '')}>Remove</button></div>`}</td></tr>`;
}

function NoteForm({ name, talk }) {
  const field = useRef(null);
  const [text, type] = useState(talk.text(name));
  useEffect(() => {
    field.current.focus();
    field.current.scrollIntoView({ block: 'nearest' });
  }, []);
  const keep = (kept) => {
    const hunk = field.current.closest('.hunk');
    talk.save(name, kept);
    // The focus goes back to where the comment was begun.
    requestAnimationFrame(() => hunk?.querySelector(`button[data-key="${name}"]`)?.focus());
  };
  const pressed = (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      keep(text.trim());
    } else if (event.key === 'Escape') {
      event.preventDefault();
      event.stopPropagation();
      keep(talk.text(name));
    }
  };
  return html`<form class="note-form" onSubmit=${(event) => { event.preventDefault(); keep(text.trim()); }}>
    <label>Comment on ${lineWords(name)}
      <textarea ref=${field} rows="2" value=${text} onInput=${(event) => type(event.target.value)}
        onKeyDown=${pressed}></textarea></label>
    <div class="note-acts">
      <button type="button" class="quiet small"
        onClick=${() => openFile(talk.path, Number(name.slice(1)))}>Open the file here</button>
      <span class="grow"></span>
      <button type="button" class="quiet small" onClick=${() => keep(talk.text(name))}>Cancel</button>
      <button class="quiet small" disabled=${!text.trim()}>Add comment</button>
    </div>
  </form>`;
}
