// The lab: holds the setting, asks the engine for its runs, and has them drawn.
//
// A change of the setting is a turn of the session. Its first run of each side is drawn; then the other seeds follow one by one.

import { Runs } from "../compare";
import { make, the } from "../dom";
import { copy } from "./copies";
import { Editor } from "./editor";
import { Figures, type Shown } from "./figures";
import { Link } from "./link";
import { Knobs } from "../knobs";
import { Dropped, Refused, type Session } from "../session";
import { MOST_SEEDS, command, copied, experimentFile, fields, replaceTable, seedsOf, type Setting, type Side, asSeeds, isUsual } from "../setting";
import * as stored from "../stored";
import { addressOf } from "../typed/entry";
import type { Catalog, Fault, Given, Lesson, Outline, Picture, Row } from "../types";

/** Most spans of a timeline. */
const SPANS = 1_000_000;
/** The other seeds follow the first picture after this rest, ms. */
const PAUSE = 150;
/** A run that takes longer than this is said to be at work, ms. */
const SLOW = 400;
/** Between looks whether the engine has resolved a setting, ms. */
const LOOK = 300;
/** Times from a change to its picture that are remembered. */
const REMEMBERED = 500;

export class Lab {
  setting!: Setting;
  /** What is on the page; null before the first run. */
  shown: Shown | null = null;
  /** From a change to the drawn picture, ms, the last ones. */
  readonly times: number[] = [];
  private outline: Outline | null = null;
  private outlined = "";
  /** What messages and commands call the experiment file. */
  private file = "";
  /** The runs that are shown, by what they are of. */
  private known = new Map<string, Picture>();
  /** The place of the side that the knobs turn. */
  private held = 0;
  private changedAt = 0;
  /** The turn whose pictures are shown. */
  private drawn = 0;
  /** Whether the text was edited since it was read last. */
  private edited = false;
  /** Is called when what would be run is another experiment. */
  onChange = (): void => {};
  /** Whether the first setting came with the address. */
  addressed = false;
  /** What an experiment without a question is called. */
  private heading = "Experiment";
  /** Whether a lesson without an experiment has the page for itself. */
  private alone = false;
  private readonly editor: Editor;
  private readonly link: Link;

  private constructor(readonly session: Session, readonly given: Given, private readonly knobs: Knobs, private readonly figures: Figures) {
    this.editor = new Editor(the<HTMLTextAreaElement>("text"), the("lines"), the("text-fault"), (text) => this.edit(text));
    this.link = new Link(given.lessons.map(({ name }) => name));
  }

  static async begin(session: Session, given: Given): Promise<Lab> {
    const catalog = await session.ask<Catalog>({ do: "catalog" }, session.turn());
    the("version").textContent = catalog.version;
    const other = given.stored && given.stored.engine !== catalog.version ? `They were made by engine ${given.stored.engine}; this page has ${catalog.version}.` : "";
    const knobs = new Knobs(the("knobs"), catalog, (path, value) => lab.turn(path, value), (path, value) => lab.choose(path, value));
    const lab: Lab = new Lab(session, given, knobs, new Figures(given.stored !== null, other));
    lab.listen();
    const found = await lab.link.read();
    lab.addressed = found !== null;
    lab.begin(found ?? lab.own());
    return lab;
  }

  // Where settings come from.

  private own(): Setting {
    return { ...fresh(this.given.text), sides: [{ cell: 0, set: new Map(this.given.set) }] };
  }

  /** Shows the experiment of a lesson, with its knob at that value. The setting with which a lesson begins has the lesson's address. A lesson
   * without an experiment has the page for itself. */
  teach(lesson: Lesson, value: string): void {
    const { name, title, text, set, knob, seeds } = lesson;
    this.heading = title;
    this.stand(!text);
    if (!text) return this.called(addressOf(name, null, null));
    const setting = { text, sides: [{ cell: 0, set: new Map(Object.entries({ ...set, [knob.path]: value })) }], seed: 1, seeds };
    if (value === knob.values[0]) this.link.begins(name, setting);
    this.begin(setting);
  }

  /** The lesson has another address now. */
  called(hash: string): void {
    this.link.called(hash);
    this.remember();
  }

  /** Shows an experiment that is in no file. */
  experiment(text: string, set: Record<string, string>, heading: string): void {
    this.heading = heading;
    this.stand(false);
    this.begin({ ...fresh(text), sides: [{ cell: 0, set: new Map(Object.entries(set)) }] });
    the("main").focus();
  }

  /** Hides the lab below a lesson that has no experiment. */
  private stand(alone: boolean): void {
    this.alone = alone;
    document.body.classList.toggle("alone", alone);
    this.entitle();
  }

  private entitle(): void {
    the("title").textContent = document.title = (!this.alone && this.shown?.outline.question) || this.heading;
  }

  /** The file that has this text; none if it was written here, or comes with an address. */
  private fileOf(text: string): string | undefined {
    // The text of a lesson is in no file that a reader has.
    if (this.given.lessons.length) return undefined;
    const example = this.exampleOf(text);
    return text === this.given.text ? this.given.file : example && `${example}.toml`;
  }

  private exampleOf(text: string): string | undefined {
    return this.given.examples.find((one) => one.text === text)?.name;
  }

  private begin(setting: Setting): void {
    this.setting = setting;
    this.file = this.fileOf(setting.text) ?? "experiment.toml";
    // A name that is not in the list shows none.
    the<HTMLSelectElement>("example").value = setting.text === this.given.text ? "" : this.exampleOf(setting.text) ?? "none";
    this.held = 0;
    this.figures.forget();
    this.change();
  }

  // What hands do.

  private get side(): Side {
    return this.setting.sides[Math.min(this.held, this.setting.sides.length - 1)]!;
  }

  private turn(path: string, value: string): void {
    this.link.fine();
    this.side.set.set(path, value);
    this.change();
  }

  private choose(table: string, value: string): void {
    replaceTable(this.side, table, value);
    this.change();
  }

  private edit(text: string): void {
    this.setting.text = text;
    this.edited = true;
    this.change();
  }

  private listen(): void {
    const examples = the<HTMLSelectElement>("example"), { given } = this;
    examples.append(...given.examples.map(({ name, title }) => make("option", { value: name, title }, name)));
    examples.onchange = () => {
      const chosen = given.examples.find(({ name }) => name === examples.value);
      this.begin(chosen ? fresh(chosen.text) : this.own());
    };
    the("compare").onclick = () => this.compare();
    for (const [place, id] of ["turn-a", "turn-b"].entries()) the(id).onchange = () => this.hold(place);
    the<HTMLSelectElement>("cell").onchange = () => this.cell(Number(the<HTMLSelectElement>("cell").value));
    this.number("seed", 0, Number.MAX_SAFE_INTEGER - MOST_SEEDS);
    this.number("seeds", 1, MOST_SEEDS);
    the("copy-file").onclick = () => copy(this.asFile());
    the("copy-command").onclick = () => copy(this.asCommand(), this.fileOf(this.setting.text) === this.file ? "" : ` for the text of the editor, saved as ${this.file}`);
    the("copy-link").onclick = async () => copy(await Link.to(this.setting));
    the("skip").onclick = (event) => {
      // The address is the setting's.
      event.preventDefault();
      the("main").focus();
    };
    window.addEventListener("hashchange", () => void this.follow());
  }

  /** Another address was opened in this page. */
  private async follow(): Promise<void> {
    const found = await this.link.followed();
    if (found) this.begin(found);
  }

  private number(field: "seed" | "seeds", low: number, high: number): void {
    const input = the<HTMLInputElement>(field);
    input.onchange = () => {
      const value = Number(input.value), fits = Number.isInteger(value) && value >= low && value <= high;
      if (!fits) input.value = String(this.setting[field]);
      else {
        this.setting[field] = value;
        this.change();
      }
    };
  }

  private cell(cell: number): void {
    // What was set of a field that is swept would hide the value of the cell.
    for (const path of Object.keys(this.outline?.cells[cell] ?? {})) replaceTable(this.side, path, null);
    if (Object.keys(this.outline?.cells[cell] ?? {}).some((path) => path.startsWith("scheduler."))) this.side.set.delete("scheduler");
    this.side.cell = cell;
    this.change();
  }

  /** Puts a second setting next to the first, or takes it away. */
  private compare(): void {
    const { sides } = this.setting;
    if (sides.length > 1) sides.pop();
    else sides.push(copied(sides[0]!));
    this.hold(sides.length - 1);
    this.change();
  }

  private hold(place: number): void {
    this.held = place;
    the<HTMLInputElement>(place ? "turn-b" : "turn-a").checked = true;
    this.onChange();
    this.settle();
  }

  // From a setting to its runs.

  /** The setting has changed: its runs are asked for, once for all that a hand has changed at once. */
  private change(): void {
    this.onChange();
    this.editor.flush();
    if (this.changedAt) return;
    this.changedAt = performance.now();
    queueMicrotask(() => {
      const began = this.changedAt;
      this.changedAt = 0;
      void this.run(began);
    });
  }

  private async run(began: number): Promise<void> {
    const turn = this.session.turn();
    const slow = window.setTimeout(() => (the("state").textContent = "The engine is at work; a change of the setting ends this run."), SLOW);
    try {
      const outline = await this.read(turn);
      const pictures = await this.pictures(outline, turn);
      window.clearTimeout(slow);
      // An older setting may be drawn while a newer one is at work, never after it.
      if (turn < this.drawn) return;
      this.drawn = turn;
      this.show(outline, pictures, began, turn === this.session.newest);
      await this.others(turn);
    } catch (why) {
      window.clearTimeout(slow);
      if (why instanceof Dropped) return;
      the("state").textContent = "";
      this.tell(why instanceof Refused ? why.fault : { message: `the engine stopped: ${(why as Error).message}` });
    }
  }

  /** The first run of each side. A side that is as it was keeps its run. */
  private async pictures(outline: Outline, turn: number): Promise<Picture[]> {
    const { text, seed, sides } = this.setting, sets = sides.map((side) => fields(side, outline));
    const keys = sets.map((set) => JSON.stringify([text, seed, set]));
    const { known } = this, missing = sets.filter((_, place) => !known.has(keys[place]!));
    if (missing.length) {
      const found = await this.session.ask<Picture[]>({ do: "pictures", text, label: this.file, sets: missing, seed, spans: SPANS }, turn);
      const own = keys.map((key): [string, Picture] => [key, known.get(key) ?? found.shift()!]);
      this.known = new Map(own);
    }
    return keys.map((key) => this.known.get(key)!);
  }

  /** Reads the text, if it is another one than before: its cells, metrics and seeds. */
  private async read(turn: number): Promise<Outline> {
    const { text, sides } = this.setting;
    this.editor.put(text);
    if (this.outlined !== text || !this.outline) {
      const before = seedsIn(this.outline);
      const outline = await this.session.ask<Outline>({ do: "outline", text, label: this.file }, turn);
      // The text before may stand there again, and has asked nothing, since its outline was known.
      if (text !== this.setting.text) throw new Dropped();
      this.outline = outline;
      this.outlined = text;
      // Seeds that were written in the editor count, as those of the knobs do.
      if (this.edited && before !== seedsIn(this.outline)) this.setting.seeds = 0;
      this.edited = false;
    }
    const { cells, seeds, listed } = this.outline;
    if (!this.setting.seeds) {
      this.setting.seeds = Math.min(MOST_SEEDS, seeds);
      this.setting.seed = listed?.[0] ?? 1;
    }
    for (const side of sides) if (side.cell >= cells.length) side.cell = 0;
    return this.outline;
  }

  private show(outline: Outline, pictures: Picture[], began: number, newest: boolean): void {
    const { setting, given } = this;
    const cell = newest ? stored.cellOf(given.stored, setting.sides[0]!, outline, setting.text === given.text) : undefined;
    this.shown = { setting, outline, pictures, runs: pictures.map(() => new Runs()), cell, checked: null };
    this.take(this.shown, pictures.map(({ run }) => run.rows), setting.seed);
    this.arrange();
    // Canvases ask how wide they are, which costs a layout if the page has just been changed: they are drawn first.
    this.figures.show(this.shown, () => {
      this.times.push(performance.now() - began);
      this.times.splice(0, this.times.length - REMEMBERED);
    });
    this.tell(null);
    this.settle();
  }

  /** The runs of the other seeds, which only the means need. */
  private async others(turn: number): Promise<void> {
    const shown = this.shown!, { setting, outline, pictures } = shown;
    // Where nothing is drawn at random, every seed gives the run that is there.
    const seeds = pictures.some(({ run }) => run.seeded) ? seedsOf(setting, outline).slice(1) : [];
    // While a slider is dragged the engine is kept free for its next picture.
    if (seeds.length) await new Promise((rested) => window.setTimeout(rested, PAUSE));
    for (const seed of seeds) {
      const rows: Row[][] = [];
      for (const { scenario } of pictures) rows.push(await this.session.ask<Row[]>({ do: "run", scenario, seed }, turn));
      if (shown !== this.shown) return;
      this.take(shown, rows, seed);
      this.figures.more();
    }
  }

  /** Takes the numbers of one seed, a run for each side; those of the first are held against stored ones. */
  private take(shown: Shown, rows: Row[][], seed: number): void {
    const { runs, cell, checked } = shown;
    rows.forEach((own, place) => runs[place]!.add(own));
    if (cell) shown.checked = stored.added(checked, stored.check(cell, seed, rows[0]!));
  }

  // What stands around the figures.

  /** The figures of one side, or of two. */
  private arrange(): void {
    const two = this.setting.sides.length > 1;
    if (two === document.body.classList.contains("two")) return;
    document.body.classList.toggle("two", two);
    the("compare").textContent = two ? "Remove B" : "Compare with a second setting";
    the("sides").hidden = !two;
  }

  private settle(): void {
    const { seed, seeds } = this.setting;
    this.arrange();
    the<HTMLInputElement>("seed").value = String(seed);
    the<HTMLInputElement>("seeds").value = String(seeds);
    this.changed();
    this.remember();
    if (!this.shown) return;
    this.entitle();
    this.cells(this.shown.outline);
    this.knobs.show(this.picture!.scenario);
  }

  /** The run of the side that the knobs turn. */
  private get picture(): Picture | undefined {
    return this.shown?.pictures[Math.min(this.held, this.shown.pictures.length - 1)];
  }

  private cells({ cells }: Outline): void {
    const list = the<HTMLSelectElement>("cell"), swept = cells.length > 1;
    the("cell-knob").hidden = !swept;
    if (list.dataset["of"] !== this.outlined) {
      list.dataset["of"] = this.outlined;
      const words = (cell: Record<string, string>): string => Object.entries(cell).map(([path, value]) => `${path.replace(/\.name$/, "").replace(/^.*\./, "")} ${value}`).join(", ");
      list.replaceChildren(...(swept ? cells : []).map((cell, place) => make("option", { value: place }, words(cell))));
    }
    list.value = String(this.side.cell);
  }

  /** The fields that differ from the file, each with a button that takes it back. */
  private changed(): void {
    const { side } = this;
    const back = (path: string, value: string): HTMLElement =>
      make("button", { type: "button", "aria-label": `take back ${path} = ${value}`, click: () => {
        side.set.delete(path);
        this.change();
      } }, `${path} = ${value} ×`);
    const buttons = [...side.set].map(([path, value]) => back(path, value));
    the("changed").replaceChildren(...(buttons.length ? buttons : [make("span", { class: "dim" }, "nothing")]));
  }

  /** Shows what the engine refuses; the last figures stay, marked as those of another setting. */
  private tell(fault: Fault | null): void {
    document.body.classList.toggle("stale", fault !== null);
    this.editor.mark(fault);
    the("fault").hidden = !fault;
    the("fault").textContent = fault?.message ?? "";
    this.changed();
  }

  // Where settings go.

  private remember(): void {
    this.link.remember(this.alone ? null : this.setting);
  }

  /** What the experiment file is called. */
  get label(): string {
    return this.file;
  }

  /** Once the engine has resolved the setting that is on the page: whether it can be run. */
  async resolved(): Promise<boolean> {
    this.editor.flush();
    const refused = (): boolean => document.body.classList.contains("stale");
    while (this.changedAt || (this.drawn !== this.session.newest && !refused())) await new Promise((rested) => window.setTimeout(rested, LOOK));
    return !refused();
  }

  asFile(): string {
    const { side, setting, outline, picture } = this;
    // Comments and layout are kept as long as nothing differs from the text.
    const differs = outline !== null && Object.keys(fields(side, outline)).length > 0;
    const other = outline !== null && !isUsual(setting, outline);
    return (differs || other) && picture ? experimentFile(picture.scenario, outline!, asSeeds(setting, outline!)) : setting.text;
  }

  asCommand(): string {
    return command(this.file, this.outline ? fields(this.side, this.outline) : {}, this.outline ? asSeeds(this.setting, this.outline) : this.setting.seeds);
  }
}

/** An experiment with nothing changed, and the seeds of its file. */
const fresh = (text: string): Setting => ({ text, sides: [{ cell: 0, set: new Map() }], seed: 1, seeds: 0 });

const seedsIn = (outline: Outline | null): string => JSON.stringify([outline?.seeds, outline?.listed]);
