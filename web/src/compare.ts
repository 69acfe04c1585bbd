// Means over seeds with 95 % intervals, and two settings next to each other with their difference. Seeds come in one after the other.

import { fill, type Column } from "./dom";
import { interval } from "./student";
import { digits, readable, spread } from "./units";
import type { Row } from "./types";

/** What tables show where an experiment names no metrics. */
const USUAL = ["tasks.*.real", "tasks.*.user", "tasks.*.sys", "context_switches", "wakeup_latency.p99", "longest_gap"];

/** The metrics of the runs of one setting, by seed. */
export class Runs {
  /** Units by metric. */
  readonly units = new Map<string, string>();
  private readonly runs: Map<string, number>[] = [];

  add(rows: Row[]): void {
    this.runs.push(new Map(rows.map(([metric, value]) => [metric, value])));
    for (const [metric, , unit] of rows) this.units.set(metric, unit);
  }

  get count(): number {
    return this.runs.length;
  }

  /** Names of all metrics, in the order of the first run that has them. */
  metrics(): string[] {
    return [...new Set(this.runs.flatMap((run) => [...run.keys()]))];
  }

  /** The values of a metric by seed; undefined where a run has none. */
  values(metric: string): (number | undefined)[] {
    return this.runs.map((run) => run.get(metric));
  }
}

/** The metrics that an experiment asks for, in its order: `*` is any one job. */
export function asked(names: string[], metrics: string[]): string[] {
  return [...new Set((metrics.length ? metrics : USUAL).flatMap((pattern) => names.filter(matching(pattern))))];
}

function matching(pattern: string): (name: string) => boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"));
  const expression = new RegExp(`^${parts.join("[^.]*")}$`);
  return (name) => expression.test(name);
}

const defined = (values: (number | undefined)[]): number[] => values.filter((value): value is number => value !== undefined);

/** The words under a table of means. */
export function basis(of: number, done: number, compared: boolean, seeded: boolean): string {
  if (!seeded) return `No random number is drawn: every seed gives these numbers, and there is no interval.${compared ? " The difference is B - A." : ""}`;
  const n = `n = ${done} of ${of}`;
  if (of < 2) return `Each number is of one seed: there is no interval.${compared ? " The difference is B - A." : ""}`;
  const means = `${n}. Mean ± half of the 95 % interval by Student's t over seeds.`;
  return compared ? `${means} The runs of A and B of one seed are a pair; the difference is the mean of B - A over pairs, with its interval.` : means;
}

/** Fills the table of means: one setting, or two with their difference. */
export function show(table: HTMLTableElement, sides: Runs[], metrics: string[]): void {
  const names = sides.length > 1 ? ["A", "B"] : ["mean"];
  const columns: Column[] = [{ heading: "metric", key: true }, ...names.map((heading) => ({ heading, numeric: true }))];
  if (sides.length > 1) columns.push({ heading: "B - A", numeric: true }, { heading: "B - A, %", numeric: true });
  columns.push({ heading: "unit" });
  fill(table, columns, metrics.map((metric) => row(sides, metric)));
}

function row(sides: Runs[], metric: string): string[] {
  const unit = sides.map((side) => side.units.get(metric)).find((known) => known !== undefined) ?? "";
  const found = sides.map((side) => side.values(metric)), means = found.map((values) => interval(defined(values)));
  const { unit: shown, by } = readable(unit, Math.max(...means.map(({ mean }) => (Number.isFinite(mean) ? Math.abs(mean) : 0))));
  const spelled = ({ mean, half, n }: { mean: number; half: number; n: number }): string => (n ? spread(mean * by, half * by) : "-");
  const cells = [metric, ...means.map(spelled)];
  if (sides.length > 1) {
    // Both of a pair have drawn the same random numbers, so what the seed does to both cancels out.
    const pairs = found[0]!.map((a, place) => [a, found[1]![place]] as const).filter((pair): pair is readonly [number, number] => pair[0] !== undefined && pair[1] !== undefined);
    const difference = interval(pairs.map(([a, b]) => b - a)), base = interval(pairs.map(([a]) => a)).mean;
    const share = difference.n && base ? `${digits((100 * difference.mean) / Math.abs(base), 3)} %` : "-";
    cells.push(spelled(difference), share);
  }
  return [...cells, shown];
}

/** One metric as the tests of the page compare it: the means and half widths of each side, and of the difference. */
export function numbers(sides: Runs[], metric: string): { mean: number; half: number; n: number }[] {
  return sides.map((side) => interval(defined(side.values(metric))));
}
