import { describe, expect, it } from "vitest";
import type { Epoch, Moment } from "../src/api/types";
import { scaleOf, segments, summaryOf } from "../src/logic/epochs";
import { flameBoxes, hottest } from "../src/logic/flame";
import { behindOf, heightOf, lastRate, lineOf, ratesOf, spanOf, ticksOf } from "../src/logic/timeline";
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

describe("a job over time", () => {
  const second = (time: number, p50: number, watermark: number | null = null): Moment => ({
    time,
    records: 10,
    epochs: 5,
    p50,
    p99: p50 * 2,
    alignment: 0,
    "alignment-bytes": 0,
    "in-usage": 0,
    "out-usage": 0,
    watermark,
  });
  const span = { start: 0, end: 100_000 };

  it("fills the width from the first minute on, and shows five at most", () => {
    expect(spanOf([second(0, 1), second(10_000, 1)])).toEqual({ start: -49_000, end: 11_000 });
    expect(spanOf([second(0, 1), second(89_000, 1)])).toEqual({ start: 0, end: 90_000 });
    expect(spanOf([second(0, 1), second(500_000, 1), second(799_000, 1)])).toEqual({ start: 500_000, end: 800_000 });
  });

  it("has ticks at round times, with room for their labels", () => {
    expect(ticksOf({ start: 0, end: 60_000 }).map((t) => t.time)).toEqual([15_000, 30_000, 45_000]);
    expect(ticksOf({ start: 0, end: 300_000 })).toEqual([
      { time: 60_000, x: 0.2 },
      { time: 120_000, x: 0.4 },
      { time: 180_000, x: 0.6 },
      { time: 240_000, x: 0.8 },
    ]);
  });

  it("has lines that break where nothing ran", () => {
    const moments = [second(0, 1), second(1000, 2), second(99_000, 4)];
    expect(lineOf(moments, (m) => m.p50, 4, span)).toBe("M0 0.75H0.01L0.01 0.5H0.02M0.99 0H1");
    expect(lineOf([], (m) => m.p50, 4, span)).toBe("");
  });

  it("has lines that fit together, and are flat without values", () => {
    const moments = [second(0, 1), second(1000, 2)];
    expect(heightOf(moments, [(m) => m.p50, (m) => m.p99])).toBe(4);
    expect(heightOf([], [(m) => m.p50])).toBeGreaterThan(0);
    expect(lineOf([second(0, 0)], (m) => m.p50, heightOf([second(0, 0)], [(m) => m.p50]), span)).toBe("M0 1H0.01");
  });

  it("has event time behind the clock where there is any", () => {
    const now = 1_700_000_000_000;
    expect(behindOf(second(now, 1, now - 2000))).toBe(3000);
    expect(behindOf(second(now, 1, now + 5000))).toBe(0);
    expect(behindOf(second(now, 1, 7))).toBeUndefined();
    expect(behindOf(second(now, 1))).toBeUndefined();
  });

  it("has a rate for each stretch of time, zero where nothing was read", () => {
    const moments = [second(1000, 1), second(4000, 1), second(5000, 1)];
    expect(ratesOf(moments, 8000, 4, 2)).toEqual([5, 0, 10, 0]);
  });

  it("shows the rate of the last epoch while a long one runs", () => {
    const moments = [{ ...second(2000, 1), records: 10 }, { ...second(4000, 1), records: 20 }];
    expect(lastRate(moments, 9000)).toBe(20);
    expect(lastRate(moments, 60_000)).toBe(0);
    expect(lastRate([], 9000)).toBe(0);
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
