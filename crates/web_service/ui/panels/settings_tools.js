// Tools that a project brings along. They do nothing until their exact text was trusted, here or at the terminal.

import { useEffect, useState } from 'preact/hooks';
import { api, attempt, html, tell, withQuery } from '../core.js';
import { plain, visible } from './hidden.js';

/** `Part` is how a part of the settings looks. */
export function CustomTools({ project, Part }) {
  const [found, take] = useState(null);
  const read = () => attempt(async () => {
    take((await api(withQuery('/custom-tools', { project }))).tools);
  });
  useEffect(() => { read(); }, [project]);
  if (!found) return null;
  return html`<${Part} title="Custom tools">
    ${found.length === 0
      && html`<p class="hint">Tools that this project defines would be here, with the exact text to trust.</p>`}
    ${found.map((tool) => html`<${CustomTool} key=${tool.hash} project=${project} tool=${tool} read=${read} />`)}
  </>`;
}

function CustomTool({ project, tool: { file, tool, text, hash, trusted, command, mistakes }, read }) {
  const trust = () => attempt(async () => {
    // The hash is that of the text on the screen, so another text that came meanwhile is refused.
    const { message } = await api('/custom-tools/trust', { body: { project, file, hash } });
    tell(plain(message));
    read();
  });
  const state = mistakes.length > 0 ? 'has mistakes' : trusted ? 'trusted' : 'not trusted';
  return html`<details class="custom-tool" open=${!trusted}>
    <summary><strong>${visible(tool ?? file)}</strong> <span class="hint">${visible(tool ? `${file}, ` : '')}${state}</span></summary>
    ${mistakes.map((mistake, index) => html`<p key=${index} class="notice error">${visible(mistake)}</p>`)}
    ${command && html`<p>Runs <code>${visible(command)}</code></p>`}
    <pre tabindex="0" aria-label=${`Text of ${plain(file)}`}>${visible(text)}</pre>
    ${!trusted && mistakes.length === 0 && html`<p class="hint">It holds from the next start on, until the text changes.</p>
      <button class="quiet" onClick=${trust}>Trust exactly this text</button>`}
  </details>`;
}
