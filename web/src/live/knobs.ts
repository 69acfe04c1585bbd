// How the factor of a chart is turned beyond what was run: a slider over the engine's domain of the field, or a list of names.

import { partsOf, valueAt, type Knob } from "../knobs";
import { read, type Kind } from "../units";
import type { Level } from "./chart";
import type { Catalog, Domain, Entry, Scenario } from "../types";

/** A name that a field can have, and the value to set. */
export interface Choice {
  name: string;
  value: string;
  summary: string;
}

/** A field that can be turned, with the levels that were run. */
export interface Turnable {
  path: string;
  levels: Level[];
  control: Control;
}

export type Control = { slider: Knob; kind: Kind } | { list: Choice[] };

/** Kinds of numbers as charts call them, and as the engine's domains do. */
const KINDS: Record<string, Kind> = { s: "duration", B: "size", "/s": "rate", "": "count" };
/** How far beyond the levels a slider goes where no table has a domain of the field. */
const BEYOND = 10;
/** Fields whose values are names of a family. */
const FAMILIES: Record<string, "schedulers" | "elevators" | "caches" | "reclaims" | "machines"> = {
  scheduler: "schedulers", elevator: "elevators", cache: "caches", reclaim: "reclaims", machine: "machines",
};

/** The control of a field; null if neither its domain nor its names are known. */
export function knobFor(path: string, levels: Level[], catalog: Catalog, scenario: Scenario | null): Control | null {
  const known = scenario ? partsOf(catalog, scenario).flatMap(({ knobs }) => knobs).find((knob) => knob.path === path) : undefined;
  const kind = kindOf(levels);
  if (kind) return { kind, slider: known && known.domain.kind === kind ? known : { path, label: path, meaning: "", ...beyond(levels, kind) } };
  const list = choices(path, known, catalog, scenario).filter(({ value }) => !levels.some(({ text }) => text === value));
  return list.length ? { list } : null;
}

/** The fields of a scenario that can be turned, for results in which nothing that can be was swept. Each has one level, its value. */
export function knobsOf(catalog: Catalog, scenario: Scenario): Turnable[] {
  const name = String(scenario.scheduler["name"]), others = choices("scheduler", undefined, catalog, scenario).filter((one) => one.name !== name);
  // The scenario is that of a run that ends at once.
  const knobs = partsOf(catalog, scenario, (path) => path !== "duration").flatMap((part) => part.knobs);
  const found = knobs.flatMap((knob): Turnable[] => {
    const { path, domain: { kind } } = knob, text = String(valueAt(scenario, path) ?? ""), levels = [alone(text)];
    if (kind === "switch" || kind === "choice") return [{ path, levels, control: { list: choices(path, knob, catalog, scenario).filter(({ value }) => value !== text) } }];
    return kind === "text" || read(text, kind) === null ? [] : [{ path, levels, control: { slider: knob, kind } }];
  });
  return [...found, { path: "scheduler", levels: [alone(name)], control: { list: others } }];
}

const alone = (text: string): Level => ({ text, label: text, value: null, kind: "" });

/** The kind of the numbers that levels are; null if a slider cannot have such. */
function kindOf(levels: Level[]): Kind | null {
  if (!levels.every(({ value, text }) => value !== null && !text.startsWith("{"))) return null;
  const kind = KINDS[levels.find(({ value }) => value !== 0)?.kind ?? ""];
  // A slider of counts has whole numbers.
  return kind === undefined || (kind === "count" && !levels.every(({ value }) => Number.isInteger(value))) ? null : kind;
}

function beyond(levels: Level[], kind: Kind): { domain: Domain; logarithmic: boolean } {
  const values = levels.map(({ text }) => read(text, kind) ?? 0), low = Math.min(...values), high = Math.max(...values);
  if (low > 0) return { domain: { kind, low: kind === "count" ? Math.max(1, Math.floor(low / BEYOND)) : low / BEYOND, high: high * BEYOND }, logarithmic: true };
  return { domain: { kind, low: low < 0 ? low * 2 : 0, high: high > 0 ? high * BEYOND : 1 }, logarithmic: false };
}

function choices(path: string, known: Knob | undefined, catalog: Catalog, scenario: Scenario | null): Choice[] {
  const plain = (names: string[]): Choice[] => names.map((name) => ({ name, value: name, summary: "" }));
  if (known?.domain.kind === "switch") return plain(["true", "false"]);
  if (known?.domain.kind === "choice") return plain(known.domain.names ?? []);
  const table = path.replace(/\.(name|preset)$/, ""), family = FAMILIES[table];
  if (family) return entries(catalog[family]).map((one) => (path === table && table !== "machine" ? { ...one, value: `{ name = "${one.name}" }` } : one));
  const load = /^workload\.([^.]+)\.load$/.exec(path);
  return load && scenario?.workload[load[1]!] ? entries(catalog.workloads) : [];
}

const entries = (all: Entry[]): Choice[] => all.filter(({ name }) => name !== "host").map(({ name, summary }) => ({ name, value: name, summary }));
