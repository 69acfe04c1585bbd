// What was typed into a lesson, as a part of its address: `#lesson=NAME&text=...&choices=...`, and the numbers of its kind.
//
// What comes with an address was written by others: it is bounded here, and judged by the engine as whatever is typed.

import type { Typed } from "../types";

export interface Entry {
  text: string;
  /** One or two policies: NAME, or NAME:PARAMETER=VALUE. */
  choices: string[];
  numbers: Record<string, number>;
}

const LESSON = "lesson";
/** Longest address that is read, and longest name of a policy with its parameter. */
const LONGEST = 64 * 1024, CHOICE = 200;

const fields = (hash: string): URLSearchParams => new URLSearchParams(hash.slice(1));

/** The lesson that an address names; null if it names none. */
export const lessonOf = (hash: string): string | null => (hash.length <= LONGEST ? fields(hash).get(LESSON) : fields(hash.slice(0, CHOICE)).get(LESSON));

/** The address of a lesson, with what was typed where that is not what its file has. */
export function addressOf(name: string, typed: Typed | null, entry: Entry | null): string {
  const found = new URLSearchParams({ [LESSON]: name });
  if (typed && entry && JSON.stringify(entry) !== JSON.stringify(own(typed))) {
    found.set("text", entry.text);
    found.set("choices", entry.choices.join(","));
    for (const [field, value] of Object.entries(entry.numbers)) found.set(field, String(value));
  }
  return `#${found}`;
}

/** What the file of a lesson has. */
export const own = ({ text, choices, numbers }: Typed): Entry => ({ text, choices: [...choices], numbers: { ...numbers } });

/** What was typed, of an address; null if it has nothing but the lesson. Throws an Error that says what is wrong with it. */
export function entryOf(hash: string, typed: Typed): Entry | null {
  if (hash.length > LONGEST) throw new Error(`it has ${hash.length} characters; at most ${LONGEST} are read`);
  const found = own(typed), given = [...fields(hash)].filter(([name]) => name !== LESSON);
  for (const [name, value] of given) {
    if (name === "text") found.text = value;
    else if (name === "choices") found.choices = choicesOf(value);
    else if (name in typed.numbers && /^\d{1,9}$/.test(value)) found.numbers[name] = Number(value);
    else throw new Error(`"${name.slice(0, CHOICE)}" is no field of this lesson, or has no whole number`);
  }
  return given.length ? found : null;
}

function choicesOf(text: string): string[] {
  const found = text.split(",");
  if (found.length > 2 || found.some((one) => !one || one.length > CHOICE)) throw new Error(`it names more than two policies, or one of none or more than ${CHOICE} characters`);
  return found;
}
