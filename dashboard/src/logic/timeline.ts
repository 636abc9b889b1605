/** The last minutes of a job as lines over time. */

import type { Moment } from "../api/types";
import { realWatermark } from "./format";

const SECOND_MS = 1000;
const LONGEST_MS = 300_000;
const SHORTEST_MS = 60_000;
const MOST_TICKS = 5;
const STEPS_MS = [15_000, 30_000, 60_000];
const KNOWN_MS = 10_000;
const YEAR_MS = 365 * 86_400_000;

/** What is measured in a second, or nothing. */
export type Value = (moment: Moment) => number | undefined;

/** A stretch of time, as wide as a chart. */
export interface Span {
  start: number;
  end: number;
}

/** The last five minutes, or what there is of them: a young job has the whole width, too. */
export function spanOf(moments: readonly Moment[]): Span {
  const end = (moments.at(-1)?.time ?? 0) + SECOND_MS;
  const first = moments.find((m) => m.time >= end - LONGEST_MS)?.time ?? end;
  return { start: end - Math.max(SHORTEST_MS, end - first), end };
}

export interface Tick {
  time: number;
  /** From the left, as a share of the width. */
  x: number;
}

/** Round times, a handful of them, none of which is so near to an end that its label is cut. */
export function ticksOf({ start, end }: Span): Tick[] {
  const step = STEPS_MS.find((s) => (end - start) / s <= MOST_TICKS) ?? SECOND_MS * 60;
  const ticks: Tick[] = [];
  for (let time = Math.ceil(start / step) * step; time < end; time += step)
    ticks.push({ time, x: place((time - start) / (end - start)) });
  return ticks.filter(({ x }) => x > 0.04 && x < 0.96);
}

/** The highest point of several lines, never zero. */
export function heightOf(moments: readonly Moment[], values: readonly Value[]): number {
  return Math.max(...moments.flatMap((m) => values.map((value) => value(m) ?? 0)), Number.EPSILON);
}

/** A line in a box of width and height 1; it breaks where a second had no epoch, or no value. */
export function lineOf(moments: readonly Moment[], value: Value, most: number, { start, end }: Span): string {
  let before = Number.NEGATIVE_INFINITY;
  const parts: string[] = [];
  for (const moment of moments) {
    const found = value(moment);
    if (found === undefined) continue;
    const next = moment.time - before <= SECOND_MS;
    const y = place(1 - Math.min(1, found / most));
    const x = place((moment.time - start) / (end - start));
    // A second alone is seen, too.
    parts.push(`${next ? "L" : "M"}${x} ${y}H${place((moment.time + SECOND_MS - start) / (end - start))}`);
    before = moment.time;
  }
  return parts.join("");
}

/** How far event time was behind the clock; nothing if it is none of these years. */
export function behindOf(moment: Moment): number | undefined {
  const known = realWatermark(moment.watermark);
  if (known === null) return undefined;
  const behind = moment.time + SECOND_MS - known;
  return Math.abs(behind) < YEAR_MS ? Math.max(0, behind) : undefined;
}

/** Records a second up to a time, the mean of as many seconds for each of so many points. */
export function ratesOf(moments: readonly Moment[], now: number, points: number, seconds: number): number[] {
  const width = seconds * SECOND_MS;
  const start = now - points * width;
  const rates = new Array<number>(points).fill(0);
  for (const moment of moments) {
    const point = Math.floor((moment.time - start) / width);
    if (point >= 0 && point < points) rates[point] = (rates[point] ?? 0) + moment.records / seconds;
  }
  return rates;
}

/** The rate of the last second that is known, unless that was long ago: then nothing has come since. */
export function lastRate(moments: readonly Moment[], now: number): number {
  const last = moments.at(-1);
  return last && now - last.time <= KNOWN_MS ? last.records : 0;
}

function place(share: number): number {
  return Math.round(share * 10_000) / 10_000;
}
