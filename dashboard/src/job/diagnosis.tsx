/** What limits the job now, in one sentence, and what to do about it. */

import { useResource } from "../api/resource";
import type { Diagnosis, Finding, Job } from "../api/types";
import { href } from "../logic/route";
import { hasEnded } from "../logic/states";

const TONES: Record<string, string> = { ok: "good", hint: "wait", warning: "warn", critical: "bad" };

export function DiagnosisBanner({ job }: { job: Job }) {
  const separate = job.diagnosis === undefined && !hasEnded(job.state);
  const asked = useResource<Diagnosis>(separate ? `/jobs/${job.jid}/diagnosis` : null);
  const diagnosis = job.diagnosis ?? asked.data;
  if (!diagnosis?.sentence || (diagnosis.code === "ended" && diagnosis.status === "ok")) return null;
  return (
    <section class={`diagnosis tone-${TONES[diagnosis.status] ?? "wait"}`} aria-label="Diagnosis">
      <div aria-live="polite">
        <p>
          <Sentence job={job.jid} finding={diagnosis} />
        </p>
        {diagnosis.advice && <p class="advice">{diagnosis.advice}</p>}
      </div>
      {diagnosis.findings?.length > 0 && (
        <details>
          <summary>{diagnosis.findings.length} more</summary>
          <ul>
            {diagnosis.findings.map((finding) => (
              <li key={`${finding.code}${finding.vertex}${finding.subtask}`}>
                <Sentence job={job.jid} finding={finding} /> <span class="advice">{finding.advice}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function Sentence({ job, finding }: { job: string; finding: Finding }) {
  return (
    <>
      <strong>{finding.sentence}</strong>{" "}
      {finding.vertex && <a href={href(["jobs", job, "graph"], { vertex: finding.vertex })}>Show</a>}
    </>
  );
}
