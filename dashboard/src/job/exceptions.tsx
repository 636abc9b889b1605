/** Failures of the job, with the traceback of the user's own code, and its states over time. */

import { useResource } from "../api/resource";
import type { Exceptions, Job } from "../api/types";
import { duration, timestamp } from "../logic/format";
import { Empty, Panel, Pending, State, Table } from "../ui/parts";

export function ExceptionsTab({ job }: { job: Job }) {
  const exceptions = useResource<Exceptions>(`/jobs/${job.jid}/exceptions`);
  const entries = exceptions.data?.exceptionHistory?.entries ?? [];
  const root = exceptions.data?.["root-exception"];
  if (!exceptions.data)
    return (
      <Panel title="Exceptions">
        <Pending error={exceptions.error} what="its exceptions" />
      </Panel>
    );
  return (
    <>
      <Panel title="Last failure" extra={root ? <span class="muted">{timestamp(exceptions.data.timestamp)}</span> : undefined}>
        {root ? (
          <pre class="trace" tabindex={0} aria-label="Traceback of the last failure">
            {root}
          </pre>
        ) : (
          <Empty>No failures.</Empty>
        )}
      </Panel>
      {entries.length > 0 && (
        <Panel title="History" extra={exceptions.data.exceptionHistory.truncated ? <span class="muted">older ones are gone</span> : undefined}>
          <ul class="failures">
            {entries.map((entry, i) => (
              <li key={`${entry.timestamp}${i}`}>
                <details>
                  <summary>
                    <strong>{entry.exceptionName}</strong> <span class="muted">{timestamp(entry.timestamp)}</span>
                    {entry.taskName && <span> in {entry.taskName}</span>}
                    {entry.endpoint && <span class="muted"> at {entry.endpoint}</span>}
                  </summary>
                  <pre class="trace" tabindex={0} aria-label={`Traceback of ${entry.exceptionName}`}>
                    {entry.stacktrace}
                  </pre>
                </details>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      <Timeline job={job} />
    </>
  );
}

function Timeline({ job }: { job: Job }) {
  const known = Object.entries(job.timestamps).filter(([, since]) => since > 0);
  const states = known.sort((a, b) => a[1] - b[1]).map(([state, since]) => ({ state, since }));
  if (states.length === 0) return null;
  return (
    <Panel title="Timeline">
      <Table
        caption="States of the job"
        columns={[
          { title: "State", cell: (s) => <State state={s.state} /> },
          { title: "Last entered", cell: (s) => timestamp(s.since) },
          { title: "After the start", number: true, cell: (s) => duration(s.since - job["start-time"]) },
        ]}
        rows={states}
        keyOf={(s) => s.state}
      />
    </Panel>
  );
}
