/** Numbers, times and sizes as people read them. */

const NONE = "–";

/** What Flink says for a watermark that never came, and for one past all input. */
const LONG_MIN = -(2 ** 63);
const LONG_MAX = 2 ** 63;

export function count(value: number | undefined | null): string {
  if (value === undefined || value === null || !Number.isFinite(value)) return NONE;
  if (Math.abs(value) < 10_000) return Math.round(value).toLocaleString("en-US");
  return compact(value);
}

/** Three digits and a unit: 12.3k, 4.56M. */
export function compact(value: number): string {
  const units = ["", "k", "M", "G", "T", "P"];
  let size = Math.abs(value);
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  const digits = unit === 0 ? 0 : size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return `${value < 0 ? "-" : ""}${size.toFixed(digits)}${units[unit]}`;
}

export function rate(value: number | undefined | null): string {
  if (value === undefined || value === null || !Number.isFinite(value)) return NONE;
  if (value > 0 && value < 10) return `${value.toFixed(1)}/s`;
  return `${compact(value)}/s`;
}

export function bytes(value: number | undefined | null): string {
  if (value === undefined || value === null || value < 0) return NONE;
  const units = ["B", "KB", "MB", "GB", "TB", "PB"];
  let size = value;
  let unit = 0;
  while (size >= 1023.5 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 || size >= 99.95 ? size.toFixed(0) : size.toFixed(1)} ${units[unit]}`;
}

export function percent(share: number | undefined | null): string {
  if (share === undefined || share === null || !Number.isFinite(share)) return NONE;
  return `${Math.round(share * 100)} %`;
}

/** Two units at most: 12 ms, 3.4 s, 2 min 5 s, 3 h 12 min, 2 d 4 h. */
export function duration(ms: number | undefined | null): string {
  if (ms === undefined || ms === null || ms < 0 || !Number.isFinite(ms)) return NONE;
  if (ms < 10) return `${Number(ms.toFixed(1))} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const steps: [number, string, number, string][] = [
    [3600, "min", 60, "s"],
    [86_400, "h", 3600, "min"],
    [Infinity, "d", 86_400, "h"],
  ];
  for (const [below, large, size, small] of steps) {
    if (seconds >= below) continue;
    const whole = Math.floor(seconds / size);
    const rest = Math.floor((seconds % size) / (small === "s" ? 1 : small === "min" ? 60 : 3600));
    return rest > 0 ? `${whole} ${large} ${rest} ${small}` : `${whole} ${large}`;
  }
  return NONE;
}

/** Local date and time to the second, the same in every language. */
export function timestamp(ms: number | undefined | null): string {
  if (ms === undefined || ms === null || ms < 0) return NONE;
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return NONE;
  return `${day(date)} ${clock(ms)}`;
}

function day(date: Date): string {
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** The time of day, with the date if that is not today. */
export function moment(ms: number | undefined | null, now: number): string {
  if (ms === undefined || ms === null || ms < 0) return NONE;
  return day(new Date(ms)) === day(new Date(now)) ? clock(ms) : timestamp(ms);
}

export function clock(ms: number): string {
  const date = new Date(ms);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

/** A watermark that means a time; null before the first and after the last one. */
export function realWatermark(value: number | undefined | null): number | null {
  if (value === undefined || value === null) return null;
  return value <= LONG_MIN || value >= LONG_MAX ? null : value;
}

/** Event time as a clock, or as the plain number if it is no time of these decades. */
export function watermark(value: number | undefined | null, now: number): string {
  const known = realWatermark(value);
  if (known === null) return NONE;
  const years = Math.abs(known - now) / (365 * 86_400_000);
  return years > 30 ? known.toLocaleString("en-US") : moment(known, now);
}

/** Enough of an id to tell it from others. */
export function shortId(id: string): string {
  return id.slice(0, 8);
}
