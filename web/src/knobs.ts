// The knobs: one for each field that a hand may turn. Which there are, and how far each goes, is said by the engine's catalog and by the
// scenario that it resolved; what a knob sets is judged by the engine.

import { breakable, make, the } from "./dom";
import { read, spell, type Kind } from "./units";
import type { Catalog, Domain, Entry, Json, Scenario, Table } from "./types";

/** What a knob sets: a value as after `--set`. */
export type Turned = (path: string, value: string) => void;

/** Steps of a slider. */
const STEPS = 120;

/** A field that a hand may turn. */
export interface Knob {
  path: string;
  label: string;
  meaning: string;
  domain: Domain;
  logarithmic: boolean;
}

/** A knob on the page. */
interface Shown {
  element: HTMLElement;
  update(value: Json): void;
}

/** Bounds of knobs that no table has: they are those of a hand, not the engine's. */
const PROCESSORS: Domain = { kind: "count", low: 1, high: 64 };
const DURATION: Domain = { kind: "duration", low: 1e8, high: 6e11 };
const NICE: Domain = { kind: "count", low: -20, high: 19 };
const COUNT: Domain = { kind: "count", low: 1, high: 200 };
const MEMORY: Domain = { kind: "size", low: 2 ** 20, high: 2 ** 36 };
/** Policies of storage and memory, and their tables in the catalog. */
const POLICIES = [["elevator", "elevators"], ["cache", "caches"], ["reclaim", "reclaims"]] as const;

/** The policies that decide something in a scenario: those of storage where it has a drive, that of memory where it can be short. */
function policiesOf({ machine }: Scenario): (typeof POLICIES)[number][] {
  const hasDrive = Boolean(machine["disk"] ?? machine["solid_state"] ?? machine["drive"]);
  return POLICIES.filter(([field]) => hasDrive && (field !== "reclaim" || memorySize(machine) !== null));
}

function memorySize(machine: Table): Json {
  const memory = machine["memory"];
  return memory && typeof memory === "object" && !Array.isArray(memory) ? memory["size"] ?? null : null;
}

interface Part {
  title: string;
  knobs: Knob[];
  open: boolean;
}

/** The knobs of a scenario, those that are wanted, and `more` of storage and memory. */
export function partsOf(catalog: Catalog, scenario: Scenario, wanted: (path: string) => boolean = () => true, more: Knob[] = []): Part[] {
  const machine: Knob[] = [
    { path: "machine.processors", label: "processors", meaning: "how many processors the machine has", domain: PROCESSORS, logarithmic: false },
  ];
  if (scenario["duration"]) machine.push({ path: "duration", label: "duration", meaning: "a run ends at this time at the latest", domain: DURATION, logarithmic: true });
  if (memorySize(scenario.machine) !== null) machine.push({ path: "machine.memory.size", label: "memory", meaning: "memory that programs and the cache share", domain: MEMORY, logarithmic: true });
  const scheduler = knobsOf("scheduler", entryOf(catalog.schedulers, scenario.scheduler));
  const storage = [...more, ...policiesOf(scenario).flatMap(([field, family]) => knobsOf(field, entryOf(catalog[family], scenario[field]), `${field}: `))];
  const jobs = Object.entries(scenario.workload);
  const tasks = jobs.flatMap(([name, job]): Knob[] => [
    { path: `workload.${name}.nice`, label: `${name}: nice`, meaning: "-20 is favoured most, 19 least", domain: NICE, logarithmic: false },
    ...(typeof job["count"] === "number" ? [{ path: `workload.${name}.count`, label: `${name}: tasks`, meaning: "how many tasks run it", domain: COUNT, logarithmic: true }] : []),
  ]);
  const loads = jobs.flatMap(([name, job]) => knobsOf(`workload.${name}`, entryOf(catalog.workloads, job, "load"), `${name}: `));
  return [
    { title: "Machine", knobs: machine, open: true },
    { title: `Parameters of ${String(scenario.scheduler["name"])}`, knobs: scheduler, open: true },
    { title: "Storage and memory", knobs: storage, open: true },
    { title: "Jobs", knobs: tasks, open: jobs.length <= 6 },
    { title: "Parameters of loads", knobs: loads, open: false },
  ].map((part) => ({ ...part, knobs: part.knobs.filter(({ path }) => wanted(path)) })).filter((part) => part.knobs.length);
}

function knobsOf(path: string, entry: Entry | undefined, before = ""): Knob[] {
  const parameters = entry?.parameters ?? [];
  return parameters.map(({ name, meaning, domain, logarithmic }) => ({ path: `${path}.${name}`, label: before + name, meaning, domain, logarithmic }));
}

export class Knobs {
  private shown = new Map<string, Shown>();
  private made = "";

  /** `turned` is called with each value that a hand sets, `chosen` with a table that is set as a whole. A page may want fewer fields, and have more of its own. */
  constructor(
    private readonly root: HTMLElement,
    private readonly catalog: Catalog,
    private readonly turned: Turned,
    private readonly chosen: Turned,
    private readonly wanted: (path: string) => boolean = () => true,
    private readonly more: Knob[] = [],
  ) {}

  /** Shows the values of a scenario; knobs are made anew only if others are needed. */
  show(scenario: Scenario): void {
    const parts = partsOf(this.catalog, scenario, this.wanted, this.more), shape = JSON.stringify(parts.map((part) => [part.title, part.knobs.map((knob) => knob.path)]));
    const names = [String(scenario.scheduler["name"]), ...POLICIES.map(([field]) => nameOf(scenario[field])), JSON.stringify(scenario.machine["name"])];
    if (this.made !== shape + names.join()) this.build(parts, scenario);
    this.made = shape + names.join();
    for (const [path, knob] of this.shown) {
      // What a hand holds is left alone.
      if (!knob.element.contains(document.activeElement)) knob.update(valueAt(scenario, path));
    }
  }

  private build(parts: Part[], scenario: Scenario): void {
    const wasOpen = new Map([...this.root.querySelectorAll("details")].map((part) => [part.dataset["part"]!, part.open]));
    this.shown.clear();
    const choices = make("div", { class: "choices" }, ...this.choices(scenario));
    const folded = parts.map(({ title, knobs, open }) => {
      const part = title.startsWith("Parameters of ") && title !== "Parameters of loads" ? "scheduler" : title;
      const details = make("details", { "data-part": part, open: wasOpen.get(part) ?? open }, make("summary", {}, title), ...knobs.map((knob) => this.add(knob)));
      return details;
    });
    const focused = (document.activeElement as HTMLElement | null)?.id;
    this.root.replaceChildren(choices, ...folded);
    if (focused && this.root.querySelector(`[id="${CSS.escape(focused)}"]`)) document.getElementById(focused)!.focus({ preventScroll: true });
  }

  /** Machine, scheduler and the other policies: each replaces its table. */
  private choices(scenario: Scenario): HTMLElement[] {
    const machine = String(nameOf(scenario.machine)), machines = this.catalog.machines.filter(({ name }) => name !== "host");
    const policies = ([["scheduler", "schedulers"], ...policiesOf(scenario)] as const).filter(([field]) => this.wanted(field));
    const found = policies.map(([field, family]) => choice(field, this.catalog[family], nameOf(scenario[field]), (name) => this.chosen(field, `{ name = "${name}" }`)));
    return this.wanted("machine") ? [choice("machine", machines, machine, (name) => this.chosen("machine", name)), ...found] : found;
  }

  private add(knob: Knob): HTMLElement {
    const made = knob.domain.kind === "switch" ? switched(knob, this.turned) : knob.domain.kind === "choice" ? listed(knob, this.turned) : slid(knob, this.turned);
    made.element.addEventListener("focusin", () => (the("meaning").textContent = `${knob.label}: ${knob.meaning}`));
    this.shown.set(knob.path, made);
    return made.element;
  }
}

const nameOf = (table: Json | undefined): string => (table && typeof table === "object" && !Array.isArray(table) ? String(table["name"] ?? "") : typeof table === "string" ? table : "");

function entryOf(entries: Entry[], table: Json | undefined, by = "name"): Entry | undefined {
  const name = table && typeof table === "object" && !Array.isArray(table) ? table[by] : table;
  return entries.find((entry) => entry.name === name);
}

/** The value of a field of a scenario; null where it has none. */
export function valueAt(scenario: Scenario, path: string): Json {
  let at: Json | undefined = scenario;
  for (const part of path.split(".")) at = at && typeof at === "object" && !Array.isArray(at) ? (at as Table)[part] : undefined;
  // A value of a machine may come with its source.
  const plain = at && typeof at === "object" && !Array.isArray(at) && "value" in at ? at["value"] : at;
  return plain ?? null;
}

const idOf = (path: string): string => `knob-${path}`;

function label(knob: Knob): HTMLElement {
  return make("label", { for: idOf(knob.path), title: knob.meaning }, breakable(knob.label));
}

/** A list of names; what is not in it is the file's own, and comes first. */
function choice(field: string, entries: Entry[], now: string, chosen: (name: string) => void): HTMLElement {
  const known = entries.some((entry) => entry.name === now), id = idOf(field);
  const options = entries.map(({ name, summary }) => make("option", { value: name, title: summary, selected: name === now }, name));
  if (!known) options.unshift(make("option", { value: "", selected: true, disabled: true }, now || "as in the file"));
  const list = make("select", { id, change: () => chosen(list.value) }, ...options);
  return make("div", { class: "knob" }, make("label", { for: id }, field), list);
}

function switched(knob: Knob, turned: Turned): Shown {
  const box: HTMLInputElement = make("input", { type: "checkbox", id: idOf(knob.path), change: () => turned(knob.path, String(box.checked)) });
  return { element: make("div", { class: "knob" }, label(knob), box), update: (value) => (box.checked = value === true || value === "true") };
}

function listed(knob: Knob, turned: Turned): Shown {
  const options = (knob.domain.names ?? []).map((name) => make("option", { value: name }, name));
  const list: HTMLSelectElement = make("select", { id: idOf(knob.path), change: () => turned(knob.path, list.value) }, ...options);
  return { element: make("div", { class: "knob" }, label(knob), list), update: (value) => (list.value = String(value)) };
}

/** A slider, and its value as a text that may be anything the engine takes. */
function slid(knob: Knob, turned: Turned): Shown {
  const scale = scaleOf(knob), id = idOf(knob.path);
  const text = make("input", { type: "text", id: `${id}-text`, "aria-label": `${knob.label}, as text`, autocomplete: "off", spellcheck: "false", change: () => turned(knob.path, text.value) });
  const range = make("input", { type: "range", id, min: 0, max: scale.steps, step: 1, title: knob.meaning });
  const say = (value: string): void => {
    text.value = value;
    range.setAttribute("aria-valuetext", value);
  };
  range.addEventListener("input", () => {
    const value = scale.at(Number(range.value));
    say(value);
    turned(knob.path, value);
  });
  const update = (value: Json): void => {
    const now = typeof value === "string" || typeof value === "number" ? String(value) : value === null ? "" : JSON.stringify(value);
    say(now);
    const number = scale.kind ? read(now, scale.kind) : null;
    range.disabled = number === null && now !== "";
    if (number !== null) range.value = String(scale.place(number));
  };
  return { element: make("div", { class: "knob slider" }, label(knob), range, text), update };
}

export interface Scale {
  steps: number;
  kind: Kind | null;
  /** The value at a place of the slider, as a text. */
  at(place: number): string;
  /** The place of a value. */
  place(value: number): number;
}

export function scaleOf({ domain, logarithmic }: Knob): Scale {
  if (domain.kind === "text" || domain.kind === "choice" || domain.kind === "switch" || domain.low === undefined || domain.high === undefined) {
    return { steps: 0, kind: null, at: () => "", place: () => 0 };
  }
  const { kind, low, high } = domain;
  return logarithmic ? byFactors(kind, low, high) : byDifferences(kind, low, high);
}

// value = first * (high / first) ** (place / STEPS), to two digits. A bound of 0 is a place of its own, before the first.
function byFactors(kind: Kind, low: number, high: number): Scale {
  const first = low > 0 ? low : kind === "duration" ? 1e3 : 1, zero = low > 0 ? 0 : 1;
  const rounded = (value: number): number => Math.min(high, Math.max(first, Number(value.toPrecision(2))));
  return {
    steps: STEPS + zero,
    kind,
    at: (place) => spell(place < zero ? 0 : rounded(first * (high / first) ** ((place - zero) / STEPS)), kind),
    place: (value) => (value < first ? 0 : zero + Math.round((STEPS * Math.log(value / first)) / Math.log(high / first))),
  };
}

// Whole numbers one by one as far as there are steps for them.
function byDifferences(kind: Kind, low: number, high: number): Scale {
  const steps = kind === "count" ? Math.min(high - low, 200) : STEPS, each = (high - low) / steps;
  return { steps, kind, at: (place) => spell(low + place * each, kind), place: (value) => Math.round((value - low) / each) };
}
