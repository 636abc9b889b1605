/** What became of an action: shown until it is read, and spoken by screen readers. */

import { useEffect, useState } from "preact/hooks";

interface Notice {
  id: number;
  tone: "good" | "bad" | "wait";
  text: string;
  detail?: string;
}

let notices: Notice[] = [];
let last = 0;
const listeners = new Set<(notices: Notice[]) => void>();

function publish(next: Notice[]): void {
  notices = next;
  for (const listener of listeners) listener(next);
}

export function notify(tone: Notice["tone"], text: string, detail?: string): number {
  last += 1;
  publish([...notices, { id: last, tone, text, detail }].slice(-4));
  return last;
}

export function dismiss(id: number): void {
  publish(notices.filter((n) => n.id !== id));
}

/** Says that something is under way, and then how it went. */
export async function announced<T>(
  doing: string,
  work: Promise<T>,
  done: (result: T) => [string, string?],
): Promise<T | undefined> {
  const waiting = notify("wait", doing);
  try {
    const result = await work;
    notify("good", ...done(result));
    return result;
  } catch (error) {
    notify("bad", `${doing.replace(/ …$/, "")}: failed`, error instanceof Error ? error.message : String(error));
    return undefined;
  } finally {
    dismiss(waiting);
  }
}

export function Notices() {
  const [shown, setShown] = useState(notices);
  useEffect(() => {
    listeners.add(setShown);
    return () => {
      listeners.delete(setShown);
    };
  }, []);
  return (
    <div class="notices" role="status" aria-live="polite">
      {shown.map((notice) => (
        <div key={notice.id} class={`notice tone-${notice.tone}`}>
          <div>
            <strong>{notice.text}</strong>
            {notice.detail && <code>{notice.detail}</code>}
          </div>
          <button type="button" class="quiet" aria-label="Dismiss" onClick={() => dismiss(notice.id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}
