// What a reader types into a lesson: a reference string, a list of cylinders or a set of bursts. The engine reads it, says what is wrong with
// it, and computes what is drawn.
//
// Its questions go to a session of their own: a newer list ends the run of an older one.

import { fill, make, the } from "../dom";
import { soon } from "../frames";
import { Dropped, type Session } from "../session";
import { BURSTS } from "./bursts";
import { CYLINDERS } from "./cylinders";
import { entryOf, own, type Entry } from "./entry";
import { parameterOf, parts, type Drawing, type Kind } from "./kind";
import { REFERENCES } from "./references";
import type { Question } from "../engine";
import type { Catalog, Lesson, Typed } from "../types";

/** A list is read when a hand has rested for so long, ms. */
const REST = 250;
const KINDS: Record<Typed["kind"], Kind> = { references: REFERENCES, cylinders: CYLINDERS, bursts: BURSTS };

export class Typing {
  private typed: Typed | null = null;
  private entry!: Entry;
  private session: Session | null = null;
  private catalog!: Catalog;
  private drawing: Drawing | null = null;
  private timer = 0;

  /** `changed` takes what is typed; `open` shows it as an experiment. */
  constructor(
    private readonly begun: () => Promise<Session>,
    private readonly changed: (entry: Entry) => void,
    private readonly open: (text: string, set: Record<string, string>, heading: string) => void,
  ) {
    the("typed-text").addEventListener("input", () => this.rested());
    the("typed-open").onclick = () => {
      const experiment = this.drawing?.experiment;
      if (experiment) this.open(experiment.text, experiment.set, this.kind.title);
    };
    the("lesson-own").onclick = () => {
      void this.show();
      the("typed-text").focus();
    };
    the<HTMLDetailsElement>("typed-more").ontoggle = () => this.more();
    new ResizeObserver(() => this.redraw()).observe(the("typed"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  private get kind(): Kind {
    return KINDS[this.typed!.kind];
  }

  /** Another lesson: its list is shown if the address has one. */
  begin({ typed }: Lesson, hash: string): void {
    this.typed = typed;
    this.drawing = null;
    window.clearTimeout(this.timer);
    this.session?.turn();
    the("typed").hidden = true;
    the("lesson-own").hidden = !typed;
    if (!typed) return;
    this.entry = own(typed);
    this.fault("");
    try {
      const found = entryOf(hash, typed);
      if (!found) return;
      this.entry = found;
      this.changed(found);
      void this.show();
    } catch (why) {
      void this.show(`The address holds no list of this lesson: ${(why as Error).message}.`);
    }
  }

  /** Shows the form and what comes of its list. */
  async show(fault = ""): Promise<void> {
    const { typed, entry } = this;
    if (!typed || !the("typed").hidden) return;
    the("typed").hidden = false;
    the("typed-title").textContent = this.kind.title;
    the("typed-label").textContent = this.kind.label;
    the<HTMLTextAreaElement>("typed-text").value = entry.text;
    the("typed-found").hidden = true;
    the("typed-open").hidden = true;
    the("typed-fields").replaceChildren();
    try {
      await this.ready();
      if (entry !== this.entry) return;
      this.fields();
      await this.run();
      if (fault && entry === this.entry) this.fault(fault);
    } catch (why) {
      this.say(why);
    }
  }

  private async ready(): Promise<void> {
    if (this.session) return;
    const session = await this.begun();
    this.catalog ??= await session.ask<Catalog>({ do: "catalog" }, session.turn());
    this.session ??= session;
  }

  private fields(): void {
    const { kind, entry } = this;
    const numbers = Object.entries(kind.numbers).map(([name, label]) => {
      const input = make("input", { id: `typed-${name}`, type: "number", min: "0", step: "1", value: String(entry.numbers[name] ?? 0), change: () => this.take() });
      return make("label", {}, label, input);
    });
    the("typed-fields").replaceChildren(...[0, 1].flatMap((place) => this.choice(place)), ...numbers);
  }

  /** A list of policies, and a field for the parameter of the chosen one. */
  private choice(place: number): HTMLElement[] {
    const { kind, catalog, entry } = this, { name, settings } = parts(entry.choices[place] ?? "");
    const names = [...(place ? [""] : []), ...catalog[kind.family].map((one) => one.name)];
    // A name of an address that is none stays, so that the engine says so.
    if (!names.includes(name)) names.push(name);
    const changed = (): void => {
      this.entry.choices = this.chosen(false);
      this.fields();
      the(`typed-choice-${place}`).focus();
      this.take();
    };
    const options = names.map((one) => make("option", { value: one, selected: one === name }, one || "none"));
    const found = [make("label", {}, place ? "next to" : kind.choice, make("select", { id: `typed-choice-${place}`, change: changed }, ...options))];
    const parameter = parameterOf(kind, catalog, name);
    if (parameter) {
      const value = settings.find(([other]) => other === parameter.name)?.[1] ?? parameter.default ?? "";
      const label = parameter.domain.names ? `${parameter.name} (${parameter.domain.names.join(", ")})` : parameter.name;
      found.push(make("label", {}, label, make("input", { id: `typed-parameter-${place}`, size: "7", value, "data-name": parameter.name, autocomplete: "off", change: () => this.take() })));
    }
    return found;
  }

  /** The choices of the form; with their parameters unless the policies are others now. */
  private chosen(settled: boolean): string[] {
    return [0, 1].flatMap((place) => {
      const name = the<HTMLSelectElement>(`typed-choice-${place}`).value, field = document.getElementById(`typed-parameter-${place}`) as HTMLInputElement | null;
      const same = settled || parts(this.entry.choices[place] ?? "").name === name;
      return name ? [same && field ? `${name}:${field.dataset["name"]}=${field.value.trim()}` : name] : [];
    });
  }

  private rested(): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.take(), REST);
  }

  /** Takes what the form has. */
  private take(): void {
    window.clearTimeout(this.timer);
    const number = (name: string): number => Math.max(0, Math.trunc(Number(the<HTMLInputElement>(`typed-${name}`).value) || 0));
    this.entry = {
      text: the<HTMLTextAreaElement>("typed-text").value,
      choices: this.chosen(true),
      numbers: Object.fromEntries(Object.keys(this.kind.numbers).map((name) => [name, number(name)])),
    };
    this.changed(this.entry);
    this.run().catch((why: unknown) => this.say(why));
  }

  private async run(): Promise<void> {
    const session = this.session!, turn = session.turn();
    const found = await this.kind.ask(<T>(question: Question) => session.ask<T>(question, turn), this.entry);
    this.drawing = found;
    this.fault("");
    the("typed-found").hidden = false;
    the("typed-words").textContent = found.words;
    the("typed-figure").setAttribute("aria-label", found.words);
    the("typed-legend").replaceChildren(...found.legend);
    found.table(the<HTMLTableElement>("typed-table"));
    the("typed-more").hidden = !found.more;
    the("typed-summary").textContent = found.more?.summary ?? "";
    the("typed-open").hidden = !found.experiment;
    this.more();
    this.redraw();
  }

  private more(): void {
    const { more } = this.drawing ?? { more: null };
    if (more && the<HTMLDetailsElement>("typed-more").open) more.table(the<HTMLTableElement>("typed-steps"));
    else fill(the<HTMLTableElement>("typed-steps"), [], []);
  }

  private redraw(): void {
    soon("typed", () => {
      if (this.drawing && !the("typed-found").hidden) this.drawing.figure(the<HTMLCanvasElement>("typed-figure"));
    });
  }

  private say(why: unknown): void {
    if (!(why instanceof Dropped)) this.fault((why as Error).message);
  }

  /** Says what is wrong; the last figure stays, marked as that of another list. */
  private fault(message: string): void {
    the("typed-fault").textContent = message;
    the("typed-fault").hidden = !message;
    the("typed-text").setAttribute("aria-invalid", String(message !== ""));
    the("typed").classList.toggle("stale", message !== "");
  }
}
