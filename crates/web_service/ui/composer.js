// Where the user types: messages, what goes with them, and what waits for the running turn.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import {
  api, attempt, dollars, html, lazy, noteSession, openMenu, overview, plural, sessionAddress, sessions, short,
  signal, tell, withQuery,
} from './core.js';

const Completion = lazy(() => import('./completion.js'));

/** The tallest that the field grows by itself, in pixels. */
const TALLEST = 320;
/** A paste that is longer than either becomes a chip. */
const LONG_PASTE = { characters: 2_500, lines: 30 };

// ---- Drafts ----

/** Drafts by session, so that a glance elsewhere, a login or a reload loses nothing. */
const drafts = new Map();

function draftOf(place) {
  if (!drafts.has(place)) drafts.set(place, { text: sessionStorage.getItem(`draft ${place}`) ?? '', chips: [] });
  return drafts.get(place);
}

/** Keeps what is to be said in a session. */
export function keepDraft(place, text, chips = []) {
  drafts.set(place, { text, chips });
  try {
    if (text) sessionStorage.setItem(`draft ${place}`, text);
    else sessionStorage.removeItem(`draft ${place}`);
  } catch {
    // The browser keeps no more; the draft lives as long as the page does.
  }
}

/** Ends the running turn. */
export function interrupt(session) {
  return attempt(() => api(`/sessions/${session}/interrupt`, { body: {} }));
}

// ---- The field ----

export function Composer({ session, project, shown }) {
  const field = useRef(null);
  const keys = useRef(null);
  const begun = useRef(session);
  const place = session ?? 'new';
  const [draft, set] = useState(() => draftOf(place));
  const [asked, ask] = useState(null);
  const [isSending, becomeSending] = useState(false);
  const [model, chooseModel] = useState(null);
  const { text, chips } = draft;
  const state = sessions.value.get(session)?.state;
  const isWorking = state === 'working' || state === 'waiting';

  const change = (next, more = draftOf(place).chips) => {
    keepDraft(place, next, more);
    set({ text: next, chips: more });
  };
  const add = (added) => {
    const now = draftOf(place);
    change(now.text, [...now.chips, ...added]);
  };
  const type = (next) => {
    change(next);
    ask(null);
    field.current?.focus();
  };
  const giveBack = (more) => type([draftOf(place).text, more].filter(Boolean).join('\n\n'));

  useLayoutEffect(() => {
    const { current: area } = field;
    area.style.height = 'auto';
    area.style.height = `${Math.min(area.scrollHeight, TALLEST)}px`;
  }, [text]);
  useEffect(() => { set(draftOf(place)); }, [place]);
  useEffect(() => {
    // What was chosen for one project does not hold for another.
    begun.current = session;
    chooseModel(null);
  }, [session, project]);
  useEffect(() => {
    if (shown) Object.assign(shown, { draft: type, giveBack, attach: (path) => add([{ kind: 'file', name: path }]) });
    // Only where there is a keyboard: on a phone it would cover the page.
    if (matchMedia('(hover: hover)').matches && document.activeElement === document.body) field.current.focus();
  }, [shown, place]);

  const send = async () => {
    if (isSending || (!text.trim() && chips.length === 0)) return;
    becomeSending(true);
    const { sends: said } = text.startsWith('/') ? await runCommand() : { sends: text };
    if (said === undefined) {
      becomeSending(false);
      return;
    }
    const whole = wholeText(said, chips);
    /** What was typed and attached while the message was on its way, which is not part of it. */
    const since = () => {
      const now = draftOf(place);
      const rest = now.text.startsWith(text) ? now.text.slice(text.length) : now.text;
      return [rest, now.chips.filter((chip) => !chips.includes(chip))];
    };
    // If the answer is lost, the message may be written down all the same: then it shows up, and is not said twice.
    if (shown) {
      shown.arrived = (item) => {
        if ((item.words ?? item.text) === whole) change(...since());
        shown.arrived = undefined;
      };
    }
    await attempt(async () => {
      // A session that was begun for a message which could not be sent is used again.
      begun.current ??= session ?? await beginSession(project, model);
      const id = begun.current;
      const { notes } = await api(`/sessions/${id}/messages`, { body: messageBody(whole, chips) });
      const left = since();
      if (session) change(...left);
      else {
        change('', []);
        keepDraft(id, ...left);
      }
      if (shown) shown.arrived = undefined;
      earlier.push(text);
      // Until the service has named it.
      if (!sessions.peek().get(id)?.title) noteSession({ id, title: whole.trim().split('\n')[0].slice(0, 80) });
      if (notes.length > 0) tell(notes.join('. '));
      if (session) shown?.loadQueue().catch(() => {});
      else location.hash = sessionAddress(id);
    });
    becomeSending(false);
  };
  const runCommand = async () => {
    const { run } = await import('./commands.js');
    const chooseModel = () => field.current.form.querySelector('.model')?.click();
    return run(text, { session, project, type, chooseModel });
  };
  const input = ({ target }) => {
    change(target.value);
    ask(askedAt(target.value, target.selectionStart));
    target.past = undefined;
  };
  const pick = ({ insert, file }) => {
    const next = text.slice(0, asked.from) + insert + text.slice(asked.to).trimStart();
    const { current: area } = field;
    const at = asked.from + insert.length;
    // Now and not with the next frame, before which more may be typed.
    area.value = next;
    area.focus();
    area.setSelectionRange(at, at);
    change(next, file && !chips.some(({ name }) => name === file) ? [...chips, { kind: 'file', name: file }] : chips);
    ask(null);
  };
  const pressed = (event) => {
    if (event.isComposing) return;
    if (asked && keys.current?.(event)) return;
    if (event.key === 'Enter' && !event.shiftKey) send();
    else if (event.key === 'Escape' && asked) ask(null);
    else if (event.key === 'Escape' && isWorking) interrupt(session);
    else if (event.key === 'ArrowUp' || event.key === 'ArrowDown') {
      const words = recalled(event.target, event.key === 'ArrowUp' ? 1 : -1, shown);
      if (words === undefined) return;
      change(words);
    } else return;
    event.preventDefault();
  };
  const takeFiles = (event, files) => {
    if (files.length === 0) return;
    event.preventDefault();
    attempt(async () => add(await (await import('./attach.js')).chipsOf(files)));
  };
  const pasted = (event) => {
    takeFiles(event, [...event.clipboardData.files]);
    const more = event.clipboardData.getData('text/plain');
    const lines = more.split('\n').length;
    if (event.defaultPrevented || (more.length <= LONG_PASTE.characters && lines <= LONG_PASTE.lines)) return;
    event.preventDefault();
    add([{ kind: 'paste', name: `Pasted text, ${plural(lines, 'line')}`, text: more }]);
  };
  useEffect(() => {
    dropped.take = takeFiles;
    return () => { dropped.take = undefined; };
  });
  return html`<form class="prompt${isDragged.value ? ' dropping' : ''}"
    onSubmit=${(event) => { event.preventDefault(); send(); }}>
    <${Waiting} shown=${shown} take=${giveBack} />
    <${Chips} chips=${chips} change=${(next) => change(text, next)} />
    ${asked && html`<${Completion} asked=${asked} project=${project} session=${session} keys=${keys} pick=${pick}
      field=${field} />`}
    <textarea ref=${field} rows="2" value=${text} aria-label="Message" aria-autocomplete="list" enterkeyhint="send"
      placeholder=${placeholder(session, isWorking)}
      onInput=${input} onKeyDown=${pressed} onPaste=${pasted}></textarea>
    <div class="acts">
      <${AttachButton} take=${takeFiles} />
      <${Facts} session=${session} project=${project} shown=${shown} model=${model} chooseModel=${chooseModel} />
      <span class="grow"></span>
      ${isWorking && html`<button type="button" class="quiet small stop"
        onClick=${() => interrupt(session)}>Stop <kbd>Esc</kbd></button>`}
      <button class="send" aria-label="Send" disabled=${isSending || (!text.trim() && chips.length === 0)}>↑</button>
    </div>
  </form>`;
}

function placeholder(session, isWorking) {
  if (isDragged.value) return 'Drop files to attach them';
  if (isWorking) return 'Say something that the running turn takes up';
  return `${session ? 'Reply' : 'Describe a task'}, @ for files, / for commands`;
}

// ---- Files that are dropped ----

/** Whether files are being dragged over the page, and what takes them. */
const isDragged = signal(false);
const dropped = {};

// Anywhere on the page, and also where nothing takes them: the browser would leave the page for the file.
const onFiles = (act) => (event) => {
  if (!event.dataTransfer?.types.includes('Files')) return;
  event.preventDefault();
  act(event);
};
addEventListener('dragover', onFiles(() => { isDragged.value = Boolean(dropped.take); }));
addEventListener('dragleave', onFiles(({ relatedTarget }) => { isDragged.value &&= Boolean(relatedTarget); }));
addEventListener('drop', onFiles((event) => {
  isDragged.value = false;
  dropped.take?.(event, [...event.dataTransfer.files]);
}));

async function beginSession(project, model) {
  const begun = await api('/sessions', { body: { project, ...(model && { model }) } });
  noteSession({ ...begun, updated: Date.now() });
  return begun.id;
}

/** What is typed, with what was pasted. */
function wholeText(text, chips) {
  const pasted = chips.filter(({ kind }) => kind === 'paste').map((chip) => chip.text);
  return [text, ...pasted].filter((part) => part.trim()).join('\n\n');
}

function messageBody(text, chips) {
  const chosen = chips.filter(({ kind }) => kind === 'file').map(({ name }) => name);
  const files = [...new Set([...chosen, ...mentioned(text)])];
  const images = chips.filter(({ kind }) => kind === 'image').map(({ data, name }) => ({ data, name }));
  const texts = chips.filter(({ kind }) => kind === 'text').map((chip) => ({ name: chip.name, text: chip.text }));
  const some = (name, list) => list.length > 0 && { [name]: list };
  return { text, ...some('files', files), ...some('texts', texts), ...some('images', images) };
}

/** Paths that stand in the text after an `@`, in quotes or without. A word without a dot or slash is none. */
export function mentioned(text) {
  const found = text.matchAll(/(?:^|\s)@(?:"([^"\n]+)"|(\S*[./]\S*))/g);
  return [...found].map(([, quoted, plain]) => quoted ?? plain.replace(/[.,;:!?)\]}']+$/, '')).filter(Boolean);
}

/** What is being completed at the caret: a file after `@`, a command after `/` at the beginning. */
export function askedAt(text, caret) {
  const before = text.slice(0, caret);
  const mention = /(?:^|\s)@([^\s@]*)$/.exec(before);
  if (mention) return { kind: 'mention', query: mention[1], from: caret - mention[1].length - 1, to: caret };
  const command = /^\/([\w-]*)$/.exec(before);
  return command && { kind: 'command', query: command[1], from: 0, to: caret };
}

// ---- What was said before ----

const earlier = [];

/** An earlier message of the user's own, in a field that is empty or holds one. */
function recalled(area, step, shown) {
  const rows = shown?.rows.peek().map((row) => row.peek()) ?? [];
  const messages = rows.filter(({ kind, depth }) => kind === 'message' && depth === 0);
  const own = messages.map(({ words, text }) => words ?? text);
  const all = [...new Set([...own, ...earlier].reverse())];
  const { past = -1 } = area;
  if (area.value !== (all[past] ?? '')) return undefined;
  const next = Math.max(-1, Math.min(all.length - 1, past + step));
  if (next === past) return undefined;
  area.past = next;
  return all[next] ?? '';
}

// ---- Around the field ----

/** Messages that wait for the running turn. They can be taken back and said otherwise. */
function Waiting({ shown, take }) {
  const waiting = shown?.queue.value ?? [];
  if (waiting.length === 0) return null;
  const withdraw = (id, use) => attempt(async () => {
    const { text } = await api(`/sessions/${shown.id}/queue/${id}`, { method: 'DELETE' });
    use?.(text);
    await shown.loadQueue();
  });
  return html`<ul class="queue" aria-label="Waiting to be sent">${waiting.map(({ id, text }) => html`<li key=${id}>
    <span>${text}</span>
    <button type="button" class="quiet small" onClick=${() => withdraw(id, take)}>Edit</button>
    <button type="button" class="icon" aria-label="Take back" onClick=${() => withdraw(id)}>×</button>
  </li>`)}</ul>`;
}

function Chips({ chips, change }) {
  const [opened, open] = useState(-1);
  if (chips.length === 0) return null;
  const without = (index) => () => {
    open(-1);
    change(chips.filter((_, at) => at !== index));
  };
  const edited = ({ target: { value } }) => change(chips.with(opened, { ...chips[opened], text: value }));
  const shown = chips[opened];
  return html`<ul class="chips" aria-label="Attached">${chips.map(({ name, kind, text, address }, index) => html`<li
      key=${index} class=${kind}>
      ${address && html`<img src=${address} alt="" />`}
      ${text === undefined ? html`<span>${name}</span>` : html`<button type="button" aria-expanded=${opened === index}
        onClick=${() => open(opened === index ? -1 : index)}>${name}</button>`}
      <button type="button" class="icon" aria-label=${`Remove ${name}`} onClick=${without(index)}>×</button>
    </li>`)}</ul>
    ${shown && html`<textarea class="pasted" rows="8" aria-label=${shown.name} value=${shown.text}
      onInput=${edited}></textarea>`}`;
}

function AttachButton({ take }) {
  const files = useRef(null);
  const chosen = (event) => {
    take(event, [...event.target.files]);
    event.target.value = '';
  };
  return html`<input type="file" multiple hidden ref=${files} onChange=${chosen} />
    <button type="button" class="icon" aria-label="Attach files" title="Attach files"
      onClick=${() => files.current.click()}>+</button>`;
}

/** Model, mode, how full the context is, and what it has cost. */
function Facts({ session: id, project, shown, model, chooseModel }) {
  const known = overview.value;
  const session = sessions.value.get(id);
  const served = known?.projects.find(({ name }) => name === project) ?? known?.projects[0];
  const present = model ?? session?.model ?? served?.model;
  const mode = served?.mode;
  const choose = (name) => (id
    ? attempt(async () => noteSession(await api(`/sessions/${id}`, { method: 'PATCH', body: { model: name } })))
    : chooseModel(name));
  const offered = async () => {
    const { models } = await api(withQuery('/models', { project: served?.name }));
    return models.map((name) => ({ label: name, isChosen: name === present, act: () => choose(name) }));
  };
  const turn = shown?.rows.value.findLast((row) => row.peek().kind === 'turn')?.value;
  const size = session?.context_window ?? served?.context_window;
  const filled = turn?.context_tokens;
  const context = filled && `${short(filled)}${size ? ` of ${short(size)}` : ''}`;
  const words = [context, dollars(session?.cost_usd)].filter(Boolean).join(' · ');
  return html`
    ${present && html`<button type="button" class="chip model" aria-haspopup="menu"
      aria-label=${`Model: ${present}`}
      onClick=${(event) => openMenu(event.currentTarget, offered())}>${present}</button>`}
    ${mode && html`<a class="chip" href="#/settings" title="What needs approval">${mode}</a>`}
    ${filled && size && html`<meter aria-label="Context in use" max=${size} high=${0.8 * size}
      value=${filled}></meter>`}
    ${words && html`<span class="costs" title="Tokens of the context, cost of the session">${words}</span>`}`;
}
