/** States of jobs and subtasks: what is over, and in which tone each is shown. */

const ENDED = new Set(["FINISHED", "CANCELED", "FAILED"]);

export type Tone = "good" | "calm" | "warn" | "bad" | "wait";

export function hasEnded(state: string): boolean {
  return ENDED.has(state);
}

export function toneOf(state: string): Tone {
  switch (state) {
    case "RUNNING":
    case "COMPLETED":
      return "good";
    case "FINISHED":
      return "calm";
    case "FAILED":
    case "FAILING":
      return "bad";
    case "RESTARTING":
    case "CANCELED":
    case "CANCELLING":
    case "CANCELING":
      return "warn";
    default:
      return "wait";
  }
}

/** Flink's three levels of back pressure, and the same three for how busy something is. */
export function loadOf(busy: number, backPressured: number): "idle" | "busy" | "hot" | "blocked" {
  if (backPressured > 0.5 && backPressured >= busy) return "blocked";
  if (busy > 0.9) return "hot";
  return busy > 0.5 ? "busy" : "idle";
}

/** How far the largest share lies above the mean; 1 is even. */
export function skewOf(values: readonly number[]): number {
  const sum = values.reduce((a, b) => a + b, 0);
  return sum > 0 ? (Math.max(...values) * values.length) / sum : 1;
}
