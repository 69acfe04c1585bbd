// What the tasks of each job felt in one run: columns of the metrics that jobs have, as far as a run has them.

import { fill } from "../dom";
import { digits, readable } from "../units";
import type { Row } from "../types";

/** Metrics of a job and what a column calls them. */
const COLUMNS: [metric: string, heading: string][] = [
  ["share", "processor time"],
  ["wakeup_latency.p50", "wakeup latency, p50"],
  ["wakeup_latency.p99", "wakeup latency, p99"],
  ["run_wait.mean", "runqueue wait, mean"],
  ["longest_gap", "longest gap"],
  ["deadline_misses", "missed deadlines"],
  ["turnaround.mean", "turnaround, mean"],
  ["response.mean", "response, mean"],
  ["wakeup_latency.max", "wakeup latency, max"],
  ["passes", "passes"],
];

/** Columns at most: these fit into a page. */
const MOST = 7;

export function show(table: HTMLTableElement, sides: { name: string; rows: Row[] }[], jobs: string[]): void {
  const found = sides.map(({ name, rows }) => ({ name, of: new Map(rows.map((row) => [row[0], row])) }));
  const has = (metric: string): boolean => jobs.some((job) => found.some(({ of }) => of.has(`tasks.${job}.${metric}`)));
  const columns = COLUMNS.filter(([metric]) => has(metric)).slice(0, MOST);
  const named = sides.length > 1 ? [{ heading: "setting", key: true }] : [];
  const headings = [{ heading: "job", key: true }, ...named, ...columns.map(([, heading]) => ({ heading, numeric: true }))];
  const row = (job: string, { name, of }: (typeof found)[number]): string[] => [
    job, ...(named.length ? [name] : []), ...columns.map(([metric]) => spelled(of.get(`tasks.${job}.${metric}`))),
  ];
  fill(table, headings, jobs.flatMap((job) => found.map((side) => row(job, side))));
}

function spelled(row: Row | undefined): string {
  if (!row) return "-";
  const [, value, unit] = row, { unit: shown, by } = readable(unit, Math.abs(value));
  return `${digits(value * by)}${shown ? ` ${shown}` : ""}`;
}
