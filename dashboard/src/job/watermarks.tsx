/** Event time: how far each vertex is, and which split holds the job back. */

import { useResource } from "../api/resource";
import type { Job, Watermarks } from "../api/types";
import { arrows } from "../logic/chain";
import { duration, realWatermark, watermark } from "../logic/format";
import { href } from "../logic/route";
import { hasEnded } from "../logic/states";
import { Bar, type Column, Empty, Panel, Pending, Table } from "../ui/parts";

/** Splits that are read in turn are always a little apart. */
const NOTABLE_MS = 1000;

interface Row {
  key: string;
  vertex: string;
  name: string;
  subtask: number;
  split: string;
  idle: boolean;
  watermark: number | null;
}

export function WatermarksTab({ job }: { job: Job }) {
  const found = useResource<Watermarks>(`/jobs/${job.jid}/watermarks`, hasEnded(job.state) ? 0 : undefined);
  if (!found.data?.vertices)
    return (
      <Panel title="Watermarks">
        <Pending error={found.error} what="its watermarks" />
      </Panel>
    );
  const rows = rowsOf(found.data);
  const splits = rows.filter((r) => r.split);
  return (
    <>
      <HeldBack job={job} held={found.data["held-back-by"]} />
      <Panel title="Vertices">
        <Marks caption="Watermarks of subtasks" job={job} rows={rows.filter((r) => !r.split)} />
      </Panel>
      {splits.length > 0 && (
        <Panel title="Splits" extra={<span class="muted">the slowest 20 of each source subtask</span>}>
          <Marks caption="Watermarks of splits" job={job} rows={splits} splits />
        </Panel>
      )}
    </>
  );
}

function rowsOf(data: Watermarks): Row[] {
  return data.vertices.flatMap((vertex) =>
    vertex.subtasks.flatMap((subtask) => {
      const row = { vertex: vertex.id, name: vertex.name, subtask: subtask.subtask };
      const own = { ...row, key: `${vertex.id}/${subtask.subtask}`, split: "", idle: false, watermark: subtask.watermark };
      const splits = (subtask.splits ?? []).map((split) => ({
        ...row,
        key: `${vertex.id}/${subtask.subtask}/${split.id}`,
        split: split.id,
        idle: split.idle,
        watermark: split.watermark,
      }));
      return [own, ...splits];
    }),
  );
}

function HeldBack({ job, held }: { job: Job; held: Watermarks["held-back-by"] }) {
  const behind = held?.["behind-ms"] ?? Infinity;
  if (!held || behind < NOTABLE_MS) return null;
  return (
    <p class="banner tone-wait">
      {held.split ? (
        <>
          Split <strong>{held.split}</strong> of subtask {held.subtask}
        </>
      ) : (
        <>Subtask {held.subtask}</>
      )}{" "}
      of <a href={href(["jobs", job.jid, "graph"], { vertex: held.vertex })}>{arrows(held.name)}</a> holds event time back: it is at{" "}
      {watermark(held.watermark, job.now)}
      {held["behind-ms"] !== null && held["behind-ms"] > 0 && `, ${duration(held["behind-ms"])} behind the furthest`}.
    </p>
  );
}

function Marks({ caption, job, rows, splits }: { caption: string; job: Job; rows: Row[]; splits?: boolean }) {
  const known = rows.map((r) => realWatermark(r.watermark)).filter((w): w is number => w !== null);
  if (known.length === 0) return <Empty>No watermarks: there has been no event time yet, or all input has ended.</Empty>;
  const furthest = Math.max(...known);
  const most = Math.max(1, ...known.map((w) => furthest - w));
  const columns: Column<Row>[] = [
    { title: splits ? "Split" : "Vertex", wide: true, cell: (r) => (splits ? r.split : arrows(r.name)) },
    { title: "Subtask", number: true, cell: (r) => r.subtask },
    { title: "Watermark", number: true, cell: (r) => (r.idle ? "idle" : watermark(r.watermark, job.now)) },
    {
      title: "Behind the furthest",
      cell: (r) => {
        const mark = realWatermark(r.watermark);
        return mark === null ? "–" : <Bar share={(furthest - mark) / most} text={duration(furthest - mark)} tone="warm" />;
      },
    },
  ];
  return <Table caption={caption} columns={columns} rows={rows} keyOf={(r) => r.key} />;
}
