// The whole text of a file after the change, to be written otherwise.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { html } from '../core.js';
import { drawnPath } from '../diff.js';
import { hiddenLines } from '../diff_lines.js';

/** Lines with hidden characters that are named. */
const NAMED = 5;

export default function EditField({ path, draft }) {
  const field = useRef(null);
  const numbers = useRef(null);
  // The field changes line ends by itself; the draft puts them back.
  const [text, type] = useState(() => (draft.edits.get(path) ?? draft.proposed(path)).replaceAll('\r\n', '\n'));
  const count = text.split('\n').length;
  const column = useMemo(() => Array.from({ length: count }, (_, index) => index + 1).join('\n'), [count]);
  const hidden = useMemo(() => hiddenLines(text), [text]);
  useEffect(() => field.current.focus(), []);
  const typed = (event) => {
    type(event.target.value);
    draft.write(path, event.target.value);
  };
  const named = hidden.slice(0, NAMED).map(({ line, names }) => `line ${line} (${names.join(', ')})`);
  return html`<div class="edit">
    ${hidden.length > 0 && html`<p class="warning">Characters that cannot be seen: ${named.join(', ')}
      ${hidden.length > NAMED && ' and more'}</p>`}
    <div class="edit-field">
      <pre ref=${numbers} aria-hidden="true">${column}</pre>
      <textarea ref=${field} wrap="off" spellcheck="false" autocapitalize="off" autocomplete="off" dir="ltr"
        rows=${Math.min(count + 1, 24)}
        aria-label="Text of ${drawnPath(path)}" value=${text} onInput=${typed}
        onScroll=${() => { numbers.current.scrollTop = field.current.scrollTop; }}></textarea>
    </div>
  </div>`;
}
