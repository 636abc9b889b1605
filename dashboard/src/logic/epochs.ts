/** The epoch strip: one bar for each epoch, split into the phases of its time. */

import type { Epoch, Phase } from "../api/types";

export interface Segment extends Phase {
  /** Which colour: the same phase has the same one in every epoch. */
  kind: "plan" | "spark" | "level" | "commit" | "other";
  level: number;
}

export function segments(epoch: Epoch): Segment[] {
  return epoch.phases.filter((p) => p.ms > 0).map((phase) => ({ ...phase, ...kindOf(phase.name) }));
}

function kindOf(name: string): Pick<Segment, "kind" | "level"> {
  const level = /^level (\d+)$/.exec(name);
  if (level) return { kind: "level", level: Number(level[1]) };
  if (name === "plan" || name === "spark" || name === "commit") return { kind: name, level: 0 };
  return { kind: "other", level: 0 };
}

/** The height that the tallest bar has; one endless epoch must not flatten all others. */
export function scaleOf(epochs: readonly Epoch[], targetMs: number): number {
  const sorted = epochs.map((e) => e.duration).sort((a, b) => a - b);
  const most = sorted.at(-1) ?? 0;
  const usual = sorted[Math.floor((sorted.length - 1) * 0.9)] ?? most;
  return Math.max(targetMs > 0 ? Math.min(targetMs, most * 1.5) : 0, Math.min(most, usual * 1.6), 1);
}

export interface EpochSummary {
  median: number;
  recordsPerSecond: number;
  /** The phase that takes most of the time, with its share. */
  longest: { name: string; share: number } | undefined;
}

export function summaryOf(epochs: readonly Epoch[]): EpochSummary {
  const durations = epochs.map((e) => e.duration).sort((a, b) => a - b);
  const first = epochs[0];
  const last = epochs.at(-1);
  const elapsed = first && last ? last["start-time"] + last.duration - first["start-time"] : 0;
  const records = epochs.reduce((sum, e) => sum + e.records, 0);
  const byPhase = new Map<string, number>();
  for (const epoch of epochs)
    for (const phase of epoch.phases)
      byPhase.set(phase.name, (byPhase.get(phase.name) ?? 0) + phase.ms);
  const all = [...byPhase.values()].reduce((a, b) => a + b, 0);
  const [name, ms] = [...byPhase.entries()].sort((a, b) => b[1] - a[1])[0] ?? ["", 0];
  return {
    median: durations[Math.floor(durations.length / 2)] ?? 0,
    recordsPerSecond: elapsed > 0 ? (records * 1000) / elapsed : 0,
    longest: all > 0 ? { name, share: ms / all } : undefined,
  };
}
