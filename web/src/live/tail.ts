// The tail of a distribution, as python/schedlab/pictures/tail.py draws it, with a curve that this page has computed.
//
// The vertical axis is logarithmic in the share of values that are longer. Stored curves keep their marks and lines; the computed one has
// hollow marks without a colour, and a dashed line. A test holds a drawing without it to Python's.

import { at, logTicks, width, type Axis } from "./axes";
import { belowAxis, group, HEIGHT, legendOf, levelBar, line, marked, text, TITLE, WIDTH } from "./chart";
import { digits } from "../units";

/** A percentile: its name, the share of values that are longer, a mean over seeds and its bounds. */
export type Percentile = [name: string, longer: number, mean: number, low: number | null, high: number | null];

export interface Curve {
  name: string;
  points: Percentile[];
}

/** A distribution as python/schedlab/report/live.py gives it: the curves of each drawing. `by` makes its unit of what the engine reports. */
export interface Tail {
  of: string;
  metrics: string[];
  title: string;
  by: number;
  parts: Curve[][];
}

/** Marks of the vertical axis. */
const MARKS: [share: number, name: string][] = [[0.5, "p50"], [0.1, "p90"], [0.01, "p99"], [1e-3, "p99.9"], [1e-4, "p99.99"], [1e-5, "p99.999"], [1e-6, "p99.9999"]];

/** Which share of `count` values is longer than a statistic; null for one of another kind. */
export function longer(statistic: string, count: number): number | null {
  const least = 1 / Math.max(count, 1);
  if (statistic === "min") return 1;
  if (statistic === "max") return least;
  return /^p\d+$/.test(statistic) ? Math.max(1 - Number(`0.${statistic.slice(1)}`), least) : null;
}

/** A percentile as people write it: p99.9. */
export const spelled = (statistic: string): string => statistic.replace(/^p(\d\d)(\d+)$/, "p$1.$2");

/** The inner of a drawing and its height. The axes have room for all curves of the distribution. */
export function tail({ title, parts }: Tail, part: Curve[], computed: Curve | null): { inner: string; height: number } {
  const every = [...parts.flat(), ...(computed ? [computed] : [])].flatMap(({ points }) => points);
  const positive = every.flatMap(([, , mean, , high]) => [mean, high ?? NaN]).filter((value) => Number.isFinite(value) && value > 0);
  const { axis, marks } = valuesOf(positive), shares: Axis = { low: 1, high: Math.min(0.1, ...every.map(([, share]) => share)), log: true };
  const named: [number, string][] = [[1, "min"], ...MARKS.filter(([share]) => share >= shares.high * 0.999)];
  const legend = legendOf(part, computed !== null, 11), top = legend.below + TITLE, bottom = top + HEIGHT;
  const left = Math.max(...named.map(([, name]) => width(name))) + 10, right = WIDTH - 10;
  // A value of zero has no place on a logarithmic axis but its edge.
  const x = (value: number): number => left + (right - left) * at(axis, Math.max(value, axis.low)), y = (share: number): number => bottom - HEIGHT * placeOf(shares, share);
  const drawn = [legend.inner, text("title", 0, top - 11, "percentile, log tail", "start", WIDTH)];
  for (const [share, name] of named) drawn.push(line(left, y(share), right, y(share)), text("tick", left - 6, y(share) + 4, name, "end"));
  drawn.push(...marks.map((mark) => line(x(mark), top, x(mark), bottom)), ...belowAxis(marks.map((mark) => digits(mark)), marks.map(x), left - 12, WIDTH, bottom));
  drawn.push(text("title", WIDTH / 2, bottom + 34, title + (axis.log ? ", log scale" : ""), "middle", WIDTH));
  for (const [index, curve] of part.entries()) drawn.push(group(index, curveOf(curve, "mark", index, x, y)));
  if (computed) drawn.push(...curveOf(computed, "computed", 0, x, y));
  return { inner: drawn.join(""), height: bottom + 40 };
}

function curveOf({ name, points }: Curve, kind: "mark" | "computed", index: number, x: (value: number) => number, y: (share: number) => number): string[] {
  const shown = points.filter(([, , mean]) => Number.isFinite(mean)).sort(([, a], [, b]) => b - a), dashed = kind === "computed" ? " computed-bar" : "";
  const places = shown.map(([, share, mean]) => `${x(mean).toFixed(1)},${y(share).toFixed(1)}`).join(" ");
  const joined = shown.length > 1 ? [`<polyline class="join${dashed}" points="${places}"/>`] : [];
  return [...joined, ...shown.map(([percentile, share, mean, low, high]) => {
    const isBounded = low !== null && high !== null && Number.isFinite(low), bounds = isBounded ? ` [${digits(low)}, ${digits(high)}]` : "";
    const bar = isBounded ? levelBar(y(share), x(low), x(high), dashed) : "";
    return marked(bar, kind, x(mean), y(share), index, `${[name, percentile].filter(Boolean).join(", ")}: ${digits(mean)}${bounds}`);
  })];
}

/** The place of a share on its axis, which begins with the largest. */
function placeOf({ low, high }: Axis, share: number): number {
  return (Math.log10(Math.max(share, high)) - Math.log10(low)) / (Math.log10(high) - Math.log10(low));
}

/** A logarithmic axis over all that is positive; zero to one where nothing is. */
function valuesOf(positive: number[]): { axis: Axis; marks: number[] } {
  if (!positive.length) return { axis: { low: 0, high: 1, log: false }, marks: [0, 1] };
  const marks = logTicks(Math.min(...positive), Math.max(...positive));
  return { axis: { low: marks[0]!, high: marks[marks.length - 1]!, log: true }, marks };
}
