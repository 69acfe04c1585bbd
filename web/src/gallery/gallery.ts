// A page of the gallery begins here: it runs the experiment of its policy, draws the schedule, and follows the knobs.
//
// A change is a turn of the session, as in the lab: its first run is drawn, then the family's other policies run the same load. What
// a hand has set is in the address; a place within the page is no setting.

import * as address from "../address";
import { asked } from "../compare";
import { breakable, fill, make, the } from "../dom";
import { soon } from "../frames";
import { List } from "./list";
import { Knobs, type Knob } from "../knobs";
import { Dropped, Refused, Session } from "../session";
import { Timeline, type Rows } from "../timeline";
import { counted, digits, duration, readable } from "../units";
import { View } from "../view";
import type { Catalog, Metric, Picture, Row, Typed } from "../types";

/** What the page was given (python/schedlab/gallery/live.py). */
interface Given {
  family: "schedulers" | "elevators" | "caches" | "reclaims";
  /** The table of an experiment file that names a policy of the family. */
  field: string;
  name: string;
  text: string;
  /** What the page sets of the text. */
  set: [path: string, value: string][];
  /** The metrics that are shown, as far as a run has them. */
  metrics: string[];
  /** Knobs beyond the usual ones. */
  knobs: Knob[];
  /** Seeds of a mean in the lab. */
  seeds: number;
  /** The list of the drawn schedule. */
  typed: Typed | null;
  /** Whether the page has an experiment. */
  runs: boolean;
}

/** The engine, as the file that all pages share has it: the worker's program, and the module, packed. */
declare const schedlab: { worker: string; packed: string };

/** Most spans of a timeline, and rows of the table behind it. */
const SPANS = 200_000, LISTED = 200;
/** Spans that a first look shows. */
const FIRST_LOOK = 1000;
/** The other policies follow the first picture after this rest, ms; the address, too. */
const PAUSE = 150, REST = 300;
/** A run that takes longer than this is said to be at work, ms. */
const SLOW = 400;
/** What messages call the experiment. */
const LABEL = "experiment.toml";

export class Exhibit {
  /** What a hand has set beyond what the page sets. */
  set = new Map<string, string>();
  seed = 1;
  /** The run that is drawn. */
  shown: Picture | null = null;
  /** From a change to the drawn picture, ms. */
  readonly times: number[] = [];
  /** Learns which parameters of the policy are set, with each change. */
  treated: (parameters: [name: string, value: string][]) => void = () => {};
  /** The numbers of the other policies, or why one refuses the load. */
  private others = new Map<string, Row[] | string>();
  private drawn = 0;
  private began = 0;
  private timer = 0;
  private hash = "";
  private readonly knobs: Knobs;
  private readonly view = new View(() => soon("timeline", () => this.timeline()));
  private readonly lanes = new Timeline(the<HTMLCanvasElement>("timeline"), this.view, (text) => (the("at").textContent = text));

  private constructor(readonly session: Session, readonly given: Given, private readonly catalog: Catalog) {
    this.knobs = new Knobs(the("knobs"), catalog, (path, value) => this.turn(path, value), () => {}, (path) => this.turns(path), given.knobs);
    this.listen();
  }

  static async begin(session: Session, given: Given, catalog: Catalog): Promise<Exhibit> {
    const exhibit = new Exhibit(session, given, catalog);
    await exhibit.follow();
    exhibit.change();
    return exhibit;
  }

  /** Whether the page has a knob for a field: the policy's own parameters, the jobs', and the size of the machine. */
  private turns(path: string): boolean {
    const { field, knobs } = this.given;
    return ["machine.processors", "machine.memory.size", ...knobs.map((knob) => knob.path)].includes(path) || path.startsWith(`${field}.`) || path.startsWith("workload.");
  }

  // Where settings come from.

  private turn(path: string, value: string): void {
    the("fault").hidden = true;
    this.set.set(path, value);
    this.change();
  }

  private listen(): void {
    const seed = the<HTMLInputElement>("seed");
    seed.onchange = () => {
      const value = Number(seed.value);
      if (Number.isSafeInteger(value) && value >= 0) this.seed = value;
      this.change();
    };
    the("reset").onclick = () => {
      the("fault").hidden = true;
      this.set.clear();
      this.seed = 1;
      this.change();
    };
    the("closer").onclick = () => this.view.zoom(0.5);
    the("wider").onclick = () => this.view.zoom(2);
    the("left").onclick = () => this.view.pan(-0.5);
    the("right").onclick = () => this.view.pan(0.5);
    the("whole").onclick = () => this.view.whole();
    the("rows").onchange = () => {
      this.lay();
      soon("timeline", () => this.timeline());
    };
    the("spans-part").ontoggle = () => this.spans();
    the("metric").onchange = () => this.compare();
    new ResizeObserver(() => soon("timeline", () => this.timeline())).observe(the("stage"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => soon("timeline", () => this.timeline()));
    window.addEventListener("hashchange", () => void this.follow().then((found) => found && this.change()));
  }

  /** Takes the setting of the address; whether it has one. */
  private async follow(): Promise<boolean> {
    const { hash } = location;
    if (hash.length < 2 || hash === this.hash || document.getElementById(hash.slice(1))) return false;
    the("fault").hidden = true;
    try {
      const { text, sides, seed } = await address.read(hash);
      if (text) throw new Error("it is of another experiment, which the lab opens");
      this.set = new Map(sides[0]!.set);
      this.seed = seed;
      this.hash = hash;
      return true;
    } catch (why) {
      this.say(`The address holds no setting of this page: ${(why as Error).message}. The page's own is shown.`);
      return false;
    }
  }

  // From a setting to its runs.

  /** The setting has changed: its run is asked for, once for all that a hand has changed at once. */
  private change(): void {
    if (this.began) return;
    this.began = performance.now();
    queueMicrotask(() => {
      const { began } = this;
      this.began = 0;
      void this.run(began);
    });
  }

  /** Whether a hand has set anything. */
  private get differs(): boolean {
    return this.set.size > 0 || this.seed !== 1;
  }

  /** The parameters of the policy that a hand has set. */
  get parameters(): [name: string, value: string][] {
    const before = `${this.given.field}.`;
    return [...this.set].filter(([path]) => path.startsWith(before)).map(([path, value]) => [path.slice(before.length), value]);
  }

  private fields(): Record<string, string> {
    return Object.fromEntries([...this.given.set, ...this.set]);
  }

  private async run(began: number): Promise<void> {
    const turn = this.session.turn();
    const slow = window.setTimeout(() => (the("state").textContent = "The engine is at work; a change of the setting ends this run."), SLOW);
    the<HTMLButtonElement>("reset").disabled = !this.differs;
    this.remember();
    this.treated(this.parameters);
    try {
      const picture = await this.simulated(this.fields(), SPANS, turn).finally(() => window.clearTimeout(slow));
      // An older setting may be drawn while a newer one is at work, never after it.
      if (turn < this.drawn) return;
      this.drawn = turn;
      this.show(picture, began);
      await this.rivals(picture, turn);
    } catch (why) {
      if (why instanceof Dropped) return;
      document.body.classList.add("stale");
      the("stale").hidden = this.shown === null;
      the("state").textContent = "";
      this.say(why instanceof Refused ? why.fault.message : `The engine stopped: ${(why as Error).message}.`);
    }
  }

  private async simulated(set: Record<string, string>, spans: number, turn: number): Promise<Picture> {
    const { given: { text }, seed } = this;
    const [picture] = await this.session.ask<Picture[]>({ do: "pictures", text, label: LABEL, sets: [set], seed, spans }, turn);
    return picture!;
  }

  /** The same load under the family's other policies, one after the other. */
  private async rivals({ run }: Picture, turn: number): Promise<void> {
    const { field, family, name } = this.given, own = Object.entries(this.fields()).filter(([path]) => path !== field && !path.startsWith(`${field}.`));
    this.others = new Map([[name, run.rows]]);
    soon("others", () => this.compare());
    // While a slider is dragged the engine is kept free for its next picture.
    await new Promise((rested) => window.setTimeout(rested, PAUSE));
    for (const other of this.catalog[family].map((entry) => entry.name).filter((entry) => entry !== name)) {
      const set = Object.fromEntries([...own, [field, `{ name = "${other}" }`]]);
      const found = await this.simulated(set, 0, turn).then((picture) => picture.run.rows, (why: unknown) => {
        if (why instanceof Refused) return why.fault.message;
        throw why;
      });
      this.others.set(other, found);
      soon("others", () => this.compare());
    }
  }

  // What is drawn.

  private show(picture: Picture, began: number): void {
    const { run, scenario } = picture;
    this.shown = picture;
    document.body.classList.remove("stale");
    the("stale").hidden = true;
    the("state").textContent = `${duration(run.elapsed)} on ${counted(run.processors, "processor")}, ${counted(run.tasks.length, "task")}; ${run.seeded ? `seed ${this.seed}` : "no random number is drawn"}.`;
    the("seed-knob").hidden = !run.seeded;
    the<HTMLInputElement>("seed").value = String(this.seed);
    the("warnings").replaceChildren(...run.warnings.map((text) => make("p", { class: "warning" }, text)));
    this.knobs.show(scenario);
    this.lay();
    this.view.fit(run.elapsed, run.spans.begin[FIRST_LOOK] ?? run.elapsed);
    soon("all", () => {
      this.timeline();
      this.numbers();
      this.times.push(performance.now() - began);
    });
  }

  /** Gives each task a lane, or each job. */
  private lay(): void {
    const { run, scenario } = this.shown!;
    this.lanes.show(run, Object.keys(scenario.workload), the<HTMLSelectElement>("rows").value as Rows, null);
  }

  private timeline(): void {
    if (!this.shown) return;
    const { from, to, last } = this.view;
    this.lanes.draw();
    the("window").textContent = `${duration(from)} to ${duration(to)} of ${duration(last)}`;
    the("not-drawn").textContent = this.lanes.left();
    this.spans();
  }

  private spans(): void {
    if (!the<HTMLDetailsElement>("spans-part").open || !this.shown) return;
    const { rows, more } = this.lanes.listed(LISTED);
    fill(the<HTMLTableElement>("spans"), [{ heading: "begin", key: true }, { heading: "length", numeric: true }, { heading: "processor", numeric: true }, { heading: "task" }], rows);
    the("more-spans").textContent = more > 0 ? `${more} more spans are in view: zoom in to list them.` : "";
  }

  private numbers(): void {
    const { rows } = this.shown!.run, found = new Map(rows.map((row) => [row[0], row])), names = asked([...found.keys()], this.given.metrics);
    const cells = names.map((name) => [name, spelled(found.get(name)!), this.meaning(name)]);
    fill(the<HTMLTableElement>("numbers"), [{ heading: "metric", key: true }, { heading: "value", numeric: true }, { heading: "meaning" }], cells);
    const list = the<HTMLSelectElement>("metric"), made = names.join("\n"), now = list.value;
    if (list.dataset["of"] === made) return;
    list.dataset["of"] = made;
    list.replaceChildren(...names.map((name) => make("option", { value: name, selected: name === now }, name)));
  }

  private meaning(name: string): string {
    return this.catalog.metrics.find((metric) => isOf(metric, name))?.meaning ?? "";
  }

  /** A bar for each policy of the family, in the order of the catalog; this page's is marked. */
  private compare(): void {
    const metric = the<HTMLSelectElement>("metric").value, { family, name } = this.given;
    const found = this.catalog[family].map((entry) => ({ policy: entry.name, rows: this.others.get(entry.name) }));
    const value = (rows: Row[] | string | undefined): Row | undefined => (Array.isArray(rows) ? rows.find((row) => row[0] === metric) : undefined);
    const largest = Math.max(...found.map(({ rows }) => Math.abs(value(rows)?.[1] ?? 0)), Number.MIN_VALUE);
    const rows = found.map(({ policy, rows }) => {
      const row = value(rows), own = policy === name, cell = row ? spelled(row, largest) : rows === undefined ? "…" : "-";
      const bar = make("div", { class: own ? "" : "c0", "aria-hidden": "true", style: `width: ${(100 * Math.abs(row?.[1] ?? 0)) / largest}%`, hidden: !row });
      const last = typeof rows === "string" ? make("td", { class: "why" }, rows.replace(`${LABEL}: `, "")) : make("td", {}, bar);
      const head = make("th", { scope: "row", class: "name" }, own ? breakable(policy) : make("a", { href: `${policy}.html` }, breakable(policy)));
      return make("tr", { class: own ? "own" : "" }, head, make("td", { class: "value" }, cell), last);
    });
    const heads = [["policy", "name"], ["value", "value"], ["", ""]].map(([text, kind]) => make("th", { scope: "col", class: kind! }, text!));
    the("others").replaceChildren(make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
  }

  private say(text: string): void {
    the("fault").textContent = text;
    the("fault").hidden = false;
  }

  // Where settings go.

  /** Puts what was set into the address, and the whole setting into the link to the lab, once hands have rested. */
  private remember(): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(async () => {
      const { set, seed, given } = this;
      const own = this.differs ? await address.written({ text: "", sides: [{ cell: 0, set }], seed, seeds: 1 }) : "";
      const whole = await address.written({ text: given.text, sides: [{ cell: 0, set: new Map([...given.set, ...set]) }], seed, seeds: given.seeds });
      if (whole) the("lab").setAttribute("href", `../lab.html${whole}`);
      if (own === null || (!own && !this.hash)) return;
      this.hash = own;
      history.replaceState(null, "", own || location.pathname + location.search);
    }, REST);
  }
}

/** Whether a metric of a run is that of the catalog: `tasks.JOB.NAME` and `NAME.STATISTIC` stand for many. */
function isOf({ asked }: Metric, name: string): boolean {
  const pattern = asked.split(".").map((part) => (/^[A-Z]+$/.test(part) ? "[^.]+" : part)).join("\\.");
  return new RegExp(`^${pattern}$`).test(name);
}

/** A number in the unit that is read most easily, or that of a largest one next to it. */
function spelled([, value, unit]: Row, largest = Math.abs(value)): string {
  const { unit: shown, by } = readable(unit, largest);
  return `${digits(value * by)}${shown ? ` ${shown}` : ""}`;
}

async function main(): Promise<void> {
  const given = JSON.parse(the("given").textContent!) as Given, begin = (): Promise<Session> => Session.begin(schedlab.worker, schedlab.packed);
  if (given.runs) the("stage").hidden = false;
  const session = await begin(), catalog = await session.ask<Catalog>({ do: "catalog" }, session.turn());
  const exhibit = given.runs ? await Exhibit.begin(session, given, catalog) : undefined;
  const list = given.typed ? new List(given.runs ? await begin() : session, given.typed, catalog) : undefined;
  // For scripts that hold the page to its numbers.
  Object.assign(window, { exhibit, list });
  if (exhibit && list) {
    exhibit.treated = (parameters) => list.treat(parameters);
    list.treat(exhibit.parameters);
  }
  await list?.run();
}

main().catch((why: unknown) => {
  if (document.getElementById("stage")) the("stage").hidden = true;
  the("fault").textContent = `The experiment cannot run here: ${why instanceof Error ? why.message : String(why)}. A newer browser may have what it needs.`;
  the("fault").hidden = false;
});
