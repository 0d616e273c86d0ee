// Logging in, also in the middle of something.

import { useEffect, useState } from 'preact/hooks';
import { invitation, loginWays, logInAtProvider } from './arrival.js';
import { attempt, html } from './core.js';

export default function Login({ logIn }) {
  const [code, type] = useState(invitation.code);
  const [name, typeName] = useState('');
  const [ways, know] = useState(null);
  useEffect(() => { attempt(async () => know(await loginWays())); }, []);
  const enter = (event) => {
    event.preventDefault();
    // The whole link will do as well.
    attempt(() => logIn(code.trim().replace(/^.*#code=/, ''), name.trim() || undefined));
  };
  return html`<main class="login">
    <form onSubmit=${enter}>
      <h1><i class="kiln" aria-hidden="true"></i>Toolkiln</h1>
      ${ways?.team ? html`<${TeamHelp} provider=${ways.provider} />` : html`<${OwnHelp} />`}
      ${ways?.team && invitation.code && html`<label>Your name <input autocomplete="name" value=${name}
        onInput=${(event) => typeName(event.target.value)} /></label>`}
      <label>Token <input type="password" autocomplete="current-password" value=${code}
        onInput=${(event) => type(event.target.value)} /></label>
      <button class=${ways?.provider ? '' : 'go'}>Log in</button>
    </form>
  </main>`;
}

function OwnHelp() {
  return html`<p>Open the link that <code>toolkiln web</code> has printed, or paste it here. It is good once and for ten minutes;
    the token <code>all</code> in <code>~/.local/state/toolkiln/web/secrets.json</code> always is.</p>`;
}

function TeamHelp({ provider }) {
  const invited = invitation.code ? 'You are invited.' : 'Paste your invitation, or a token with all that you may do.';
  if (!provider) return html`<p>${invited}</p>`;
  return html`<p>${invitation.code ? 'You are invited. ' : ''}Log in at ${provider}, or with a token.</p>
    <button type="button" class="go" onClick=${() => attempt(logInAtProvider)}>Log in at ${provider}</button>`;
}
