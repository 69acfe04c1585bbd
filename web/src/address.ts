// The whole setting in the address: `#a` and base64url of JSON packed by deflate (raw, RFC 1951). `a` is the version.
//
// What comes with an address was written by others: its sizes are bounded before and while it is unpacked, and its form is checked.

import { MOST_SEEDS, type Setting, type Side } from "./setting";

const VERSION = "a";
/** Longest address that is read, and longest JSON in one. */
const LONGEST = 64 * 1024, UNPACKED = 1024 * 1024;
/** Most fields of a side, and longest path and value of one. */
const FIELDS = 500, PATH = 200, VALUE = 10_000;

/** JSON of a setting. A side is the number of its cell, then path and value of each field. */
type Packed = { t: string; s: [number, ...[string, string][]][]; d: number; n: number };

/** The setting as an address, with its `#`; null if it would be too long to be read again. */
export async function written(setting: Setting): Promise<string | null> {
  const sides = setting.sides.map((side): Packed["s"][0] => [side.cell, ...side.set]);
  const json = JSON.stringify({ t: setting.text, s: sides, d: setting.seed, n: setting.seeds } satisfies Packed);
  const stream = new Blob([json]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  const hash = `#${VERSION}${text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
  return hash.length <= LONGEST && json.length <= UNPACKED ? hash : null;
}

/** The setting of an address. Throws an Error that says what is wrong with it. */
export async function read(hash: string): Promise<Setting> {
  if (hash.length > LONGEST) throw new Error(`it has ${hash.length} characters; at most ${LONGEST} are read`);
  if (hash[1] !== VERSION) throw new Error(`its version is "${hash.slice(1, 2)}"; this page reads "${VERSION}"`);
  return checked(parsed(await unpacked(bytesOf(hash.slice(2)))));
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) throw new Error("it has characters that are not base64url");
  try {
    return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  } catch {
    throw new Error("it is cut off");
  }
}

async function unpacked(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new Error("it is damaged, or cut off");
    });
    if (done) break;
    size += value.length;
    if (size > UNPACKED) {
      void reader.cancel();
      throw new Error(`it unpacks to more than ${UNPACKED} bytes`);
    }
    pieces.push(value);
  }
  return new Blob(pieces).text();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("it has no setting");
  }
}

function checked(found: unknown): Setting {
  const { t, s, d, n } = (found ?? {}) as Partial<Packed>;
  const whole = (value: unknown, least: number, most: number): value is number => Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
  if (typeof t !== "string") throw new Error("it has no experiment");
  if (!whole(d, 0, Number.MAX_SAFE_INTEGER) || !whole(n, 1, MOST_SEEDS)) throw new Error(`its seeds are none, or more than ${MOST_SEEDS}`);
  if (!Array.isArray(s) || s.length < 1 || s.length > 2) throw new Error("it has no setting, or more than two");
  return { text: t, sides: s.map(side), seed: d, seeds: n };
}

function side(found: unknown): Side {
  const [cell, ...fields] = Array.isArray(found) ? (found as unknown[]) : [];
  if (!Number.isInteger(cell) || (cell as number) < 0) throw new Error("it names no cell");
  if (fields.length > FIELDS) throw new Error(`it sets ${fields.length} fields; at most ${FIELDS} are read`);
  return { cell: cell as number, set: new Map(fields.map(field)) };
}

function field(found: unknown): [string, string] {
  const [path, value, ...more] = Array.isArray(found) ? (found as unknown[]) : [];
  const fits = (text: unknown, most: number): text is string => typeof text === "string" && text.length <= most;
  if (!fits(path, PATH) || !fits(value, VALUE) || more.length) throw new Error("a field that it sets is none");
  return [path, value];
}
