// Logging in, also in the middle of something.

import { useState } from 'preact/hooks';
import { attempt, html } from './core.js';

export default function Login({ logIn }) {
  const [code, type] = useState('');
  const enter = (event) => {
    event.preventDefault();
    // The whole link will do as well.
    attempt(() => logIn(code.trim().replace(/^.*#code=/, '')));
  };
  return html`<main class="login">
    <form onSubmit=${enter}>
      <h1><i class="kiln" aria-hidden="true"></i>Toolkiln</h1>
      <p>Open the link that <code>toolkiln web</code> has printed, or paste it here. It is good once and for ten minutes;
        the token <code>all</code> in <code>~/.local/state/toolkiln/web/secrets.json</code> always is.</p>
      <label>Token <input type="password" autocomplete="current-password" value=${code}
        onInput=${(event) => type(event.target.value)} /></label>
      <button class="go">Log in</button>
    </form>
  </main>`;
}
