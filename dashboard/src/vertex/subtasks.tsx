/** The subtasks of a vertex, with skew as bars. */

import { useResource } from "../api/resource";
import type { Job, Subtask, Vertex, VertexDetails } from "../api/types";
import { bytes, count, percent, rate, watermark } from "../logic/format";
import { hasEnded, skewOf } from "../logic/states";
import { Bar, type Column, LoadBar, Pending, State, Table } from "../ui/parts";

const NOTABLE_SKEW = 1.5;

export function SubtaskTable({ job, vertex }: { job: Job; vertex: Vertex }) {
  const details = useResource<VertexDetails>(`/jobs/${job.jid}/vertices/${vertex.id}`, hasEnded(job.state) ? 0 : undefined);
  if (!details.data?.subtasks) return <Pending error={details.error} what="its subtasks" />;
  const subtasks = details.data.subtasks;
  const received = subtasks.map((s) => handled(s));
  const most = Math.max(1, ...received);
  const skew = skewOf(received);
  const skewed = subtasks.length > 1 && skew >= NOTABLE_SKEW;
  const columns: Column<Subtask>[] = [
    { title: "Subtask", cell: (s) => s.subtask },
    { title: "State", cell: (s) => <State state={s.status} /> },
    { title: "Busy", cell: (s) => (s.rates ? <LoadBar busy={s.rates.busy} blocked={s.rates["back-pressured"]} /> : "–") },
    { title: "Back-pressured", number: true, cell: (s) => percent(s.rates?.["back-pressured"]) },
    {
      title: "Records",
      cell: (s) => <Bar share={handled(s) / most} text={count(handled(s))} tone={skewed && handled(s) === most ? "warm" : "accent"} />,
    },
    { title: "In", number: true, cell: (s) => rate(s.rates?.["records-in"]) },
    { title: "Out", number: true, cell: (s) => rate(s.rates?.["records-out"]) },
    { title: "Bytes in", number: true, cell: (s) => bytes(s.metrics["read-bytes"]) },
    { title: "Bytes out", number: true, cell: (s) => bytes(s.metrics["write-bytes"]) },
    { title: "Watermark", number: true, cell: (s) => watermark(s.watermark, job.now) },
    { title: "Hottest key", cell: (s) => hotKey(s) },
    { title: "Attempt", number: true, cell: (s) => s.attempt },
    { title: "Process", cell: (s) => s.endpoint ?? s.host ?? "–" },
  ];
  return (
    <>
      {skewed && (
        <p class="pad">
          The largest subtask has <strong>{skew.toFixed(1)} times</strong> an even share of the records.
        </p>
      )}
      <Table caption={`Subtasks of ${vertex.name}`} columns={columns} rows={subtasks} keyOf={(s) => s.subtask} />
    </>
  );
}

/** What it received; a source receives nothing and is measured by what it sent. */
function handled(subtask: Subtask): number {
  return subtask.metrics["read-records"] || subtask.metrics["write-records"];
}

function hotKey(subtask: Subtask) {
  const hot = subtask["hot-key"];
  if (!hot) return "–";
  return (
    <>
      <code>{hot.key}</code> {percent(hot.share)}
    </>
  );
}
