/** Small parts that every page uses. */

import type { ComponentChildren } from "preact";
import type { ApiError } from "../api/client";
import { percent } from "../logic/format";
import { toneOf } from "../logic/states";

export function State({ state }: { state: string }) {
  return <span class={`state tone-${toneOf(state)}`}>{state.toLowerCase().replace("_", " ")}</span>;
}

/** What stands in the place of data: on its way, not known to this JobManager, or refused. */
export function Pending({ error, what }: { error: ApiError | undefined; what: string }) {
  if (!error) return <p class="pending">Loading {what} …</p>;
  if (error.missing) return <p class="pending">Not available yet: {what}.</p>;
  return (
    <p class="pending tone-bad" role="alert">
      {error.message}
    </p>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="pending">{children}</p>;
}

export function Panel({ title, extra, children }: { title: string; extra?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="panel">
      <header>
        <h2>{title}</h2>
        {extra}
      </header>
      {children}
    </section>
  );
}

export function Figure({ label, value, note }: { label: string; value: ComponentChildren; note?: ComponentChildren }) {
  return (
    <div class="figure">
      <dt>{label}</dt>
      <dd>
        {value}
        {note !== undefined && <small>{note}</small>}
      </dd>
    </div>
  );
}

/** A share of the largest value, with the figure beside it. */
export function Bar({ share, text, tone = "accent" }: { share: number; text: string; tone?: string }) {
  const width = `${Math.round(Math.min(1, Math.max(0, share)) * 1000) / 10}%`;
  return (
    <span class="bar">
      <span class="bar-text">{text}</span>
      <span class="bar-track" aria-hidden="true">
        <span class={`bar-fill fill-${tone}`} style={{ width }} />
      </span>
    </span>
  );
}

/** Busy, back-pressured and idle time in one line. */
export function LoadBar({ busy, blocked }: { busy: number; blocked: number }) {
  const tone = busy > 0.9 ? "hot" : busy > 0.5 ? "warm" : "accent";
  return (
    <span class="bar" title={`busy ${percent(busy)}, back-pressured ${percent(blocked)}`}>
      <span class="bar-text">{percent(busy)}</span>
      <span class="bar-track" aria-hidden="true">
        <span class={`bar-fill fill-${tone}`} style={{ width: `${Math.min(1, busy) * 100}%` }} />
        <span class="bar-fill fill-blocked" style={{ width: `${Math.min(1, blocked) * 100}%` }} />
      </span>
    </span>
  );
}

export interface Column<T> {
  title: string;
  cell: (row: T) => ComponentChildren;
  /** Numbers are aligned to the right. */
  number?: boolean;
  wide?: boolean;
  /** Left out on a phone. */
  roomy?: boolean;
}

interface TableProps<T> {
  caption: string;
  columns: Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => string | number;
  selected?: (row: T) => boolean;
}

/** The first column names the row. It scrolls inside its own box, never the page. */
export function Table<T>({ caption, columns, rows, keyOf, selected }: TableProps<T>) {
  const [first, ...others] = columns;
  return (
    <div class="table" role="region" aria-label={caption} tabindex={0}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classes(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} class={selected?.(row) ? "selected" : undefined}>
              {first && (
                <th scope="row" class={classes(first)}>
                  {first.cell(row)}
                </th>
              )}
              {others.map((column) => (
                <td key={column.title} class={classes(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function classes<T>(column: Column<T>): string | undefined {
  const { number, wide, roomy } = column;
  return [number && "number", wide && "wide", roomy && "roomy"].filter(Boolean).join(" ") || undefined;
}

export interface Tab {
  id: string;
  title: string;
  href: string;
  note?: string | number;
}

export function Tabs({ label, tabs, current }: { label: string; tabs: Tab[]; current: string }) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <a key={tab.id} href={tab.href} aria-current={tab.id === current ? "page" : undefined}>
          {tab.title}
          {tab.note !== undefined && <span class="count">{tab.note}</span>}
        </a>
      ))}
    </nav>
  );
}
