/**
 * Places a directed graph in layers: each node at the level of its Spark stage, few crossings, nodes
 * near their neighbours. Long edges pass through places of their own, so they miss the nodes between.
 */

export interface LayoutNode {
  id: string;
  width: number;
  height: number;
  level?: number;
}

export interface LayoutEdge {
  from: string;
  to: string;
}

export interface Point {
  x: number;
  y: number;
}

export interface PlacedEdge extends LayoutEdge {
  points: Point[];
}

export interface Layout {
  nodes: Map<string, Point>;
  edges: PlacedEdge[];
  levels: { at: number; size: number }[];
  width: number;
  height: number;
}

export type Direction = "right" | "down";

interface Place {
  id: string;
  level: number;
  /** Extent along the flow and across it. */
  along: number;
  across: number;
  position: number;
  before: Place[];
  after: Place[];
}

export interface Gaps {
  levels: number;
  nodes: number;
  margin: number;
}

const GAPS: Gaps = { levels: 72, nodes: 28, margin: 16 };
const SWEEPS = 8;

export function layered(
  nodes: readonly LayoutNode[],
  edges: readonly LayoutEdge[],
  direction: Direction,
  gaps: Gaps = GAPS,
): Layout {
  const known = new Set(nodes.map((n) => n.id));
  const real = edges.filter((e) => known.has(e.from) && known.has(e.to) && e.from !== e.to);
  const levels = levelsOf(nodes, real);
  const { layers, paths } = placesOf(nodes, real, levels, direction);
  order(layers);
  settle(layers, gaps.nodes);
  return drawn(nodes, paths, layers, direction, gaps);
}

/** Given levels if they grow along every edge, else the longest path from a source. */
export function levelsOf(
  nodes: readonly LayoutNode[],
  edges: readonly LayoutEdge[],
): Map<string, number> {
  const given = new Map(nodes.map((n) => [n.id, n.level ?? -1]));
  const level = (id: string) => given.get(id) ?? -1;
  const usable =
    nodes.every((n) => level(n.id) >= 0) && edges.every((e) => level(e.from) < level(e.to));
  if (usable) return given;
  const found = new Map<string, number>();
  const open = new Set<string>();
  const visit = (id: string): number => {
    const done = found.get(id);
    if (done !== undefined) return done;
    if (open.has(id)) return -1;
    open.add(id);
    const inputs = edges.filter((e) => e.to === id).map((e) => visit(e.from));
    open.delete(id);
    const depth = Math.max(-1, ...inputs) + 1;
    found.set(id, depth);
    return depth;
  };
  for (const node of nodes) visit(node.id);
  return found;
}

function placesOf(
  nodes: readonly LayoutNode[],
  edges: readonly LayoutEdge[],
  levels: Map<string, number>,
  direction: Direction,
): { layers: Place[][]; paths: { edge: LayoutEdge; places: Place[] }[] } {
  const count = Math.max(-1, ...levels.values()) + 1;
  const layers: Place[][] = Array.from({ length: count }, () => []);
  const places = new Map<string, Place>();
  for (const node of nodes) {
    const level = levels.get(node.id) ?? 0;
    const [along, across] =
      direction === "right" ? [node.width, node.height] : [node.height, node.width];
    const place = { id: node.id, level, along, across, position: 0, before: [], after: [] };
    places.set(node.id, place);
    layers[level]?.push(place);
  }
  const paths = edges.map((edge) => {
    const from = places.get(edge.from) as Place;
    const to = places.get(edge.to) as Place;
    const path = [from];
    for (let level = from.level + 1; level < to.level; level += 1) {
      const id = `${edge.from}>${edge.to}@${level}`;
      const bend: Place = { id, level, along: 0, across: 0, position: 0, before: [], after: [] };
      layers[level]?.push(bend);
      path.push(bend);
    }
    path.push(to);
    for (let i = 1; i < path.length; i += 1) {
      (path[i - 1] as Place).after.push(path[i] as Place);
      (path[i] as Place).before.push(path[i - 1] as Place);
    }
    return { edge, places: path };
  });
  return { layers, paths };
}

/** Sorts each layer by the mean place of its neighbours, forth and back, and keeps the best. */
function order(layers: Place[][]): void {
  let best = layers.map((layer) => [...layer]);
  let fewest = crossings(layers);
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep += 1) {
    const forth = sweep % 2 === 0;
    const sequence = forth ? layers : [...layers].reverse();
    for (const layer of sequence) {
      const neighbours = (p: Place) => (forth ? p.before : p.after);
      const ranks = new Map<Place, number>();
      for (const other of layers) for (const [i, p] of other.entries()) ranks.set(p, i);
      const wish = new Map(
        layer.map((p) => [p, mean(neighbours(p).map((n) => ranks.get(n) ?? 0), ranks.get(p) ?? 0)]),
      );
      layer.sort((a, b) => (wish.get(a) ?? 0) - (wish.get(b) ?? 0));
    }
    const now = crossings(layers);
    if (now < fewest) {
      fewest = now;
      best = layers.map((layer) => [...layer]);
    }
  }
  for (const [i, layer] of best.entries()) layers[i] = layer;
}

export function crossings(layers: readonly { after: unknown[] }[][]): number {
  let found = 0;
  for (let i = 0; i + 1 < layers.length; i += 1) {
    const ranks = new Map<unknown, number>((layers[i + 1] ?? []).map((p, rank) => [p, rank]));
    const lines = (layers[i] ?? []).flatMap((p, rank) =>
      p.after.map((target) => [rank, ranks.get(target) ?? 0] as const),
    );
    for (const [a, b] of lines) for (const [c, d] of lines) if (a < c && b > d) found += 1;
  }
  return found;
}

/** Moves nodes towards their neighbours as far as the order and the gaps allow. */
function settle(layers: Place[][], gap: number): void {
  for (const layer of layers) {
    let at = 0;
    for (const place of layer) {
      place.position = at + place.across / 2;
      at += place.across + gap;
    }
  }
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const forth = sweep % 2 === 0;
    for (const layer of forth ? layers : [...layers].reverse()) {
      const wishes = layer.map((p) => {
        const neighbours = sweep < SWEEPS - 2 ? (forth ? p.before : p.after) : [...p.before, ...p.after];
        return mean(neighbours.map((n) => n.position), p.position);
      });
      spread(layer, wishes, gap);
    }
  }
}

/** Grants wishes in order: places that would overlap form a block around their mean wish. */
function spread(layer: Place[], wishes: number[], gap: number): void {
  interface Block {
    places: Place[];
    offsets: number[];
    size: number;
    start: number;
    wish: number;
  }
  const blocks: Block[] = [];
  for (const [i, place] of layer.entries()) {
    const wish = (wishes[i] ?? 0) - place.across / 2;
    let block: Block = { places: [place], offsets: [0], size: place.across, start: wish, wish };
    for (;;) {
      const last = blocks.at(-1);
      if (!last || last.start + last.size + gap <= block.start) break;
      blocks.pop();
      const shift = last.size + gap;
      const many = last.places.length + block.places.length;
      const sum = last.wish * last.places.length + (block.wish - shift) * block.places.length;
      block = {
        places: [...last.places, ...block.places],
        offsets: [...last.offsets, ...block.offsets.map((o) => o + shift)],
        size: shift + block.size,
        wish: sum / many,
        start: sum / many,
      };
    }
    blocks.push(block);
  }
  for (const block of blocks)
    for (const [i, place] of block.places.entries())
      place.position = block.start + (block.offsets[i] ?? 0) + place.across / 2;
}

function drawn(
  nodes: readonly LayoutNode[],
  paths: { edge: LayoutEdge; places: Place[] }[],
  layers: Place[][],
  direction: Direction,
  gaps: Gaps,
): Layout {
  const all = layers.flat();
  const first = Math.min(0, ...all.map((p) => p.position - p.across / 2));
  const low = all.length ? Math.min(...all.map((p) => p.position - p.across / 2)) : first;
  const high = all.length ? Math.max(...all.map((p) => p.position + p.across / 2)) : 0;
  let at = gaps.margin;
  const levels = layers.map((layer) => {
    const size = Math.max(0, ...layer.map((p) => p.along));
    const level = { at, size };
    at += size + gaps.levels;
    return level;
  });
  const across = (position: number) => position - low + gaps.margin;
  const point = (along: number, position: number): Point =>
    direction === "right" ? { x: along, y: across(position) } : { x: across(position), y: along };
  const corners = new Map<string, Point>();
  const known = new Set(nodes.map((n) => n.id));
  for (const place of all) {
    if (!known.has(place.id)) continue;
    corners.set(place.id, point(levels[place.level]?.at ?? 0, place.position - place.across / 2));
  }
  const edges = paths.map(({ edge, places }) => {
    const points: Point[] = [];
    for (const [i, place] of places.entries()) {
      const level = levels[place.level] ?? { at: 0, size: 0 };
      if (i > 0) points.push(point(level.at, place.position));
      const size = i === 0 ? place.along : level.size;
      if (i < places.length - 1) points.push(point(level.at + size, place.position));
    }
    return { ...edge, points };
  });
  const length = Math.max(gaps.margin, at - gaps.levels) + gaps.margin;
  const breadth = high - low + 2 * gaps.margin;
  const [width, height] = direction === "right" ? [length, breadth] : [breadth, length];
  return { nodes: corners, edges, levels, width, height };
}

/** A smooth line through the points of an edge. */
export function edgePath(points: readonly Point[], direction: Direction): string {
  const [start, ...rest] = points;
  if (!start) return "";
  let path = `M${round(start.x)} ${round(start.y)}`;
  let last = start;
  for (const next of rest) {
    const bend =
      direction === "right"
        ? { a: { x: (last.x + next.x) / 2, y: last.y }, b: { x: (last.x + next.x) / 2, y: next.y } }
        : { a: { x: last.x, y: (last.y + next.y) / 2 }, b: { x: next.x, y: (last.y + next.y) / 2 } };
    path += `C${round(bend.a.x)} ${round(bend.a.y)} ${round(bend.b.x)} ${round(bend.b.y)} ${round(next.x)} ${round(next.y)}`;
    last = next;
  }
  return path;
}

function mean(values: number[], otherwise: number): number {
  return values.length ? values.reduce((a, b) => a + b, 0) / values.length : otherwise;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
