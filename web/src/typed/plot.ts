// Figures of what was typed: lines over axes with whole numbers, and bars of who had the processor.

import { colours, make, paper } from "../dom";
import { digits } from "../units";

const HIGH = 240, LEFT = 48, RIGHT = 12, TOP = 24, BOTTOM = 36;
/** Height of a lane of bars, and of the times below it. */
const LANE = 26, TIMES = 22, NAMES = 18;
/** Colours of series. More share them. */
const SERIES = 6;
/** Marks at most on an axis, about. */
const MARKS = 7;

export interface Line {
  name: string;
  points: [x: number, y: number][];
}

/** A bar of a lane. */
export interface Bar {
  name: string;
  /** Decides its colour. */
  place: number;
  from: number;
  to: number;
}

/** A step of 1, 2 or 5 times a power of ten, so that an axis has few marks. */
function step(span: number): number {
  const least = Math.max(1e-9, span / MARKS), power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((by) => by * power).find((one) => one >= least)!;
}

function marks(from: number, to: number): number[] {
  const by = Math.max(step(to - from), Number.MIN_VALUE);
  return Array.from({ length: Math.floor((to - from) / by + 1e-9) + 1 }, (_, place) => from + place * by);
}

/** Draws lines; the second is dashed. The y axis begins at 0, the x axis at `from`. */
export function lines(canvas: HTMLCanvasElement, all: Line[], from: number, x: string, y: string): void {
  const { pen, wide } = paper(canvas, HIGH), colour = colours(), points = all.flatMap((one) => one.points);
  const right = Math.max(from + 1, ...points.map((point) => point[0])), top = Math.max(1, ...points.map((point) => point[1]));
  const px = (value: number): number => LEFT + ((value - from) / (right - from)) * (wide - LEFT - RIGHT);
  const py = (value: number): number => HIGH - BOTTOM - (value / top) * (HIGH - TOP - BOTTOM);
  pen.font = "11px system-ui, sans-serif";
  pen.lineWidth = 1;
  for (const value of marks(0, top)) {
    pen.fillStyle = colour("line");
    pen.fillRect(LEFT, Math.round(py(value)), wide - LEFT - RIGHT, 1);
    written(pen, colour, digits(value), LEFT - 6, py(value) + 4, "right");
  }
  for (const value of marks(from, right)) written(pen, colour, digits(value), px(value), HIGH - BOTTOM + 14, "center");
  written(pen, colour, y, 2, 12, "left");
  written(pen, colour, x, wide - RIGHT, HIGH - 4, "right");
  all.forEach((one, place) => {
    pen.strokeStyle = pen.fillStyle = colour(`s${place % SERIES}`);
    pen.lineWidth = 1.8;
    pen.setLineDash(place ? [6, 4] : []);
    pen.beginPath();
    for (const [at, value] of one.points) pen.lineTo(px(at), py(value));
    pen.stroke();
    pen.setLineDash([]);
    for (const [at, value] of one.points) dot(pen, px(at), py(value), place);
  });
}

/** A disc, or a square for the second line. */
function dot(pen: CanvasRenderingContext2D, x: number, y: number, place: number): void {
  if (place) return pen.fillRect(x - 3, y - 3, 6, 6);
  pen.beginPath();
  pen.arc(x, y, 3, 0, 2 * Math.PI);
  pen.fill();
}

function written(pen: CanvasRenderingContext2D, colour: (name: string) => string, text: string, x: number, y: number, align: CanvasTextAlign): void {
  pen.fillStyle = colour("dim");
  pen.textAlign = align;
  pen.fillText(text, x, y);
  pen.textAlign = "left";
}

/** Draws lanes of bars over one axis of time in ms, each with the times at which its bars begin and end. */
export function lanes(canvas: HTMLCanvasElement, all: { name: string; bars: Bar[] }[]): void {
  const one = NAMES + LANE + TIMES, { pen, wide } = paper(canvas, Math.max(1, all.length * one)), colour = colours();
  const last = Math.max(1e-9, ...all.flatMap(({ bars }) => bars.map(({ to }) => to)));
  const px = (ms: number): number => 4 + (ms / last) * (wide - 8);
  pen.font = "12px system-ui, sans-serif";
  all.forEach(({ name, bars }, place) => {
    const y = place * one + NAMES;
    pen.fillStyle = colour("ink");
    pen.fillText(name, 4, y - 5);
    pen.fillStyle = colour("lane");
    pen.fillRect(4, y, wide - 8, LANE);
    for (const bar of bars) barOf(pen, colour, bar, px(bar.from), px(bar.to), y);
    let free = 0;
    for (const ms of new Set([0, ...bars.flatMap(({ from, to }) => [from, to])])) {
      const text = digits(ms), half = pen.measureText(text).width / 2, x = Math.min(wide - 2 - half, Math.max(2 + half, px(ms)));
      if (x - half < free) continue;
      written(pen, colour, text, x, y + LANE + 14, "center");
      free = x + half + 6;
    }
  });
}

function barOf(pen: CanvasRenderingContext2D, colour: (name: string) => string, { name, place }: Bar, left: number, right: number, y: number): void {
  pen.fillStyle = colour(`s${place % SERIES}`);
  pen.fillRect(left, y, Math.max(0.6, right - left - (right - left > 3 ? 1 : 0)), LANE);
  if (pen.measureText(name).width > right - left - 6) return;
  pen.fillStyle = colour(`on${place % SERIES}`);
  pen.fillText(name, left + 3, y + LANE / 2 + 4);
}

/** The names of colours, in words. */
export const legend = (names: string[], dashed: boolean): HTMLElement[] =>
  names.map((name, place) => make("span", {}, make("span", { class: `swatch c${place % SERIES}`, "aria-hidden": "true" }), ` ${name}${dashed && place ? ", dashed" : ""}`));
