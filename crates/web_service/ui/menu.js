// A menu beside the button that opened it, for pointer, touch and keyboard.

import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './core.js';

/** Pixels between the menu, its button and the edges of the window. */
const GAP = 4;

let place;

/** Opens a menu with `items`, which may be a promise of them. An item with `items` of its own leads to those. */
export function open(button, items) {
  const wasOpen = place?.button === button && place.isPressed;
  close();
  place = undefined;
  // A press on the button of an open menu is a press elsewhere, which has closed it.
  if (wasOpen) return;
  const popover = Object.assign(document.createElement('div'), { popover: 'auto', className: 'menu' });
  const own = place = { button, popover };
  const press = () => { own.isPressed = true; };
  button.addEventListener('pointerdown', press);
  (button.closest('dialog') ?? document.body).append(popover);
  button.setAttribute('aria-expanded', 'true');
  popover.addEventListener('toggle', ({ newState }) => {
    if (newState === 'open') return;
    button.removeEventListener('pointerdown', press);
    button.setAttribute('aria-expanded', 'false');
    render(null, popover);
    popover.remove();
  });
  render(html`<${MenuItems} items=${items} button=${button} popover=${popover} />`, popover);
  popover.showPopover();
  settle(popover, button);
}

function close() {
  if (place?.popover.isConnected) place.popover.hidePopover();
}

/** Below the button or above it, where there is room. */
function settle(popover, button) {
  const beside = button.getBoundingClientRect();
  const { width, height } = popover.getBoundingClientRect();
  const below = beside.bottom + GAP;
  const top = below + height < innerHeight - GAP ? below : Math.max(GAP, beside.top - GAP - height);
  popover.style.top = `${top}px`;
  popover.style.left = `${Math.max(GAP, Math.min(beside.left, innerWidth - width - GAP))}px`;
}

function MenuItems({ items: given, button, popover }) {
  const [items, show] = useState(Array.isArray(given) ? given : null);
  const list = useRef(null);
  const name = button.getAttribute('aria-label') ?? button.textContent;
  useEffect(() => {
    if (!items) {
      given.then(show, (error) => show([{ label: error.message, isDisabled: true }]));
      return;
    }
    settle(popover, button);
    const chosen = list.current.querySelector('[aria-checked="true"]') ?? list.current.querySelector('[role^="menuitem"]');
    chosen?.focus();
  }, [items]);
  const leave = () => {
    popover.hidePopover();
    button.focus();
  };
  const pick = (item) => () => {
    if (item.items) {
      show(item.items);
      return;
    }
    leave();
    item.act?.();
  };
  const pressed = (event) => {
    const all = [...list.current.querySelectorAll('[role^="menuitem"]')];
    const at = all.indexOf(document.activeElement);
    const step = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (step !== undefined) all.at(step % all.length)?.focus();
    else if (event.key === 'Escape') leave();
    else if (event.key === 'Tab') leave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return html`<div role="menu" aria-label=${name} ref=${list} onKeyDown=${pressed}>
    ${!items && html`<p>Loading…</p>`}
    ${items?.map((item, index) => (item.href
      ? html`<a key=${item.label} role="menuitem" href=${item.href} download=${item.download} onClick=${leave}>${item.label}</a>`
      : html`<button key=${`${item.label}${index}`} type="button" disabled=${item.isDisabled} class=${item.isDanger ? 'danger' : undefined}
        role=${item.isChosen === undefined ? 'menuitem' : 'menuitemradio'} aria-checked=${item.isChosen}
        onClick=${pick(item)}>${item.label}${item.note && html`<small>${item.note}</small>`}</button>`))}
  </div>`;
}
