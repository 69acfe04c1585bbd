// Texts to take away: each is put into the clipboard where the browser permits it, and shown.

import { the } from "../dom";

/** Copies a text; `note` says what it is for. */
export async function copy(text: string, note = ""): Promise<void> {
  const area = the<HTMLTextAreaElement>("copied");
  the("copied-part").hidden = false;
  area.value = text;
  area.select();
  const done = await navigator.clipboard?.writeText(text).then(() => true, () => false);
  the("copied-words").textContent = `${done ? "Copied" : "Copy this"}${note}:`;
}
