// The editor of the experiment file: a text with numbered lines, and a list of what may be written at the cursor. What is wrong with
// it is said by the engine, at its line.

import { Completion } from "./completion";
import { make, the } from "../dom";
import { unpacked } from "../packed";
import type { Schema } from "./offers";
import type { Fault } from "../types";

/** A text is resolved when a hand has rested for so long, ms. */
const REST = 250;

export class Editor {
  private timer = 0;
  /** Once the schema is unpacked. */
  completion: Completion | null = null;

  constructor(private readonly area: HTMLTextAreaElement, private readonly gutter: HTMLElement, private readonly message: HTMLElement, private readonly changed: (text: string) => void) {
    area.addEventListener("input", () => {
      this.number();
      window.clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.flush(), REST);
    });
    area.addEventListener("scroll", () => (gutter.scrollTop = area.scrollTop));
    void unpacked<Schema>(the("schema").textContent!).then((schema) => (this.completion = new Completion(area, the("completions"), schema)));
  }

  /** Gives on what was typed and has not been, before something else changes. */
  flush(): void {
    if (!this.timer) return;
    window.clearTimeout(this.timer);
    this.timer = 0;
    this.changed(this.area.value);
  }

  /** Puts a text into the editor, unless it is there. */
  put(text: string): void {
    if (this.area.value === text) return;
    this.area.value = text;
    this.completion?.close();
    this.number();
  }

  /** Marks the line of a fault and says what it is; null: nothing is wrong. */
  mark(fault: Fault | null): void {
    const line = fault?.line ?? 0;
    for (const [place, element] of [...this.gutter.children].entries()) element.classList.toggle("wrong", place + 1 === line);
    this.area.setAttribute("aria-invalid", String(fault !== null));
    this.message.textContent = fault?.message ?? "";
    this.message.hidden = !fault;
  }

  private number(): void {
    const lines = this.area.value.split("\n").length, there = this.gutter.children.length;
    for (let line = there + 1; line <= lines; line++) this.gutter.append(make("span", {}, String(line)));
    for (let line = there; line > lines; line--) this.gutter.lastElementChild!.remove();
  }
}
