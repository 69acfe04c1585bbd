// The schedule in a live report: the same stretch of the computed point's first run, drawn by the engine as it draws for the command.

import { make, type Column } from "../dom";
import { COMPUTED, STORED, type Figure } from "./figures";
import { named, type Point } from "./point";

/** What the engine says of a part of a line, as crates/traces/src/gantt/svg.rs writes it. */
const PART = /^(.*), (running|in the kernel|ready|waiting|idle|idle, waiting for a drive) for (\S+) at (\S+?)(?:: (.*))?$/;
/** Rows of a table of each drawing at most. */
const MOST_ROWS = 1000;

/** The stretch of a stored schedule, ns, and the seed of its run. */
export interface Stretch {
  from: number;
  to: number;
  seed: number;
}

export class Schedules implements Figure {
  readonly columns: Column[] = ["task", "of", "kind", "state", "at", "for", "processor and use"].map((heading, place) => ({ heading, key: !place }));
  /** What is shown of the last point that has been drawn. */
  private shown: { point: Point; nodes: Node[]; drawing: HTMLElement | null } | null = null;

  constructor(private readonly stored: HTMLElement) {}

  drawn(): [] {
    return [];
  }

  /** The drawing of the last point. Until there is one, that of the point before stays. */
  beyond(points: Point[]): Node[] {
    const point = points[points.length - 1];
    if (!point) this.shown = null;
    else if (point.schedule && point !== this.shown?.point) this.shown = shownOf(point, point.schedule);
    return this.shown?.nodes ?? [];
  }

  rows(): string[][] {
    const { point, drawing } = this.shown ?? {};
    return [...parts(this.stored.querySelector(".schedule")!, "", STORED), ...(point && drawing ? parts(drawing, named(point), COMPUTED) : [])];
  }
}

/** The engine's document with what it is. Its style sheet is that of the stored drawing, which the page has. */
function shownOf(point: Point, schedule: NonNullable<Point["schedule"]>): { point: Point; nodes: Node[]; drawing: HTMLElement | null } {
  if ("why" in schedule) return { point, nodes: [make("p", { class: "dim" }, `Nothing is drawn of ${named(point)}: ${schedule.why}.`)], drawing: null };
  const drawing = make("div", { class: "schedule" });
  drawing.innerHTML = schedule.svg.replace(/<style>[^<]*<\/style>/, "");
  return { point, nodes: [make("p", {}, `Computed in this page: ${named(point)}, the same stretch of the run of the same seed.`), drawing], drawing };
}

/** The parts of the lines of a drawing, as a table has them. */
function parts(drawing: Element, of: string, kind: string): string[][] {
  const found = [...drawing.querySelectorAll("rect > title")].flatMap(({ textContent }): string[][] => {
    const part = PART.exec(textContent!);
    return part ? [[part[1]!, of, kind, part[2]!, part[4]!, part[3]!, part[5] ?? ""]] : [];
  });
  const more = found.length - MOST_ROWS;
  return more > 0 ? [...found.slice(0, MOST_ROWS), [`and ${more} more`, of, kind, "", "", "", ""]] : found;
}
