// A chart of means over what was swept, as python/schedlab/pictures/chart.py draws it, with points that this page has computed.
//
// Stored points keep their marks and lines. A computed one is larger and hollow, and no line joins it. Both axes have room for all
// of them. A test holds a chart without computed points to Python's.

import { at, extent, fitting, measured, shortened, swept, widened, width, type Axis } from "./axes";
import { digits } from "../units";

/** Where a chart can be read, and the height of its plot. */
export const WIDTH = 330, HEIGHT = 176;
/** Shapes of marks, one for each colour: a path around (0, 0). */
export const SHAPES = [
  "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z",
  "M-3.3 -3.3h6.6v6.6h-6.6z",
  "M0 -4.4l4.2 7.2h-8.4z",
  "M0 4.4l4.2 -7.2h-8.4z",
  "M-4 -1.3h2.7v-2.7h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7z",
  "M-4.2 -1.6h8.4v3.2h-8.4z",
];
/** Height of a line of text, and of a series in a row; how far a shade reaches beyond its levels; height of a title above its axis. */
export const LINE = 15;
const BAND = 11, MARGIN = 5;
export const TITLE = 22;

/** A value of what was swept; `value` is null where it is a name. */
export interface Level {
  text: string;
  label: string;
  value: number | null;
  /** What kind of number: "s", "B", "/s", "%" or "". */
  kind: string;
}

/** A stored mean: the place of its level, its bounds, and of how many runs it is the mean. */
export type Stored = [place: number, mean: number, low: number | null, high: number | null, n: number];

export interface Series {
  name: string;
  metric: string;
  /** The levels of the other factors. */
  held: Record<string, string>;
  /** Places of acceptable points; null where that is not known. */
  accepted: number[] | null;
  points: Stored[];
}

/** A chart as python/schedlab/report/live.py gives it. Bounds and means are in its unit; `by` makes one of what the engine reports. */
export interface Plot {
  over: string;
  levels: Level[];
  series: Series[];
  title: string;
  heading: string;
  by: number;
}

/** A mean that was computed here, in the unit of the chart. Bounds are NaN for a single run. */
export interface Computed {
  /** The series that it is of, or next to which it is drawn: it has a level of another factor that was not run, and no colour then. */
  series: Series;
  isOfSeries: boolean;
  level: Level;
  /** What it was computed at. */
  words: string;
  mean: number;
  low: number;
  high: number;
}

/** The measured axis that charts of a figure have in common. */
export interface Scale {
  axis: Axis;
  marks: number[];
}

export function scaleFor(plots: Plot[], computed: Computed[]): Scale {
  const stored = plots.flatMap(({ series }) => series.flatMap(({ points }) => points));
  const means = [...stored.flatMap(([, mean, , high]) => [mean, high ?? NaN]), ...computed.flatMap(({ mean, high }) => [mean, high])];
  return measured(means, [...stored.map(([, , low]) => low ?? NaN), ...computed.map(({ low }) => low)]);
}

/** The inner of the drawing, and its height. The legend says what is computed if a chart of the figure has such points. */
export function chart(plot: Plot, computed: Computed[], scale: Scale, isExtended: boolean): { inner: string; height: number } {
  const heading = plot.heading ? text("heading", 0, 11, plot.heading, "start", WIDTH) : "";
  const legend = legendOf(plot.series, isExtended, plot.heading ? 11 + LINE : 11);
  const below = legend.below || (plot.heading ? LINE : 0);
  const draw = plot.levels.every(({ value }) => value !== null) ? curves : rows;
  const { inner, height } = draw(plot, computed, scale, below);
  return { inner: heading + legend.inner + inner, height };
}

export const name = ({ title, over, heading }: Plot): string => `${heading ? `${heading}: ` : ""}${title} over ${over}`;

type Drawn = { inner: string; height: number };

function curves({ levels, series, title, over }: Plot, computed: Computed[], { axis, marks }: Scale, below: number): Drawn {
  const texts = marks.map((mark) => digits(mark)), left = Math.max(...texts.map(width)) + 10, right = WIDTH - 8;
  const top = below + TITLE, bottom = top + HEIGHT, values = levels.map(({ value }) => value!);
  const shown = computed.filter(({ level }) => level.value !== null), more = shown.map(({ level }) => level.value!);
  const across = more.length ? widened(values, more) : swept(values);
  const x = (value: number): number => left + (right - left) * at(across, value), y = (value: number): number => bottom - HEIGHT * at(axis, value);
  const parts = [text("title", 0, top - 11, title + (axis.log ? ", log scale" : ""), "start", WIDTH)];
  for (const [place, mark] of marks.entries()) parts.push(line(left, y(mark), right, y(mark)), text("tick", left - 6, y(mark) + 4, texts[place]!, "end"));
  // Of the computed ones the last has a label, and comes first where there is no room for all.
  const last = shown[shown.length - 1]?.level, labelled = last ? [...levels, last] : levels;
  parts.push(...belowAxis(labelled.map(({ label }) => label), labelled.map(({ value }) => x(value!)), left, right, bottom));
  const order = levels.map((_, place) => place).sort((a, b) => values[a]! - values[b]!), shared = common(series);
  for (const run of shared.size < levels.length ? runs(order, shared) : []) {
    const begin = x(values[run[0]!]!) - MARGIN, end = x(values[run[run.length - 1]!]!) + MARGIN;
    parts.push(`<rect class="shade" x="${fixed(begin)}" y="${fixed(top)}" width="${fixed(end - begin)}" height="${HEIGHT}"/>`);
  }
  parts.push(text("title", WIDTH / 2, bottom + 34, over + (across.log ? ", log scale" : ""), "middle", WIDTH));
  for (const [index, one] of series.entries()) {
    const points = [...one.points].sort(([a], [b]) => values[a]! - values[b]!), means = new Map(points.map(([place, mean]) => [place, mean]));
    const drawn = points.length > 1 ? [`<polyline class="join" points="${points.map(([place, mean]) => `${fixed(x(values[place]!))},${fixed(y(mean))}`).join(" ")}"/>`] : [];
    const accepted = new Set((one.accepted ?? []).filter((place) => means.has(place)));
    for (const run of runs(order, accepted)) drawn.push(halo(run.map((place) => [x(values[place]!), y(means.get(place)!)])));
    for (const [place, mean, low, high] of points) {
      const bar = low === null || high === null ? "" : upright(x(values[place]!), y(Math.max(low, axis.low)), y(high));
      drawn.push(marked(bar, "mark", x(values[place]!), y(mean), index, tip(one.name, levels[place]!.label, mean, low, high)));
    }
    const others: string[] = [];
    for (const { level, isOfSeries, words, mean, low, high } of shown.filter((own) => own.series === one)) {
      const bar = Number.isFinite(low) ? upright(x(level.value!), y(Math.max(low, axis.low)), y(high), " computed-bar") : "";
      (isOfSeries ? drawn : others).push(marked(bar, "computed", x(level.value!), y(mean), index, tip(one.metric, words, mean, low, high)));
    }
    parts.push(group(index, drawn), ...others);
  }
  return { inner: parts.join(""), height: bottom + 40 };
}

/** Names from top to bottom, those that were computed after the others; a line of its own in a row for each series. */
function rows({ levels: stored, series, title, over }: Plot, computed: Computed[], { axis, marks }: Scale, below: number): Drawn {
  const more = [...new Map(computed.map(({ level }) => [level.text, level])).values()].filter(({ text }) => !stored.some((one) => one.text === text));
  const levels = [...stored, ...more], longest = Math.max(0, ...levels.map(({ label }) => width(label))), above = longest > 0.36 * WIDTH;
  const left = above ? 10 : longest + 12, right = WIDTH - 10, band = BAND * Math.max(series.length, 1), step = band + 8 + (above ? LINE : 0);
  const top = below + 8 + LINE, bottom = top + step * levels.length;
  const x = (value: number): number => left + (right - left) * at(axis, value);
  const y = (place: number, index: number): number => top + step * place + (above ? LINE : 0) + 4 + BAND * (index + 0.5);
  const parts = [text("title", 0, top - 8, over, "start", WIDTH), ...marks.map((mark) => line(x(mark), top, x(mark), bottom))];
  for (const [place, { label }] of levels.entries()) {
    const begin = top + step * place;
    parts.push(line(0, begin, WIDTH, begin));
    parts.push(above ? text("level", 0, begin + 12, label, "start", WIDTH) : text("level", left - 8, begin + 4 + band / 2 + 4, label, "end"));
  }
  parts.push(line(0, bottom, WIDTH, bottom), ...belowAxis(marks.map((mark) => digits(mark)), marks.map(x), left - 10, WIDTH, bottom));
  parts.push(text("title", WIDTH / 2, bottom + 34, title + (axis.log ? ", log scale" : ""), "middle", WIDTH));
  for (const [index, one] of series.entries()) {
    const drawn = one.points.filter(([place]) => one.accepted?.includes(place)).map(([place, mean]) => halo([[x(mean), y(place, index)]]));
    for (const [place, mean, low, high] of one.points) {
      const bar = low === null || high === null ? "" : levelBar(y(place, index), x(Math.max(low, axis.low)), x(high));
      drawn.push(marked(bar, "mark", x(mean), y(place, index), index, tip(one.name, levels[place]!.label, mean, low, high)));
    }
    const others: string[] = [];
    for (const { level, isOfSeries, words, mean, low, high } of computed.filter((own) => own.series === one)) {
      const place = levels.findIndex(({ text }) => text === level.text);
      const bar = Number.isFinite(low) ? levelBar(y(place, index), x(Math.max(low, axis.low)), x(high), " computed-bar") : "";
      (isOfSeries ? drawn : others).push(marked(bar, "computed", x(mean), y(place, index), index, tip(one.metric, words, mean, low, high)));
    }
    parts.push(group(index, drawn), ...others);
  }
  return { inner: parts.join(""), height: bottom + 40 };
}

/** A mark and a name for each series, as many a line as fit; then what is stored and what was computed. */
export function legendOf(series: { name: string }[], computed: boolean, top: number): { inner: string; below: number } {
  const own = series.map(({ name }, index) => ({ name, shape: group(index, [`<path class="mark" TO d="${SHAPES[index]!}"/>`]) })).filter(({ name }) => name);
  const kinds = [{ name: "stored", shape: `<path class="mark" TO d="${SHAPES[0]!}"/>` }, { name: "computed in this page", shape: `<path class="computed" TO d="${SHAPES[0]!}"/>` }];
  const entries = computed ? [...own, ...kinds] : own, parts: string[] = [];
  let x = 0, y = top;
  for (const { name, shape } of entries) {
    const wide = 16 + width(shortened(name, WIDTH - 16)) + 12;
    if (x && x + wide - 12 > WIDTH) [x, y] = [0, y + LINE];
    parts.push(shape.replace("TO", `transform="translate(${fixed(x + 6)} ${fixed(y - 4)})"`), text("name", x + 16, y, name, "start", WIDTH - 16));
    x += wide;
  }
  return { inner: parts.join(""), below: entries.length ? y + 6 : 0 };
}

/** A mark under the axis for each place, and those labels that fit. */
export function belowAxis(labels: string[], places: number[], left: number, right: number, bottom: number): string[] {
  const shown = fitting(labels, places, left, right).map((index) => {
    const [begin, end] = extent(labels[index]!, places[index]!, left, right);
    return text("tick", (begin + end) / 2, bottom + 17, labels[index]!, "middle");
  });
  return [...places.map((place) => line(place, bottom, place, bottom + 4)), ...shown];
}

/** The places that all series accept of which that is known. */
function common(series: Series[]): Set<number> {
  const known = series.flatMap(({ accepted }) => (accepted ? [accepted] : []));
  return new Set(known[0]?.filter((place) => known.every((accepted) => accepted.includes(place))) ?? []);
}

/** Accepted places that are next to each other in that order. */
function runs(order: number[], accepted: Set<number>): number[][] {
  const found: number[][] = [];
  for (const [index, place] of order.entries()) {
    if (!accepted.has(place)) continue;
    if (index && accepted.has(order[index - 1]!)) found[found.length - 1]!.push(place);
    else found.push([place]);
  }
  return found;
}

export const fixed = (value: number): string => value.toFixed(1);
export const escaped = (words: string): string => words.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);

/** Words at a place; what has no room is shortened, and shown whole on hovering. */
export function text(kind: string, x: number, y: number, words: string, anchor = "start", room = Infinity): string {
  const shown = width(words) <= room ? words : shortened(words, room), title = shown === words ? "" : `<title>${escaped(words)}</title>`;
  return `<text class="${kind}" x="${fixed(x)}" y="${fixed(y)}"${anchor === "start" ? "" : ` text-anchor="${anchor}"`}>${escaped(shown)}${title}</text>`;
}

export const line = (x1: number, y1: number, x2: number, y2: number): string => `<line class="grid" x1="${fixed(x1)}" y1="${fixed(y1)}" x2="${fixed(x2)}" y2="${fixed(y2)}"/>`;
export const group = (index: number, parts: string[]): string => `<g class="s${index % SHAPES.length}">${parts.join("")}</g>`;
const upright = (x: number, low: number, high: number, kind = ""): string => `<path class="bar${kind}" d="M${fixed(x - 3)} ${fixed(high)}h6m-3 0V${fixed(low)}m-3 0h6"/>`;
export const levelBar = (y: number, low: number, high: number, kind = ""): string => `<path class="bar${kind}" d="M${fixed(low)} ${fixed(y - 3)}v6m0 -3H${fixed(high)}m0 -3v6"/>`;
const halo = ([first, ...others]: [number, number][]): string => `<path class="halo" d="M${spot(first!)}${others.map((one) => `L${spot(one)}`).join("") || "h0"}"/>`;
const spot = ([x, y]: [number, number]): string => `${fixed(x)} ${fixed(y)}`;

export function marked(bar: string, kind: "mark" | "computed", x: number, y: number, index: number, words: string): string {
  const larger = kind === "computed" ? " scale(1.35)" : "";
  return `<g>${bar}<path class="${kind}" transform="translate(${spot([x, y])})${larger}" d="${SHAPES[index % SHAPES.length]!}"/><title>${escaped(words)}</title></g>`;
}

function tip(name: string, level: string, mean: number, low: number | null, high: number | null): string {
  const bounds = low === null || high === null || !Number.isFinite(low) ? "" : ` [${digits(low)}, ${digits(high)}]`;
  return `${[name, level].filter(Boolean).join(", ")}: ${digits(mean)}${bounds}`;
}
