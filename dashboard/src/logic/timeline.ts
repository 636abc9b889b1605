/** The last minutes of a live job as lines. */

import type { Moment } from "../api/types";

export const SHOWN_MS = 300_000;
const SECOND_MS = 1000;

/** The highest point of several lines, never zero. */
export function heightOf(moments: readonly Moment[], values: readonly ((moment: Moment) => number)[]): number {
  return Math.max(...moments.flatMap((m) => values.map((value) => value(m))), Number.EPSILON);
}

/** A line in a box of width and height 1; it breaks where a second had no epoch. */
export function lineOf(moments: readonly Moment[], value: (moment: Moment) => number, most: number): string {
  const end = (moments.at(-1)?.time ?? 0) + SECOND_MS;
  let before = Number.NEGATIVE_INFINITY;
  const parts: string[] = [];
  for (const moment of moments) {
    const next = moment.time - before <= SECOND_MS;
    const y = place(1 - Math.min(1, value(moment) / most));
    const x = place(1 - (end - moment.time) / SHOWN_MS);
    // A second alone is seen, too.
    parts.push(`${next ? "L" : "M"}${x} ${y}H${place(1 - (end - moment.time - SECOND_MS) / SHOWN_MS)}`);
    before = moment.time;
  }
  return parts.join("");
}

function place(share: number): number {
  return Math.round(share * 10_000) / 10_000;
}
