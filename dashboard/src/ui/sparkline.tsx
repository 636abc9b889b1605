/** A small line without axes: how something went lately. */

export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  return (
    <svg class="sparkline" viewBox="0 0 1 1" preserveAspectRatio="none" role="img" aria-label={label}>
      <path d={sparkPath(values)} />
    </svg>
  );
}

/** A line in a box of width and height 1 that begins at zero; the highest value touches the top. */
export function sparkPath(values: readonly number[]): string {
  const most = Math.max(...values, Number.EPSILON);
  const step = 1 / Math.max(1, values.length - 1);
  return values.map((value, i) => `${i === 0 ? "M" : "L"}${round(i * step)} ${round(1 - value / most)}`).join("");
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
