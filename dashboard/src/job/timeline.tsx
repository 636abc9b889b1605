/** A job over the last minutes. Epochs of a live one take milliseconds, so they have no bars there. */

import { useResource } from "../api/resource";
import type { Job, Moment, Timeline } from "../api/types";
import { bytes, clock, duration, percent, rate } from "../logic/format";
import { hasEnded } from "../logic/states";
import { behindOf, heightOf, lineOf, type Span, spanOf, ticksOf, type Value } from "../logic/timeline";
import { Empty, Panel, Pending } from "../ui/parts";
import { EpochStrip } from "./epochs";

interface Line {
  name: string;
  value: Value;
}

interface Chart {
  title: string;
  lines: [Line, ...Line[]];
  format: (value: number | undefined) => string;
  note?: (moment: Moment) => string;
}

const CHARTS: Chart[] = [
  { title: "Records from sources", lines: [{ name: "read", value: (m) => m.records }], format: rate },
  { title: "Event time behind the clock", lines: [{ name: "watermark", value: behindOf }], format: duration },
  {
    title: "Latency from source to sink",
    lines: [
      { name: "median", value: (m) => m.p50 },
      { name: "99th percentile", value: (m) => m.p99 },
    ],
    format: duration,
  },
];

const CHANNEL_CHARTS: Chart[] = [
  {
    title: "Alignment of barriers",
    lines: [{ name: "longest", value: (m) => m.alignment }],
    format: duration,
    note: (m) => `${bytes(m["alignment-bytes"])} meanwhile`,
  },
  {
    title: "Channel usage",
    lines: [
      { name: "in", value: (m) => m["in-usage"] },
      { name: "out", value: (m) => m["out-usage"] },
    ],
    format: percent,
  },
];

/** Charts over time, and the epochs unless the job is live. */
export function Course({ job }: { job: Job }) {
  const timeline = useResource<Timeline>(`/jobs/${job.jid}/timeline`, hasEnded(job.state) ? 0 : undefined);
  if (!timeline.data && !timeline.error)
    return (
      <Panel title="Over time">
        <Pending error={undefined} what="its figures over time" />
      </Panel>
    );
  const { live, moments } = timeline.data ?? { live: false, moments: [] };
  return (
    <>
      {(live || moments.length > 0) && <Charts charts={live ? [...CHARTS, ...CHANNEL_CHARTS] : CHARTS} moments={moments} live={live} />}
      {!live && <EpochStrip job={job} />}
    </>
  );
}

function Charts({ charts, moments, live }: { charts: Chart[]; moments: Moment[]; live: boolean }) {
  const span = spanOf(moments);
  const shown = moments.filter((m) => m.time >= span.start);
  const last = shown.at(-1);
  const known = charts.filter(({ lines }) => shown.some((m) => lines.some((line) => line.value(m) !== undefined)));
  return (
    <Panel title={live ? "Live" : "Over time"} extra={<span class="muted">{last && live ? `${last.epochs} epochs a second` : ""}</span>}>
      {last ? (
        <div class="charts">
          {known.map((chart) => (
            <LineChart key={chart.title} chart={chart} moments={shown} last={last} span={span} />
          ))}
        </div>
      ) : (
        <Empty>There are no measurements yet.</Empty>
      )}
    </Panel>
  );
}

function LineChart({ chart, moments, last, span }: { chart: Chart; moments: Moment[]; last: Moment; span: Span }) {
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
          {chart.note && <li class="muted">{chart.note(last)}</li>}
        </ul>
      </figcaption>
      <Plot chart={chart} moments={moments} most={most} span={span} />
    </figure>
  );
}

function Plot({ chart, moments, most, span }: { chart: Chart; moments: Moment[]; most: number; span: Span }) {
  const ticks = ticksOf(span);
  const seconds = ticks.some((tick) => tick.time % 60_000 !== 0);
  return (
    <div class="plot">
      <span class="most">{chart.format(most <= Number.EPSILON ? 0 : most)}</span>
      <svg viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">
        {ticks.map((tick) => (
          <path key={tick.time} class="grid" d={`M${tick.x} 0V1`} />
        ))}
        {chart.lines.map((line, i) => (
          <path key={line.name} class={`line-${i}`} d={lineOf(moments, line.value, most, span)} />
        ))}
      </svg>
      <ol class="ticks" aria-label="Time">
        {ticks.map((tick) => (
          <li key={tick.time} style={{ left: `${tick.x * 100}%` }}>
            {seconds ? clock(tick.time) : clock(tick.time).slice(0, 5)}
          </li>
        ))}
      </ol>
    </div>
  );
}
