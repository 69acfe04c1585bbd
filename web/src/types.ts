// What the engine answers, as crates/web gives it, and what the page was given when it was written.

/** The values that a parameter takes: durations in ns, sizes in bytes, rates per second. */
export interface Domain {
  kind: "duration" | "size" | "rate" | "count" | "choice" | "switch" | "text";
  low?: number;
  high?: number;
  names?: string[];
}

export interface Parameter {
  name: string;
  meaning: string;
  domain: Domain;
  default: string | null;
  logarithmic: boolean;
}

export interface Entry {
  name: string;
  summary: string;
  year?: number;
  parameters?: Parameter[];
}

export interface Metric {
  name: string;
  /** How an experiment file names it: `tasks.JOB.share`, `wakeup_latency.STATISTIC`. */
  asked: string;
  unit: string;
  meaning: string;
}

export interface Catalog {
  version: string;
  schedulers: Entry[];
  machines: Entry[];
  workloads: Entry[];
  elevators: Entry[];
  caches: Entry[];
  reclaims: Entry[];
  metrics: Metric[];
}

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Table = { [name: string]: Json };

/** A scenario with every default filled in. */
export interface Scenario extends Table {
  machine: Table;
  scheduler: Table;
  workload: { [job: string]: Table };
}

/** A message of the engine: that of the command line, and where in the text it applies. */
export interface Fault {
  message: string;
  line?: number | null;
  column?: number | null;
  field?: string | null;
}

/** What an experiment file asks, without its scenarios. */
export interface Outline {
  /** The values of the swept fields, for each cell. */
  cells: Record<string, string>[];
  seeds: number;
  metrics: string[];
  question: string;
  /** The seeds, if the file lists them: else they count from 1. */
  listed: number[] | null;
}

export type Row = [metric: string, value: number, unit: string];

/** A run: every metric of it, and when which task had which processor. */
export interface Run {
  rows: Row[];
  warnings: string[];
  /** Length of the run, ns. */
  elapsed: number;
  processors: number;
  /** Whether another seed gives another run. */
  seeded: boolean;
  /** Tasks of the kernel have no job. */
  tasks: { name: string; job: string | null }[];
  /** For each job: a wait in seconds, and the share of waits up to it. */
  waits: Record<string, [seconds: number, share: number][]>;
  /** Spans beyond those that were asked for. */
  left_out: number;
  spans: Spans;
}

/** Times in which a task had a processor, ns; one array for each property. */
export interface Spans {
  begin: Float64Array;
  end: Float64Array;
  task: Uint32Array;
  processor: Uint16Array;
}

/** An experiment as it was resolved and run. */
export interface Picture {
  scenario: Scenario;
  run: Run;
}

/** A stored cell: the values of each shown metric by seed. */
export interface StoredCell {
  factors: Record<string, string>;
  /** Whether its runs draw no random number, so that one stands for all seeds. */
  alike: boolean;
  metrics: Record<string, { mean: number | null; half: number | null; n: number; seeds: number[]; values: (number | null)[] }>;
}

/** Results of an earlier run of this experiment. */
export interface Stored {
  folder: string;
  engine: string;
  /** Cells that were simulated. */
  cells: StoredCell[];
  /** What of them is not in the page, in words. */
  left: string;
}

/** Which way a metric goes, as a reader predicts it. */
export type Direction = "falls" | "same" | "rises";

/** A list that a reader may type into a lesson: its kind, and what the form begins with. */
export interface Typed {
  kind: "references" | "cylinders" | "bursts";
  text: string;
  /** One or two policies: NAME, or NAME:PARAMETER=VALUE. */
  choices: string[];
  numbers: Record<string, number>;
}

/** A reference string, as the engine serves it; requests and frames refer to places among the objects. */
export interface References {
  objects: string[];
  requests: number[];
  /** 1, 2, ...: the numbers of frames for which faults are counted. */
  frames: number[];
  policies: { policy: string; faults: number[]; rises: number[]; steps: { fault: boolean; frames: (number | null)[] }[] | null }[];
}

/** A list of cylinders, as elevators serve it. Times in ns. */
export interface Cylinders {
  requests: { cylinder: number; arrives: number }[];
  elevators: {
    elevator: string;
    /** In the order of service. */
    rows: { request: number; began: number; ended: number; seek: number; wait: number; response: number }[];
    travel: number;
    to_the_ends: number | null;
    mean_response: number;
    longest_response: number;
  }[];
}

/** A set of bursts as an experiment file. Times in ns. */
export interface Bursts {
  text: string;
  /** `job`: what the experiment calls the task. */
  tasks: { name: string; job: string; arrives: number; computes: number }[];
}

/** A lesson, as python/schedlab/lab/lessons has it. Values of the knob are written as after `--set`. Without an experiment the text is
 * empty, and the metrics are policies that serve the typed references. */
export interface Lesson {
  name: string;
  title: string;
  question: string;
  explanation: string;
  text: string;
  set: Record<string, string>;
  seeds: number;
  knob: { path: string; label: string; values: string[] };
  shows: { metric: string; label: string }[];
  predict: { asks: string; to: string | null } & Record<Direction, string>;
  published: { at: string; metric: string; value: number }[];
  typed: Typed | null;
}

/** What the command put into the page. */
export interface Given {
  engine: string;
  file: string;
  text: string;
  set: [path: string, value: string][];
  notes: string[];
  examples: { name: string; title: string; text: string }[];
  stored: Stored | null;
  lessons: Lesson[];
  /** What a server adds (`schedlab serve`); null in a file. */
  served: { places: Place[] } | null;
}

/** Where a server has experiments run, as after `--on`, and what happens there. */
export interface Place {
  on: string;
  title: string;
  about: string;
}
