/** The job's graph as SVG: a box for each vertex with its chain, rates, load and watermark. */

import { useMemo, useRef } from "preact/hooks";
import type { Job, PlanNode, Vertex } from "../api/types";
import { operatorsOf, shortened } from "../logic/chain";
import { compact, count, percent, rate, realWatermark, watermark } from "../logic/format";
import { type Direction, edgePath, layered, type Layout, type Point } from "../logic/layout";
import { href, navigate } from "../logic/route";
import { loadOf } from "../logic/states";
import { Empty } from "../ui/parts";
import { useWidth } from "../ui/width";

const WIDTH = 232;
const SMALL_WIDTH = 162;
const HEAD = 14;
const LINE = 17;
const FOOT = 64;
const MOST_OPERATORS = 5;
const CHAR = 7.6;
const BESIDE_NAME = 26;
const NARROW = 640;

export function GraphView({ job, selected }: { job: Job; selected: string | undefined }) {
  const box = useRef<HTMLDivElement>(null);
  const narrow = useWidth(box) < NARROW;
  const nodes = job.plan.nodes ?? [];
  const direction: Direction = narrow ? "down" : "right";
  const width = narrow ? SMALL_WIDTH : WIDTH;
  const layout = useMemo(() => place(nodes, direction, width), [shapeOf(nodes), direction]);
  const vertices = new Map(job.vertices.map((v) => [v.id, v]));
  return (
    <div class="graph" ref={box}>
      {nodes.length === 0 && <Empty>The job has no graph yet.</Empty>}
      <svg width={layout.width} height={layout.height} viewBox={`0 0 ${layout.width} ${layout.height}`} role="group" aria-label="Graph of the job">
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">
            <path d="M0 0L8 4L0 8z" class="arrow" />
          </marker>
        </defs>
        <Levels layout={layout} direction={direction} />
        {layout.edges.map((edge, i) => (
          <Edge key={`${edge.from}${edge.to}${i}`} points={edge.points} direction={direction} label={strategyOf(nodes, edge.from, edge.to)} flow={vertices.get(edge.from)?.rates?.["records-out"] ?? 0} />
        ))}
        {nodes.map((node) => (
          <Node key={node.id} job={job} node={node} vertex={vertices.get(node.id)} width={width} at={layout.nodes.get(node.id) ?? { x: 0, y: 0 }} selected={node.id === selected} />
        ))}
      </svg>
    </div>
  );
}

/** Levels are Spark stages: between two of them records are shuffled. */
function Levels({ layout, direction }: { layout: Layout; direction: Direction }) {
  if (layout.levels.length < 2) return null;
  return (
    <g class="levels" aria-hidden="true">
      {layout.levels.map((level, i) =>
        direction === "right" ? (
          <text key={i} x={level.at} y={layout.height - 4}>{`level ${i}`}</text>
        ) : (
          <text key={i} x={4} y={level.at - 4}>{`level ${i}`}</text>
        ),
      )}
    </g>
  );
}

function shapeOf(nodes: PlanNode[]): string {
  return nodes.map((n) => `${n.id}/${n.description}/${(n.inputs ?? []).map((i) => i.id).join()}`).join("|");
}

function place(nodes: PlanNode[], direction: Direction, width: number): Layout {
  const boxes = nodes.map((n) => ({ id: n.id, width, height: heightOf(n), level: n.level }));
  const edges = nodes.flatMap((n) => (n.inputs ?? []).map((input) => ({ from: input.id, to: n.id })));
  const gaps = direction === "right" ? { levels: 92, nodes: 26, margin: 18 } : { levels: 44, nodes: 10, margin: 14 };
  return layered(boxes, edges, direction, gaps);
}

function heightOf(node: PlanNode): number {
  return HEAD + Math.min(operatorsOf(node).length, MOST_OPERATORS) * LINE + FOOT;
}

function strategyOf(nodes: PlanNode[], from: string, to: string): string {
  const inputs = nodes.find((n) => n.id === to)?.inputs ?? [];
  return (inputs.find((i) => i.id === from)?.ship_strategy ?? "").toLowerCase();
}

function Edge({ points, direction, label, flow }: { points: Point[]; direction: Direction; label: string; flow: number }) {
  const [first, second] = points;
  const at = first && second ? { x: (first.x + second.x) / 2, y: (first.y + second.y) / 2 } : { x: 0, y: 0 };
  const width = flow > 0 ? Math.min(4, 1.2 + Math.log10(flow + 1) * 0.4) : 1.2;
  return (
    <g class={flow > 0 ? "edge flowing" : "edge"} aria-hidden="true">
      <path d={edgePath(points, direction)} stroke-width={width} marker-end="url(#arrow)" />
      <text x={at.x} y={at.y - 6} text-anchor="middle">
        {label}
      </text>
    </g>
  );
}

interface NodeProps {
  job: Job;
  node: PlanNode;
  vertex: Vertex | undefined;
  width: number;
  at: Point;
  selected: boolean;
}

function Node({ job, node, vertex, width, at, selected }: NodeProps) {
  const operators = operatorsOf(node);
  const shown = operators.length > MOST_OPERATORS ? operators.slice(0, MOST_OPERATORS - 1) : operators;
  const height = heightOf(node);
  const rates = vertex?.rates;
  const load = rates ? loadOf(rates["max-busy"] ?? rates.busy, rates["back-pressured"]) : "idle";
  const target = href(["jobs", job.jid, "graph"], { vertex: selected ? undefined : node.id });
  const open = () => navigate(target);
  const pressed = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    open();
  };
  const foot = height - FOOT + 18;
  const chars = Math.floor(width / CHAR);
  const times = `×${node.parallelism}`;
  const first = Math.floor((width - BESIDE_NAME - times.length * CHAR) / CHAR);
  return (
    <g
      class={`node load-${load} ${selected ? "selected" : ""}`}
      transform={`translate(${at.x} ${at.y})`}
      role="button"
      tabindex={0}
      aria-pressed={selected}
      aria-label={spoken(node, vertex)}
      onClick={open}
      onKeyDown={pressed}
    >
      <title>{node.description}</title>
      <rect class="box" width={width} height={height} rx="7" />
      <rect class="edge-of-box" width="4" height={height - 14} x="0" y="7" rx="2" />
      {shown.map((name, i) => (
        <text key={i} class={i === 0 ? "name first" : "name"} x={i === 0 ? 14 : 24} y={HEAD + 8 + i * LINE}>
          {shortened(name, i === 0 ? first : chars - 3)}
        </text>
      ))}
      {operators.length > shown.length && (
        <text class="name" x="24" y={HEAD + 8 + shown.length * LINE}>{`and ${operators.length - shown.length} more`}</text>
      )}
      {shown.length > 1 && <path class="chain" d={`M17.5 ${HEAD + 13}V${HEAD + 4 + (Math.min(operators.length, MOST_OPERATORS) - 1) * LINE}`} />}
      <text class="times" x={width - 10} y={HEAD + 8} text-anchor="end">{times}</text>
      <line class="rule" x1="12" x2={width - 10} y1={foot - 12} y2={foot - 12} />
      <text class="figures-text" x="14" y={foot + 4}>
        {!node.inputs?.length ? "source" : rates ? `${rate(rates["records-in"])} in` : `${count(vertex?.metrics["read-records"])} in`}
      </text>
      <text class="figures-text" x={width - 10} y={foot + 4} text-anchor="end">
        {rates ? `${rate(rates["records-out"])} out` : `${count(vertex?.metrics["write-records"])} out`}
      </text>
      <text class="small-text" x="14" y={foot + 20}>
        {rates ? `busy ${percent(rates.busy)}` : (vertex?.status.toLowerCase() ?? "")}
      </text>
      <text class="small-text" x={width - 10} y={foot + 20} text-anchor="end">
        {realWatermark(rates?.watermark) !== null && `${width === WIDTH ? "watermark " : ""}${watermark(rates?.watermark, job.now)}`}
      </text>
      <rect class="track" x="14" y={foot + 28} width={width - 24} height="4" rx="2" />
      {rates && (
        <>
          <rect class="busy" x="14" y={foot + 28} width={share(rates.busy, width)} height="4" rx="2" />
          <rect class="blocked" x={14 + share(rates.busy, width)} y={foot + 28} width={share(rates["back-pressured"], width)} height="4" rx="2" />
        </>
      )}
    </g>
  );
}

function share(value: number, width: number): number {
  return Math.min(1, Math.max(0, value)) * (width - 24);
}

function spoken(node: PlanNode, vertex: Vertex | undefined): string {
  const rates = vertex?.rates;
  const load = rates
    ? `, ${compact(rates["records-in"])} records per second in, ${compact(rates["records-out"])} out, busy ${percent(rates.busy)}, back-pressured ${percent(rates["back-pressured"])}`
    : "";
  return `${node.description}, parallelism ${node.parallelism}, ${vertex?.status.toLowerCase() ?? "unknown"}${load}`;
}
