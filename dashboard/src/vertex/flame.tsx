/** Where the time of a vertex goes: stacks sampled in its slots. */

import { useEffect, useRef, useState } from "preact/hooks";
import { useResource } from "../api/resource";
import type { FlameFrame, FlameGraph, Vertex } from "../api/types";
import { flameBoxes, hottest } from "../logic/flame";
import { percent, timestamp } from "../logic/format";
import { Empty, Pending, Table } from "../ui/parts";
import { useWidth } from "../ui/width";

const POLL_MS = 1000;
const ROW = 19;
const CHAR = 6.8;
const NARROWEST = 560;
const PADDING = 26;

type Kind = "full" | "on_cpu" | "off_cpu";
const KINDS: [Kind, string][] = [
  ["on_cpu", "Computing"],
  ["off_cpu", "Waiting"],
  ["full", "Both"],
];

export function FlameView({ job, vertex }: { job: string; vertex: Vertex }) {
  const [kind, setKind] = useState<Kind>("full");
  const [subtask, setSubtask] = useState("");
  const [zoom, setZoom] = useState<number[]>([]);
  const chosen = subtask ? `&subtaskindex=${subtask}` : "";
  const graph = useResource<FlameGraph>(`/jobs/${job}/vertices/${vertex.id}/flamegraph?type=${kind}${chosen}`, POLL_MS);
  useEffect(() => setZoom([]), [kind, subtask, graph.data?.endTimestamp]);
  const root = graph.data?.data;
  return (
    <>
      <div class="row tools">
        <label>
          Threads
          <select value={kind} onChange={(e) => setKind(e.currentTarget.value as Kind)}>
            {KINDS.map(([id, title]) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <label>
          Subtask
          <select value={subtask} onChange={(e) => setSubtask(e.currentTarget.value)}>
            <option value="">All</option>
            {Array.from({ length: vertex.parallelism }, (_, i) => (
              <option key={i} value={String(i)}>
                {i}
              </option>
            ))}
          </select>
        </label>
        {zoom.length > 0 && (
          <button type="button" onClick={() => setZoom([])}>
            Whole graph
          </button>
        )}
        {root && <span class="muted">{`${root.value === 1 ? "one sample" : `${root.value} samples`}, ${timestamp(graph.data?.endTimestamp)}`}</span>}
      </div>
      {!graph.data ? (
        <Pending error={graph.error} what="where its time goes" />
      ) : !root ? (
        <Empty>Sampling the slots …</Empty>
      ) : root.value === 0 || root.children.length === 0 ? (
        <Empty>No samples: this vertex was idle.</Empty>
      ) : (
        <>
          <Flames root={root} zoom={zoom} onZoom={setZoom} />
          <Hottest root={root} />
        </>
      )}
    </>
  );
}

function Flames({ root, zoom, onZoom }: { root: FlameFrame; zoom: number[]; onZoom: (path: number[]) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const whole = Math.max(NARROWEST, useWidth(box) - PADDING);
  const boxes = flameBoxes(root, zoom);
  const depth = Math.max(...boxes.map((b) => b.depth)) + 1;
  return (
    <div class="flames" ref={box}>
      <svg width={whole} height={depth * ROW} role="group" aria-label="Flame graph">
        {boxes.map((one) => {
          const width = one.width * whole;
          const chars = Math.floor(width / CHAR);
          const share = percent(one.frame.value / (root.value || 1));
          const name = one.depth === 0 ? "all" : one.frame.name;
          const open = () => onZoom(one.path);
          return (
            <g key={one.path.join()} class={`frame tint-${tint(name)}`} role="button" tabindex={width > 20 ? 0 : -1} aria-label={`${name}, ${share}`} onClick={open} onKeyDown={(e) => e.key === "Enter" && open()}>
              <title>{`${name}  ${share}`}</title>
              <rect x={one.x * whole} y={one.depth * ROW} width={Math.max(0.5, width - 0.7)} height={ROW - 1} rx="2" />
              {chars > 3 && (
                <text x={one.x * whole + 4} y={one.depth * ROW + 13}>
                  {name.length > chars ? `${name.slice(0, chars - 1)}…` : name}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** The same module always has the same colour. */
function tint(name: string): number {
  let hash = 0;
  for (const char of name.split(".")[0] ?? "") hash = (hash * 31 + char.charCodeAt(0)) >>> 0;
  return hash % 4;
}

function Hottest({ root }: { root: FlameFrame }) {
  return (
    <Table
      caption="Functions with the most self time"
      columns={[
        { title: "Function", wide: true, cell: (f) => <code>{f.name}</code> },
        { title: "Self time", number: true, cell: (f) => percent(f.self) },
        { title: "Total time", number: true, cell: (f) => percent(f.total) },
      ]}
      rows={hottest(root, 8)}
      keyOf={(f) => f.name}
    />
  );
}
