/** How many records a running job has read lately, for the list of jobs. */

import { useResource } from "../api/resource";
import type { Epochs, JobSummary } from "../api/types";
import { ratesOf } from "../logic/epochs";
import { rate } from "../logic/format";
import { Sparkline } from "../ui/sparkline";

const EPOCHS = 60;
const EVERY_MS = 4000;

export function JobRate({ job }: { job: JobSummary }) {
  const epochs = useResource<Epochs>(`/jobs/${job.jid}/epochs?limit=${EPOCHS}`, EVERY_MS);
  const rates = ratesOf(epochs.data?.epochs ?? []);
  const last = rates.at(-1);
  if (last === undefined) return <>–</>;
  return (
    <span class="job-rate">
      {rates.length > 1 && <Sparkline values={rates} label={`Records a second of ${job.name} lately`} />}
      <span>{rate(last)}</span>
    </span>
  );
}
