// Settings: how the page looks, which model answers, what the policy allows, and tools that wait to be trusted.

import { useEffect, useId, useState } from 'preact/hooks';
import {
  api, attempt, connection, html, lazy, overview, route, styles, tell, withQuery,
} from '../core.js';
import { visible } from './hidden.js';
import { presentProject, ProjectChoice } from './places.js';
import { Policy } from './settings_policy.js';
import { CustomTools } from './settings_tools.js';
import { presentTheme, setTheme, THEMES } from './theme.js';

await styles('/panels/settings.css');

// Only a team's server has users.
const Account = lazy(() => import('./settings_team.js'));

export default function Settings() {
  route.value;
  if (!overview.value) return null;
  const { user } = overview.value;
  const project = presentProject();
  return html`<div class="settings">
    <${Part} title="Appearance"><${Theme} /></>
    <${Part} title="Notifications"><${Notifications} /></>
    ${project ? html`<${OfProject} project=${project} />` : html`<${Part} title="Projects"><p>Settings of projects are
      shown as soon as one is served${user ? ' and shared with you' : ''}.</p></>`}
    ${user && html`<${Part} title="Account"><${Account} /></>`}
    <${Part} title="This browser"><${Browser} /></>
  </div>`;
}

function OfProject({ project }) {
  return html`<div class="settings-project"><${ProjectChoice} /></div>
    <${Part} title="Model"><${Model} key=${project} project=${project} /></>
    <${Part} title="Policy"><${Policy} key=${project} project=${project} /></>
    <${CustomTools} key=${project} project=${project} Part=${Part} />
    <${Part} title="Sandbox"><${Sandbox} project=${project} /></>`;
}

function Part({ title, children }) {
  const id = useId();
  return html`<section class="setting" aria-labelledby=${id}><h2 id=${id}>${title}</h2><div>${children}</div>
    </section>`;
}

function Theme() {
  const [theme, choose] = useState(presentTheme());
  const pick = (event) => {
    setTheme(event.target.value);
    choose(event.target.value);
  };
  return html`<fieldset class="choices"><legend class="unseen">Theme</legend>${THEMES.map(([name, title]) => html`<label
    key=${name}>
    <input type="radio" name="theme" value=${name} checked=${theme === name}
      onChange=${pick} />${title}</label>`)}</fieldset>`;
}

const PERMISSIONS = {
  granted: 'This browser shows a notification when a question waits and the page is not in front.',
  denied: 'This browser does not allow them for this page. That is changed beside its address.',
  default: 'A notification can tell you that a question waits while the page is not in front.',
};

function Notifications() {
  const [permission, take] = useState(globalThis.Notification?.permission);
  const [isOff, turnOff] = useState(localStorage.getItem('notifications') === 'off');
  const ask = async () => take(await Notification.requestPermission());
  const toggle = ({ target: { checked } }) => {
    localStorage.setItem('notifications', checked ? 'on' : 'off');
    turnOff(!checked);
  };
  if (!permission) return html`<p>This browser has no notifications.</p>`;
  return html`<p>${PERMISSIONS[permission]}</p>
    ${permission === 'default' && html`<button class="quiet" onClick=${ask}>Allow notifications</button>`}
    ${permission === 'granted' && html`<label class="choice"><input type="checkbox" checked=${!isOff}
      onChange=${toggle} />Notify me</label>`}`;
}

function Model({ project }) {
  const [offered, take] = useState(null);
  const known = factsOf(project);
  const keys = known.keys ?? [];
  useEffect(() => {
    let isHere = true;
    api(withQuery('/models', { project })).then((answer) => isHere && take(answer), () => {});
    return () => { isHere = false; };
  }, []);
  const others = (offered?.models ?? []).filter((name) => name !== offered.present);
  return html`<dl class="facts">
      <div><dt>Answers in new sessions</dt><dd><code>${visible(known.model)}</code></dd></div>
      <div><dt>Provider</dt><dd>${visible(known.provider)}</dd></div>
      <div><dt>Project</dt><dd><code>${visible(known.root)}</code></dd></div>
      <div><dt>Roles</dt><dd>${known.roles.join(', ')}</dd></div>
      ${keys.length > 0 && html`<div><dt>Keys</dt><dd class="keys">${keys.map((key) => html`<span key=${key.provider}>
        ${visible(key.provider)}: ${visible(keyWords(key))}</span>`)}</dd></div>`}
      ${others.length > 0 && html`<div><dt>Also offered</dt><dd>${others.map((name) => html`<code key=${name}
        class="offered">${visible(name)}</code>`)}</dd></div>`}
    </dl>
    <p class="hint">Keys and models are set up with <code>toolkiln setup</code>, never through this page.</p>`;
}

function keyWords({ found, source }) {
  if (!found) return 'none';
  return source ? `from ${source}` : 'found';
}

function Sandbox({ project }) {
  const { sandbox } = factsOf(project);
  if (sandbox) return html`<p>${visible(sandbox)}</p>`;
  return html`<p>Commands run confined as far as this machine can. <code>toolkiln doctor</code> says how far.</p>`;
}

function factsOf(project) {
  return overview.value.projects.find(({ name }) => name === project);
}

function Browser() {
  const leave = () => attempt(async () => {
    await api('/logout', { body: {} });
    connection.value = 'login';
    tell('You are logged out of this browser.');
  });
  return html`<p>Toolkiln ${overview.value.version}. What can be asked for is described at <a class="text-link"
    href="/api" target="_blank" rel="noopener">/api</a>.</p>
    <button class="quiet" onClick=${leave}>Log out</button>`;
}
