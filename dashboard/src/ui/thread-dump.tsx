/** What the threads of a process do, each as its stack, at the moment it was asked. */

import { useState } from "preact/hooks";
import { useResource } from "../api/resource";
import type { ThreadDump } from "../api/types";
import { Empty, Panel, Pending } from "./parts";

export function ThreadDumpPanel({ path, none }: { path: string; none: string }) {
  const dump = useResource<ThreadDump>(path, 0);
  const [filter, setFilter] = useState("");
  const wanted = filter.toLowerCase();
  const threads = (dump.data?.threadInfos ?? []).filter((t) => t.stringifiedThreadInfo.toLowerCase().includes(wanted));
  const again = (
    <button type="button" onClick={dump.refresh}>
      Look again
    </button>
  );
  return (
    <Panel title="Threads" extra={again}>
      {!dump.data ? (
        <Pending error={dump.error} what="what its threads do" />
      ) : dump.data.threadInfos.length === 0 ? (
        <Empty>{none}</Empty>
      ) : (
        <>
          <div class="row tools">
            <label>
              Threads with
              <input type="search" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />
            </label>
          </div>
          <ul class="failures">
            {threads.map((thread) => (
              <li key={thread.threadName}>
                <details>
                  <summary>
                    <strong>{thread.threadName}</strong>
                  </summary>
                  <pre class="trace" tabindex={0} aria-label={`Stack of ${thread.threadName}`}>
                    {thread.stringifiedThreadInfo}
                  </pre>
                </details>
              </li>
            ))}
          </ul>
        </>
      )}
    </Panel>
  );
}
