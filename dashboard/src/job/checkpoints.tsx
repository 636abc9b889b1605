/** Checkpoints and savepoints: counts, the latest, the history with sizes and durations. */

import { useState } from "preact/hooks";
import { type Resource, useResource } from "../api/resource";
import type { Checkpoint, Checkpoints, CheckpointTask, Distribution, Job } from "../api/types";
import { arrows } from "../logic/chain";
import { bytes, count, duration, moment, timestamp } from "../logic/format";
import { hasEnded } from "../logic/states";
import { HistoryChart } from "./checkpoint-chart";
import { Bar, type Column, Empty, Figure, Panel, Pending, State, Table } from "../ui/parts";

export function CheckpointsTab({ job, checkpoints }: { job: Job; checkpoints: Resource<Checkpoints> }) {
  const [chosen, setChosen] = useState<number>();
  const { data, error } = checkpoints;
  if (!data?.counts)
    return (
      <Panel title="Checkpoints">
        <Pending error={error} what="its checkpoints" />
      </Panel>
    );
  const shown = data.history.find((c) => c.id === chosen);
  return (
    <>
      <Panel title="Checkpoints">
        <dl class="figures">
          <Figure label="Completed" value={count(data.counts.completed)} />
          <Figure label="In progress" value={count(data.counts.in_progress)} />
          <Figure label="Failed" value={count(data.counts.failed)} />
          <Figure label="Restored" value={count(data.counts.restored)} />
        </dl>
        <Latest data={data} now={job.now} />
      </Panel>
      <Panel title="History">
        {data.history.length === 0 ? (
          <Empty>{hasEnded(job.state) ? "The job ended without a checkpoint." : "No checkpoints yet."}</Empty>
        ) : (
          <>
            <HistoryChart history={data.history} chosen={chosen} onChoose={setChosen} />
            <History data={data} now={job.now} chosen={chosen} onChoose={setChosen} />
          </>
        )}
      </Panel>
      {shown && <Details job={job} checkpoint={shown} />}
      {data.summary && data.counts.completed > 0 && <Summary summary={data.summary} />}
    </>
  );
}

function Latest({ data, now }: { data: Checkpoints; now: number }) {
  const { completed, savepoint, failed, restored } = data.latest;
  const rows: { what: string; at: number; text: string }[] = [];
  if (completed) rows.push({ what: "Last checkpoint", at: completed.trigger_timestamp, text: completed.external_path ?? "" });
  if (savepoint) rows.push({ what: "Last savepoint", at: savepoint.trigger_timestamp, text: savepoint.external_path ?? "" });
  if (failed) rows.push({ what: "Last failure", at: failed.trigger_timestamp, text: failed.failure_message ?? "" });
  if (restored) rows.push({ what: "Restored from", at: restored.restore_timestamp, text: restored.external_path ?? `checkpoint ${restored.id}` });
  if (rows.length === 0) return null;
  return (
    <Table
      caption="Latest checkpoints"
      columns={[
        { title: "What", cell: (r) => r.what },
        { title: "When", cell: (r) => moment(r.at, now) },
        { title: "Where", wide: true, cell: (r) => <code>{r.text}</code> },
      ]}
      rows={rows}
      keyOf={(r) => r.what}
    />
  );
}

interface HistoryProps {
  data: Checkpoints;
  now: number;
  chosen: number | undefined;
  onChoose: (id: number | undefined) => void;
}

function History({ data, now, chosen, onChoose }: HistoryProps) {
  const longest = Math.max(1, ...data.history.map((c) => c.end_to_end_duration));
  const largest = Math.max(1, ...data.history.map((c) => c.state_size));
  const columns: Column<Checkpoint>[] = [
    {
      title: "Id",
      cell: (c) => (
        <button
          type="button"
          class="link"
          aria-expanded={c.id === chosen}
          aria-label={`Details of checkpoint ${c.id}`}
          onClick={() => onChoose(c.id === chosen ? undefined : c.id)}
        >
          {c.id}
        </button>
      ),
    },
    { title: "Kind", cell: (c) => (c.is_savepoint ? "savepoint" : "checkpoint") },
    { title: "State", cell: (c) => <State state={c.status} /> },
    { title: "Begun", cell: (c) => moment(c.trigger_timestamp, now) },
    { title: "Duration", cell: (c) => <Bar share={c.end_to_end_duration / longest} text={duration(c.end_to_end_duration)} /> },
    { title: "State size", cell: (c) => <Bar share={c.state_size / largest} text={bytes(c.state_size)} /> },
    { title: "Written", number: true, cell: (c) => bytes(c.checkpointed_size) },
    {
      title: "Acknowledged",
      number: true,
      cell: (c) => (c.num_subtasks === undefined ? "–" : `${c.num_acknowledged_subtasks ?? 0} of ${c.num_subtasks}`),
    },
  ];
  return <Table caption="History of checkpoints" columns={columns} rows={data.history} keyOf={(c) => c.id} selected={(c) => c.id === chosen} />;
}

function Details({ job, checkpoint }: { job: Job; checkpoint: Checkpoint }) {
  const details = useResource<Checkpoint>(`/jobs/${job.jid}/checkpoints/details/${checkpoint.id}`, 0);
  const names = new Map(job.vertices.map((v) => [v.id, v.name]));
  const tasks = Object.entries(details.data?.tasks ?? {});
  const longest = Math.max(1, ...tasks.map(([, t]) => t.end_to_end_duration));
  const largest = Math.max(1, ...tasks.map(([, t]) => t.state_size));
  const columns: Column<[string, CheckpointTask]>[] = [
    { title: "Vertex", wide: true, cell: ([id]) => arrows(names.get(id) ?? id) },
    { title: "Acknowledged", number: true, cell: ([, t]) => `${t.num_acknowledged_subtasks} of ${t.num_subtasks}` },
    { title: "Duration", cell: ([, t]) => <Bar share={t.end_to_end_duration / longest} text={duration(t.end_to_end_duration)} /> },
    { title: "State size", cell: ([, t]) => <Bar share={t.state_size / largest} text={bytes(t.state_size)} /> },
    { title: "Written", number: true, cell: ([, t]) => bytes(t.checkpointed_size) },
    { title: "Processed (persisted) in flight", number: true, cell: ([, t]) => `${bytes(t.processed_data)} (${bytes(t.persisted_data)})` },
  ];
  return (
    <Panel title={`${checkpoint.is_savepoint ? "Savepoint" : "Checkpoint"} ${checkpoint.id}`}>
      <p class="pad">
        {timestamp(checkpoint.trigger_timestamp)} <code>{checkpoint.external_path}</code>
      </p>
      {checkpoint.failure_message && <p class="problem tone-bad">{checkpoint.failure_message}</p>}
      {!details.data ? (
        <Pending error={details.error} what="how single vertices took part" />
      ) : tasks.length === 0 ? (
        <Empty>No state in this checkpoint.</Empty>
      ) : (
        <Table caption={`Vertices in checkpoint ${checkpoint.id}`} columns={columns} rows={tasks} keyOf={([id]) => id} />
      )}
    </Panel>
  );
}

const MEASURES: [string, string, (value: number | undefined) => string][] = [
  ["end_to_end_duration", "Duration", duration],
  ["state_size", "State size", bytes],
  ["checkpointed_size", "Written", bytes],
  ["processed_data", "Processed in flight", bytes],
  ["persisted_data", "Persisted in flight", bytes],
];

function Summary({ summary }: { summary: Record<string, Distribution> }) {
  const rows = MEASURES.filter(([key]) => summary[key]);
  if (rows.length === 0) return null;
  type Row = (typeof MEASURES)[number];
  const of = (title: string, pick: (d: Distribution) => number | undefined): Column<Row> => ({
    title,
    number: true,
    cell: ([key, , show]) => show(pick(summary[key] as Distribution)),
  });
  const columns: Column<Row>[] = [
    { title: "Of all completed", cell: ([, title]) => title },
    of("Minimum", (d) => d.min),
    of("Mean", (d) => d.avg),
    of("Median", (d) => d.p50),
    of("90 % within", (d) => d.p90),
    of("99 % within", (d) => d.p99),
    of("Maximum", (d) => d.max),
  ];
  return (
    <Panel title="Summary">
      <Table caption="Summary of checkpoints" columns={columns} rows={rows} keyOf={([key]) => key} />
    </Panel>
  );
}
