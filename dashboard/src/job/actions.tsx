/** Savepoint, stop, rescale and cancel: each asks first and tells how it went. */

import { useState } from "preact/hooks";
import { cancel, rescale, savepoint, stop } from "../api/operations";
import type { Job } from "../api/types";
import { Dialog } from "../ui/dialog";
import { announced } from "../ui/notices";

type Action = "savepoint" | "stop" | "rescale" | "cancel";

export function Actions({ job, onDone }: { job: Job; onDone: () => void }) {
  const [asking, setAsking] = useState<Action>();
  const close = () => setAsking(undefined);
  const perform = async (action: Action, data: FormData) => {
    await PERFORM[action](job, data);
    onDone();
  };
  const button = (action: Action, title: string, kind?: string) => (
    <button type="button" class={kind} onClick={() => setAsking(action)}>
      {title}
    </button>
  );
  return (
    <div class="row actions" role="group" aria-label="Actions on the job">
      {button("savepoint", "Savepoint")}
      {button("rescale", "Rescale")}
      {button("stop", "Stop")}
      {button("cancel", "Cancel", "danger")}
      {asking && <Question action={asking} job={job} onConfirm={(data) => void perform(asking, data)} onClose={close} />}
    </div>
  );
}

const text = (data: FormData, name: string) => String(data.get(name) ?? "").trim();

const PERFORM: Record<Action, (job: Job, data: FormData) => Promise<unknown>> = {
  savepoint: (job, data) =>
    announced("Taking a savepoint …", savepoint(job.jid, text(data, "directory")), (path) => ["Savepoint completed", path]),
  stop: (job, data) =>
    announced("Stopping with a savepoint …", stop(job.jid, text(data, "directory"), data.has("drain")), (path) => [
      "The job has stopped",
      path,
    ]),
  rescale: (job, data) => {
    const parallelism = Number(text(data, "parallelism"));
    return announced("Changing the parallelism …", rescale(job.jid, parallelism), () => [`The parallelism is ${parallelism}`]);
  },
  cancel: (job) => announced("Cancelling …", cancel(job.jid), () => [`${job.name} is being cancelled`]),
};

interface QuestionProps {
  action: Action;
  job: Job;
  onConfirm: (data: FormData) => void;
  onClose: () => void;
}

function Question({ action, job, onConfirm, onClose }: QuestionProps) {
  const given = { onConfirm, onClose };
  switch (action) {
    case "savepoint":
      return (
        <Dialog title="Take a savepoint" confirm="Take savepoint" {...given}>
          <Directory />
        </Dialog>
      );
    case "stop":
      return (
        <Dialog title={`Stop ${job.name}`} confirm="Stop the job" danger {...given}>
          <p>The job takes a savepoint and ends. It can be resumed from there later.</p>
          <Directory />
          <label class="check">
            <input name="drain" type="checkbox" /> Drain: fire all timers and windows first
          </label>
        </Dialog>
      );
    case "rescale":
      return (
        <Dialog title="Change the parallelism" confirm="Rescale" {...given}>
          <p>State moves to the new subtasks between two epochs; the job is not restarted.</p>
          <label>
            Parallelism
            <input
              name="parallelism"
              type="number"
              min="1"
              max={job.maxParallelism}
              required
              defaultValue={String(Math.max(1, ...job.vertices.map((v) => v.parallelism)))}
            />
          </label>
        </Dialog>
      );
    case "cancel":
      return (
        <Dialog title={`Cancel ${job.name}`} confirm="Cancel the job" danger {...given}>
          <p>The job ends at once, without a savepoint. Progress since its last checkpoint is lost.</p>
        </Dialog>
      );
  }
}

function Directory() {
  return (
    <label>
      Directory <small>the one that is configured if empty</small>
      <input name="directory" spellcheck={false} autocomplete="off" />
    </label>
  );
}
