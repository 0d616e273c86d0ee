// What can be done with a message of the user: going back to it, going on from it elsewhere.

import { api, attempt, plural, sessionAddress, tell } from './core.js';
import { keepDraft } from './composer.js';

/** The menu of a message. Whatever is chosen, its text comes back into a field. */
export function messageActs({ text: whole, words, sequence, rewound }, shown) {
  const text = words ?? whole;
  const rewind = (files) => attempt(async () => {
    const done = await api(`/sessions/${shown.id}/rewind`, { body: { to: sequence, files } });
    shown.draft?.(words ?? done.text);
    const { restored, kept } = done;
    const told = [
      restored.length > 0 && `${plural(restored.length, 'file')} as before`,
      kept.length > 0 && `Changed by others since, and kept: ${kept.join(', ')}`,
    ];
    if (told.some(Boolean)) tell(told.filter(Boolean).join('. '));
  });
  const fork = () => attempt(async () => {
    const { id } = await api(`/sessions/${shown.id}/fork`, { body: { at: sequence - 1 } });
    keepDraft(id, text);
    location.hash = sessionAddress(id);
  });
  return [
    { label: 'Go back to here', note: 'The conversation only', isDisabled: rewound, act: () => rewind('keep') },
    {
      label: 'Go back, files too', note: 'Undoes what was changed since', isDisabled: rewound,
      act: () => rewind('restore'),
    },
    { label: 'New session from here', note: 'This one stays as it is', act: fork },
    { label: 'Copy', act: () => attempt(() => navigator.clipboard.writeText(text)) },
  ];
}
