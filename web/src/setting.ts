// What the page shows: the text of an experiment, and for each of one or two sides the cell of its sweep and the fields that differ.
//
// A field is set as `--set` sets it. So that a side is one scenario, its sweep is set to nothing and the values of its cell are
// set as fields.

import type { Json, Outline, Scenario } from "./types";

export interface Side {
  cell: number;
  /** Values as after `--set`, by the path of their field. */
  set: Map<string, string>;
}

export interface Setting {
  text: string;
  sides: Side[];
  /** The first seed; its run is drawn. */
  seed: number;
  /** How many seeds the means are over, from the first one up. */
  seeds: number;
}

/** Most seeds of a mean. */
export const MOST_SEEDS = 200;

/** The seeds of a setting: those that its file lists, or else whole numbers from the first one up. */
export function seedsOf({ seed, seeds }: Setting, { listed }: Outline): number[] {
  if (listed && listed[0] === seed && seeds <= listed.length) return listed.slice(0, seeds);
  return Array.from({ length: seeds }, (_, place) => seed + place);
}

export function copied(side: Side): Side {
  return { cell: side.cell, set: new Map(side.set) };
}

/** All of a setting, as a text to compare. */
export const spelled = ({ text, sides, seed, seeds }: Setting): string => JSON.stringify([text, sides.map(({ cell, set }) => [cell, [...set]]), seed, seeds]);

/** All fields of a side, its cell's among them, as `resolve` takes them. */
export function fields(side: Side, outline: Outline): Record<string, string> {
  const factors = outline.cells[side.cell] ?? {}, found: [string, string][] = [];
  if (Object.keys(factors).length) found.push(["sweep", "{}"]);
  for (const [path, value] of Object.entries(factors)) if (!covered(path, side.set)) found.push([path, tomlOf(value)]);
  return Object.fromEntries([...found, ...side.set]);
}

/** Whether a field, or a table around it, is set already. */
function covered(path: string, set: Map<string, string>): boolean {
  return [...set.keys()].some((other) => path === other || path.startsWith(`${other}.`));
}

/** Sets a table as a whole: what was set within it is gone. */
export function replaceTable(side: Side, path: string, value: string | null): void {
  for (const other of [...side.set.keys()]) if (other === path || other.startsWith(`${path}.`)) side.set.delete(other);
  if (value !== null) side.set.set(path, value);
}

/** A swept value, which is a text or JSON, as TOML. */
function tomlOf(value: string): string {
  if (!/^[[{]/.test(value)) return value;
  try {
    return toml(JSON.parse(value) as Json);
  } catch {
    return value;
  }
}

/** A value as TOML, on one line. TOML has no null: fields that have none are left out. */
export function toml(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(toml).join(", ")}]`;
  if (value === null || typeof value !== "object") return typeof value === "string" ? quoted(value) : String(value);
  const entries = Object.entries(value).filter(([, inner]) => inner !== null);
  return entries.length ? `{ ${entries.map(([name, inner]) => `${key(name)} = ${toml(inner)}`).join(", ")} }` : "{}";
}

// A JSON text is a TOML text, but for DEL.
const quoted = (text: string): string => JSON.stringify(text).replaceAll("\x7f", "\\u007f");
const key = (name: string): string => (/^[A-Za-z0-9_-]+$/.test(name) ? name : quoted(name));

/** The seeds as an experiment file writes them: how many from 1 up, or a list. */
export function asSeeds(setting: Setting, outline: Outline): number | number[] {
  const all = seedsOf(setting, outline);
  return all.every((seed, place) => seed === place + 1) ? all.length : all;
}

/** Whether the seeds are those of the text. */
export function isUsual(setting: Setting, outline: Outline): boolean {
  return JSON.stringify(asSeeds(setting, outline)) === JSON.stringify(outline.listed ?? outline.seeds);
}

/** A scenario as an experiment file: what the engine resolved, with every default, and what is asked of it. */
export function experimentFile(scenario: Scenario, outline: Outline, seeds: number | number[]): string {
  const asked: [string, Json][] = [["question", outline.question || null], ["seeds", seeds], ["metrics", outline.metrics.length ? outline.metrics : null]];
  const { workload, ...rest } = scenario;
  const lines = [...asked, ...Object.entries(rest)].filter(([, value]) => value !== null).map(([name, value]) => `${key(name)} = ${toml(value)}`);
  const jobs = Object.entries(workload).map(([name, job]) => `${key(name)} = ${toml(job)}`);
  return [...lines, "", "[workload]", ...jobs, ""].join("\n");
}

/** The command that makes the same runs; `file` is the experiment's. */
export function command(file: string, set: Record<string, string>, seeds: number | number[]): string {
  const all = typeof seeds === "number" ? set : { ...set, seeds: JSON.stringify(seeds) };
  const options = Object.entries(all).map(([path, value]) => `--set ${shell(`${path}=${value}`)}`);
  return ["schedlab run", shell(file), ...options, ...(typeof seeds === "number" ? ["--seeds", String(seeds)] : [])].join(" ");
}

const shell = (word: string): string => (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
