/** Text that grows at its end: asks for what is new only, follows it, and filters lines. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, getText } from "../api/client";
import { Pending } from "./parts";

const EVERY_MS = 2000;
const KEPT_CHARS = 1 << 20;
const SHOWN_LINES = 2000;

interface Props {
  path: string;
  what: string;
  /** Bytes to leave out at the beginning. */
  start?: number;
}

export function LogView({ path, what, start = 0 }: Props) {
  const [text, setText] = useState<string>();
  const [error, setError] = useState<ApiError>();
  const [filter, setFilter] = useState("");
  const [follow, setFollow] = useState(true);
  const box = useRef<HTMLPreElement>(null);

  useEffect(() => {
    const abort = new AbortController();
    let offset = start;
    let timer = 0;
    setText(undefined);
    const read = async () => {
      try {
        const more = await getText(`${path}?offset=${offset}`, abort.signal);
        offset += new TextEncoder().encode(more).length;
        setText((before = "") => (before + more).slice(-KEPT_CHARS));
        setError(undefined);
      } catch (problem) {
        if (abort.signal.aborted) return;
        setError(problem instanceof ApiError ? problem : new ApiError(500, String(problem)));
      }
      if (!abort.signal.aborted) timer = window.setTimeout(read, EVERY_MS);
    };
    void read();
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
  }, [path]);

  const shown = useMemo(() => {
    const wanted = filter.toLowerCase();
    const lines = (text ?? "").split("\n");
    const kept = wanted ? lines.filter((line) => line.toLowerCase().includes(wanted)) : lines;
    return kept.slice(-SHOWN_LINES).join("\n");
  }, [text, filter]);

  useEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [shown, follow]);

  if (text === undefined) return <Pending error={error} what={what} />;
  return (
    <>
      <div class="row tools">
        <label>
          Lines with
          <input type="search" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />
        </label>
        <label class="check">
          <input type="checkbox" checked={follow} onChange={(e) => setFollow(e.currentTarget.checked)} /> Follow the end
        </label>
      </div>
      <pre class="log" ref={box} tabindex={0} role="log" aria-live="off" aria-label={what}>
        {shown || "Nothing was written."}
      </pre>
    </>
  );
}
