// Heat maps over two swept factors, as python/schedlab/pictures/heat.py draws them, with cells that this page has computed.
//
// A computed cell has a dashed frame; it stands on the stored cell of its levels, or in a column or a row of its own. The colours have one scale
// for all cells of a figure, computed ones too. A test holds a map without computed cells to Python's.

import { at, extent, fitting, LEAST, SPREAD, width, type Axis } from "./axes";
import { escaped, fixed, line, LINE, text, WIDTH, type Level } from "./chart";
import { digits } from "../units";

/** Columns next to each other, the height of a row, and the widest tile. */
const COLUMNS = 8, ROW = 24, WIDEST = 64;
/** Colours, and digits of a number. */
const STEPS = 7, DIGITS = 3;

/** A stored mean: places of its levels, bounds, of how many runs, "best" or "acceptable", and what is said of it on hovering. */
export type Stored = [column: number, row: number, mean: number, low: number | null, high: number | null, n: number, mark: string, tip: string];

/** One map: the levels of the further factors, and its tiles. */
export interface HeatMap {
  heading: string;
  held: Record<string, string>;
  tiles: Stored[];
}

/** The maps of a metric as python/schedlab/report/live.py gives them. `by` makes their unit of what the engine reports. */
export interface Heat {
  metric: string;
  over: [string, string];
  columns: Level[];
  rows: Level[];
  title: string;
  by: number;
  maps: HeatMap[];
}

/** A cell that was computed here; bounds are NaN for a single run. */
export interface Computed {
  column: Level;
  row: Level;
  mean: number;
  low: number;
  high: number;
  words: string;
}

interface Tile {
  column: number;
  row: number;
  value: number;
  mark: string;
  tip: string;
  isComputed: boolean;
}

type Drawn = { parts: string[]; top: number };

export function scaleFor({ maps }: Heat, computed: Computed[]): Axis {
  const values = [...maps.flatMap(({ tiles }) => tiles.map(([, , mean]) => mean)), ...computed.map(({ mean }) => mean)];
  const low = Math.min(...values), high = Math.max(...values);
  if (low === high) return { low, high: low + (Math.abs(low) || 1), log: false };
  return { low, high, log: low > LEAST && high >= SPREAD * low };
}

/** The inner of a map and its height. The legend says what is computed if a map of the figure has such cells. */
export function heat(of: Heat, { heading, tiles: stored }: HeatMap, computed: Computed[], scale: Axis, isExtended: boolean): { inner: string; height: number } {
  const columns = extended(of.columns, computed.map(({ column }) => column)), rows = extended(of.rows, computed.map(({ row }) => row));
  const known = stored.map(([column, row, value, , , , mark, tip]): Tile => ({ column, row, value, mark, tip, isComputed: false }));
  const tiles = [...known, ...computed.map((one) => tileOf(one, placeOf(columns, one.column), placeOf(rows, one.row), known))];
  const parts: string[] = [], down = order(rows);
  let top = 0;
  for (const [words, kind] of [[heading, "heading"], [of.title + (scale.log ? ", log scale" : ""), "title"]] as const) {
    if (!words) continue;
    parts.push(text(kind, 0, top + 11, words, "start", WIDTH));
    top += LINE;
  }
  const marks = new Set(known.map(({ mark }) => mark)), legend = legendOf(scale, marks, isExtended, top);
  parts.push(...legend.parts, text("title", 0, legend.top + 11, of.over[1], "start", WIDTH));
  top = legend.top + LINE + 3;
  const places = order(columns), numbered = rows.every(({ value }) => value !== null) ? down.reverse() : down;
  for (let begin = 0; begin < places.length; begin += COLUMNS) {
    const drawn = strip(places.slice(begin, begin + COLUMNS), numbered, columns, rows, tiles, scale, top);
    parts.push(...drawn.parts);
    top = drawn.top;
  }
  parts.push(text("title", WIDTH / 2, top + 11, of.over[0], "middle", WIDTH));
  return { inner: parts.join(""), height: top + 18 };
}

/** A computed tile; it lies on a stored one that has its levels, and keeps the mark of that. */
function tileOf({ mean: value, low, high, words }: Computed, column: number, row: number, known: Tile[]): Tile {
  const below = known.find((one) => one.column === column && one.row === row), bounds = Number.isFinite(low) ? ` [${digits(low)}, ${digits(high)}]` : "";
  return { column, row, value, mark: below?.mark ?? "", tip: `${words}: ${digits(value)}${bounds}`, isComputed: true };
}

const isSame = (a: Level, b: Level): boolean => (a.value === null ? a.text === b.text : a.value === b.value);
const placeOf = (levels: Level[], level: Level): number => levels.findIndex((one) => isSame(one, level));

/** The levels, and those that were computed and are not among them. */
function extended(levels: Level[], more: Level[]): Level[] {
  return more.reduce((all, level) => (placeOf(all, level) < 0 ? [...all, level] : all), levels);
}

/** The places of numbers in order; names stay in theirs. */
function order(levels: Level[]): number[] {
  const places = levels.map((_, place) => place);
  return levels.every(({ value }) => value !== null) ? places.sort((a, b) => levels[a]!.value! - levels[b]!.value!) : places;
}

/** The steps with the values at their ends, and the marks that there are. */
function legendOf(scale: Axis, marks: Set<string>, isExtended: boolean, begin: number): Drawn {
  const low = digits(scale.low, DIGITS), high = digits(scale.high, DIGITS), parts = [text("tick", 0, begin + 12, low)];
  let x = width(low) + 6, top = begin;
  for (let step = 0; step < STEPS; step++) parts.push(`<rect class="h${step}" x="${fixed(x + 13 * step)}" y="${fixed(top + 3)}" width="13" height="11"/>`);
  x += 13 * STEPS + 6;
  parts.push(text("tick", x, top + 12, high));
  x += width(high) + 14;
  const entry = (words: string, shape: (x: number, y: number) => string): void => {
    if (x + 18 + width(words) > WIDTH) [x, top] = [0, top + LINE];
    parts.push(shape(x, top), text("name", x + 18, top + 12, words));
    x += 18 + width(words) + 14;
  };
  if (marks.has("best")) entry("best", (x, y) => frame(x, y + 2, 12, 12));
  if (marks.has("acceptable")) entry("acceptable", (x, y) => dot(x + 6, y + 8, "tick"));
  if (isExtended) entry("computed in this page; others stored", (x, y) => dashed(x, y + 2, 12, 12, "ink"));
  return { parts, top: top + LINE + 6 };
}

/** Some of the columns next to each other, with all rows. */
function strip(places: number[], down: number[], columns: Level[], rows: Level[], tiles: Tile[], scale: Axis, top: number): Drawn {
  const left = Math.min(0.36 * WIDTH, Math.max(...rows.map(({ label }) => width(label))) + 8), wide = Math.min((WIDTH - left) / places.length, WIDEST);
  const x = new Map(places.map((place, at) => [place, left + wide * at])), y = new Map(down.map((place, at) => [place, top + ROW * at]));
  const parts = down.map((place) => text("level", left - 6, y.get(place)! + 16, rows[place]!.label, "end", left - 6));
  for (const tile of tiles) if (x.has(tile.column) && Number.isFinite(tile.value)) parts.push(drawn(tile, x.get(tile.column)!, y.get(tile.row)!, wide, scale));
  const labels = places.map((place) => columns[place]!.label), middles = places.map((place) => x.get(place)! + wide / 2), end = left + wide * places.length;
  let bottom = top + ROW * down.length;
  if (fitting(labels, middles, 0, WIDTH).length === labels.length) {
    for (const [at, label] of labels.entries()) {
      const [begin, stop] = extent(label, middles[at]!, 0, WIDTH);
      parts.push(text("tick", (begin + stop) / 2, bottom + 14, label, "middle"));
    }
    return { parts: [...parts, line(left, bottom, end, bottom)], top: bottom + LINE + 8 };
  }
  // Labels without room are numbered and listed.
  parts.push(...middles.map((middle, at) => text("tick", middle, bottom + 14, String(at + 1), "middle")));
  bottom += LINE + 4;
  for (const [at, label] of labels.entries()) {
    parts.push(text("level", left, bottom + 11, `${at + 1}  ${label}`, "start", WIDTH - left));
    bottom += LINE;
  }
  return { parts, top: bottom + 6 };
}

function drawn({ value, mark, tip, isComputed }: Tile, x: number, y: number, wide: number, scale: Axis): string {
  const step = Math.min(Math.max(Math.trunc(at(scale, value) * STEPS), 0), STEPS - 1), words = digits(value, DIGITS);
  let inner = `<rect class="h${step}" x="${fixed(x + 0.5)}" y="${fixed(y + 0.5)}" width="${fixed(wide - 1)}" height="${ROW - 1}"/>`;
  if (width(words) <= wide) inner += `<text class="i${step}" x="${fixed(x + wide / 2)}" y="${fixed(y + 16)}" text-anchor="middle" style="fill: var(--i${step})">${escaped(words)}</text>`;
  if (mark === "best") inner += frame(x + 1.5, y + 1.5, wide - 3, ROW - 3);
  if (mark === "acceptable") inner += dot(x + wide - 5, y + 5, `i${step}`);
  if (isComputed) inner += dashed(x + 4, y + 4, wide - 8, ROW - 8, `i${step}`);
  return `<g>${inner}<title>${escaped(tip)}</title></g>`;
}

const frame = (x: number, y: number, wide: number, high: number): string => `<rect class="best" x="${fixed(x)}" y="${fixed(y)}" width="${fixed(wide)}" height="${fixed(high)}"/>`;
const dot = (x: number, y: number, ink: string): string => `<circle class="dot ${ink}" cx="${fixed(x)}" cy="${fixed(y)}" r="2.4"/>`;
const dashed = (x: number, y: number, wide: number, high: number, ink: string): string =>
  `<rect class="framed" x="${fixed(x)}" y="${fixed(y)}" width="${fixed(wide)}" height="${fixed(high)}" style="stroke: var(--${ink})"/>`;
