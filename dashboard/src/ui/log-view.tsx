/** A log: its end as it grows, or a page of it from anywhere; and only lines with a word, if wanted. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, getPart } from "../api/client";
import { bytes } from "../logic/format";
import { Pending } from "./parts";

const EVERY_MS = 2000;
const PAGE_BYTES = 1 << 18;
const KEPT_CHARS = 1 << 20;
const SHOWN_LINES = 2000;

interface Props {
  path: string;
  what: string;
}

export function LogView({ path, what }: Props) {
  const [text, setText] = useState<string>();
  const [error, setError] = useState<ApiError>();
  const [size, setSize] = useState(0);
  /** Where the page begins; undefined is the end, which is followed. */
  const [page, setPage] = useState<number>();
  const [filter, setFilter] = useState("");
  const [follow, setFollow] = useState(true);
  const box = useRef<HTMLPreElement>(null);

  useEffect(() => {
    const abort = new AbortController();
    const decoder = new TextDecoder();
    let offset: number | undefined = page;
    let timer = 0;
    setText(undefined);
    const read = async () => {
      try {
        if (offset === undefined) {
          const whole = (await getPart(path, 0, 0, abort.signal)).size;
          offset = Math.max(0, whole - PAGE_BYTES);
        }
        const more = await getPart(path, offset, PAGE_BYTES, abort.signal);
        offset += more.bytes.length;
        const words = decoder.decode(more.bytes, { stream: true });
        setSize(more.size);
        setText((before = "") => (before + words).slice(-KEPT_CHARS));
        setError(undefined);
      } catch (problem) {
        if (abort.signal.aborted) return;
        setError(problem instanceof ApiError ? problem : new ApiError(500, String(problem)));
      }
      if (!abort.signal.aborted && page === undefined) timer = window.setTimeout(read, EVERY_MS);
    };
    void read();
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
  }, [path, page]);

  const shown = useMemo(() => {
    const wanted = filter.toLowerCase();
    const lines = (text ?? "").split("\n");
    const kept = wanted ? lines.filter((line) => line.toLowerCase().includes(wanted)) : lines;
    return (page === undefined ? kept.slice(-SHOWN_LINES) : kept).join("\n");
  }, [text, filter, page]);

  useEffect(() => {
    if (!box.current) return;
    if (page !== undefined) box.current.scrollTop = 0;
    else if (follow) box.current.scrollTop = box.current.scrollHeight;
  }, [shown, follow, page]);

  if (text === undefined && (error || page === undefined)) return <Pending error={error} what={what} />;
  return (
    <>
      <div class="row tools">
        <label>
          Lines with
          <input type="search" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />
        </label>
        <Pages size={size} page={page} onPage={setPage} />
        {page === undefined && (
          <label class="check">
            <input type="checkbox" checked={follow} onChange={(e) => setFollow(e.currentTarget.checked)} /> Follow the end
          </label>
        )}
      </div>
      <pre class="log" ref={box} tabindex={0} role="log" aria-live="off" aria-label={what}>
        {shown || (text === undefined ? "Loading …" : "No output.")}
      </pre>
    </>
  );
}

interface PagesProps {
  size: number;
  page: number | undefined;
  onPage: (page: number | undefined) => void;
}

/** Leads through a log that is longer than a page. */
function Pages({ size, page, onPage }: PagesProps) {
  if (size <= PAGE_BYTES && page === undefined) return null;
  const begin = page ?? Math.max(0, size - PAGE_BYTES);
  const end = Math.min(size, begin + PAGE_BYTES);
  return (
    <span class="row" role="group" aria-label="Part of the log">
      <button type="button" disabled={begin === 0} onClick={() => onPage(0)}>
        Beginning
      </button>
      <button type="button" disabled={begin === 0} onClick={() => onPage(Math.max(0, begin - PAGE_BYTES))}>
        Earlier
      </button>
      <button type="button" disabled={page === undefined || end >= size} onClick={() => onPage(end)}>
        Later
      </button>
      <button type="button" disabled={page === undefined} onClick={() => onPage(undefined)}>
        End
      </button>
      <small class="muted">
        {bytes(begin)} to {bytes(end)} of {bytes(size)}
      </small>
    </span>
  );
}
