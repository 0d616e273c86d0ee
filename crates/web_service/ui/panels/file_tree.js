// The tree of a project's files. A directory is read when it is opened, a page at a time.

import { useEffect, useRef, useState } from 'preact/hooks';
import { api, attempt, html, openFile, withQuery } from '../core.js';
import { plain, visible } from './hidden.js';

/** What is known of a project's directories. Kept while the page is open, so that a glance elsewhere folds nothing. */
const trees = new Map();

function treeOf(project) {
  if (!trees.has(project)) trees.set(project, { directories: new Map(), open: new Set(['']) });
  return trees.get(project);
}

async function readPage(project, path, page) {
  const { result } = await api(withQuery('/files', { project, path, page }));
  const { directories } = treeOf(project);
  const before = page ? directories.get(path).entries : [];
  const entries = [...before, ...result.entries];
  // Directories first, as people look for them.
  const sorted = [...entries.filter(isDirectory), ...entries.filter((entry) => !isDirectory(entry))];
  directories.set(path, { entries: sorted, next: result.next_page, total: result.total });
}

function isDirectory({ type }) {
  return type === 'directory';
}

/** The rows that are shown, from top to bottom. */
function rowsOf({ directories, open }, path = '', level = 1) {
  const known = directories.get(path);
  if (!known) return [];
  const rows = known.entries.flatMap((entry) => {
    const own = path ? `${path}/${entry.name}` : entry.name;
    const isOpen = isDirectory(entry) && open.has(own);
    const row = { key: own, path: own, parent: path, level, entry, isOpen };
    return isOpen ? [row, ...rowsOf({ directories, open }, own, level + 1)] : [row];
  });
  const rest = known.total - known.entries.length;
  if (known.next) rows.push({ key: `${path}/…`, path, parent: path, level, page: known.next, rest });
  if (known.entries.length === 0) rows.push({ key: `${path}/∅`, path, parent: path, level, isEmpty: true });
  return rows;
}

export function FileTree({ project, shown }) {
  const tree = treeOf(project);
  const [, draw] = useState(0);
  const [here, moveTo] = useState(shown ?? '');
  const list = useRef(null);
  const read = (path, page) => attempt(async () => {
    await readPage(project, path, page);
    draw((count) => count + 1);
  });
  useEffect(() => {
    // Always read again: files may have come since.
    read('');
  }, [project]);
  useEffect(() => {
    if (!shown) return;
    const parts = shown.split('/').slice(0, -1);
    const above = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
    above.forEach((path) => tree.open.add(path));
    Promise.all(above.filter((path) => !tree.directories.has(path)).map((path) => read(path))).then(() => {
      list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
    });
    moveTo(shown);
  }, [project, shown]);

  const rows = rowsOf(tree);
  const current = Math.max(0, rows.findIndex(({ key }) => key === here));
  const focus = (index) => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, index))];
    if (!row) return;
    moveTo(row.key);
    list.current.querySelector(`[data-index="${rows.indexOf(row)}"]`)?.focus();
  };
  const fold = (row, isOpen) => {
    if (isOpen) tree.open.add(row.path); else tree.open.delete(row.path);
    if (isOpen) read(row.path); else draw((count) => count + 1);
  };
  const act = (row) => {
    moveTo(row.key);
    if (row.page) read(row.path, row.page);
    else if (row.isEmpty) return;
    else if (isDirectory(row.entry)) fold(row, !row.isOpen);
    else openFile(row.path);
  };
  const pressed = (event) => {
    const row = rows[current];
    const canOpen = row?.entry && isDirectory(row.entry);
    const moves = {
      ArrowDown: () => focus(current + 1),
      ArrowUp: () => focus(current - 1),
      Home: () => focus(0),
      End: () => focus(rows.length - 1),
      ArrowRight: () => (canOpen && !row.isOpen ? fold(row, true) : focus(current + 1)),
      ArrowLeft: () => (row?.isOpen ? fold(row, false) : focus(rows.findIndex(({ key }) => key === row?.parent))),
      Enter: () => row && act(row),
      ' ': () => row && act(row),
    };
    if (!moves[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    moves[event.key]();
  };
  return html`<ul class="tree" role="tree" aria-label="Files of ${project}" ref=${list} onKeyDown=${pressed}>
    ${rows.map((row, index) => html`<li key=${row.key} role="treeitem" data-index=${index}
      data-level=${Math.min(row.level, 12)}
      aria-level=${row.level} tabindex=${index === current ? 0 : -1} aria-selected=${row.path === shown && !!row.entry}
      aria-expanded=${row.entry && isDirectory(row.entry) ? row.isOpen : undefined}
      aria-label=${row.entry ? plain(row.entry.name) : undefined}
      onFocus=${() => moveTo(row.key)} onClick=${() => act(row)}><${RowText} row=${row} />
        </li>`)}
  </ul>`;
}

function RowText({ row: { entry, isOpen, rest, isEmpty } }) {
  if (isEmpty) return html`<span class="empty">Nothing in here</span>`;
  if (!entry) return html`<span class="more-entries">Show more (${rest} left)</span>`;
  const sign = isDirectory(entry) ? (isOpen ? '▾' : '▸') : '';
  return html`<i aria-hidden="true">${sign}</i><span class="name">${visible(entry.name)}</span>`;
}
