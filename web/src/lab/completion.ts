// The list below the cursor of the editor: what may be written there. Ctrl+Space opens it, and so does typing; arrows choose, Enter or
// Tab takes, Escape closes. While it is closed no key is taken from the text.

import { make } from "../dom";
import { offersAt, type Offer, type Offered, type Schema } from "./offers";

/** How high the list is at most, in lines of the text. */
const LINES = 12;

export class Completion {
  private offered: Offered | null = null;
  private active = 0;
  private readonly said = make("span", { class: "sr", role: "status" });

  /** `list` is in an element that surrounds the text, and on which it is placed. */
  constructor(private readonly area: HTMLTextAreaElement, private readonly list: HTMLElement, private readonly schema: Schema) {
    area.setAttribute("aria-autocomplete", "list");
    area.setAttribute("aria-haspopup", "listbox");
    list.after(this.said);
    area.addEventListener("input", (event) => this.typed(event as InputEvent));
    area.addEventListener("keydown", (event) => this.key(event));
    area.addEventListener("blur", () => this.close());
    area.addEventListener("click", () => this.close());
    area.addEventListener("scroll", () => this.close());
    // A press would take the focus from the text.
    list.addEventListener("pointerdown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => {
      const place = [...list.children].indexOf((event.target as Element).closest("[role=option]")!);
      if (place >= 0) this.take(place);
    });
  }

  get isOpen(): boolean {
    return this.offered !== null;
  }

  close(): void {
    if (!this.offered) return;
    this.offered = null;
    this.list.hidden = true;
    this.said.textContent = "";
    for (const name of ["aria-controls", "aria-activedescendant"]) this.area.removeAttribute(name);
  }

  /** Opens the list if there is something to offer that is not written already. */
  open(): void {
    const { selectionStart: cursor, selectionEnd: end, value } = this.area, offered = cursor === end ? offersAt(this.schema, value, cursor) : null;
    if (!offered?.offers.length || (offered.offers.length === 1 && offered.offers[0]!.name === offered.place.word)) return this.close();
    this.offered = offered;
    this.list.replaceChildren(...offered.offers.map((offer, place) => option(offer, place)));
    this.list.hidden = false;
    this.area.setAttribute("aria-controls", this.list.id);
    this.said.textContent = `${offered.offers.length} completion${offered.offers.length === 1 ? "" : "s"}`;
    this.put(offered.place.from);
    this.choose(0);
  }

  // What was put in by a script has no data, and opens nothing.
  private typed(event: InputEvent): void {
    const { data, inputType } = event, deletes = inputType?.startsWith("delete") && this.isOpen;
    if (deletes || (typeof data === "string" && /^[\w."'-]$/.test(data))) this.open();
    else this.close();
  }

  private key(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (event.key === " " && event.ctrlKey) this.open();
    else if (!this.offered || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    else if (event.key === "ArrowDown") this.choose(this.active + 1);
    else if (event.key === "ArrowUp") this.choose(this.active - 1);
    else if (event.key === "Enter" || event.key === "Tab") this.take(this.active);
    else if (event.key === "Escape") this.close();
    else {
      if (/^(Arrow|Home|End|Page)/.test(event.key)) this.close();
      return;
    }
    event.preventDefault();
  }

  private choose(place: number): void {
    const all = [...this.list.children] as HTMLElement[];
    this.active = (place + all.length) % all.length;
    for (const [at, one] of all.entries()) one.setAttribute("aria-selected", String(at === this.active));
    all[this.active]!.scrollIntoView({ block: "nearest" });
    this.area.setAttribute("aria-activedescendant", all[this.active]!.id);
  }

  private take(place: number): void {
    const { place: { from, expects, quote }, to, offers } = this.offered!, { text } = offers[place]!;
    this.close();
    const rest = this.area.value.slice(to);
    this.write(from, to, expects === "key" && !quote && /^[ \t]*[=.]/.test(rest) ? text.replace(/ = $/, "") : text);
    // The values of a key follow it, if they are known.
    if (expects === "key" && text.endsWith(" = ")) this.open();
  }

  /** As a hand does, so that it can be undone. */
  private write(from: number, to: number, text: string): void {
    this.area.focus();
    this.area.setSelectionRange(from, to);
    if (document.execCommand("insertText", false, text)) return;
    this.area.setRangeText(text, from, to, "end");
    this.area.dispatchEvent(new Event("input", { bubbles: true }));
  }

  /** Puts the list below the line of that offset, within the text's width. */
  private put(offset: number): void {
    const { area, list } = this, style = getComputedStyle(area), before = area.value.slice(0, offset).split("\n");
    const high = parseFloat(style.lineHeight), column = before[before.length - 1]!.length * widthOf(area);
    const left = area.offsetLeft + parseFloat(style.paddingLeft) + column - area.scrollLeft;
    list.style.maxHeight = `${LINES * high}px`;
    list.style.top = `${area.offsetTop + parseFloat(style.paddingTop) + before.length * high - area.scrollTop}px`;
    list.style.left = `${Math.max(0, Math.min(left, area.offsetLeft + area.offsetWidth - list.offsetWidth))}px`;
  }
}

/** The width of a letter of a text. */
function widthOf(area: HTMLElement): number {
  const pen = document.createElement("canvas").getContext("2d")!, { fontSize, fontFamily } = getComputedStyle(area);
  pen.font = `${fontSize} ${fontFamily}`;
  return pen.measureText("m".repeat(100)).width / 100;
}

function option({ name, description }: Offer, place: number): HTMLElement {
  return make("div", { id: `completion-${place}`, role: "option" }, make("b", {}, name), description && make("span", {}, description));
}
