import { describe, expect, it } from "vitest";
import type { Epoch, Moment } from "../src/api/types";
import { ratesOf, scaleOf, segments, summaryOf } from "../src/logic/epochs";
import { flameBoxes, hottest } from "../src/logic/flame";
import { heightOf, lineOf, SHOWN_MS } from "../src/logic/timeline";
import { hasEnded, loadOf, skewOf, toneOf } from "../src/logic/states";
import { sparkPath } from "../src/ui/sparkline";

const epoch = (id: number, duration: number, records = 100): Epoch => ({
  id,
  attempt: 0,
  "start-time": id * 1000,
  duration,
  records,
  "wait-before": 0,
  more: false,
  checkpoint: null,
  watermark: null,
  phases: [
    { name: "plan", ms: 0 },
    { name: "spark", ms: duration / 4 },
    { name: "level 1", ms: (duration * 3) / 4 },
  ],
});

describe("epochs", () => {
  it("are split into phases that took time", () => {
    expect(segments(epoch(1, 100)).map((s) => [s.kind, s.level, s.ms])).toEqual([
      ["spark", 0, 25],
      ["level", 1, 75],
    ]);
  });

  it("are not flattened by a single long one", () => {
    const usual = Array.from({ length: 99 }, (_, i) => epoch(i, 100));
    expect(scaleOf([...usual, epoch(99, 60_000)], 0)).toBe(160);
    expect(scaleOf([], 1000)).toBe(1);
  });

  it("have a rate that counts the rest before them", () => {
    expect(ratesOf([epoch(1, 500), { ...epoch(2, 100), "wait-before": 900 }])).toEqual([200, 100]);
  });

  it("become a line whose highest value touches the top", () => {
    expect(sparkPath([0, 5, 10])).toBe("M0 1L0.5 0.5L1 0");
    expect(sparkPath([0])).toBe("M0 1");
  });

  it("have a median, a rate and a longest phase", () => {
    const summary = summaryOf([epoch(0, 100), epoch(1, 300), epoch(2, 1000)]);
    expect(summary.median).toBe(300);
    expect(summary.recordsPerSecond).toBe(100);
    expect(summary.longest).toEqual({ name: "level 1", share: 0.75 });
    expect(summaryOf([]).longest).toBeUndefined();
  });
});

describe("a live job", () => {
  const second = (time: number, p50: number): Moment => ({
    time,
    records: 10,
    epochs: 5,
    p50,
    p99: p50 * 2,
    alignment: 0,
    "alignment-bytes": 0,
    "in-usage": 0,
    "out-usage": 0,
  });

  it("has lines that end now and break where nothing ran", () => {
    const moments = [second(0, 1), second(1000, 2), second(SHOWN_MS - 1000, 4)];
    expect(lineOf(moments, (m) => m.p50, 4)).toBe("M0 0.75H0.0033L0.0033 0.5H0.0067M0.9967 0H1");
    expect(lineOf([], (m) => m.p50, 4)).toBe("");
  });

  it("has lines that fit together, and are flat without values", () => {
    const moments = [second(0, 1), second(1000, 2)];
    expect(heightOf(moments, [(m) => m.p50, (m) => m.p99])).toBe(4);
    expect(heightOf([], [(m) => m.p50])).toBeGreaterThan(0);
    expect(lineOf([second(0, 0)], (m) => m.p50, heightOf([second(0, 0)], [(m) => m.p50]))).toMatch(/^M\S+ 1H1$/);
  });
});

describe("a flame graph", () => {
  const leaf = (name: string, value: number) => ({ name, value, children: [] });
  const root = {
    name: "root",
    value: 100,
    children: [{ name: "f", value: 80, children: [leaf("g", 60), leaf("f", 10)] }, leaf("h", 20)],
  };

  it("has boxes as wide as their share", () => {
    const boxes = flameBoxes(root);
    const g = boxes.find((b) => b.frame.name === "g");
    expect(g).toMatchObject({ x: 0, depth: 2, path: [0, 0] });
    expect(g?.width).toBeCloseTo(0.6);
    expect(boxes.find((b) => b.frame.name === "h")).toMatchObject({ x: 0.8, width: 0.2 });
  });

  it("can be looked at from a frame on", () => {
    const boxes = flameBoxes(root, [0]);
    expect(boxes.find((b) => b.frame.name === "g")?.width).toBe(0.75);
    expect(boxes.some((b) => b.frame.name === "h")).toBe(false);
  });

  it("counts a recursive function once", () => {
    const hot = hottest(root, 10);
    expect(hot[0]).toEqual({ name: "g", self: 0.6, total: 0.6 });
    expect(hot.find((h) => h.name === "f")).toEqual({ name: "f", self: 0.2, total: 0.8 });
  });
});

describe("states", () => {
  it("have tones and ends", () => {
    expect(toneOf("RUNNING")).toBe("good");
    expect(toneOf("SOMETHING NEW")).toBe("wait");
    expect(hasEnded("CANCELED")).toBe(true);
    expect(hasEnded("CANCELLING")).toBe(false);
  });

  it("tell who is busy and who waits", () => {
    expect(loadOf(0.95, 0)).toBe("hot");
    expect(loadOf(0.6, 0.1)).toBe("busy");
    expect(loadOf(0.3, 0.7)).toBe("blocked");
    expect(loadOf(0, 0)).toBe("idle");
  });

  it("measure skew against an even share", () => {
    expect(skewOf([10, 10])).toBe(1);
    expect(skewOf([30, 10])).toBe(1.5);
    expect(skewOf([0, 0])).toBe(1);
  });
});
