// Where a cursor is in a TOML text: in which table, at a key, at a value or in a header. Only as much of TOML is read as that needs, and
// what is wrong is passed over: the engine says what is wrong.

/** The way to a table or value; an item of an array is ITEM. */
export type Path = readonly string[];
export const ITEM = "[]";

export interface Place {
  expects: "key" | "value" | "header";
  /** The table in which a key stands, or what a value is of. */
  path: Path;
  /** What is there of the word before the cursor, the quote that it began with, and where the word (after its quote) begins. */
  word: string;
  quote: string;
  from: number;
}

/** What a text says so far: the keys of each table, and their values if they are plain strings. Items of arrays are left out. */
export type Known = Map<string, Map<string, string | null>>;

export const keyOf = (path: Path): string => path.join("\0");

/** Where a cursor at that offset is; null in a comment, a text of several lines, or behind a value. */
export const placeAt = (text: string, cursor: number): Place | null => new Reader(text.slice(0, cursor)).place();

export const knownIn = (text: string): Known => new Reader(text).known();

const BARE = /[A-Za-z0-9_-]*/y, VALUE = /[^\s,\]}#]*/y, BLANKS = /[ \t\r]*/y, SPACE = /(?:[ \t\r\n]|#[^\n]*(?=\n))*/y;
/** A line that is a header, in an array that was not closed. */
const HEADER = /[ \t]*\[{1,2}[A-Za-z_"'][^,\]]*\]{1,2}[ \t\r]*(?:#.*)?(?:\n|$)/y;

class Reader {
  private at = 0;
  private header: Path = [];
  private found: Place | null = null;
  private readonly tables: Known = new Map();

  constructor(private readonly text: string) {}

  place(): Place | null {
    this.read();
    return this.found;
  }

  known(): Known {
    this.read();
    return this.tables;
  }

  private read(): void {
    do this.line();
    while (this.take("\n"));
  }

  private get isOver(): boolean {
    return this.at >= this.text.length;
  }

  private is(next: string): boolean {
    return this.text.startsWith(next, this.at);
  }

  private take(next: string): boolean {
    const found = !this.isOver && this.is(next);
    if (found) this.at += next.length;
    return found;
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }

  /** The cursor is here. */
  private here(expects: Place["expects"], path: Path, from = this.at, quote = ""): void {
    this.found = { expects, path, word: this.text.slice(from), quote, from };
  }

  private line(): void {
    this.match(BLANKS);
    if (this.is("[")) this.headed();
    else if (!this.is("#") && !this.is("\n")) this.pair(this.header);
    const end = this.text.indexOf("\n", this.at);
    this.at = end < 0 ? this.text.length : end;
  }

  private headed(): void {
    const isItem = this.is("[[");
    this.at += isItem ? 2 : 1;
    const keys = this.keys("header", []);
    if (!keys?.length) return;
    this.note(keys, null);
    this.header = isItem ? [...keys, ITEM] : keys;
  }

  /** The keys of a dotted key; null if the cursor is in it. */
  private keys(expects: "key" | "header", path: Path): Path | null {
    const found: string[] = [];
    do {
      this.match(BLANKS);
      const from = this.at;
      if (this.is('"') || this.is("'")) {
        const word = this.string(expects, [...path, ...found]);
        if (word === null) return null;
        found.push(word);
      } else {
        const word = this.match(BARE);
        if (this.isOver) {
          this.here(expects, [...path, ...found], from);
          return null;
        }
        found.push(word);
      }
      this.match(BLANKS);
    } while (this.take("."));
    return found;
  }

  /** A text in quotes on one line; null if the cursor is in it. */
  private string(expects: Place["expects"], path: Path): string | null {
    const quote = this.text[this.at]!, from = ++this.at;
    for (; !this.isOver && !this.is("\n"); this.at++) {
      if (this.is(quote)) return this.text.slice(from, this.at++);
      if (quote === '"' && this.is("\\")) this.at++;
    }
    if (!this.isOver) return this.text.slice(from, this.at);
    this.at = this.text.length;
    this.here(expects, path, from, quote);
    return null;
  }

  /** A key and its value; false if nothing more can be read of this table. */
  private pair(path: Path): boolean {
    const keys = this.keys("key", path);
    if (!keys || !this.take("=")) return false;
    const whole = [...path, ...keys];
    this.note(whole, null);
    return this.value(whole);
  }

  private value(path: Path): boolean {
    this.match(BLANKS);
    const from = this.at;
    if (this.is('"""') || this.is("'''")) return this.long(this.text.slice(this.at, this.at + 3));
    if (this.is('"') || this.is("'")) {
      const word = this.string("value", path);
      if (word !== null) this.note(path, word);
      return word !== null;
    }
    if (this.take("{")) return this.table(path);
    if (this.take("[")) return this.array([...path, ITEM]);
    this.match(VALUE);
    if (this.isOver) this.here("value", path, from);
    return !this.isOver;
  }

  private long(quotes: string): boolean {
    const end = this.text.indexOf(quotes, this.at + 3);
    this.at = end < 0 ? this.text.length : end + 3;
    return end >= 0;
  }

  // A table in braces ends with its line.
  private table(path: Path): boolean {
    for (;;) {
      this.match(BLANKS);
      if (this.take("}")) return true;
      if (!this.pair(path)) return false;
      this.match(BLANKS);
      if (!this.take(",") && !this.is("}")) return false;
    }
  }

  private array(path: Path): boolean {
    for (;;) {
      this.match(SPACE);
      // In a comment of the last line there is nothing to complete.
      if (this.is("#") || this.headerFollows()) return false;
      if (this.take("]")) return true;
      if (!this.value(path)) return false;
      this.match(SPACE);
      if (!this.take(",") && !this.is("]")) return false;
    }
  }

  private headerFollows(): boolean {
    const before = this.text.lastIndexOf("\n", this.at - 1) + 1;
    if (before === 0 || this.text.slice(before, this.at).trim()) return false;
    HEADER.lastIndex = before;
    const found = HEADER.test(this.text);
    // The line is read as such next.
    if (found) this.at = before - 1;
    return found;
  }

  /** Enters a key, and the tables around it, among those that are known. */
  private note(path: Path, value: string | null): void {
    if (path.includes(ITEM)) return;
    for (const [place, key] of path.entries()) {
      const table = keyOf(path.slice(0, place)), keys = this.tables.get(table) ?? new Map<string, string | null>();
      this.tables.set(table, keys);
      keys.set(key, place === path.length - 1 ? value ?? keys.get(key) ?? null : keys.get(key) ?? null);
    }
  }
}
