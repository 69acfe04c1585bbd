// What may be written at a place of an experiment file, by the JSON Schema that schedlab schema prints.

import { ITEM, keyOf, knownIn, placeAt, type Known, type Path, type Place } from "./place";

/** As much of JSON Schema as that of experiments uses. */
export interface Schema {
  $defs?: Record<string, Schema>;
  $ref?: string;
  description?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  propertyNames?: { pattern?: string };
  required?: string[];
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  const?: unknown;
  enum?: unknown[];
}

export interface Offer {
  /** What is shown, and what is written. */
  name: string;
  text: string;
  description: string;
}

export interface Offered {
  place: Place;
  /** Where the word ends; what of it stands behind the cursor is replaced, too. */
  to: number;
  offers: Offer[];
}

/** Tables whose keys are paths of fields. */
const OF_PATHS = ["sweep", "space"];
/** How deep alternatives of alternatives are looked into. */
const DEPTH = 12;

/** What may stand at the cursor: that which begins as the word does, then that which has it elsewhere. */
export function offersAt(root: Schema, text: string, cursor: number): Offered | null {
  const place = placeAt(text, cursor);
  if (!place) return null;
  const to = cursor + behind(text.slice(cursor), place.quote), known = knownIn(text.slice(0, place.from) + text.slice(to));
  const all = new Reader(root, known).offers(place), word = place.word.toLowerCase();
  const begin = all.filter(({ name }) => name.toLowerCase().startsWith(word)), other = all.filter(({ name }) => name.toLowerCase().indexOf(word) > 0);
  return { place, to, offers: [...begin, ...other] };
}

/** Letters of the word behind the cursor, and its closing quote. */
function behind(rest: string, quote: string): number {
  if (!quote) return /^[A-Za-z0-9_-]*/.exec(rest)![0].length;
  const end = /^[\w.*-]*/.exec(rest)![0].length;
  return rest[end] === quote ? end + 1 : end;
}

class Reader {
  constructor(private readonly root: Schema, private readonly known: Known) {}

  offers({ expects, path, quote, word }: Place): Offer[] {
    if (expects === "value") return this.values(path, quote);
    if (quote && OF_PATHS.includes(path[0]!)) return this.paths(word, quote);
    const given = this.known.get(keyOf(path)), isHeader = expects === "header";
    const keys = this.keys(path, this.undecided(path)).filter(({ name, isTable }) => (isHeader ? isTable : !given?.has(name)));
    return keys.map(({ name, description }) => ({ name, description, text: isHeader || quote ? `${name}${quote}` : `${name} = ` }));
  }

  /** Fields by their paths, as a sweep names them; jobs and groups are those that the text has. */
  private paths(word: string, quote: string): Offer[] {
    const table = word.split(".").slice(0, -1), before = table.map((key) => `${key}.`).join("");
    const swept = new RegExp(this.alternatives(this.root.properties?.["sweep"] ?? {})[0]?.propertyNames?.pattern ?? "");
    const written = [...(this.known.get(keyOf(table))?.keys() ?? [])].map((name) => ({ name, description: "" }));
    const found = new Map([...written, ...this.keys(table)].map(({ name, description }) => [`${before}${name}`, description]));
    return [...found].filter(([name]) => swept.test(name)).map(([name, description]) => ({ name, description, text: `${name}${quote}` }));
  }

  /** The keys that fit where several alternatives are left: those of all of them, and those that decide. Of an item of an array nothing is known. */
  private undecided(path: Path): ((name: string) => boolean) | undefined {
    const tables = this.at(path, "").filter(({ properties }) => properties);
    if (tables.length < 2 || path.includes(ITEM)) return undefined;
    const deciding = tables.flatMap(({ properties, required = [] }) => {
      const names = required.filter((key) => "const" in properties![key]!);
      return names.length ? names : required;
    });
    return (name) => deciding.includes(name) || tables.every(({ properties }) => name in properties!);
  }

  private keys(path: Path, fits: (name: string) => boolean = () => true): { name: string; description: string; isTable: boolean }[] {
    const found = new Map<string, { name: string; description: string; isTable: boolean }>(), tables = this.at(path, "");
    for (const { properties, required, description } of tables) {
      // A step is a table that has nothing but its name.
      const own = required?.length === 1 && Object.keys(properties ?? {}).length === 1 ? description : undefined;
      for (const [name, schema] of Object.entries(properties ?? {})) {
        const alternatives = this.alternatives(schema), isTable = alternatives.some((one) => one.properties ?? (one.type === "object" || one.additionalProperties));
        if (!found.has(name)) found.set(name, { name, description: this.described(schema, own), isTable: Boolean(isTable) });
      }
    }
    // What a table must have comes first.
    const isRequired = ({ name }: { name: string }): boolean => tables.some(({ required }) => required?.includes(name));
    return [...found.values()].filter(({ name }) => fits(name)).sort((a, b) => Number(isRequired(b)) - Number(isRequired(a)));
  }

  private values(path: Path, quote: string): Offer[] {
    const of = this.at(path, path[path.length - 1] ?? ""), found = new Map<string, Offer>();
    for (const schema of of) {
      for (const value of schema.enum ?? ("const" in schema ? [schema.const] : [schema.type].flat().includes("boolean") ? [true, false] : [])) {
        const name = String(value), text = typeof value !== "string" ? name : `${quote ? "" : '"'}${name}${quote || '"'}`;
        if (value !== null && (!quote || typeof value === "string") && !found.has(name)) found.set(name, { name, text, description: schema.description ?? "" });
      }
      const named = quote ? null : namedBy(schema);
      if (named && !found.has(named.name)) found.set(named.name, named);
    }
    return [...found.values()];
  }

  /** What may stand there: every alternative that the values next to it leave, but for that of the key `except` at the end. */
  private at(path: Path, except: string): Schema[] {
    let all = this.alternatives(this.root);
    for (const [place, key] of path.entries()) {
      const table = path.slice(0, place), isLast = place === path.length - 1 && except !== "";
      const left = this.fitting(all, table, isLast ? except : "");
      all = left.flatMap((schema) => (key === ITEM ? schema.items : schema.properties?.[key] ?? inner(schema.additionalProperties)) ?? []).flatMap((schema) => this.alternatives(schema));
    }
    return except ? all : this.fitting(all, path, "");
  }

  private fitting(all: Schema[], path: Path, except: string): Schema[] {
    const given = [...(this.known.get(keyOf(path)) ?? [])].filter(([key]) => key !== except);
    const fits = all.filter(({ properties, additionalProperties }) => given.every(([key, value]) => {
      const only = properties?.[key];
      // Another name is offered whatever parameters of the old one are there.
      return only ? value === null || !("const" in only) || only.const === value : except !== "" || additionalProperties !== false;
    }));
    // What is not written to its end yet, or is wrong, fits none.
    return fits.length ? fits : all;
  }

  private alternatives(schema: Schema, depth = 0): Schema[] {
    if (depth > DEPTH) return [];
    const referred = schema.$ref ? this.root.$defs?.[schema.$ref.replace(/^.*\//, "")] : undefined;
    if (referred) return this.alternatives(schema.description ? { ...referred, description: schema.description } : referred, depth + 1);
    const several = schema.oneOf ?? schema.anyOf;
    return several ? several.flatMap((one) => this.alternatives(one, depth + 1)) : [schema];
  }

  private described(schema: Schema, own: string | undefined): string {
    const referred = schema.$ref ? this.root.$defs?.[schema.$ref.replace(/^.*\//, "")] : undefined;
    return (schema.description ?? own ?? referred?.description ?? "").replaceAll("\n", " ");
  }
}

const inner = (schema: Schema | boolean | undefined): Schema | undefined => (typeof schema === "object" ? schema : undefined);

/** A table that needs nothing but its name: `{ name = "eevdf" }`. */
function namedBy({ properties, required, description }: Schema): Offer | null {
  const key = required?.length === 1 ? required[0]! : null, only = key ? properties?.[key] : undefined;
  if (!only || typeof only.const !== "string") return null;
  return { name: only.const, text: `{ ${key} = "${only.const}" }`, description: description ?? "" };
}
