// The schedule of a run as a picture: a lane for each processor, and one for each job or task, from the whole run down to nanoseconds.
//
// A job runs while at least one of its tasks does: the spans of its lane are the union of theirs.
//
// Spans of a lane do not overlap and are in order of time, so what a lane did until a moment t is a sum over whole spans and a part of one:
//
//   C(t) = sum of lengths of the spans before the last one that begins until t, and min(its length, t - its begin)
//
// Where a lane has more spans than pixels, a pixel shows (C(t1) - C(t0)) / (t1 - t0); else each span is drawn. So a frame costs
// as much as the picture is wide, not as the run is long.

import { colours, paper } from "./dom";
import { duration, moment } from "./units";
import type { Run, Spans } from "./types";
import type { View } from "./view";

const LANE = 16, GAP = 3, AXIS = 22;
/** Lanes of processors, and of jobs or tasks: those of more are counted. */
const PROCESSORS = 32, ROWS = 24, ROWS_NARROW = 16;
/** Windows below that are narrow, px. */
const NARROW = 500;
/** Colours of jobs; more than these share them. */
const SERIES = 6;

/** Whether a run's jobs or its tasks have lanes. */
export type Rows = "jobs" | "tasks";

interface Lane {
  label: string;
  kind: "processor" | "job" | "task";
  /** Numbers of the spans, in order of time. */
  order: Uint32Array;
  from: Float64Array;
  to: Float64Array;
  /** Sums of lengths: of the spans before each, and of all. */
  before: Float64Array;
}

/** How many values of a sorted list are at most x. */
function upTo(list: Float64Array, x: number): number {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle]! <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

function busy(lane: Lane, t: number): number {
  const k = upTo(lane.from, t) - 1;
  return k < 0 ? 0 : lane.before[k]! + Math.min(lane.to[k]! - lane.from[k]!, t - lane.from[k]!);
}

/** The numbers of the spans of each value of a column, in order of time. */
function grouped(column: Uint32Array | Uint16Array, count: number): (value: number) => Uint32Array {
  const starts = new Uint32Array(count + 1);
  for (const value of column) starts[value + 1]!++;
  for (let k = 0; k < count; k++) starts[k + 1]! += starts[k]!;
  const order = new Uint32Array(column.length), next = starts.slice();
  for (let span = 0; span < column.length; span++) order[next[column[span]!]!++] = span;
  return (value) => order.subarray(starts[value]!, starts[value + 1]!);
}

function laneOf(label: string, kind: Lane["kind"], order: Uint32Array, spans: Spans): Lane {
  const n = order.length, from = new Float64Array(n), to = new Float64Array(n);
  for (let k = 0; k < n; k++) {
    from[k] = spans.begin[order[k]!]!;
    to[k] = spans.end[order[k]!]!;
  }
  return summed(label, kind, order, from, to);
}

function summed(label: string, kind: Lane["kind"], order: Uint32Array, from: Float64Array, to: Float64Array): Lane {
  const before = new Float64Array(order.length + 1);
  for (let k = 0; k < order.length; k++) before[k + 1] = before[k]! + to[k]! - from[k]!;
  return { label, kind, order, from, to, before };
}

/** The lane of a job. Spans come in the order of their ends, so they are joined from the last one back. */
function union(label: string, order: Uint32Array, spans: Spans): Lane {
  const n = order.length, from = new Float64Array(n), to = new Float64Array(n), kept = new Uint32Array(n);
  let first = n;
  for (let k = n - 1; k >= 0; k--) {
    const begin = spans.begin[order[k]!]!, end = spans.end[order[k]!]!;
    if (first < n && end >= from[first]!) from[first] = Math.min(from[first]!, begin);
    else {
      first -= 1;
      from[first] = begin;
      to[first] = end;
      kept[first] = order[k]!;
    }
  }
  return summed(label, "job", kept.subarray(first), from.subarray(first), to.subarray(first));
}

/** The labels of the lanes that were busy longest. */
function longest(lanes: Lane[], most: number): Set<string> {
  const all = (lane: Lane): number => lane.before[lane.order.length]!;
  return new Set([...lanes].sort((a, b) => all(b) - all(a)).slice(0, most).map((lane) => lane.label));
}

/** Names of tasks: those of a job with several are numbered. */
function taskNames(run: Run): string[] {
  const counts = new Map<string, number>();
  for (const task of run.tasks) counts.set(task.name, (counts.get(task.name) ?? 0) + 1);
  const seen = new Map<string, number>();
  return run.tasks.map((task) => {
    const number = (seen.get(task.name) ?? 0) + 1;
    seen.set(task.name, number);
    return counts.get(task.name)! > 1 ? `${task.name} ${number}` : task.name;
  });
}

export class Timeline {
  private processors: Lane[] = [];
  /** The lanes of jobs or tasks. */
  private rows: Lane[] = [];
  /** How many of these ran at all. */
  private ran = 0;
  private run: Run | null = null;
  private names: string[] = [];
  private colourOf: (task: number) => number = () => 0;
  private shown: { lane: Lane; y: number }[] = [];
  private gutter = 0;
  private wide = 0;

  constructor(private readonly canvas: HTMLCanvasElement, private readonly view: View, private readonly say: (text: string) => void) {
    this.listen();
  }

  /** Takes a run; jobs have colours in the order of `jobs`. Rows of these names have lanes, or else those that ran longest. */
  show(run: Run, jobs: string[], rows: Rows, named: Set<string> | null): void {
    const { spans } = run;
    this.run = run;
    this.names = taskNames(run);
    this.colourOf = (task) => Math.max(0, jobs.indexOf(run.tasks[task]!.job ?? "")) % SERIES;
    const ofProcessor = grouped(spans.processor, run.processors);
    this.processors = Array.from({ length: Math.min(PROCESSORS, run.processors) }, (_, cpu) => laneOf(`processor ${cpu}`, "processor", ofProcessor(cpu), spans));
    const lanes = (rows === "jobs" ? this.ofJobs(run, jobs) : this.ofTasks(run)).filter((lane) => lane.order.length);
    const most = named ?? longest(lanes, this.room());
    this.ran = lanes.length;
    this.rows = lanes.filter((lane) => most.has(lane.label));
  }

  /** The jobs or tasks that have lanes. */
  named(): Set<string> {
    return new Set(this.rows.map((lane) => lane.label));
  }

  private ofTasks({ tasks, spans }: Run): Lane[] {
    const of = grouped(spans.task, tasks.length);
    return tasks.map((_, task) => laneOf(this.names[task]!, "task", of(task), spans));
  }

  private ofJobs({ tasks, spans }: Run, jobs: string[]): Lane[] {
    // Tasks of the kernel have no job: they are a group of their own.
    const places = Uint32Array.from(tasks, ({ job }) => (job === null ? jobs.length : jobs.indexOf(job)));
    const of = grouped(spans.task.map((task) => places[task]!), jobs.length + 1);
    return [...jobs, "kernel"].map((job, place) => union(job, of(place), spans));
  }

  /** What the picture leaves out, in words; empty if nothing. */
  left(): string {
    if (!this.run) return "";
    const said: string[] = [], left = this.ran - this.rows.length;
    if (this.run.processors > PROCESSORS) said.push(`${this.run.processors - PROCESSORS} more processors`);
    if (left > 0) said.push(`${left} of ${this.ran} lanes, which ran less`);
    if (this.run.left_out > 0) said.push(`${this.run.left_out} spans at the end of the run`);
    return said.length ? `Not drawn: ${said.join("; ")}.` : "";
  }

  /** The spans in view, at most `most`: begin, length, processor, task. */
  listed(most: number): { rows: string[][]; more: number } {
    if (!this.run) return { rows: [], more: 0 };
    const { spans } = this.run, found: number[] = [];
    for (const lane of this.processors) {
      const [begin, end] = this.seen(lane);
      found.push(...lane.order.subarray(begin, Math.min(end, begin + most)));
    }
    const total = this.processors.reduce((sum, lane) => sum + this.seen(lane)[1] - this.seen(lane)[0], 0);
    found.sort((a, b) => spans.begin[a]! - spans.begin[b]!).splice(most);
    const row = (i: number): string[] => [moment(spans.begin[i]!, 1000), duration(spans.end[i]! - spans.begin[i]!), String(spans.processor[i]), this.names[spans.task[i]!]!];
    return { rows: found.map(row), more: total - found.length };
  }

  draw(): void {
    const narrow = this.canvas.clientWidth < NARROW;
    const lanes = [...this.processors, ...this.rows];
    const { pen, wide } = paper(this.canvas, AXIS + lanes.length * (LANE + GAP) + GAP);
    this.wide = wide;
    this.gutter = narrow ? 84 : 120;
    const colour = colours();
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    this.axis(pen, colour, lanes.length);
    this.shown = lanes.map((lane, place) => ({ lane, y: AXIS + GAP + place * (LANE + GAP) }));
    for (const { lane, y } of this.shown) this.lane(pen, colour, lane, y);
  }

  private room(): number {
    return document.documentElement.clientWidth < NARROW ? ROWS_NARROW : ROWS;
  }

  private plot(): number {
    return Math.max(1, this.wide - this.gutter);
  }

  private x(t: number): number {
    return this.gutter + ((t - this.view.from) / (this.view.to - this.view.from)) * this.plot();
  }

  private time(px: number): number {
    return this.view.from + ((px - this.gutter) / this.plot()) * (this.view.to - this.view.from);
  }

  private axis(pen: CanvasRenderingContext2D, colour: (name: string) => string, lanes: number): void {
    const span = this.view.to - this.view.from, raw = span / Math.max(2, Math.floor(this.plot() / 110));
    const power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw * 0.999)!;
    const high = AXIS + lanes * (LANE + GAP) + GAP;
    pen.fillStyle = colour("dim");
    for (let k = Math.ceil(this.view.from / step); k * step <= this.view.to; k++) {
      const px = Math.round(this.x(k * step)), text = moment(k * step, step), half = pen.measureText(text).width / 2;
      pen.fillRect(px, AXIS - 5, 1, 5);
      pen.globalAlpha = 0.25;
      pen.fillRect(px, AXIS, 1, high);
      pen.globalAlpha = 1;
      if (px + half < this.wide) pen.fillText(text, Math.max(this.gutter, px - half), 8);
    }
  }

  private lane(pen: CanvasRenderingContext2D, colour: (name: string) => string, lane: Lane, y: number): void {
    pen.fillStyle = colour("lane");
    pen.fillRect(this.gutter, y, this.plot(), LANE);
    pen.fillStyle = colour("ink");
    pen.fillText(lane.label, 0, y + LANE / 2 + 1, this.gutter - 6);
    const [begin, end] = this.seen(lane);
    if (end - begin > this.plot()) this.dense(pen, colour, lane, y);
    else this.each(pen, colour, lane, y, begin, end);
  }

  /** The spans that are seen: the first, and one beyond the last. */
  private seen(lane: Lane): [number, number] {
    const end = upTo(lane.from, this.view.to), first = Math.max(0, upTo(lane.from, this.view.from) - 1);
    return [first < end && lane.to[first]! <= this.view.from ? first + 1 : first, end];
  }

  private dense(pen: CanvasRenderingContext2D, colour: (name: string) => string, lane: Lane, y: number): void {
    const columns = Math.floor(this.plot()), each = (this.view.to - this.view.from) / columns;
    let before = busy(lane, this.view.from);
    pen.fillStyle = colour(lane.kind === "processor" ? "user" : `s${this.colourOf(this.taskOf(lane, 0))}`);
    for (let k = 0; k < columns; k++) {
      const until = busy(lane, this.view.from + (k + 1) * each), high = Math.min(1, (until - before) / each) * LANE;
      if (high > 0) pen.fillRect(this.gutter + k, y + LANE - Math.max(0.5, high), 1, Math.max(0.5, high));
      before = until;
    }
  }

  private each(pen: CanvasRenderingContext2D, colour: (name: string) => string, lane: Lane, y: number, begin: number, end: number): void {
    for (let k = begin; k < end; k++) {
      const left = Math.max(this.gutter, this.x(lane.from[k]!)), right = Math.min(this.wide, this.x(lane.to[k]!));
      const number = this.colourOf(this.taskOf(lane, k));
      pen.fillStyle = colour(`s${number}`);
      pen.fillRect(left, y, Math.max(0.6, right - left - (right - left > 3 ? 0.6 : 0)), LANE);
      if (lane.kind !== "processor" || right - left < 40) continue;
      const text = this.names[this.taskOf(lane, k)]!;
      pen.fillStyle = colour(`on${number}`);
      if (pen.measureText(text).width < right - left - 6) pen.fillText(text, left + 3, y + LANE / 2 + 1);
    }
  }

  private taskOf(lane: Lane, k: number): number {
    return this.run!.spans.task[lane.order[k]!]!;
  }

  private under(px: number, py: number): string {
    const found = this.shown.find(({ y }) => py >= y && py < y + LANE);
    if (!found || px < this.gutter) return "";
    const near = (3 / this.plot()) * (this.view.to - this.view.from), t = this.time(px), k = upTo(found.lane.from, t + near) - 1;
    if (k < 0 || t - near > found.lane.to[k]!) return "";
    const { spans } = this.run!, i = found.lane.order[k]!, from = found.lane.from[k]!;
    if (found.lane.kind === "job") return `${found.lane.label}: at least one task from ${moment(from, 1000)} for ${duration(found.lane.to[k]! - from)}`;
    return `${this.names[spans.task[i]!]!} on processor ${spans.processor[i]!} from ${moment(from, 1000)} for ${duration(spans.end[i]! - from)}`;
  }

  private listen(): void {
    const { canvas, view } = this, fingers = new Map<number, number>();
    canvas.addEventListener("pointerdown", (e) => {
      canvas.setPointerCapture(e.pointerId);
      fingers.set(e.pointerId, e.offsetX);
    });
    canvas.addEventListener("pointermove", (e) => {
      if (!fingers.has(e.pointerId)) return this.say(this.under(e.offsetX, e.offsetY));
      const before = [...fingers.values()], by = e.offsetX - fingers.get(e.pointerId)!;
      fingers.set(e.pointerId, e.offsetX);
      if (fingers.size === 1) return view.pan(-by / this.plot());
      const now = [...fingers.values()], apart = (all: number[]): number => Math.max(10, Math.abs(all[0]! - all[1]!));
      view.zoom(apart(before) / apart(now), this.time((now[0]! + now[1]!) / 2));
    });
    for (const name of ["pointerup", "pointercancel"] as const) canvas.addEventListener(name, (e) => fingers.delete(e.pointerId));
    canvas.addEventListener("dblclick", (e) => view.zoom(0.25, this.time(e.offsetX)));
    canvas.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    canvas.addEventListener("keydown", (e) => this.press(e));
  }

  // A wheel alone scrolls the page.
  private wheel(e: WheelEvent): void {
    if (!e.ctrlKey && !e.metaKey && !e.shiftKey) return;
    e.preventDefault();
    if (e.shiftKey) this.view.pan((e.deltaY || e.deltaX) / 1000);
    else this.view.zoom(Math.exp(e.deltaY / 300), this.time(e.offsetX));
  }

  private press(e: KeyboardEvent): void {
    const { view } = this;
    const keys: Record<string, () => void> = {
      ArrowLeft: () => view.pan(-0.2), ArrowRight: () => view.pan(0.2), "+": () => view.zoom(0.5), "=": () => view.zoom(0.5), "-": () => view.zoom(2),
      Home: () => view.whole(),
    };
    const act = keys[e.key];
    if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    act();
  }
}
