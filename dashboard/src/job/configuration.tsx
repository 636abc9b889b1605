/** How the job is configured: its execution, its checkpoints, and what its program set. */

import { useResource } from "../api/resource";
import type { CheckpointConfig, Job, JobConfig, Setting } from "../api/types";
import { duration } from "../logic/format";
import { Panel, Pending } from "../ui/parts";
import { Settings } from "../ui/settings";

export function ConfigurationTab({ job }: { job: Job }) {
  const config = useResource<JobConfig>(`/jobs/${job.jid}/config`, 0);
  const checkpoints = useResource<CheckpointConfig>(`/jobs/${job.jid}/checkpoints/config`, 0);
  return (
    <>
      <Panel title="Execution">
        {config.data?.["execution-config"] ? (
          <Settings caption="Execution" settings={execution(config.data)} />
        ) : (
          <Pending error={config.error} what="its configuration" />
        )}
      </Panel>
      <Panel title="Checkpoints">
        {checkpoints.data?.mode ? (
          <Settings caption="Checkpoints" settings={checkpointing(checkpoints.data)} />
        ) : checkpoints.error?.missing && config.data ? (
          <p class="pending">Periodic checkpoints are off for this job.</p>
        ) : (
          <Pending error={checkpoints.error} what="the configuration of its checkpoints" />
        )}
      </Panel>
      {config.data && (
        <Panel title="Settings of the program">
          <Settings caption="Settings of the program" settings={config.data.settings ?? []} />
        </Panel>
      )}
    </>
  );
}

function execution(config: JobConfig): Setting[] {
  const found = config["execution-config"];
  return [
    { key: "Execution mode", value: found["execution-mode"] },
    { key: "Restart strategy", value: found["restart-strategy"] },
    { key: "Parallelism", value: String(found["job-parallelism"]) },
    ...Object.entries(found["user-config"] ?? {}).map(([key, value]) => ({ key, value: String(value) })),
  ];
}

function checkpointing(config: CheckpointConfig): Setting[] {
  return [
    { key: "Mode", value: config.mode.replaceAll("_", " ") },
    { key: "Interval", value: config.interval > 0 && config.interval < 1e15 ? duration(config.interval) : "off" },
    { key: "Timeout", value: duration(config.timeout) },
    { key: "Minimum pause", value: duration(config.min_pause) },
    { key: "Concurrent", value: String(config.max_concurrent) },
    { key: "State backend", value: config.state_backend },
    { key: "Storage", value: config.checkpoint_storage },
    {
      key: "Retained when cancelled",
      value: config.externalization?.enabled ? (config.externalization.delete_on_cancellation ? "no" : "yes") : "no",
    },
  ];
}
