/** One job: what limits it, what can be done, and a tab for each way to look at it. */

import { useEffect } from "preact/hooks";
import { useResource } from "../api/resource";
import type { Checkpoints, Job } from "../api/types";
import { bytes, count, duration, moment, rate, realWatermark, shortId, timestamp } from "../logic/format";
import { href, type Route } from "../logic/route";
import { hasEnded } from "../logic/states";
import { LogView } from "../ui/log-view";
import { Figure, Panel, Pending, State, Tabs } from "../ui/parts";
import { VertexPanel } from "../vertex/panel";
import { Actions } from "./actions";
import { CheckpointsTab } from "./checkpoints";
import { ConfigurationTab } from "./configuration";
import { DiagnosisBanner } from "./diagnosis";
import { ExceptionsTab } from "./exceptions";
import { GraphView } from "./graph";
import { Course } from "./timeline";
import { VertexTable } from "./vertices";
import { WatermarksTab } from "./watermarks";

const TABS = [
  ["graph", "Graph"],
  ["checkpoints", "Checkpoints"],
  ["watermarks", "Watermarks"],
  ["exceptions", "Exceptions"],
  ["configuration", "Configuration"],
  ["log", "Log"],
] as const;

const ENDED_MS = 30_000;
const METRICS_MS = 5000;

interface Props {
  job: string;
  route: Route;
  features: Record<string, boolean>;
}

export function JobPage({ job: id, route, features }: Props) {
  const found = useResource<Job>(`/jobs/${id}`);
  const ended = found.data !== undefined && hasEnded(found.data.state);
  const job = { ...found, data: ended ? withoutRates(found.data) : found.data };
  const checkpoints = useResource<Checkpoints>(`/jobs/${id}/checkpoints`, ended ? ENDED_MS : undefined);
  const tab = route.path[2] ?? "graph";
  const name = job.data?.name;
  useEffect(() => {
    document.title = name ? `${name} · headrace` : "headrace";
    return () => {
      document.title = "headrace";
    };
  }, [name]);
  if (!job.data)
    return (
      <Panel title={`Job ${shortId(id)}`}>
        {job.error?.missing ? <p class="pending">There is no job {id}.</p> : <Pending error={job.error} what="the job" />}
      </Panel>
    );
  const failed = checkpoints.data?.counts?.failed;
  const notes: Record<string, number | undefined> = {
    checkpoints: checkpoints.data?.counts?.completed || undefined,
  };
  const tabs = TABS.map(([key, title]) => ({ id: key, title, href: href(["jobs", id, key]), note: notes[key] }));
  return (
    <>
      <div class="title">
        <div>
          <h1>{job.data.name || shortId(id)}</h1>
          <p class="under">
            <span role="status" aria-live="polite" aria-label="State of the job">
              <State state={job.data.state} />
            </span>
            <code class="id">{id}</code>
          </p>
        </div>
        {!ended && <Actions job={job.data} onDone={job.refresh} />}
      </div>
      <DiagnosisBanner job={job.data} />
      <Figures job={job.data} checkpoints={checkpoints.data} failed={failed} />
      <Tabs label="Views of the job" tabs={tabs} current={tab} />
      {tab === "graph" && <Graph job={job.data} route={route} features={features} />}
      {tab === "checkpoints" && <CheckpointsTab job={job.data} checkpoints={checkpoints} />}
      {tab === "watermarks" && <WatermarksTab job={job.data} />}
      {tab === "exceptions" && <ExceptionsTab job={job.data} />}
      {tab === "configuration" && <ConfigurationTab job={job.data} />}
      {tab === "log" && (
        <Panel title="Output of the program and its functions">
          <LogView path={`/jobs/${id}/log`} what="the log of the job" />
        </Panel>
      )}
    </>
  );
}

/** What has ended has no rates any more: totals are shown in their place. */
function withoutRates(job: Job | undefined): Job | undefined {
  return job && { ...job, vertices: job.vertices.map((vertex) => ({ ...vertex, rates: undefined })) };
}

function Graph({ job, route, features }: { job: Job; route: Route; features: Record<string, boolean> }) {
  const selected = job.vertices.find((v) => v.id === route.query["vertex"]);
  return (
    <>
      <Panel title="Graph" extra={<Legend />}>
        <GraphView job={job} selected={selected?.id} />
      </Panel>
      {selected && <VertexPanel key={selected.id} job={job} vertex={selected} route={route} features={features} />}
      <Course job={job} />
      <Panel title="Vertices">
        <VertexTable job={job} selected={selected?.id} />
      </Panel>
    </>
  );
}

function Legend() {
  return (
    <p class="legend" aria-hidden="true">
      <span class="key fill-accent" /> busy <span class="key fill-warm" /> over half <span class="key fill-hot" /> over 90 %{" "}
      <span class="key fill-blocked" /> back-pressured
    </p>
  );
}

function Figures({ job, checkpoints, failed }: { job: Job; checkpoints?: Checkpoints; failed?: number }) {
  const sources = new Set((job.plan.nodes ?? []).filter((n) => !n.inputs?.length).map((n) => n.id));
  const rates = job.vertices.filter((v) => sources.has(v.id)).map((v) => v.rates?.["records-out"]);
  const known = rates.filter((r): r is number => r !== undefined);
  const marks = job.vertices.map((v) => realWatermark(v.rates?.watermark)).filter((m): m is number => m !== null);
  const behind = marks.length ? job.now - Math.min(...marks) : undefined;
  const last = checkpoints?.latest?.completed;
  const metrics = useResource<{ id: string; value: string }[]>(`/jobs/${job.jid}/metrics?get=numRestarts`, METRICS_MS);
  const restarts = metrics.data?.[0]?.value;
  return (
    <dl class="figures">
      <Figure label={hasEnded(job.state) ? "Ran for" : "Running for"} value={duration(job.duration)} note={`since ${timestamp(job["start-time"])}`} />
      <Figure label="From sources" value={rate(known.length ? known.reduce((a, b) => a + b, 0) : undefined)} />
      <Figure
        label="Watermark behind"
        value={behind !== undefined && behind >= 0 && behind < 1e12 ? duration(behind) : "–"}
        note={behind === undefined ? undefined : "the clock"}
      />
      <Figure
        label="Last checkpoint"
        value={last ? moment(last.latest_ack_timestamp ?? last.trigger_timestamp, job.now) : "–"}
        note={last ? `${bytes(last.state_size)} in ${duration(last.end_to_end_duration)}` : undefined}
      />
      <Figure
        label="Checkpoints"
        value={count(checkpoints?.counts?.completed)}
        note={failed ? `${failed} failed` : undefined}
      />
      <Figure label="Restarts" value={restarts === undefined ? "–" : count(Number(restarts))} />
    </dl>
  );
}
