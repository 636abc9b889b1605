/** Executors of Spark: what their slots do, write, and are at. */

import { useResource } from "../api/resource";
import type { AllocatedSlot, TaskManager } from "../api/types";
import { bytes, count, duration, shortId } from "../logic/format";
import { href } from "../logic/route";
import { LogFileList } from "../ui/log-files";
import { type Column, Empty, Figure, Panel, Pending, Table, Tabs } from "../ui/parts";
import { ThreadDumpPanel } from "../ui/thread-dump";

interface Props {
  selected: string | undefined;
  tab: string | undefined;
  file: string | undefined;
}

export function ExecutorsPage({ selected, tab, file }: Props) {
  const managers = useResource<{ taskmanagers: TaskManager[] }>("/taskmanagers");
  const all = managers.data?.taskmanagers ?? [];
  const shown = selected ?? all[0]?.id;
  return (
    <>
      <div class="title">
        <h1>Executors</h1>
      </div>
      {!managers.data ? (
        <Pending error={managers.error} what="executors" />
      ) : (
        <Panel title={all.length === 1 ? "One executor" : `${all.length} executors`}>
          <Table caption="Executors" columns={COLUMNS} rows={all} keyOf={(m) => m.id} selected={(m) => m.id === shown} />
        </Panel>
      )}
      {shown && <Executor key={shown} id={shown} tab={tab ?? "slots"} file={file} />}
    </>
  );
}

const COLUMNS: Column<TaskManager>[] = [
  { title: "Executor", wide: true, cell: (m) => <a href={href(["executors", m.id])}>{m.id}</a> },
  { title: "Host", cell: (m) => m.host ?? m.path },
  { title: "Slots", cell: (m) => <Slots manager={m} /> },
  { title: "Running tasks", number: true, cell: (m) => count(m["active-tasks"]) },
  { title: "Cores", number: true, cell: (m) => count(m.hardware?.cpuCores) },
  { title: "Memory", number: true, cell: (m) => bytes(m.hardware?.physicalMemory) },
  { title: "Free memory", number: true, cell: (m) => bytes(m.hardware?.freeMemory) },
  { title: "Last heartbeat", number: true, cell: (m) => duration(heartbeat(m)) },
];

function heartbeat(manager: TaskManager): number | undefined {
  const last = manager.timeSinceLastHeartbeat;
  return last === undefined ? undefined : Math.max(0, Date.now() - last);
}

function Slots({ manager }: { manager: TaskManager }) {
  const used = manager.slotsNumber - manager.freeSlots;
  return (
    <span class="slots">
      <span aria-hidden="true">
        {Array.from({ length: Math.min(manager.slotsNumber, 32) }, (_, i) => (
          <i key={i} class={i < used ? "used" : undefined} />
        ))}
      </span>
      {used} of {manager.slotsNumber} in use
    </span>
  );
}

const SLOT_COLUMNS: Column<AllocatedSlot>[] = [
  { title: "Slot", cell: (s) => s.index },
  { title: "Job", wide: true, cell: (s) => <a href={href(["jobs", s.jobId])}>{s.jobName ?? shortId(s.jobId)}</a> },
  { title: "Process", number: true, cell: (s) => s.pid ?? "–" },
  { title: "Host", cell: (s) => s.host ?? "–" },
  {
    title: "Subtasks",
    wide: true,
    cell: (s) => (s.subtasks ?? []).map((t) => `${t.name} [${t.subtask}]`).join(" · ") || "–",
  },
];

function Executor({ id, tab, file }: { id: string; tab: string; file: string | undefined }) {
  const path = `/taskmanagers/${encodeURIComponent(id)}`;
  const tabs = ["Slots", "Logs", "Threads"].map((title) => {
    const name = title.toLowerCase();
    return { id: name, title, href: href(["executors", id, name]) };
  });
  return (
    <>
      <Tabs label={`Executor ${id}`} tabs={tabs} current={tab} />
      {tab === "logs" ? (
        <LogFileList path={`${path}/logs`} page={["executors", id, "logs"]} file={file} />
      ) : tab === "threads" ? (
        <ThreadDumpPanel path={`${path}/thread-dump`} none="No slots in use." />
      ) : (
        <SlotTable id={id} />
      )}
    </>
  );
}

function SlotTable({ id }: { id: string }) {
  const manager = useResource<TaskManager>(`/taskmanagers/${encodeURIComponent(id)}`);
  const slots = manager.data?.allocatedSlots ?? [];
  return (
    <Panel title={`Slots of ${id}`}>
      {!manager.data ? (
        <Pending error={manager.error} what="what runs in its slots" />
      ) : slots.length === 0 ? (
        <Empty>No slots in use.</Empty>
      ) : (
        <>
          <dl class="figures">
            <Figure label="In use" value={count(slots.length)} />
            <Figure label="Jobs" value={count(new Set(slots.map((s) => s.jobId)).size)} />
          </dl>
          <Table caption={`Slots of ${id}`} columns={SLOT_COLUMNS} rows={slots} keyOf={(s) => `${s.jobId}/${s.index}`} />
        </>
      )}
    </Panel>
  );
}
