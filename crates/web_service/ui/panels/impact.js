// What depends on a name or a file, as a graph to walk through and as a table with the same facts.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { attempt, html, openFile, plural, styles } from '../core.js';
import { plain, visible } from './hidden.js';
import { beginImpact, expandImpact, foldImpact } from './impact_facts.js';
import { layout, neighbour, NODE_HEIGHT, NODE_WIDTH } from './impact_layout.js';
import { filesAddress } from './places.js';

await styles('/panels/impact.css');

const NOTHING =
  'Nothing in this project depends on it. Files that do would be drawn here, a column for each step away.';
const MARGIN = 24;
const ZOOM = 1.25;
const PAN = 60;
/** Units of the picture to a pixel beyond which its labels are too small to read. */
const SMALLEST = 1.15;
/** Characters of a label that fit into a node. */
const LABEL = 24;
const SIGN_OPEN = `M${NODE_WIDTH - 20} ${NODE_HEIGHT / 2}h8`;
const SIGN_CLOSED = `${SIGN_OPEN}m-4 -4v8`;

export default function Impact({ project, target }) {
  const [graph, draw] = useState(null);
  const [error, fail] = useState(null);
  const [chosen, choose] = useState(target);
  const [isBusy, work] = useState(false);
  useEffect(() => {
    let isHere = true;
    beginImpact(project, target).then((begun) => isHere && draw(begun), (problem) => isHere && fail(problem));
    return () => { isHere = false; };
  }, []);
  const toggle = async (id) => {
    const node = graph.nodes.get(id);
    choose(id);
    if (isBusy || id === graph.root) return;
    if (node.isOpen) {
      draw(foldImpact(graph, id));
      return;
    }
    work(true);
    await attempt(async () => draw(await expandImpact(project, graph, id)));
    work(false);
  };
  return html`<header class="source-head"><a class="icon to-tree" href=${filesAddress({})} aria-label="All files"
    title="All files">☰</a>
      <h2>What depends on <code>${visible(target)}</code></h2></header>
    ${error && html`<div class="nothing"><p class="notice error">${plain(error.message)}</p><p
      class="empty">${error.suggestion}</p></div>`}
    ${!error && !graph && html`<p class="empty nothing" role="status">Looking through the project…</p>`}
    ${graph && html`<div class="impact">
      <p class="impact-message" role="status">${graph.message}</p>
      ${graph.nodes.size > 1
        ? html`<${Graph} graph=${graph} chosen=${chosen} choose=${choose} toggle=${toggle} />
          <${Chosen} node=${graph.nodes.get(chosen) ?? graph.nodes.get(graph.root)} graph=${graph} toggle=${toggle}
            isBusy=${isBusy} />
          <${FactTable} graph=${graph} />`
        : html`<p class="empty">${NOTHING}</p>`}
    </div>`}`;
}

/** A label that fits; the end of a name says more than its beginning. */
function shortened(text) {
  const seen = plain(text);
  return seen.length > LABEL ? `…${seen.slice(1 - LABEL)}` : seen;
}

function Graph({ graph, chosen, choose, toggle }) {
  const svg = useRef(null);
  const held = useRef(null);
  const ids = [...graph.nodes.keys()];
  const { places, width, height } = useMemo(() => layout(ids, graph.edges), [graph]);
  const whole = { x: -MARGIN, y: -MARGIN, w: width + 2 * MARGIN, h: height + 2 * MARGIN };
  const [view, look] = useState(null);
  const [, measure] = useState(false);
  // The first drawing does not know its size.
  useEffect(() => measure(true), []);
  const current = places.has(chosen) ? chosen : graph.root;
  const shown = view ?? readable(whole, places.get(current), svg.current);
  const zoom = (factor, atX = 0.5, atY = 0.5) => look((known) => {
    const { x, y, w, h } = known ?? shown;
    return { x: x + w * atX * (1 - factor), y: y + h * atY * (1 - factor), w: w * factor, h: h * factor };
  });
  const pan = (dx, dy) => look((known) => {
    const { x, y, w, h } = known ?? shown;
    return { x: x + dx, y: y + dy, w, h };
  });
  useEffect(() => {
    const { current: picture } = svg;
    // Only with Ctrl, as browsers do for pinches: the wheel alone scrolls the panel.
    const turned = (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const { left, top, width: wide, height: high } = picture.getBoundingClientRect();
      zoom(event.deltaY > 0 ? ZOOM : 1 / ZOOM, (event.clientX - left) / wide, (event.clientY - top) / high);
    };
    picture.addEventListener('wheel', turned, { passive: false });
    return () => picture.removeEventListener('wheel', turned);
  }, [graph]);
  const down = (event) => {
    if (event.target.closest('[role="button"]')) return;
    held.current = { x: event.clientX, y: event.clientY };
    svg.current.setPointerCapture(event.pointerId);
  };
  const moved = (event) => {
    if (!held.current) return;
    // The picture keeps its proportions, so one of both ratios is the scale.
    const { width: wide, height: high } = svg.current.getBoundingClientRect();
    const scale = Math.max(shown.w / wide, shown.h / high);
    pan((held.current.x - event.clientX) * scale, (held.current.y - event.clientY) * scale);
    held.current = { x: event.clientX, y: event.clientY };
  };
  const letGo = () => { held.current = null; };
  const pressed = (event) => {
    if (event.altKey || event.metaKey || event.ctrlKey) return;
    const arrows = { ArrowLeft: [-PAN, 0], ArrowRight: [PAN, 0], ArrowUp: [0, -PAN], ArrowDown: [0, PAN] };
    if (event.key === '+' || event.key === '=') zoom(1 / ZOOM);
    else if (event.key === '-') zoom(ZOOM);
    else if (event.key === '0') look(whole);
    else if (event.key === 'Enter' || event.key === ' ') toggle(chosen);
    else if (arrows[event.key] && event.shiftKey) pan(...arrows[event.key]);
    else if (arrows[event.key]) step(neighbour(places, current, event.key));
    else return;
    event.preventDefault();
  };
  const step = (id) => {
    if (!id) return;
    choose(id);
    const { x, y } = places.get(id);
    const isInside = (from, size, start, all) => from >= start && from + size <= start + all;
    const isOut = !isInside(x, NODE_WIDTH, shown.x, shown.w) || !isInside(y, NODE_HEIGHT, shown.y, shown.h);
    if (isOut) look(null);
    svg.current.querySelector(`[data-node="${ids.indexOf(id)}"]`)?.focus();
  };
  return html`<div class="graph">
    <svg ref=${svg} role="group"
      aria-label="Graph of dependents. Arrow keys go from node to node, Enter opens one, plus and minus zoom"
      viewBox=${`${shown.x} ${shown.y} ${shown.w} ${shown.h}`} onPointerDown=${down} onPointerMove=${moved}
      onPointerUp=${letGo} onPointerCancel=${letGo} onKeyDown=${pressed}>
      ${graph.edges.map(({ from, to }) => html`<path key=${`${from} ${to}`} class="edge"
        d=${curve(places.get(from), places.get(to))}
        data-near=${from === current || to === current || undefined} />`)}
      ${ids.map((id, index) => html`<${Node} key=${id} index=${index} node=${graph.nodes.get(id)}
        place=${places.get(id)}
        isRoot=${id === graph.root} isChosen=${id === current} act=${() => toggle(id)} />`)}
    </svg>
    <div class="zoom">
      <button class="quiet small" aria-label="Larger" onClick=${() => zoom(1 / ZOOM)}>+</button>
      <button class="quiet small" aria-label="Smaller" onClick=${() => zoom(ZOOM)}>−</button>
      <button class="quiet small" onClick=${() => look(whole)}>Fit</button>
    </div>
  </div>`;
}

/** The whole picture, or where that would be too small to read, the part around a node and what depends on it. */
function readable(whole, { x, y }, picture) {
  const box = picture?.getBoundingClientRect();
  if (!box || Math.max(whole.w / box.width, whole.h / box.height) <= SMALLEST) return whole;
  const [w, h] = [box.width * SMALLEST, box.height * SMALLEST];
  const inside = (middle, size, from, all) => {
    if (size >= all) return from - (size - all) / 2;
    return Math.min(Math.max(middle - size / 2, from), from + all - size);
  };
  return { x: inside(x + NODE_WIDTH, w, whole.x, whole.w), y: inside(y + NODE_HEIGHT / 2, h, whole.y, whole.h), w, h };
}

function curve(from, to) {
  const [y1, y2] = [from.y + NODE_HEIGHT / 2, to.y + NODE_HEIGHT / 2];
  if (to.column > from.column) {
    const [x1, x2] = [from.x + NODE_WIDTH, to.x];
    const middle = (x1 + x2) / 2;
    return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
  }
  // Back or within a column: around the right side.
  const [x1, x2] = [from.x + NODE_WIDTH, to.x + NODE_WIDTH];
  const out = Math.max(x1, x2) + 40;
  return `M${x1} ${y1}C${out} ${y1} ${out} ${y2} ${x2} ${y2}`;
}

function Node({ node, place, index, isRoot, isChosen, act }) {
  const note = isRoot ? node.note ?? plural(node.dependents ?? 0, 'file') : noteOf(node);
  return html`<g class="node" role="button" data-node=${index} tabindex=${isChosen ? 0 : -1}
    transform=${`translate(${place.x} ${place.y})`}
    aria-label=${`${plain(node.title)} ${plain(note)}`}
    aria-expanded=${isRoot ? undefined : node.isOpen} aria-pressed=${isChosen}
    data-root=${isRoot || undefined} onClick=${act}>
    <rect width=${NODE_WIDTH} height=${NODE_HEIGHT} rx="8" />
    <text x="10" y="16">${shortened(node.title)}</text>${' '}
    <text class="sub" x="10" y="30">${shortened(note)}</text>
    ${!isRoot && html`<path class="sign" d=${node.isOpen ? SIGN_OPEN : SIGN_CLOSED} />`}
  </g>`;
}

function noteOf({ count, isTest, isOpen, dependents }) {
  const parts = [isTest && 'test', isOpen ? plural(dependents ?? 0, 'dependent') : plural(count ?? 1, 'use')];
  return parts.filter(Boolean).join(', ');
}

function Chosen({ node, graph, toggle, isBusy }) {
  const isRoot = node.id === graph.root;
  return html`<div class="chosen-node">
    <p><strong>${visible(node.path ?? node.title)}</strong>${node.why && html`<code>${visible(node.why)}</code>`}</p>
    ${node.path && html`<button class="quiet small"
      onClick=${() => openFile(node.path, node.line)}>Show in the file</button>`}
    ${!isRoot && html`<button class="quiet small" disabled=${isBusy}
      onClick=${() => toggle(node.id)}>${node.isOpen ? 'Fold' : 'What depends on it'}</button>`}
    ${!isRoot && html`<a class="quiet small" href=${filesAddress({ impact: node.path })}>Begin here</a>`}
  </div>`;
}

function FactTable({ graph }) {
  const rows = graph.edges;
  return html`<div class="table"><table>
    <caption>${plural(rows.length, 'dependency').replace('ys', 'ies')}</caption>
    <thead><tr><th scope="col">File</th><th scope="col">Depends on</th><th scope="col">By</th><th scope="col"
      data-align="right">Uses</th></tr></thead>
    <tbody>${rows.map(({ from, to, line, why, count }) => html`<tr key=${`${from} ${to}`}>
      <td><button class="path-link" onClick=${() => openFile(to, line)}>${visible(to)}</button></td>
      <td>${visible(graph.nodes.get(from)?.title ?? from)}</td><td><code>${visible(why ?? '')}</code></td><td
        data-align="right">${count}</td>
    </tr>`)}</tbody>
  </table></div>`;
}
