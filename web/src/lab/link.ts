// The address of the page: it carries the setting, or names a lesson.

import * as address from "../address";
import { the } from "../dom";
import { spelled, type Setting } from "../setting";
import { addressOf, lessonOf } from "../typed/entry";

/** The address follows the setting after this rest, ms. */
const REST = 300;
/** Most characters of a lesson's name that a message repeats. */
const NAME = 100;

export class Link {
  private timer = 0;
  /** The address that the page read or wrote last. */
  private hash = "";
  /** The address of a lesson, and the setting with which it begins. */
  private home = { hash: "", begins: "" };

  /** `lessons` are the names of those that the page has. */
  constructor(private readonly lessons: string[]) {}

  /** The setting that the address carries; null if it carries none, or none of this page. */
  async read(): Promise<Setting | null> {
    this.fine();
    const lesson = lessonOf(location.hash), { lessons } = this;
    if (lesson !== null && !lessons.includes(lesson)) this.wrong(`The address names a lesson that this page does not have: ${lesson.slice(0, NAME)}. It has ${lessons.join(", ") || "none"}.`);
    if (location.hash.length < 2 || lesson !== null) return null;
    try {
      const found = await address.read(location.hash);
      this.hash = location.hash;
      return found;
    } catch (why) {
      this.wrong(`The address holds no setting of this page: ${(why as Error).message}.`);
      return null;
    }
  }

  /** The setting of an address that was opened in this page; null if it is the page's own. */
  async followed(): Promise<Setting | null> {
    if (location.hash !== this.hash) return this.read();
    // What was wrong with the one before is over.
    this.fine();
    return null;
  }

  /** What was wrong with an address is over. */
  fine(): void {
    the("address-fault").hidden = true;
  }

  private wrong(message: string): void {
    the("address-fault").textContent = message;
    the("address-fault").hidden = false;
  }

  /** The lesson has that address now. */
  called(hash: string): void {
    this.home.hash = hash;
  }

  /** The setting with which a lesson begins has the lesson's address. */
  begins(lesson: string, setting: Setting): void {
    this.home = { hash: addressOf(lesson, null, null), begins: spelled(setting) };
  }

  /** Puts the setting into the address, once hands have rested; none is that of a lesson without an experiment. */
  remember(setting: Setting | null): void {
    window.clearTimeout(this.timer);
    const before = location.hash;
    this.timer = window.setTimeout(async () => {
      const hash = await this.of(setting);
      the("too-long").hidden = hash !== null;
      // Another address was opened meanwhile, and is about to be followed.
      if (!hash || ![before, this.hash].includes(location.hash)) return;
      this.hash = hash;
      history.replaceState(null, "", hash);
    }, REST);
  }

  private async of(setting: Setting | null): Promise<string | null> {
    return !setting || spelled(setting) === this.home.begins ? this.home.hash : address.written(setting);
  }

  /** The whole address that opens a setting in this page. */
  static async to(setting: Setting): Promise<string> {
    return location.href.replace(/#.*$/, "") + ((await address.written(setting)) ?? "");
  }
}
