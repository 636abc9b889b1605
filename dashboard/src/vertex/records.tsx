/** A live look at records that leave an operator. */

import { useEffect, useState } from "preact/hooks";
import { ApiError, getJson } from "../api/client";
import type { Job, LiveRecords, Vertex } from "../api/types";
import { watermark } from "../logic/format";
import { Empty, Pending, Table } from "../ui/parts";

const LIMIT = 20;
const PAUSE_MS = 1000;

export function RecordsView({ job, vertex }: { job: Job; vertex: Vertex }) {
  const [looking, setLooking] = useState(true);
  const [operator, setOperator] = useState("");
  const [found, setFound] = useState<LiveRecords>();
  const [error, setError] = useState<ApiError>();
  const operators = job.plan.nodes?.find((n) => n.id === vertex.id)?.operators ?? [];

  useEffect(() => {
    if (!looking) return undefined;
    const abort = new AbortController();
    let timer = 0;
    const chosen = operator ? `&operator=${encodeURIComponent(operator)}` : "";
    const look = async () => {
      try {
        const path = `/jobs/${job.jid}/vertices/${vertex.id}/records?limit=${LIMIT}&wait=2${chosen}`;
        const seen = await getJson<LiveRecords>(path, abort.signal);
        // Nothing new is no reason to take away what a person is reading.
        setFound((before) => (seen.records.length > 0 || before?.operator.id !== seen.operator.id ? seen : before));
        setError(undefined);
      } catch (problem) {
        if (abort.signal.aborted) return;
        setError(problem instanceof ApiError ? problem : new ApiError(500, String(problem)));
      }
      if (!abort.signal.aborted) timer = window.setTimeout(look, PAUSE_MS);
    };
    void look();
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
  }, [job.jid, vertex.id, operator, looking]);

  return (
    <>
      <div class="row tools">
        {operators.length > 1 && (
          <label>
            Leaving
            <select value={operator} onChange={(e) => setOperator(e.currentTarget.value)}>
              <option value="">the last of the chain</option>
              {operators.map((o) => (
                <option key={o.id} value={o.id}>
                  {o.name}
                </option>
              ))}
            </select>
          </label>
        )}
        <button type="button" onClick={() => setLooking(!looking)} aria-pressed={looking}>
          {looking ? "Hold" : "Resume"}
        </button>
        <span class="muted">{looking ? "live" : "held"}</span>
      </div>
      {!found ? (
        <Pending error={error} what="its records" />
      ) : found.records.length === 0 ? (
        <Empty>No record has left {found.operator.name} lately.</Empty>
      ) : (
        <Table
          caption={`Records that left ${found.operator.name}`}
          columns={[
            { title: "Subtask", cell: (r) => r.subtask },
            { title: "Timestamp", number: true, cell: (r) => watermark(r.timestamp, job.now) },
            { title: "Key", cell: (r) => (r.key === null ? "–" : <code>{r.key}</code>) },
            { title: "Record", wide: true, cell: (r) => <code>{r.value}</code> },
          ]}
          rows={found.records.map((record, index) => ({ ...record, index }))}
          keyOf={(r) => r.index}
        />
      )}
    </>
  );
}
