// What is below a figure of a live report: the knob, what is said of the computed point, and the table behind the figure.

import { fill, make } from "../dom";
import { scaleOf, type Scale } from "../knobs";
import { words, type Factor, type Held } from "./point";
import { read } from "../units";
import type { Live } from "./live";
import type { Figure } from "./figures";
import type { Choice } from "./knobs";

export class Panel {
  private readonly pictures: SVGSVGElement[];
  /** The drawings as they were written. */
  private readonly written: { inner: string; box: string; label: string }[];
  private readonly status = make("p", { class: "dim", role: "status" });
  private readonly table = make("table", { class: "w24" });
  private readonly behind = make("details", { toggle: () => this.fill() }, make("summary", {}, "The figure as a table"), make("div", { class: "fit" }, this.table));
  private readonly remove = make("button", { type: "button", hidden: true, click: () => this.live.clear() }, "Remove what was computed");
  private readonly beyond = make("div", {});
  private readonly knob = make("div", { class: "live-knob" });
  private readonly others = make("select", {});
  private factor: Factor;
  /** Shows a value in the knob. */
  private show!: (value: string) => void;

  constructor(private readonly live: Live, private readonly element: HTMLElement, private readonly figure: Figure) {
    this.pictures = [...element.querySelectorAll<SVGSVGElement>("svg.chart")];
    this.written = this.pictures.map((picture) => ({ inner: picture.innerHTML, box: picture.getAttribute("viewBox")!, label: picture.getAttribute("aria-label")! }));
    this.factor = live.factors[0]!;
    this.build();
    const fields = live.factors.length > 1 ? [this.fields()] : [];
    element.querySelector("figcaption")!.before(make("div", { class: "live" }, ...fields, this.knob, this.status, this.beyond, this.remove, this.behind));
  }

  private id(of: string): string {
    return `live-${of}-${this.element.id}`;
  }

  private turned(value: string): void {
    this.live.turn(this.factor, value, this.factor.held[Number(this.others.value || 0)]!, this);
  }

  /** Which of the factors is turned. */
  private fields(): HTMLElement {
    const id = this.id("factor"), options = this.live.factors.map(({ path }, place) => make("option", { value: place }, path));
    const list: HTMLSelectElement = make("select", { id, change: () => {
      this.factor = this.live.factors[Number(list.value)]!;
      this.build();
    } }, ...options);
    return make("div", { class: "live-knob" }, make("label", { for: id }, "compute in this page, turning"), list);
  }

  /** Makes the knob of the factor, and the list of what the others are held at. */
  private build(): void {
    const { control, held } = this.factor, knob = "list" in control ? this.listed(control.list) : this.slid(scaleOf(control.slider));
    this.show = knob.show;
    this.others.replaceChildren();
    this.knob.replaceChildren(...knob.elements, ...(held.length > 1 ? this.heldAt(held) : []));
  }

  /** The other factors, held at what was run. */
  private heldAt(held: Held[]): HTMLElement[] {
    this.others.id = this.id("held");
    this.others.replaceChildren(...held.map(({ factors }, place) => make("option", { value: place }, words(factors))));
    this.others.onchange = () => this.live.value && this.live.factor === this.factor && this.turned(this.live.value);
    return [make("label", { for: this.others.id }, "with"), this.others];
  }

  private label(id: string): HTMLElement {
    return make("label", { for: id }, this.live.factors.length > 1 ? this.factor.path : `compute in this page at ${this.factor.path}`);
  }

  private slid({ steps, at, place, kind }: Scale): { elements: HTMLElement[]; show(value: string): void } {
    const { path, levels } = this.factor, id = this.id("range");
    const text = make("input", { type: "text", "aria-label": `${path}, as text`, autocomplete: "off", spellcheck: "false", change: () => this.turned(text.value) });
    const range = make("input", { type: "range", id, min: 0, max: steps, step: 1, input: () => this.turned(at(Number(range.value))) });
    const show = (value: string): void => {
      const number = kind ? read(value, kind) : null;
      text.value = value;
      range.setAttribute("aria-valuetext", value);
      if (number !== null && document.activeElement !== range) range.value = String(place(number));
    };
    show(levels[0]!.text);
    return { elements: [this.label(id), range, text], show };
  }

  private listed(choices: Choice[]): { elements: HTMLElement[]; show(value: string): void } {
    const id = this.id("names"), options = choices.map(({ name, value, summary }) => make("option", { value, title: summary }, name));
    const list: HTMLSelectElement = make("select", { id, change: () => list.value && this.turned(list.value) }, make("option", { value: "" }, "-"), ...options);
    return { elements: [this.label(id), list], show: (value) => (list.value = value) };
  }

  /** Shows what was set in another panel. */
  follow(factor: Factor, value: string, held: Held, own: boolean): void {
    if (!own) this.say("");
    if (factor !== this.factor) return;
    this.show(value);
    this.others.value = String(factor.held.indexOf(held));
  }

  say(words: string, isWrong = false): void {
    this.status.textContent = words;
    this.status.classList.toggle("warning", isWrong);
  }

  draw(): void {
    const { points } = this.live, drawn = points.length ? this.figure.drawn(points) : [];
    this.remove.hidden = !points.length;
    for (const [place, picture] of this.pictures.entries()) {
      const own = drawn[place], { inner, box, label } = this.written[place]!;
      if (own) this.put(picture, own.inner, `0 0 330 ${own.height}`, own.label);
      else this.put(picture, inner, box, label);
    }
    this.extend(this.figure.beyond?.(points) ?? []);
    this.fill();
  }

  /** Shows what is below the drawings. A large drawing that stays is not laid out again. */
  private extend(nodes: Node[]): void {
    const shown = this.beyond.childNodes;
    if (nodes.length !== shown.length || nodes.some((node, place) => node !== shown[place])) this.beyond.replaceChildren(...nodes);
  }

  private put(picture: SVGSVGElement, inner: string, box: string, label: string): void {
    picture.innerHTML = inner;
    picture.setAttribute("viewBox", box);
    picture.setAttribute("aria-label", label);
  }

  /** The drawings as this page makes them without computed points: for the test that holds them to Python's. */
  redrawn(): string[] {
    return this.figure.drawn([]).map(({ inner }) => inner);
  }

  /** The table behind the figure. What is the same for all is left out. */
  private fill(): void {
    if (!this.behind.open) return;
    const rows = this.figure.rows(this.live.points), isOne = rows.every(([, of]) => !of);
    const kept = <T>(row: T[]): T[] => row.filter((_, place) => place !== 1 || !isOne);
    fill(this.table, kept(this.figure.columns), rows.map(kept));
  }
}
