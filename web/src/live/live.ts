// A live report begins here: stored numbers are checked, and each figure gets a knob that goes beyond what was run.
//
// A point is computed for all figures of a report: a value of a factor, the others held at a cell that was run. Its first run is drawn at
// once; the other seeds, those of the stored points, follow.

import { Runs } from "../compare";
import { make, the } from "../dom";
import { soon } from "../frames";
import { Check, said } from "./check";
import { Differences } from "./differences";
import { Maps, Means, Tails, type Figure } from "./figures";
import { knobFor, knobsOf } from "./knobs";
import { Panel } from "./panel";
import { heldBy, valuesOf, type Factor, type Held, type Point } from "./point";
import { Schedules, type Stretch } from "./schedules";
import { lacking } from "../needed";
import { unpacked } from "../packed";
import { Dropped, Refused, Session } from "../session";
import { fields, MOST_SEEDS, seedsOf } from "../setting";
import { interval } from "../student";
import type { Level, Plot } from "./chart";
import type { Effects } from "./effects";
import type { Heat } from "./heat";
import type { Tail } from "./tail";
import type { Catalog, Outline, Picture, Row, Scenario, Stored } from "../types";

/** The other seeds follow the first one after this rest, ms. A point at which a hand has rested so long stays. */
const PAUSE = 150;
/** A run that takes longer than this is said to be at work, ms. */
const SLOW = 400;
/** Points that stay at most. */
const MOST_POINTS = 60;

/** What the command put into the page. */
export interface Given {
  file: string;
  text: string;
  stored: Stored;
  /** What was swept. */
  factors: { path: string; levels: Level[] }[];
  means: { id: string; plots: Plot[] }[];
  tails: (Tail & { id: string })[];
  maps: (Heat & { id: string })[];
  effects: (Effects & { id: string })[];
  schedules: (Stretch & { id: string })[];
  /** Why nothing is computed in a figure. */
  still: Record<string, string>;
}

export class Live {
  readonly points: Point[] = [];
  /** What is computed now; the check waits for it. */
  atWork: Promise<void> | null = null;
  /** Whether the check is over. */
  isChecked = false;
  /** What was set last. */
  factor: Factor | null = null;
  value = "";
  private held!: Held;
  private readonly panels: Panel[];
  private readonly seeds: number[];
  /** The turn from which on points count: those before were removed. */
  private cleared = 0;

  private constructor(readonly session: Session, private readonly given: Given, private readonly outline: Outline, readonly factors: Factor[]) {
    const { listed, seeds } = outline;
    this.seeds = seedsOf({ text: "", sides: [], seed: listed?.[0] ?? 1, seeds: Math.min(seeds, MOST_SEEDS) }, outline);
    this.panels = factors.length ? figuresOf(given, this.seeds).map(([id, figure]) => new Panel(this, the(id), figure)) : [];
  }

  static async begin(session: Session, given: Given): Promise<Live> {
    const { text, file, stored, means } = given, over = means[0]?.plots[0]?.over;
    const catalog = await session.ask<Catalog>({ do: "catalog" }, session.turn());
    const outline = await session.ask<Outline>({ do: "outline", text, label: file }, session.newest);
    const scenario = await shortest(session, given, outline);
    // The factor of the axis comes first.
    const swept = [...given.factors].sort((a, b) => Number(b.path === over) - Number(a.path === over));
    const factors = swept.flatMap(({ path, levels }): Factor[] => {
      const control = knobFor(path, levels, catalog, scenario), held = heldBy(stored, path, outline);
      return control && held.length ? [{ path, levels, control, held }] : [];
    });
    const live = new Live(session, given, outline, factors.length ? factors : ofScenario(scenario, catalog, stored, outline));
    live.explain();
    void live.check(stored, catalog.version);
    return live;
  }

  /** In figures where nothing is computed stands why. */
  private explain(): void {
    const still = Object.entries(this.given.still);
    if (!this.factors.length) {
      const why = "Stored results only: the engine in this page refuses the scenario of the first cell, so that nothing of it can be turned.";
      still.push(...figuresOf(this.given, this.seeds).map(([id]): [string, string] => [id, why]));
    }
    for (const [id, why] of still) the(id).querySelector("figcaption")?.before(make("p", { class: "dim live" }, why));
  }

  private async check(stored: Stored, version: string): Promise<void> {
    const line = the("live-check"), list = the("live-list");
    const other = stored.engine === version ? "They may have been changed since they were stored." : `Engine ${stored.engine} made them; this page has ${version}.`;
    const left = stored.left ? ` Not checked: ${stored.left}.` : "";
    const outcome = await new Check(this.session, this.given.text, this.given.file, stored, this.outline, this).made(({ runs, of }) => (line.textContent = `Stored numbers are being checked: ${runs} of ${of} runs.`));
    const found = said(outcome, other);
    line.textContent = found.line + left;
    line.classList.toggle("warning", found.isWrong);
    list.hidden = !found.list.length;
    list.textContent = found.list.join("\n");
    this.isChecked = true;
  }

  // What hands do.

  /** Sets a factor, and the cell at which the others are held; `by` is the panel in which that was done. */
  turn(factor: Factor, value: string, held: Held, by: Panel): void {
    [this.factor, this.value, this.held] = [factor, value, held];
    for (const panel of this.panels) panel.follow(factor, value, held, panel === by);
    const done = this.compute(by).finally(() => {
      if (this.atWork === done) this.atWork = null;
    });
    this.atWork = done;
  }

  /** Removes what was computed. */
  clear(): void {
    this.cleared = this.session.turn();
    this.points.length = 0;
    for (const panel of this.panels) panel.say("");
    this.draw();
  }

  private async compute(by: Panel): Promise<void> {
    const turn = this.session.turn(), { value, held, seeds } = this, factor = this.factor!;
    const slow = window.setTimeout(() => by.say(`Being computed at ${factor.path} = ${value}; another value ends this run.`), SLOW);
    try {
      const set = fields({ cell: held.place, set: new Map([[factor.path, value]]) }, this.outline);
      const { text, file: label } = this.given;
      const [picture] = await this.session.ask<Picture[]>({ do: "pictures", text, label, sets: [set], seed: seeds[0]!, spans: 0 }, turn);
      if (turn < this.cleared) return;
      const { run, scenario } = picture!, known = this.points.find((one) => one.stays && one.factor === factor && one.value === value && one.held === held);
      const point: Point = known ?? { factor, value, held, runs: new Runs(), stays: false, of: run.seeded ? seeds.length : 1, schedule: null };
      window.clearTimeout(slow);
      this.add(point);
      if (known) this.say(point, by);
      else this.take(point, run.rows, by);
      await this.sketch(point, scenario, turn);
      // While a slider is dragged the engine is kept free for its next point.
      await new Promise((rested) => window.setTimeout(rested, PAUSE));
      if (turn !== this.session.newest) return;
      point.stays = true;
      for (const seed of seeds.slice(point.runs.count, point.of)) this.take(point, await this.session.ask<Row[]>({ do: "run", scenario, seed }, turn), by);
    } catch (why) {
      if (why instanceof Dropped) return;
      by.say(why instanceof Refused ? why.fault.message : `The engine stopped: ${(why as Error).message}`, true);
    } finally {
      window.clearTimeout(slow);
    }
  }

  /** Has the engine draw the stretch of the stored schedule. */
  private async sketch(point: Point, scenario: Scenario, turn: number): Promise<void> {
    const [stretch] = this.given.schedules;
    if (!stretch || point.schedule) return;
    const { from, to, seed } = stretch;
    try {
      point.schedule = await this.session.ask<{ svg: string }>({ do: "draw", scenario, seed, from, to }, turn);
    } catch (why) {
      if (!(why instanceof Refused)) throw why;
      point.schedule = { why: why.fault.message };
    }
    this.draw();
  }

  /** The point comes last. Those that a hand only passed go. */
  private add(point: Point): void {
    const others = this.points.filter(({ stays, value, held }) => stays && (value !== point.value || held !== point.held));
    this.points.splice(0, this.points.length, ...others.slice(-MOST_POINTS + 1), point);
  }

  private take(point: Point, rows: Row[], by: Panel): void {
    // It may have been removed meanwhile.
    if (!this.points.includes(point)) return;
    point.runs.add(rows);
    this.say(point, by);
  }

  private say({ factor, value, runs, of }: Point, by: Panel): void {
    by.say(`Computed in this page at ${factor.path} = ${value}: n = ${runs.count} of ${of}.`);
    this.draw();
  }

  draw(): void {
    for (const [place, panel] of this.panels.entries()) soon(`panel ${place}`, () => panel.draw());
  }

  /** Mean and interval of a metric at each computed point, for scripts that hold the page to its numbers. */
  numbers(metric: string): { path: string; value: string; factors: Record<string, string>; mean: number; half: number; n: number }[] {
    return this.points.map(({ factor, value, held, runs }) => ({ path: factor.path, value, factors: held.factors, ...interval(valuesOf(runs, metric)) }));
  }
}

/** What can be turned where nothing that was swept can: the fields of the scenario. */
function ofScenario(scenario: Scenario | null, catalog: Catalog, stored: Stored, outline: Outline): Factor[] {
  return scenario ? knobsOf(catalog, scenario).map((one) => ({ ...one, held: heldBy(stored, one.path, outline, one.levels[0]!.text) })) : [];
}

/** The figures in which points can be computed, by the addresses of their elements. */
function figuresOf({ means, tails, maps, effects, schedules, stored }: Given, seeds: number[]): [string, Figure][] {
  return [
    ...means.map(({ id, plots }): [string, Figure] => [id, new Means(plots)]),
    ...tails.map((one): [string, Figure] => [one.id, new Tails(one)]),
    ...maps.map((one): [string, Figure] => [one.id, new Maps(one)]),
    ...effects.map((one): [string, Figure] => [one.id, new Differences(one, stored, seeds)]),
    ...schedules.map(({ id }): [string, Figure] => [id, new Schedules(the(id))]),
  ];
}

/** The scenario of the first cell, from a run that ends at once: knobs are those of its policies and jobs. */
async function shortest(session: Session, { text, file }: Given, outline: Outline): Promise<Scenario | null> {
  try {
    const sets = [fields({ cell: 0, set: new Map([["duration", "1ms"]]) }, outline)];
    const [picture] = await session.ask<Picture[]>({ do: "pictures", text, label: file, sets, seed: 1, spans: 0 }, session.newest);
    return picture!.scenario;
  } catch (why) {
    if (why instanceof Refused) return null;
    throw why;
  }
}

async function main(): Promise<void> {
  const line = make("p", { id: "live-check", role: "status" }, "The simulator is being unpacked.");
  const list = make("pre", { id: "live-list", hidden: true, tabindex: 0, "aria-label": "stored numbers that differ" });
  const heading = make("h2", { id: "live-title" }, "Stored numbers, checked in this page");
  the("verdict").before(make("section", { id: "live", "aria-labelledby": "live-title" }, heading, line, list));
  try {
    const missing = lacking();
    if (missing) throw new Error(`this browser has no ${missing}`);
    const given = await unpacked<Given>(the("given").textContent!), packed = the("engine").textContent!.trim();
    the("engine").remove();
    Object.assign(window, { live: await Live.begin(await Session.begin(the("worker").textContent!, packed), given), interval });
  } catch (why) {
    line.className = "warning";
    line.textContent = `Nothing can be computed in this page: ${why instanceof Error ? why.message : String(why)}. The report is complete without.`;
  }
}

void main();
