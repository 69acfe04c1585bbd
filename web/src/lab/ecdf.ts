// Waits from a wakeup to a processor, as the empirical distribution of each job: the share of waits up to a length, lengths by powers of ten.

import { colours, paper } from "../dom";
import { duration } from "../units";

const HIGH = 240, LEFT = 44, BOTTOM = 24, TOP = 8, RIGHT = 10;
/** Colours of jobs, as in the timeline. */
const SERIES = 6;

export interface Curve {
  job: string;
  /** Place of the job among all, which decides its colour. */
  place: number;
  /** The second of two settings is dashed. */
  dashed: boolean;
  points: [seconds: number, share: number][];
}

export function draw(canvas: HTMLCanvasElement, curves: Curve[]): void {
  const { pen, wide } = paper(canvas, HIGH), colour = colours();
  pen.font = "11px system-ui, sans-serif";
  const lengths = curves.flatMap(({ points }) => points.map(([seconds]) => seconds * 1e9)).filter((ns) => ns > 0);
  if (!lengths.length) {
    pen.fillStyle = colour("dim");
    return pen.fillText("no task waited after a wakeup", LEFT, HIGH / 2);
  }
  const low = Math.floor(Math.log10(least(lengths))), top = Math.max(low + 1, Math.ceil(Math.log10(most(lengths))));
  // Waits of no length are at the left edge.
  const x = (seconds: number): number => LEFT + (Math.max(0, Math.log10(Math.max(seconds * 1e9, 10 ** low)) - low) / (top - low)) * (wide - LEFT - RIGHT);
  const y = (share: number): number => TOP + (1 - share) * (HIGH - TOP - BOTTOM);
  axes(pen, colour, wide, low, top, x, y);
  for (const curve of curves) line(pen, colour, curve, x, y);
}

const least = (values: number[]): number => values.reduce((a, b) => Math.min(a, b));
const most = (values: number[]): number => values.reduce((a, b) => Math.max(a, b));

type Scale = (value: number) => number;

function axes(pen: CanvasRenderingContext2D, colour: (name: string) => string, wide: number, low: number, top: number, x: Scale, y: Scale): void {
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    pen.fillStyle = colour("line");
    pen.fillRect(LEFT, Math.round(y(share)), wide - LEFT - RIGHT, 1);
    pen.fillStyle = colour("dim");
    pen.fillText(`${100 * share} %`, 2, y(share) + 4);
  }
  let free = 0;
  for (let power = low; power <= top; power++) {
    const px = x(10 ** (power - 9)), text = duration(10 ** power), half = pen.measureText(text).width / 2;
    pen.fillStyle = colour("line");
    pen.fillRect(Math.round(px), TOP, 1, HIGH - TOP - BOTTOM);
    const left = Math.min(px - half, wide - 2 * half);
    if (left < free) continue;
    pen.fillStyle = colour("dim");
    pen.fillText(text, left, HIGH - 8);
    free = left + 2 * half + 8;
  }
}

// A distribution of values rises in steps: at each of them, by the share of the waits of that length.
function line(pen: CanvasRenderingContext2D, colour: (name: string) => string, curve: Curve, x: Scale, y: Scale): void {
  pen.strokeStyle = colour(`s${curve.place % SERIES}`);
  pen.lineWidth = 1.8;
  pen.setLineDash(curve.dashed ? [6, 4] : []);
  pen.beginPath();
  let before = 0;
  for (const [seconds, share] of curve.points) {
    pen.lineTo(x(seconds), y(before));
    pen.lineTo(x(seconds), y(share));
    before = share;
  }
  pen.stroke();
  pen.setLineDash([]);
}
