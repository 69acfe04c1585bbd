// Differences from a base in % of it, as python/schedlab/pictures/effects.py draws them, with some that this page has computed.
//
// The stored ones have verdicts, for which all differences of a result are judged together. A computed one has none: its mark is larger and
// hollow, without a colour. A test holds a drawing without computed differences to Python's.

import { aroundZero, at, width, type Axis } from "./axes";
import { belowAxis, fixed, group, levelBar, line, LINE, marked, SHAPES, text, TITLE, WIDTH } from "./chart";
import { digits } from "../units";

/** Height of a row, and the names of the kinds of verdicts, by the place of their colour. */
const ROW = 18, KINDS: Record<number, string> = { 0: "real", 1: "same, or no worse", 4: "not shown" };

/** A stored difference in % of its base, with bounds and the kind of its verdict. */
export type Stored = [label: string, mean: number, low: number | null, high: number | null, kind: number];

/** What cells are compared with: its factors, and those of them that its whole group has. */
export interface Base {
  factors: Record<string, string>;
  given: Record<string, string>;
}

/** A drawing as python/schedlab/report/live.py gives it. */
export interface Effects {
  metric: string;
  base: string;
  within: number | null;
  rows: Stored[];
  bases: Base[];
}

/** A computed difference, in % of its base; bounds are NaN for a single pair. */
export interface Computed {
  label: string;
  mean: number;
  low: number;
  high: number;
  n: number;
}

interface Row {
  label: string;
  mean: number;
  low: number;
  high: number;
  /** Null for a computed one. */
  kind: number | null;
}

/** The inner of the drawing, and its height. */
export function effects({ base, within, rows: stored }: Effects, computed: Computed[], isExtended: boolean): { inner: string; height: number } {
  const known = stored.map(([label, mean, low, high, kind]): Row => ({ label, mean, low: low ?? NaN, high: high ?? NaN, kind }));
  const rows = [...known, ...computed.map((one): Row => ({ ...one, kind: null }))].sort((a, b) => Math.abs(b.mean) - Math.abs(a.mean));
  const bounds = within === null ? [] : [-within, within], ends = [0, ...rows.flatMap(({ mean, low, high }) => [mean, low, high]).filter(Number.isFinite), ...bounds];
  const low = Math.min(...ends), high = Math.max(...ends), marks = high > low ? aroundZero(low, high) : [-1, 0, 1];
  const axis: Axis = { low: marks[0]!, high: marks[marks.length - 1]!, log: false };
  // Long labels stand above their bars.
  const longest = Math.max(0, ...rows.map(({ label }) => width(label))) + 12, above = longest > 0.5 * WIDTH;
  const left = above ? 10 : longest, row = above ? ROW + LINE : ROW, right = WIDTH - 10;
  const x = (value: number): number => left + (right - left) * at(axis, value);
  const words = `bars: 95 % intervals${within === null ? "" : `; lines: ±${digits(within)} %`}`;
  const parts = [text("title", 0, 11, `difference from ${base}, %`, "start", WIDTH), text("tick", 0, 26, words)];
  const kinds = [...new Set(known.map(({ kind }) => kind!))].sort((a, b) => a - b), legend = legendOf(kinds, isExtended, 26 + LINE);
  parts.push(...legend.parts);
  const top = TITLE + 16 + legend.high, bottom = top + row * rows.length;
  parts.push(...marks.map((mark) => line(x(mark), top, x(mark), bottom)));
  for (const mark of [0, ...bounds]) parts.push(`<path class="join" d="M${fixed(x(mark))} ${fixed(top)}V${fixed(bottom)}"/>`);
  parts.push(...belowAxis(marks.map((mark) => digits(mark)), marks.map(x), left - 10, WIDTH, bottom));
  for (const [place, one] of rows.entries()) {
    const y = top + row * (place + 1) - ROW / 2;
    parts.push(above ? text("level", 0, y - 10, one.label, "start", WIDTH) : text("level", left - 8, y + 4, one.label, "end"), bar(one, x, y));
  }
  return { inner: parts.join(""), height: bottom + 24 };
}

function bar({ label, mean, low, high, kind }: Row, x: (value: number) => number, y: number): string {
  const isBounded = Number.isFinite(low), bounds = isBounded ? ` [${digits(low)}, ${digits(high)}]` : "", isComputed = kind === null;
  const drawn = isBounded ? levelBar(y, x(low), x(high), isComputed ? " computed-bar" : "") : "";
  const tip = `${label}: ${digits(mean)} %${bounds}, ${isComputed ? "computed in this page" : KINDS[kind]}`;
  return isComputed ? marked(drawn, "computed", x(mean), y, 0, tip) : group(kind, [marked(drawn, "mark", x(mean), y, kind, tip)]);
}

/** A mark and the words of each kind of verdict; then of what was computed, in a line of its own. */
function legendOf(kinds: number[], isExtended: boolean, y: number): { parts: string[]; high: number } {
  const parts: string[] = [];
  let x = 0;
  for (const kind of kinds) {
    const shape = `<path class="mark" transform="translate(${fixed(x + 6)} ${fixed(y - 4)})" d="${SHAPES[kind]!}"/>`;
    parts.push(group(kind, [shape]), text("name", x + 16, y, KINDS[kind]!));
    x += 16 + width(KINDS[kind]!) + 12;
  }
  const high = kinds.length ? LINE : 0;
  if (!isExtended) return { parts, high };
  parts.push(`<path class="computed" transform="translate(6 ${fixed(y + high - 4)})" d="${SHAPES[0]!}"/>`, text("name", 16, y + high, "computed in this page; the others are stored"));
  return { parts, high: high + LINE };
}
