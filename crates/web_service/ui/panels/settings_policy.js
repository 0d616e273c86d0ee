// The policy: its mode, its rules with where they come from, and what it would say about a call.

import { useEffect, useId, useState } from 'preact/hooks';
import { api, attempt, html, tell, withQuery } from '../core.js';
import { visible } from './hidden.js';
import { offeredTools } from './places.js';

const SOURCES = {
  user: 'your configuration',
  command_line: 'the command line or /allow',
  project: "the project's configuration",
  remembered: 'a remembered answer',
};

const MODES = {
  'read-only': 'Nothing is written. Commands that can reach nothing run all the same.',
  strict: 'Every change asks, unless a rule allows it.',
  workspace: 'New files and directories and moves that replace nothing pass. All else asks, unless a rule allows it.',
};

const NO_RULES =
  'There are no rules. Those of the configuration, and answers remembered with “Always”, are shown here.';

const DECISIONS = { allow: 'Would run without a question', ask: 'Would ask first', deny: 'Would be refused' };

export function Policy({ project }) {
  const [policy, take] = useState(null);
  const read = () => attempt(async () => take(await api(withQuery('/policy', { project }))));
  useEffect(() => { read(); }, []);
  if (!policy) return null;
  return html`<p>The mode is <strong>${policy.mode}</strong>. ${MODES[policy.mode] ?? ''}</p>
    ${policy.rules.length === 0
      ? html`<p class="hint">${NO_RULES}</p>`
      : html`<ul class="rules">${policy.rules.map((rule) => html`<${Rule} key=${rule.id} rule=${rule} project=${project}
        read=${read} />`)}</ul>`}
    <${ExplainForm} project=${project} />`;
}

/** One rule. Only a remembered one can be taken back here; the others are in files of the user. */
function Rule({ rule, project, read }) {
  const [isSure, ask] = useState(false);
  const revoke = () => attempt(async () => {
    await api(withQuery(`/policy/${encodeURIComponent(rule.id)}`, { project }), { method: 'DELETE' });
    tell('The rule is forgotten, in open sessions too.');
    read();
  });
  const source = typeof rule.source === 'string' ? rule.source : '';
  return html`<li><div><p>${visible(rule.text)}</p><p class="hint">From ${SOURCES[source] ?? source}</p></div>
    ${source === 'remembered' && (isSure
      ? html`<span class="sure"><button class="quiet small" onClick=${() => ask(false)}>Keep</button>
        <button class="go small" onClick=${revoke}>Forget it</button></span>`
      : html`<button class="quiet small" onClick=${() => ask(true)}>Forget…</button>`)}</li>`;
}

/** Which arguments say most about a call, for a form with one line. */
const MAIN = ['command', 'path', 'target', 'pattern', 'message'];

function ExplainForm({ project }) {
  const [tools, know] = useState([]);
  const [name, choose] = useState('');
  const [text, type] = useState('');
  const [said, hear] = useState(null);
  const id = useId();
  useEffect(() => { offeredTools(project).then(know, () => {}); }, []);
  const tool = tools.find((one) => one.name === name);
  const pick = (event) => {
    const chosen = tools.find((one) => one.name === event.target.value);
    choose(event.target.value);
    type(JSON.stringify(chosen?.example ?? {}));
    hear(null);
  };
  const explain = async (event) => {
    event.preventDefault();
    try {
      hear(await api('/policy/explain', { body: { project, tool: name, arguments: JSON.parse(text || '{}') } }));
    } catch (error) {
      const isText = error instanceof SyntaxError;
      const words = [isText && 'The arguments are not valid JSON', error.message, error.suggestion];
      hear({ error: words.filter(Boolean).join('. ') });
    }
  };
  return html`<form class="explain" onSubmit=${explain}>
    <h3>What would it say?</h3>
    <label for=${`${id}-tool`}>Tool</label>
    <select id=${`${id}-tool`} value=${name} onChange=${pick}>
      <option value="">Choose a tool…</option>
      ${tools.map((one) => html`<option key=${one.name}>${one.name}</option>`)}</select>
    ${tool && html`<label for=${`${id}-given`}>Arguments as JSON${mainOf(tool)}</label>
      <textarea id=${`${id}-given`} rows="3" spellcheck=${false} value=${text}
        onInput=${(event) => type(event.target.value)}></textarea>
      <button class="quiet">Explain</button>`}
    <div role="status">${said && html`<p class="verdict" data-decision=${said.decision}>
      <strong>${said.error ? 'It cannot say' : DECISIONS[said.decision] ?? said.decision}</strong>
      ${visible(said.error ?? said.explanation)}</p>`}</div>
  </form>`;
}

function mainOf({ parameters }) {
  const main = MAIN.find((name) => parameters.properties?.[name]);
  return main ? `, above all ${main}` : '';
}
