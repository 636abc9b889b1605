/** A live job over the last minutes: its epochs take milliseconds, so lines stand in their place. */

import { useResource } from "../api/resource";
import type { Job, Moment, Timeline } from "../api/types";
import { bytes, duration, percent, rate } from "../logic/format";
import { hasEnded } from "../logic/states";
import { heightOf, lineOf, SHOWN_MS } from "../logic/timeline";
import { Empty, Panel, Pending } from "../ui/parts";
import { EpochStrip } from "./epochs";

interface Line {
  name: string;
  value: (moment: Moment) => number;
}

interface Chart {
  title: string;
  lines: [Line, ...Line[]];
  format: (value: number) => string;
  note?: (moment: Moment) => string;
}

const CHARTS: Chart[] = [
  { title: "Records from sources", lines: [{ name: "read", value: (m) => m.records }], format: rate },
  {
    title: "From source to sink",
    lines: [
      { name: "median", value: (m) => m.p50 },
      { name: "99th percentile", value: (m) => m.p99 },
    ],
    format: duration,
  },
  {
    title: "Alignment of barriers",
    lines: [{ name: "longest", value: (m) => m.alignment }],
    format: duration,
    note: (m) => `${bytes(m["alignment-bytes"])} meanwhile`,
  },
  {
    title: "Usage of channels",
    lines: [
      { name: "in", value: (m) => m["in-usage"] },
      { name: "out", value: (m) => m["out-usage"] },
    ],
    format: percent,
  },
];

/** Epochs, or for a live job what replaces them. */
export function Course({ job }: { job: Job }) {
  const timeline = useResource<Timeline>(`/jobs/${job.jid}/timeline`, hasEnded(job.state) ? 0 : undefined);
  if (timeline.data?.live) return <LiveCourse moments={timeline.data.moments} />;
  if (timeline.data || timeline.error) return <EpochStrip job={job} />;
  return (
    <Panel title="Epochs">
      <Pending error={undefined} what="its epochs" />
    </Panel>
  );
}

function LiveCourse({ moments }: { moments: Moment[] }) {
  const shown = moments.filter((m) => m.time > (moments.at(-1)?.time ?? 0) - SHOWN_MS);
  const last = shown.at(-1);
  return (
    <Panel title="Live" extra={<span class="muted">{last ? `the last ${duration(SHOWN_MS)}; ${last.epochs} epochs a second` : ""}</span>}>
      {last ? (
        <div class="charts">
          {CHARTS.map((chart) => (
            <LineChart key={chart.title} chart={chart} moments={shown} last={last} />
          ))}
        </div>
      ) : (
        <Empty>Nothing was measured yet.</Empty>
      )}
    </Panel>
  );
}

function LineChart({ chart, moments, last }: { chart: Chart; moments: Moment[]; last: Moment }) {
  const most = heightOf(
    moments,
    chart.lines.map((line) => line.value),
  );
  return (
    <figure class="chart" aria-label={chart.title}>
      <figcaption>
        <strong>{chart.title}</strong>
        <ul>
          {chart.lines.map((line, i) => (
            <li key={line.name}>
              <svg width="10" height="10" aria-hidden="true">
                <rect class={`line-${i}`} width="10" height="10" rx="2" />
              </svg>
              {line.name} {chart.format(line.value(last))}
            </li>
          ))}
          <li class="muted">at most {chart.format(most)}</li>
          {chart.note && <li class="muted">{chart.note(last)}</li>}
        </ul>
      </figcaption>
      <svg viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">
        {chart.lines.map((line, i) => (
          <path key={line.name} class={`line-${i}`} d={lineOf(moments, line.value, most)} />
        ))}
      </svg>
    </figure>
  );
}
