/** Whether the JobManager answers and accepts us: one fact for the whole page. */

import { useEffect, useState } from "preact/hooks";
import { type ApiError, UNREACHABLE } from "./client";

export type Health = "ok" | "unreachable" | "unauthorized";

let health: Health = "ok";
const listeners = new Set<(health: Health) => void>();

/** Told by every call how it went. */
export function reachable(error: ApiError | undefined): void {
  let now: Health = "ok";
  if (error?.status === UNREACHABLE) now = "unreachable";
  else if (error?.unauthorized) now = "unauthorized";
  if (now === health) return;
  health = now;
  for (const listener of listeners) listener(now);
}

export function useHealth(): Health {
  const [now, setNow] = useState(health);
  useEffect(() => {
    listeners.add(setNow);
    return () => {
      listeners.delete(setNow);
    };
  }, []);
  return now;
}
