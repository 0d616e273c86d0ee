import { html } from '../core.js';

export default function Placeholder() {
  return html`<p class="empty">Not there yet.</p>`;
}
