// The drawn schedule of a cache's or an elevator's page, live: the list of the page or one of the reader's own, as the engine serves it.

import { fill, make, the } from "../dom";
import { soon } from "../frames";
import { Dropped, type Session } from "../session";
import { CYLINDERS } from "../typed/cylinders";
import type { Drawing, Kind } from "../typed/kind";
import { REFERENCES } from "../typed/references";
import type { Question } from "../engine";
import type { Catalog, Typed } from "../types";

/** A list is read when a hand has rested for so long, ms. */
const REST = 250;
const KINDS: Partial<Record<Typed["kind"], Kind>> = { references: REFERENCES, cylinders: CYLINDERS };

export class List {
  /** What is drawn. */
  drawing: Drawing | null = null;
  private timer = 0;
  /** The policy of the page with the parameters that were set, as after `schedlab cache --policy`. */
  private own: string;
  private readonly kind: Kind;

  /** The session is its own: a newer list ends the run of an older one. */
  constructor(private readonly session: Session, private readonly typed: Typed, catalog: Catalog) {
    this.kind = KINDS[typed.kind]!;
    const own = (this.own = typed.choices[0]!), others = catalog[this.kind.family].map(({ name }) => name).filter((name) => name !== own);
    the("list-label").textContent = this.kind.label;
    the<HTMLInputElement>("list-text").value = typed.text;
    the("list-text").oninput = () => {
      window.clearTimeout(this.timer);
      this.timer = window.setTimeout(() => void this.run(), REST);
    };
    the("list-other").append(...others.map((name) => make("option", { value: name }, name)));
    the("list-other").onchange = () => void this.run();
    the("list-numbers").replaceChildren(...Object.entries(this.kind.numbers).map(([name, label]) =>
      make("label", {}, `${label} `, make("input", { id: `list-${name}`, type: "number", min: "0", step: "1", value: String(typed.numbers[name] ?? 0), change: () => void this.run() }))));
    the<HTMLDetailsElement>("list-more").ontoggle = () => this.more();
    new ResizeObserver(() => this.redraw()).observe(the("list"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    the("list").hidden = false;
  }

  /** The policy of the page has these parameters now. */
  treat(parameters: [name: string, value: string][]): void {
    const own = [this.typed.choices[0]!, ...parameters.map((one) => one.join("="))].join(":");
    if (own === this.own) return;
    this.own = own;
    void this.run();
  }

  /** Has the engine serve the list, and shows what comes of it. */
  async run(): Promise<void> {
    const { session, kind } = this, turn = session.turn(), other = the<HTMLSelectElement>("list-other").value;
    const number = (name: string): number => Math.max(0, Math.trunc(Number(the<HTMLInputElement>(`list-${name}`).value) || 0));
    const numbers = Object.fromEntries(Object.keys(kind.numbers).map((name) => [name, number(name)]));
    const entry = { text: the<HTMLInputElement>("list-text").value, choices: [this.own, ...(other ? [other] : [])], numbers };
    try {
      this.drawing = await kind.ask(<T>(question: Question) => session.ask<T>(question, turn), entry);
      the("list-fault").hidden = true;
      the("list").classList.remove("stale");
      the("list-words").textContent = this.drawing.words;
      the("list-legend").replaceChildren(...this.drawing.legend);
      this.drawing.table(the<HTMLTableElement>("list-table"));
      this.more();
      this.redraw();
    } catch (why) {
      if (why instanceof Dropped) return;
      the("list").classList.add("stale");
      the("list-fault").textContent = (why as Error).message;
      the("list-fault").hidden = false;
    }
  }

  private redraw(): void {
    soon("list", () => this.drawing?.figure(the<HTMLCanvasElement>("list-figure")));
  }

  private more(): void {
    const more = this.drawing?.more ?? null;
    the("list-more").hidden = !more;
    if (!more) return;
    the("list-more-words").textContent = more.summary;
    if (the<HTMLDetailsElement>("list-more").open) more.table(the<HTMLTableElement>("list-steps"));
    else fill(the<HTMLTableElement>("list-steps"), [], []);
  }
}
