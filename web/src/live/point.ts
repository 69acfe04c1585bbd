// A point that a live report has computed: a value of one factor, the others held at a cell that was run; and what it is in a chart, in heat
// maps, and next to a base.

import type { Computed, Level, Plot } from "./chart";
import type { Computed as Difference, Effects } from "./effects";
import type { Computed as Cell, Heat, HeatMap } from "./heat";
import type { Runs } from "../compare";
import type { Turnable } from "./knobs";
import { interval } from "../student";
import { read } from "../units";
import type { Outline, Stored, StoredCell } from "../types";

/** A factor that can be turned. */
export interface Factor extends Turnable {
  /** At what the others can be held. */
  held: Held[];
}

/** The other factors, and the cell of the experiment at which they are held. */
export interface Held {
  factors: Record<string, string>;
  place: number;
  /** The level that the cell has of the factor itself. */
  level: string;
}

export interface Point {
  factor: Factor;
  value: string;
  held: Held;
  runs: Runs;
  /** Whether a hand has rested on it. */
  stays: boolean;
  /** How many runs there will be. */
  of: number;
  /** The stretch of the stored schedule, of its first run: drawn by the engine, or why it is not. */
  schedule: { svg: string } | { why: string } | null;
}

export const valuesOf = (runs: Runs, metric: string): number[] => runs.values(metric).filter((value): value is number => value !== undefined);

/** The combinations of the factors but one that were simulated. That one has a level of its own where it was not swept. */
export function heldBy({ cells }: Stored, path: string, outline: Outline, own?: string): Held[] {
  const found = new Map<string, Held>();
  for (const { factors } of cells) {
    const others = Object.entries(factors).filter(([other]) => other !== path), key = JSON.stringify(others), level = factors[path] ?? own;
    const place = outline.cells.findIndex((cell) => Object.entries(factors).every(([of, text]) => cell[of] === text));
    if (place >= 0 && level !== undefined && !found.has(key)) found.set(key, { factors: Object.fromEntries(others), place, level });
  }
  return [...found.values()];
}

/** A cell by its factors, each by as much of its path as no other of them ends with. */
export function words(factors: Record<string, string>): string {
  const paths = Object.keys(factors).map((path) => path.replace(/\.name$/, ""));
  return Object.values(factors).map((value, place) => `${shortened(paths[place]!, paths)} ${nameIn(value)}`).join(", ");
}

function shortened(path: string, among: string[]): string {
  const parts = path.split("."), ends = parts.map((_, from) => parts.slice(from).join(".")).reverse();
  return ends.find((end) => among.filter((other) => other === end || other.endsWith(`.${end}`)).length === 1) ?? path;
}

/** The name of a table, or else the value. */
const nameIn = (value: string): string => /^\{.*"name":"([^"]+)"/.exec(value)?.[1] ?? value;

/** What a point is called. */
export const named = ({ factor, value, held }: Point): string => words({ [factor.path]: value, ...held.factors });

/** What a point is in a chart: one mean for each series whose levels it has, or next to which it belongs. */
export function computedOf(plot: Plot, point: Point): Computed[] {
  const { factor: { path }, held, runs } = point, own = levelOf(point);
  const level = path === plot.over ? own : plot.levels.find(({ text }) => text === held.factors[plot.over]);
  const factors = factorsOf(point), isRun = point.factor.levels.some(({ text }) => text === own?.text);
  const isOfSeries = path === plot.over || isRun, near = isOfSeries ? factors : { ...factors, [path]: held.level };
  return plot.series.filter((series) => isOf(series, near)).flatMap((series): Computed[] => {
    const values = valuesOf(runs, series.metric);
    if (!values.length || !level) return [];
    const { mean, half } = interval(values);
    return [{ series, isOfSeries, level, words: `computed in this page, ${named(point)}`, mean: mean * plot.by, low: (mean - half) * plot.by, high: (mean + half) * plot.by }];
  });
}

/** What a point is in heat maps: a cell, if the map has its levels of the further factors. */
export function cellOf({ metric, over, columns, rows, by }: Heat, map: HeatMap, point: Point): Cell | null {
  const column = levelIn(columns, over[0], point), row = levelIn(rows, over[1], point), values = valuesOf(point.runs, metric);
  if (!column || !row || !values.length || !isOf(map, factorsOf(point))) return null;
  const { mean, half } = interval(values);
  return { column, row, words: `computed in this page, ${named(point)}`, mean: mean * by, low: (mean - half) * by, high: (mean + half) * by };
}

/** The level that a point has of a swept field. */
function levelIn(levels: Level[], path: string, point: Point): Level | null {
  return path === point.factor.path ? levelOf(point) : (levels.find((level) => isOf({ held: { [path]: level.text } }, point.held.factors)) ?? null);
}

/** What a point is next to its base, over the pairs of runs of one seed; or why nothing can be said. */
export function differenceOf({ metric, bases }: Effects, stored: Stored, seeds: number[], point: Point): Difference | string {
  const [base, another] = bases.filter(({ given }) => isOf({ held: given }, factorsOf(point)));
  if (!base) return `no base was run at its level of ${Object.keys(bases[0]?.given ?? {}).join(" and ")}`;
  if (another) return "its base depends on more than its levels";
  const cell = (base.factors["on"] ?? "sim") === "sim" ? stored.cells.find(({ factors }) => isOf({ held: factors }, base.factors)) : undefined;
  const known = cell?.metrics[metric];
  if (!cell || !known) return "the values of its base are not in this page";
  const found = pairs(point, metric, known, cell.alike, seeds), difference = interval(found.map(([own, other]) => own - other));
  const of = Math.abs(interval(found.map(([, other]) => other)).mean), share = (value: number): number => (100 * value) / of;
  if (!difference.n) return "none of its runs has the seed of a stored run of its base";
  if (!of) return "its base is zero";
  const { mean, half, n } = difference;
  return { label: words({ ...base.given, ...factorsOf(point) }), mean: share(mean), low: share(mean - half), high: share(mean + half), n };
}

/** Values of the point and of its base by seed. Where no random number is drawn, one run stands for all seeds. */
function pairs({ runs, of }: Point, metric: string, base: StoredCell["metrics"][string], alike: boolean, seeds: number[]): [number, number][] {
  const own = runs.values(metric), by = new Map(base.seeds.map((seed, place) => [seed, base.values[place]]));
  const shared = of === 1 && !alike ? base.seeds : seeds.slice(0, own.length);
  return shared.flatMap((seed, place): [number, number][] => {
    const here = own[of === 1 ? 0 : place], there = alike ? base.values[0] : by.get(seed);
    return here === undefined || there === undefined || there === null ? [] : [[here, there]];
  });
}

const isOf = ({ held }: { held: Record<string, string> }, factors: Record<string, string>): boolean => Object.entries(held).every(([path, level]) => (path === "on" ? level === "sim" : factors[path] === level));

/** The levels of all factors: of the one that was turned that which was run, if it is one, or the value as it was written. */
function factorsOf(point: Point): Record<string, string> {
  return { ...point.held.factors, [point.factor.path]: levelOf(point)?.text ?? "" };
}

/** The value as a level of its factor: one that was run, or another; null for a text that is no number of its kind. */
function levelOf({ factor: { levels, control }, value }: Point): Level | null {
  if ("list" in control) return levels.find(({ text }) => text === value) ?? { text: value, label: control.list.find((one) => one.value === value)?.name ?? value, value: null, kind: "" };
  const number = read(value, control.kind);
  if (number === null) return null;
  // Charts have seconds on their axis, the engine's domains nanoseconds.
  const found = control.kind === "duration" ? number / 1e9 : number;
  return levels.find((level) => level.value === found) ?? { text: value, label: value.replace(/(\d)([a-zA-Z])/, "$1 $2"), value: found, kind: "" };
}
