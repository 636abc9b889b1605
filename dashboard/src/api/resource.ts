/** A hook that keeps the answer of a path up to date while somebody looks at it. */

import { useCallback, useEffect, useState } from "preact/hooks";
import { ApiError, getJson } from "./client";
import { reachable } from "./health";

export const REFRESH_MS = 2000;
/** What the JobManager does not know it is not asked for again so soon. */
const MISSING_MS = 20_000;

export interface Resource<T> {
  data: T | undefined;
  error: ApiError | undefined;
  /** Ask again now. */
  refresh: () => void;
}

/**
 * Polls a path; null asks for nothing. The last answer stays while a newer one is on its way or
 * fails, and goes when the path changes.
 */
export function useResource<T>(path: string | null, everyMs = REFRESH_MS): Resource<T> {
  const [answer, setAnswer] = useState<{ path: string | null; data?: T; error?: ApiError }>({ path });
  const [asked, setAsked] = useState(0);

  useEffect(() => {
    if (path === null) return undefined;
    const abort = new AbortController();
    let timer = 0;
    const ask = async () => {
      let pause = everyMs;
      if (!document.hidden || asked === 0) {
        try {
          const data = await getJson<T>(path, abort.signal);
          reachable(undefined);
          setAnswer({ path, data });
        } catch (error) {
          if (abort.signal.aborted) return;
          const known = error instanceof ApiError ? error : new ApiError(500, String(error));
          reachable(known);
          if (known.missing) pause = Math.max(pause, MISSING_MS);
          setAnswer((before) => ({ path, data: before.path === path ? before.data : undefined, error: known }));
        }
      }
      if (everyMs > 0 && !abort.signal.aborted) timer = window.setTimeout(ask, pause);
    };
    void ask();
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
  }, [path, everyMs, asked]);

  const refresh = useCallback(() => setAsked((n) => n + 1), []);
  if (answer.path !== path) return { data: undefined, error: undefined, refresh };
  return { data: answer.data, error: answer.error, refresh };
}
