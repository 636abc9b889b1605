/** The first page: slots, counts, and all jobs. */

import { useResource } from "../api/resource";
import type { JobSummary, Overview } from "../api/types";
import { count, duration, shortId, timestamp } from "../logic/format";
import { href } from "../logic/route";
import { hasEnded } from "../logic/states";
import { type Column, Empty, Figure, Panel, Pending, State, Table } from "../ui/parts";
import { JobRate } from "./job-rate";

export function OverviewPage() {
  const overview = useResource<Overview>("/overview");
  const jobs = useResource<{ jobs: JobSummary[] }>("/jobs/overview");
  const all = jobs.data?.jobs ?? [];
  const running = all.filter((j) => !hasEnded(j.state));
  const ended = all.filter((j) => hasEnded(j.state));
  return (
    <>
      <div class="title">
        <h1>Jobs</h1>
        <a class="button primary" href="#/submit">
          Submit a job
        </a>
      </div>
      {overview.data ? <Figures overview={overview.data} /> : <Pending error={overview.error} what="the cluster" />}
      {jobs.data && all.length === 0 ? (
        <FirstJob />
      ) : (
        <Panel title="Running">
          {jobs.data ? <Jobs caption="Running jobs" columns={[...COLUMNS, RATE]} jobs={running} none="No jobs running." /> : <Pending error={jobs.error} what="jobs" />}
        </Panel>
      )}
      {ended.length > 0 && (
        <Panel title="Ended">
          <Jobs caption="Ended jobs" columns={COLUMNS} jobs={ended} none="" />
        </Panel>
      )}
    </>
  );
}

/** What to type where nothing has run: the address is the one that this page came from. */
function FirstJob() {
  const address = `${window.location.hostname}:${window.location.port || (window.location.protocol === "https:" ? 443 : 80)}`;
  const ways = [
    ["a program", `headrace run -d -m ${address} job.py`],
    ["statements of SQL", `headrace sql-client -m ${address}`],
    ["a first project", "headrace new my-project"],
  ];
  return (
    <Panel title="No jobs yet">
      <div class="fields">
        <p>
          <a href="#/submit">Submit a file here</a>, or start a job in a terminal:
        </p>
        <dl class="ways">
          {ways.map(([what, command]) => (
            <div key={what}>
              <dt>{what}</dt>
              <dd>
                <code>{command}</code>
              </dd>
            </div>
          ))}
        </dl>
      </div>
    </Panel>
  );
}

function Figures({ overview }: { overview: Overview }) {
  const total = overview["slots-total"];
  const used = total - overview["slots-available"];
  return (
    <dl class="figures">
      <Figure label="Running" value={count(overview["jobs-running"])} />
      <Figure label="Finished" value={count(overview["jobs-finished"])} />
      <Figure label="Cancelled" value={count(overview["jobs-cancelled"])} />
      <Figure label="Failed" value={count(overview["jobs-failed"])} />
      <Figure label="Slots in use" value={`${count(used)} of ${count(total)}`} />
      <Figure label="Executors" value={count(overview.taskmanagers)} />
    </dl>
  );
}

const COLUMNS: Column<JobSummary>[] = [
  {
    title: "Job",
    wide: true,
    cell: (job) => (
      <>
        <a href={href(["jobs", job.jid])}>{job.name || shortId(job.jid)}</a> <code>{shortId(job.jid)}</code>
      </>
    ),
  },
  { title: "State", cell: (job) => <State state={job.state} /> },
  { title: "Started", cell: (job) => timestamp(job["start-time"]) },
  { title: "Duration", number: true, cell: (job) => duration(job.duration) },
  { title: "Parallelism", number: true, cell: (job) => count(job.parallelism || undefined) },
  { title: "Restarts", number: true, cell: (job) => count(job.restarts) },
  { title: "Tasks", number: true, cell: (job) => count(job.tasks["total"]) },
];

const RATE: Column<JobSummary> = { title: "From sources", number: true, cell: (job) => <JobRate job={job} /> };

interface JobsProps {
  caption: string;
  columns: Column<JobSummary>[];
  jobs: JobSummary[];
  none: string;
}

function Jobs({ caption, columns, jobs, none }: JobsProps) {
  if (jobs.length === 0) return <Empty>{none}</Empty>;
  return <Table caption={caption} columns={columns} rows={jobs} keyOf={(job) => job.jid} />;
}
