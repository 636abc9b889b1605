/** The boxes of a flame graph, and the functions in which most time passes. */

import type { FlameFrame } from "../api/types";

export interface FlameBox {
  frame: FlameFrame;
  /** Share of the width, 0 to 1. */
  x: number;
  width: number;
  depth: number;
  /** The children's indexes that lead here from the root. */
  path: number[];
}

const SMALLEST = 0.0015;

/** Boxes below a frame that fill the whole width; what is too small to be seen is left out. */
export function flameBoxes(root: FlameFrame, zoom: readonly number[] = []): FlameBox[] {
  const boxes: FlameBox[] = [];
  let frame = root;
  const path: number[] = [];
  boxes.push({ frame, x: 0, width: 1, depth: 0, path: [] });
  for (const index of zoom) {
    const next = frame.children[index];
    if (!next) break;
    frame = next;
    path.push(index);
    boxes.push({ frame, x: 0, width: 1, depth: path.length, path: [...path] });
  }
  const add = (parent: FlameFrame, x: number, width: number, at: number[]) => {
    let left = x;
    for (const [index, child] of parent.children.entries()) {
      const share = parent.value > 0 ? (child.value / parent.value) * width : 0;
      if (share >= SMALLEST) {
        const here = [...at, index];
        boxes.push({ frame: child, x: left, width: share, depth: here.length, path: here });
        add(child, left, share, here);
      }
      left += share;
    }
  };
  add(frame, 0, 1, path);
  return boxes;
}

export interface HotFunction {
  name: string;
  /** Shares of all samples: in the function itself, and in what it calls too. */
  self: number;
  total: number;
}

export function hottest(root: FlameFrame, most: number): HotFunction[] {
  const self = new Map<string, number>();
  const total = new Map<string, number>();
  const add = (to: Map<string, number>, name: string, value: number) =>
    to.set(name, (to.get(name) ?? 0) + value);
  const visit = (frame: FlameFrame, above: ReadonlySet<string>) => {
    const below = frame.children.reduce((sum, c) => sum + c.value, 0);
    add(self, frame.name, Math.max(0, frame.value - below));
    // A recursive function counts once.
    if (!above.has(frame.name)) add(total, frame.name, frame.value);
    const names = new Set(above).add(frame.name);
    for (const child of frame.children) visit(child, names);
  };
  for (const child of root.children) visit(child, new Set());
  const all = root.value || 1;
  return [...self.entries()]
    .map(([name, value]) => ({ name, self: value / all, total: (total.get(name) ?? 0) / all }))
    .sort((a, b) => b.self - a.self)
    .slice(0, most);
}
