/** How many records a running job has read lately, for the list of jobs. */

import { useResource } from "../api/resource";
import type { JobSummary, Timeline } from "../api/types";
import { rate } from "../logic/format";
import { lastRate, ratesOf } from "../logic/timeline";
import { Sparkline } from "../ui/sparkline";

const POINTS = 60;
const SECONDS = 2;
const EVERY_MS = 4000;

export function JobRate({ job }: { job: JobSummary }) {
  const timeline = useResource<Timeline>(`/jobs/${job.jid}/timeline`, EVERY_MS);
  const moments = timeline.data?.moments ?? [];
  if (moments.length === 0) return <>–</>;
  // The last seconds are not over: an epoch that lasts is known when it has ended.
  const now = job["start-time"] + job.duration;
  const rates = ratesOf(moments, now - SECONDS * 1000, POINTS, SECONDS);
  const minutes = (POINTS * SECONDS) / 60;
  return (
    <span class="job-rate">
      <Sparkline values={rates} label={`Records a second of ${job.name} in the last ${minutes} minutes`} />
      <span>{rate(lastRate(moments, now))}</span>
    </span>
  );
}
