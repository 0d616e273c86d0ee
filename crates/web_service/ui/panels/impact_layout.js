// Where the nodes of an impact graph stand: columns by their distance from what is changed. Pure.

export const NODE_WIDTH = 190;
export const NODE_HEIGHT = 38;
const COLUMN = NODE_WIDTH + 70;
const ROW = NODE_HEIGHT + 12;

/**
 * Places nodes in columns. `nodes` is a list of ids, the root first; `edges` are `{from, to}` towards what depends on
 * `from`. Answers `{places: Map(id → {x, y, column}), width, height}`.
 */
export function layout(nodes, edges) {
  const columns = distances(nodes, edges);
  const byColumn = [];
  for (const id of nodes) (byColumn[columns.get(id)] ??= []).push(id);
  const rows = new Map();
  byColumn.forEach((ids, column) => {
    // A node stands near those it depends on, so that lines cross less.
    const weight = (id) => {
      const before = edges.filter((edge) => edge.to === id && columns.get(edge.from) === column - 1);
      return before.length ? before.reduce((sum, { from }) => sum + rows.get(from), 0) / before.length : 0;
    };
    const weights = new Map(ids.map((id) => [id, weight(id)]));
    ids.sort((one, other) => weights.get(one) - weights.get(other) || one.localeCompare(other));
    ids.forEach((id, row) => rows.set(id, row - (ids.length - 1) / 2));
  });
  const tallest = Math.max(...byColumn.map((ids) => ids.length));
  const height = tallest * ROW;
  const places = new Map(
    nodes.map((id) => [
      id,
      {
        column: columns.get(id),
        x: columns.get(id) * COLUMN,
        y: height / 2 + rows.get(id) * ROW - NODE_HEIGHT / 2,
      },
    ]),
  );
  return { places, width: (byColumn.length - 1) * COLUMN + NODE_WIDTH, height };
}

/** How many steps each node is away from the root. */
function distances(nodes, edges) {
  const far = new Map([[nodes[0], 0]]);
  const queue = [nodes[0]];
  while (queue.length) {
    const id = queue.shift();
    for (const { from, to } of edges) {
      if (from !== id || far.has(to)) continue;
      far.set(to, far.get(id) + 1);
      queue.push(to);
    }
  }
  for (const id of nodes) if (!far.has(id)) far.set(id, 1);
  return far;
}

/** The nearest node in a direction, for arrow keys. */
export function neighbour(places, id, key) {
  const { x, y } = places.get(id);
  const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  let best = null;
  for (const [other, place] of places) {
    const along = (place.x - x) * dx + (place.y - y) * dy;
    if (along <= 0) continue;
    const aside = Math.abs((place.x - x) * dy) + Math.abs((place.y - y) * dx);
    const cost = along + 4 * aside;
    if (!best || cost < best.cost) best = { other, cost };
  }
  return best?.other ?? null;
}
