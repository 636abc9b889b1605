/** Failures of the job, with the traceback of the user's own code. */

import { useResource } from "../api/resource";
import type { Exceptions } from "../api/types";
import { timestamp } from "../logic/format";
import { Empty, Panel, Pending } from "../ui/parts";

export function ExceptionsTab({ job }: { job: string }) {
  const exceptions = useResource<Exceptions>(`/jobs/${job}/exceptions`);
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
          <Empty>Nothing has failed.</Empty>
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
    </>
  );
}
