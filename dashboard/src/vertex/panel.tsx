/** One vertex of a job: its subtasks, a flame graph, and a look at its records. */

import type { Job, Vertex } from "../api/types";
import { arrows } from "../logic/chain";
import { href, type Route } from "../logic/route";
import { hasEnded } from "../logic/states";
import { Panel, Tabs } from "../ui/parts";
import { FlameView } from "./flame";
import { RecordsView } from "./records";
import { SubtaskTable } from "./subtasks";

interface Props {
  job: Job;
  vertex: Vertex;
  route: Route;
  features: Record<string, boolean>;
}

export function VertexPanel({ job, vertex, route, features }: Props) {
  const view = route.query["view"] ?? "subtasks";
  const running = !hasEnded(job.state);
  const to = (id: string) => href(["jobs", job.jid, "graph"], { vertex: vertex.id, view: id });
  const tabs = [{ id: "subtasks", title: "Subtasks", href: to("subtasks") }];
  if (running && features["flame-graph"] !== false) tabs.push({ id: "flame", title: "Flame graph", href: to("flame") });
  if (running && features["live-records"] !== false) tabs.push({ id: "records", title: "Records", href: to("records") });
  return (
    <Panel
      title={arrows(vertex.name)}
      extra={
        <a class="quiet" href={href(["jobs", job.jid, "graph"])} aria-label="Close the vertex">
          ✕
        </a>
      }
    >
      <Tabs label={`Views of ${vertex.name}`} tabs={tabs} current={view} />
      {view === "flame" && running ? (
        <FlameView job={job.jid} vertex={vertex} />
      ) : view === "records" && running ? (
        <RecordsView job={job} vertex={vertex} />
      ) : (
        <SubtaskTable job={job} vertex={vertex} />
      )}
    </Panel>
  );
}
