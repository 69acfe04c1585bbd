// The figures of a live report: what each is drawn from, with the points that were computed, and the table behind it.

import { chart, name, scaleFor, type Level, type Plot, type Series } from "./chart";
import { heat, scaleFor as coloursFor, type Heat, type HeatMap } from "./heat";
import { cellOf, computedOf, named, valuesOf, type Point } from "./point";
import { interval } from "../student";
import { longer, spelled, tail, type Curve, type Percentile, type Tail } from "./tail";
import { spread } from "../units";
import { make, type Column } from "../dom";

export const STORED = "stored", COMPUTED = "computed in this page";

export interface Figure {
  /** Each drawing anew: its inner, its height, and what it is called. */
  drawn(points: Point[]): { inner: string; height: number; label: string }[];
  readonly columns: Column[];
  rows(points: Point[]): string[][];
  /** What is shown below the drawings, and said of points that are not in them. */
  beyond?(points: Point[]): Node[];
}

/** Charts of means over a factor. */
export class Means implements Figure {
  readonly columns: Column[];

  constructor(private readonly plots: Plot[]) {
    const { over, title } = plots[0]!;
    this.columns = [{ heading: over, key: true }, { heading: "of" }, { heading: "kind" }, { heading: title, numeric: true }, { heading: "n", numeric: true }];
  }

  drawn(points: Point[]): { inner: string; height: number; label: string }[] {
    const computed = this.plots.map((plot) => points.flatMap((point) => computedOf(plot, point))), scale = scaleFor(this.plots, computed.flat());
    return this.plots.map((plot, place) => {
      const own = computed[place]!, label = `${name(plot)}; with ${own.length} point${own.length === 1 ? "" : "s"} computed in this page`;
      return { ...chart(plot, own, scale, points.length > 0), label };
    });
  }

  /** Stored and computed points of each series, by their place on the axis. */
  rows(points: Point[]): string[][] {
    return this.plots.flatMap((plot) => plot.series.flatMap((series) => rowsOf(plot, series, points)));
  }
}

function rowsOf(plot: Plot, series: Series, points: Point[]): string[][] {
  const of = [plot.heading, series.name].filter(Boolean).join(", ");
  const stored = series.points.map(([place, mean, low, high, n]) => ({ level: plot.levels[place]!, cells: [of, STORED, spread(mean, half(low, high)), String(n)] }));
  const computed = points.flatMap((point) =>
    computedOf(plot, point).filter((one) => one.series === series).map(({ level, isOfSeries, mean, high }) => (
      { level, cells: [isOfSeries ? of : `${series.metric}, ${named(point)}`, COMPUTED, spread(mean, high - mean), `${point.runs.count} of ${point.of}`] })));
  const all = [...stored, ...computed].sort((a, b) => (a.level.value ?? 0) - (b.level.value ?? 0));
  return all.map(({ level, cells }) => [level.label, ...cells]);
}

/** Heat maps of a metric over two factors. */
export class Maps implements Figure {
  readonly columns: Column[];

  constructor(private readonly heat: Heat) {
    const { over: [x, y], title } = heat;
    this.columns = [{ heading: x, key: true }, { heading: "of" }, { heading: y }, { heading: "kind" }, { heading: title, numeric: true }, { heading: "n", numeric: true }];
  }

  drawn(points: Point[]): { inner: string; height: number; label: string }[] {
    const { maps, title, over: [x, y] } = this.heat, computed = maps.map((map) => points.flatMap((point) => cellOf(this.heat, map, point) ?? []));
    const scale = coloursFor(this.heat, computed.flat());
    return maps.map((map, place) => {
      const own = computed[place]!, label = `${title} by ${x} and ${y}; with ${own.length} cell${own.length === 1 ? "" : "s"} computed in this page`;
      return { ...heat(this.heat, map, own, scale, points.length > 0), label };
    });
  }

  /** Stored and computed cells of each map, column by column. */
  rows(points: Point[]): string[][] {
    return this.heat.maps.flatMap((map) => this.rowsOf(map, points));
  }

  private rowsOf(map: HeatMap, points: Point[]): string[][] {
    const { columns, rows } = this.heat;
    const stored = map.tiles.map(([column, row, mean, low, high, n]) => ({ column: columns[column]!, row: rows[row]!, cells: [STORED, spread(mean, half(low, high)), String(n)] }));
    const computed = points.flatMap((point) => {
      const cell = cellOf(this.heat, map, point);
      return cell ? [{ ...cell, cells: [COMPUTED, spread(cell.mean, cell.high - cell.mean), `${point.runs.count} of ${point.of}`] }] : [];
    });
    const place = (level: Level): number => level.value ?? 0;
    const all = [...stored, ...computed].sort((a, b) => place(a.column) - place(b.column) || place(a.row) - place(b.row));
    return all.map(({ column, row, cells }) => [column.label, map.heading, row.label, ...cells]);
  }

  /** The last point, if no map has its levels. */
  beyond(points: Point[]): Node[] {
    const point = points[points.length - 1], { maps, metric, title, by } = this.heat;
    if (!point || maps.some((map) => cellOf(this.heat, map, point))) return [];
    const { mean, half: own, n } = interval(valuesOf(point.runs, metric)), found = n ? `${title}: ${spread(mean * by, own * by)}` : `no ${metric}`;
    return [make("p", { class: "dim" }, `Computed in this page, ${named(point)}, for which these maps have no place: ${found}.`)];
  }
}

/** The tail of a distribution; of the computed points it has the last one. */
export class Tails implements Figure {
  readonly columns: Column[];

  constructor(private readonly tail: Tail) {
    this.columns = [{ heading: "percentile", key: true }, { heading: "of" }, { heading: "kind" }, { heading: tail.title, numeric: true }];
  }

  drawn(points: Point[]): { inner: string; height: number; label: string }[] {
    const computed = this.computed(points), label = `percentiles of ${this.tail.title}${computed ? `; with a curve ${computed.name}` : ""}`;
    return this.tail.parts.map((part) => ({ ...tail(this.tail, part, computed), label }));
  }

  rows(points: Point[]): string[][] {
    const computed = this.computed(points), rows = (curve: Curve, kind: string): string[][] => curve.points.map(([name, , mean, low, high]) => [name, curve.name, kind, spread(mean, half(low, high))]);
    return [...this.tail.parts.flat().flatMap((curve) => rows(curve, STORED)), ...(computed ? rows(computed, COMPUTED) : [])];
  }

  private computed(points: Point[]): Curve | null {
    const point = points[points.length - 1];
    if (!point) return null;
    const { of, metrics, by } = this.tail, count = interval(valuesOf(point.runs, `${of}.count`)).mean || 1;
    const found = metrics.flatMap((metric): Percentile[] => {
      const statistic = metric.replace(/^.*\./, ""), share = longer(statistic, count), values = valuesOf(point.runs, metric);
      if (share === null || !values.length) return [];
      const { mean, half } = interval(values);
      return [[spelled(statistic), share, mean * by, (mean - half) * by, (mean + half) * by]];
    });
    return found.length ? { name: `computed in this page, ${named(point)}`, points: found } : null;
  }
}

const half = (low: number | null, high: number | null): number => (low === null || high === null ? NaN : (high - low) / 2);
