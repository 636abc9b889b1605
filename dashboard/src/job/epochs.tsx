/** The epoch strip: a bar for each of the last epochs, split into phases. */

import { useRef, useState } from "preact/hooks";
import { useResource } from "../api/resource";
import type { Epoch, Epochs, Job } from "../api/types";
import { scaleOf, type Segment, segments, summaryOf } from "../logic/epochs";
import { compact, count, duration, moment, percent, watermark } from "../logic/format";
import { hasEnded } from "../logic/states";
import { Empty, Panel, Pending } from "../ui/parts";
import { useWidth } from "../ui/width";

const SHOWN = 120;
const HEIGHT = 84;
const GAP = 2;
const NARROWEST = 9;
const WIDEST = 28;
const PADDING = 26;

export function EpochStrip({ job }: { job: Job }) {
  const epochs = useResource<Epochs>(`/jobs/${job.jid}/epochs?limit=${SHOWN}`, hasEnded(job.state) ? 0 : undefined);
  if (!epochs.data?.epochs)
    return (
      <Panel title="Epochs">
        <Pending error={epochs.error} what="its epochs" />
      </Panel>
    );
  const { epochs: all, total } = epochs.data;
  return (
    <Panel title="Epochs" extra={<span class="muted">{count(total)} in all</span>}>
      {all.length === 0 ? <Empty>{hasEnded(job.state) ? "The job ended without an epoch." : "No epochs yet."}</Empty> : <Strip job={job} epochs={all} targetMs={epochs.data["target-ms"]} />}
    </Panel>
  );
}

function Strip({ job, epochs, targetMs }: { job: Job; epochs: Epoch[]; targetMs: number }) {
  const [chosen, setChosen] = useState<number>();
  const scale = scaleOf(epochs, targetMs);
  const last = epochs.length - 1;
  const found = epochs.findIndex((e) => e.id === chosen);
  const index = found < 0 ? last : found;
  const epoch = epochs[index] as Epoch;
  const summary = summaryOf(epochs);
  const pressed = (event: KeyboardEvent) => {
    const step: Record<string, number> = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: last };
    const next = step[event.key];
    if (next === undefined) return;
    event.preventDefault();
    setChosen(epochs[Math.min(last, Math.max(0, next))]?.id);
  };
  const box = useRef<HTMLDivElement>(null);
  const room = useWidth(box) - PADDING;
  const step = Math.min(WIDEST, Math.max(NARROWEST, Math.floor(room / epochs.length)));
  const bar = step - GAP;
  const width = Math.max(room, epochs.length * step);
  return (
    <>
      <p class="muted pad">
        {`${epochs.length === 1 ? "It took" : `The median of the last ${epochs.length} is`} ${duration(summary.median)}; ${compact(summary.recordsPerSecond)} records a second`}
        {summary.longest && `; ${percent(summary.longest.share)} of their time is ${phaseName(summary.longest.name)}`}.
      </p>
      <div class="strip" ref={box}>
        <svg
          width={width}
          height={HEIGHT + 12}
          viewBox={`0 0 ${width} ${HEIGHT + 12}`}
          role="slider"
          tabindex={0}
          aria-label="Epoch"
          aria-valuemin={epochs[0]?.id}
          aria-valuemax={epochs[last]?.id}
          aria-valuenow={epoch.id}
          aria-valuetext={`epoch ${epoch.id}, ${duration(epoch.duration)}, ${count(epoch.records)} records`}
          onKeyDown={pressed}
        >
          {targetMs > 0 && targetMs <= scale && (
            <line class="target" x1="0" x2={width} y1={HEIGHT * (1 - targetMs / scale)} y2={HEIGHT * (1 - targetMs / scale)} />
          )}
          {epochs.map((e, i) => (
            <g key={e.id} transform={`translate(${i * step} 0)`} class={i === index ? "epoch chosen" : "epoch"} onClick={() => setChosen(e.id)}>
              <rect class="hit" width={step} height={HEIGHT + 12} />
              {stacked(e, scale).map((part) => (
                <rect key={part.name} class={colour(part)} width={bar} y={part.y} height={part.height} />
              ))}
              {e.checkpoint !== null && <circle class="mark" cx={bar / 2} cy={HEIGHT + 7} r="2.5" />}
            </g>
          ))}
        </svg>
      </div>
      <Details job={job} epoch={epoch} />
    </>
  );
}

function stacked(epoch: Epoch, scale: number): (Segment & { y: number; height: number })[] {
  let bottom = HEIGHT;
  return segments(epoch).map((part) => {
    const height = Math.min((part.ms / scale) * HEIGHT, bottom);
    bottom -= height;
    return { ...part, y: bottom, height };
  });
}

function colour(segment: Segment): string {
  return segment.kind === "level" ? `phase level-${segment.level % 4}` : `phase ${segment.kind}`;
}

function phaseName(name: string): string {
  return name === "spark" ? "Spark's" : name === "plan" ? "planning" : name;
}

function Details({ job, epoch }: { job: Job; epoch: Epoch }) {
  const parts = segments(epoch);
  const all = parts.reduce((sum, p) => sum + p.ms, 0) || 1;
  return (
    <div class="epoch-details">
      <p>
        <strong>Epoch {epoch.id}</strong> at {moment(epoch["start-time"], job.now)}: {duration(epoch.duration)},{" "}
        {count(epoch.records)} records
        {epoch["wait-before"] >= 1 && `, ${duration(epoch["wait-before"])} of rest before`}
        {epoch.checkpoint !== null && `, checkpoint ${epoch.checkpoint}`}
        {epoch.watermark !== null && `, watermark ${watermark(epoch.watermark, job.now)}`}
        {epoch.more && ", sources had more"}
      </p>
      <ul class="phases" aria-label={`Phases of epoch ${epoch.id}`}>
        {parts.map((part) => (
          <li key={part.name}>
            <svg width="10" height="10" aria-hidden="true">
              <rect class={colour(part)} width="10" height="10" rx="2" />
            </svg>
            {phaseName(part.name)} {duration(part.ms)} <span class="muted">{percent(part.ms / all)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
