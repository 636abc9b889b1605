/** All vertices as a table: the graph for those who read rows, or cannot see it. */

import type { Job, Vertex } from "../api/types";
import { arrows } from "../logic/chain";
import { bytes, count, rate, watermark } from "../logic/format";
import { href } from "../logic/route";
import { type Column, Empty, LoadBar, State, Table } from "../ui/parts";

export function VertexTable({ job, selected }: { job: Job; selected: string | undefined }) {
  if (job.vertices.length === 0) return <Empty>The job has no vertices yet.</Empty>;
  const columns: Column<Vertex>[] = [
    { title: "Vertex", wide: true, cell: (v) => <a href={href(["jobs", job.jid, "graph"], { vertex: v.id })}>{arrows(v.name)}</a> },
    { title: "State", cell: (v) => <State state={v.status} /> },
    { title: "Parallelism", number: true, cell: (v) => v.parallelism },
    { title: "Busy", cell: (v) => (v.rates ? <LoadBar busy={v.rates.busy} blocked={v.rates["back-pressured"]} /> : "–") },
    { title: "In", number: true, cell: (v) => rate(v.rates?.["records-in"]) },
    { title: "Out", number: true, cell: (v) => rate(v.rates?.["records-out"]) },
    { title: "Records in", number: true, roomy: true, cell: (v) => count(v.metrics["read-records"]) },
    { title: "Records out", number: true, roomy: true, cell: (v) => count(v.metrics["write-records"]) },
    { title: "Bytes in", number: true, roomy: true, cell: (v) => bytes(v.metrics["read-bytes"]) },
    { title: "Bytes out", number: true, roomy: true, cell: (v) => bytes(v.metrics["write-bytes"]) },
    { title: "Watermark", number: true, cell: (v) => watermark(v.rates?.watermark, job.now) },
  ];
  return <Table caption="Vertices of the job" columns={columns} rows={job.vertices} keyOf={(v) => v.id} selected={(v) => v.id === selected} />;
}
