import { describe, expect, it } from "vitest";
import { edgePath, layered, levelsOf, type LayoutNode } from "../src/logic/layout";

const box = (id: string, level?: number): LayoutNode => ({ id, width: 100, height: 40, level });
const edge = (text: string) => {
  const [from = "", to = ""] = text.split(">");
  return { from, to };
};

function overlaps(nodes: LayoutNode[], at: Map<string, { x: number; y: number }>): string[] {
  const found: string[] = [];
  for (const a of nodes)
    for (const b of nodes) {
      if (a.id >= b.id) continue;
      const p = at.get(a.id)!;
      const q = at.get(b.id)!;
      if (p.x < q.x + b.width && q.x < p.x + a.width && p.y < q.y + b.height && q.y < p.y + a.height)
        found.push(`${a.id} ${b.id}`);
    }
  return found;
}

describe("levels", () => {
  it("are the longest paths from a source", () => {
    const nodes = ["a", "b", "c", "d"].map((id) => box(id));
    const levels = levelsOf(nodes, ["a>b", "b>c", "a>c", "c>d"].map(edge));
    expect([...levels.entries()]).toEqual([["a", 0], ["b", 1], ["c", 2], ["d", 3]]);
  });

  it("are those of the plan if they grow along every edge", () => {
    expect(levelsOf([box("a", 0), box("b", 4)], [edge("a>b")]).get("b")).toBe(4);
    expect(levelsOf([box("a", 4), box("b", 4)], [edge("a>b")]).get("b")).toBe(1);
  });

  it("end even with a circle", () => {
    expect(levelsOf([box("a"), box("b")], ["a>b", "b>a"].map(edge)).size).toBe(2);
  });
});

describe("placing", () => {
  const nodes = ["s", "t", "a", "b", "c", "d", "e"].map((id) => box(id));
  const edges = ["s>a", "s>b", "t>b", "t>c", "a>d", "b>d", "c>d", "s>d", "d>e", "t>e"].map(edge);

  for (const direction of ["right", "down"] as const) {
    it(`keeps nodes apart and inside, flowing ${direction}`, () => {
      const layout = layered(nodes, edges, direction);
      expect(overlaps(nodes, layout.nodes)).toEqual([]);
      for (const node of nodes) {
        const { x, y } = layout.nodes.get(node.id)!;
        expect(Math.min(x, y)).toBeGreaterThanOrEqual(0);
        expect(x + node.width).toBeLessThanOrEqual(layout.width);
        expect(y + node.height).toBeLessThanOrEqual(layout.height);
      }
    });
  }

  it("lets every edge go on along the flow", () => {
    for (const { points } of layered(nodes, edges, "right").edges)
      for (let i = 1; i < points.length; i += 1)
        expect(points[i]!.x).toBeGreaterThanOrEqual(points[i - 1]!.x);
  });

  it("undoes a crossing", () => {
    const layout = layered(["a", "b", "x", "y"].map((id) => box(id)), ["a>y", "b>x"].map(edge), "right");
    const y = (id: string) => layout.nodes.get(id)!.y;
    expect(Math.sign(y("a") - y("b"))).toBe(Math.sign(y("y") - y("x")));
  });

  it("puts a straight line in a straight line", () => {
    const layout = layered(["a", "b", "c"].map((id) => box(id)), ["a>b", "b>c"].map(edge), "right");
    expect(new Set(["a", "b", "c"].map((id) => layout.nodes.get(id)!.y)).size).toBe(1);
  });

  it("takes nothing, one node, and edges to nowhere", () => {
    expect(layered([], [], "right").edges).toEqual([]);
    expect(layered([box("a")], [edge("a>gone"), edge("a>a")], "right").edges).toEqual([]);
  });
});

describe("a path", () => {
  it("begins and ends at its points", () => {
    const path = edgePath([{ x: 1, y: 2 }, { x: 11, y: 22 }], "right");
    expect(path).toBe("M1 2C6 2 6 22 11 22");
    expect(edgePath([], "right")).toBe("");
  });
});
