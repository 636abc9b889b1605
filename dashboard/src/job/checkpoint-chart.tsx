/** The history of checkpoints as bars, the oldest on the left; the table below has the figures. */

import type { Checkpoint } from "../api/types";
import { bytes, duration } from "../logic/format";

const STEP = 12;
const GAP = 3;
const HEIGHT = 80;
const LEAST = 40;

interface Measure {
  title: string;
  value: (checkpoint: Checkpoint) => number;
  format: (value: number) => string;
}

const MEASURES: Measure[] = [
  { title: "Duration", value: (c) => c.end_to_end_duration, format: duration },
  { title: "State size", value: (c) => c.state_size, format: bytes },
];

interface Props {
  history: readonly Checkpoint[];
  chosen: number | undefined;
  onChoose: (id: number | undefined) => void;
}

export function HistoryChart({ history, chosen, onChoose }: Props) {
  const shown = [...history].sort((a, b) => a.id - b.id);
  // Few bars are not to become wide ones.
  const width = Math.max(LEAST, shown.length) * STEP;
  return (
    <div class="history-chart">
      {MEASURES.map(({ title, value, format }) => {
        const most = Math.max(...shown.map(value), Number.EPSILON);
        return (
          <figure key={title}>
            <figcaption>
              <strong>{title}</strong> <span class="muted">maximum {format(Math.round(most))}</span>
            </figcaption>
            <svg viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`${title} of the last checkpoints`}>
              {shown.map((c, i) => {
                const height = Math.max(1, (value(c) / most) * HEIGHT);
                return (
                  <g
                    key={c.id}
                    class={c.id === chosen ? "chosen" : undefined}
                    transform={`translate(${i * STEP} 0)`}
                    onClick={() => onChoose(c.id === chosen ? undefined : c.id)}
                  >
                    <title>{`${c.is_savepoint ? "savepoint" : "checkpoint"} ${c.id}: ${format(value(c))}`}</title>
                    <rect class="hit" width={STEP} height={HEIGHT} />
                    <rect class={kindOf(c)} width={STEP - GAP} y={HEIGHT - height} height={height} />
                  </g>
                );
              })}
            </svg>
          </figure>
        );
      })}
    </div>
  );
}

function kindOf(checkpoint: Checkpoint): string | undefined {
  if (checkpoint.status === "FAILED") return "failed";
  return checkpoint.is_savepoint ? "savepoint" : undefined;
}
