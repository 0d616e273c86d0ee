// What is known about an impact: which files depend on a name or a file, asked for step by step.

import { api } from '../core.js';
import { baseName } from './places.js';

async function call(project, tool, given) {
  const { ok, value, error } = await api(`/tools/${tool}`, { body: { project, arguments: given } });
  if (ok) return value;
  throw Object.assign(new Error(error.message), { code: error.code, suggestion: error.suggestion });
}

/** Whether a target is a file rather than a name. Names of files have a dot or a slash, which no name has by itself. */
function isPath(target) {
  return /[/.]/.test(target) && !target.includes('::');
}

/** The beginning of a graph: what is changed, and the files that use it. */
export async function beginImpact(project, target) {
  const isFile = isPath(target);
  const root = { id: target, title: isFile ? baseName(target) : target, path: isFile ? target : null, isOpen: true };
  const graph = { root: target, nodes: new Map([[target, root]]), edges: [], message: '' };
  if (isFile) {
    const [importers, whole] = await Promise.all([
      importersOf(project, target),
      call(project, 'impact', { target }).catch(() => null),
    ]);
    graph.message = whole?.message ?? '';
    graph.tests = new Set(whole?.tests ?? []);
    return addDependents(graph, target, importers);
  }
  const [uses, defined] = await Promise.all([
    call(project, 'find_references', { symbol: target }),
    call(project, 'find_definition', { symbol: target }).catch(() => null),
  ]);
  const [place] = defined?.definitions ?? [];
  Object.assign(root, {
    path: place?.path ?? null,
    line: place?.line,
    note: place ? `${place.path}:${place.line}` : '',
  });
  graph.message = uses.message;
  graph.tests = new Set();
  const files = uses.files.map(({ path, count, lines }) => ({
    path,
    count,
    line: lines[0]?.line,
    why: lines[0]?.text ?? '',
  }));
  return addDependents(graph, target, files);
}

async function importersOf(project, target) {
  const { importers } = await call(project, 'find_importers', { target });
  const byPath = new Map();
  for (const { path, line, statement } of importers) {
    const known = byPath.get(path);
    if (known) known.count += 1;
    else byPath.set(path, { path, line, why: statement, count: 1 });
  }
  return [...byPath.values()];
}

function addDependents(graph, from, files) {
  const nodes = new Map(graph.nodes);
  const edges = [...graph.edges];
  for (const { path, ...facts } of files) {
    if (path === from) continue;
    if (!nodes.has(path))
      nodes.set(path, {
        id: path,
        path,
        title: baseName(path),
        isOpen: false,
        isTest: graph.tests.has(path),
        ...facts,
      });
    if (!edges.some((edge) => edge.from === from && edge.to === path)) edges.push({ from, to: path, ...facts });
  }
  nodes.set(from, { ...nodes.get(from), isOpen: true, dependents: files.filter(({ path }) => path !== from).length });
  return { ...graph, nodes, edges };
}

/** The graph with the files that import one of its files. */
export async function expandImpact(project, graph, id) {
  return addDependents(graph, id, await importersOf(project, graph.nodes.get(id).path));
}

/** The graph without what was only reached through a node. */
export function foldImpact(graph, id) {
  const edges = graph.edges.filter(({ from }) => from !== id);
  const reached = new Set([graph.root]);
  for (const known of reached) for (const { from, to } of edges) if (from === known) reached.add(to);
  const nodes = new Map([...graph.nodes].filter(([key]) => reached.has(key)));
  nodes.set(id, { ...nodes.get(id), isOpen: false });
  return { ...graph, nodes, edges: edges.filter(({ from }) => reached.has(from)) };
}
