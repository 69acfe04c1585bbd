// The worker: holds the WebAssembly module with the simulator, puts questions to it and gives back what it answers.
//
// A question and its answer go through one buffer of the module's (crates/web): `reserve` gives a place, `ask` answers,
// `answer` says where. The answer is a length, a JSON text, zeros up to a multiple of 8, and arrays.

import type { Fault, Outline, Picture, Row, Run, Scenario, Spans } from "./types";

/** What the page asks. A question without a module compiles it. */
export type Question =
  | { do: "load"; packed: string }
  | { do: "start"; module: WebAssembly.Module }
  | { do: "catalog" }
  | { do: "outline"; text: string; label: string }
  | { do: "pictures"; text: string; label: string; sets: Record<string, string>[]; seed: number; spans: number }
  | { do: "run"; scenario: Scenario; seed: number };

export type Answer = { id: number; answer: unknown } | { id: number; fault: Fault } | { id: number; broken: string };

interface Exports {
  memory: WebAssembly.Memory;
  reserve(bytes: number): number;
  ask(bytes: number): number;
  answer(): number;
}

interface Resolved {
  cells: { factors: Record<string, string>; scenario: Scenario }[];
  seeds: number;
  metrics: string[] | null;
  question: string | null;
  listed: number[] | null;
}

const scope = globalThis as unknown as {
  onmessage: (event: MessageEvent<{ id: number; question: Question }>) => void;
  postMessage(message: Answer, transfer: Transferable[]): void;
};

class Faulty extends Error {
  constructor(readonly fault: Fault) {
    super(fault.message);
  }
}

let engine: Exports | null = null;

/** The module out of the page's text: base64 of gzip. */
async function compiled(packed: string): Promise<WebAssembly.Module> {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

async function start(module: WebAssembly.Module): Promise<WebAssembly.Module> {
  engine = (await WebAssembly.instantiate(module, {})).exports as unknown as Exports;
  return module;
}

/** Puts a question to the engine: the JSON it answers, and the bytes of which the arrays after it begin at `after`. */
function asked<T>(question: object): { json: T; bytes: ArrayBuffer; after: number } {
  if (!engine) throw new Error("the engine was not started");
  const text = new TextEncoder().encode(JSON.stringify(question));
  const address = engine.reserve(text.length);
  if (!address) throw new Faulty({ message: `the experiment is too long: the question has ${text.length} bytes` });
  new Uint8Array(engine.memory.buffer, address, text.length).set(text);
  const length = answeredIn(engine, text.length), from = engine.answer();
  const bytes = engine.memory.buffer.slice(from, from + length);
  const ends = 4 + new DataView(bytes).getUint32(0, true);
  const json = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, ends - 4))) as T & { fault?: Fault };
  if (json.fault) throw new Faulty(json.fault);
  return { json, bytes, after: aligned(ends) };
}

/** The length of the answer. A fault in the engine is a trap; what it says of it is there all the same. */
function answeredIn(engine: Exports, bytes: number): number {
  try {
    return engine.ask(bytes);
  } catch (why) {
    const from = engine.answer(), length = new DataView(engine.memory.buffer).getUint32(from, true);
    const said = JSON.parse(new TextDecoder().decode(new Uint8Array(engine.memory.buffer, from + 4, length))) as { fault: Fault };
    throw new Error(said.fault.message, { cause: why });
  }
}

const aligned = (offset: number): number => Math.ceil(offset / 8) * 8;

/** The arrays of a run, each in a buffer of its own that can be handed over. */
function spansOf(bytes: ArrayBuffer, after: number, n: number): Spans {
  const end = aligned(after + 8 * n), task = aligned(end + 8 * n), processor = aligned(task + 4 * n);
  return {
    begin: new Float64Array(bytes.slice(after, after + 8 * n)),
    end: new Float64Array(bytes.slice(end, end + 8 * n)),
    task: new Uint32Array(bytes.slice(task, task + 4 * n)),
    processor: new Uint16Array(bytes.slice(processor, processor + 2 * n)),
  };
}

function outline(text: string, label: string): Outline {
  const { cells, seeds, metrics, question, listed } = asked<Resolved>({ do: "resolve", text, label, set: {} }).json;
  return { cells: cells.map((cell) => cell.factors), seeds, metrics: metrics ?? [], question: question ?? "", listed };
}

function run(scenario: Scenario, seed: number, most: number): Run {
  const { json, bytes, after } = asked<Omit<Run, "spans"> & { spans: number }>({ do: "run", scenario, seed, spans: most });
  return { ...json, spans: spansOf(bytes, after, json.spans) };
}

/** The first run of each set of fields. All are one question, so that a newer one replaces all or none. */
function pictures({ text, label, sets, seed, spans }: Extract<Question, { do: "pictures" }>): Picture[] {
  return sets.map((set) => picture(text, label, set, seed, spans));
}

function picture(text: string, label: string, set: Record<string, string>, seed: number, spans: number): Picture {
  const { scenario } = asked<Resolved>({ do: "resolve", text, label, set }).json.cells[0]!;
  return { scenario, run: run(scenario, seed, spans) };
}

async function answered(question: Question): Promise<unknown> {
  switch (question.do) {
    case "load":
      return start(await compiled(question.packed));
    case "start":
      return start(question.module);
    case "catalog":
      return asked(question).json;
    case "outline":
      return outline(question.text, question.label);
    case "pictures":
      return pictures(question);
    case "run":
      return run(question.scenario, question.seed, 0).rows satisfies Row[];
  }
}

/** The arrays of pictures are handed over, not copied. */
function handed(question: Question, answer: unknown): Transferable[] {
  if (question.do !== "pictures") return [];
  return (answer as Picture[]).flatMap(({ run: { spans } }) => [spans.begin.buffer, spans.end.buffer, spans.task.buffer, spans.processor.buffer]);
}

scope.onmessage = async ({ data: { id, question } }) => {
  try {
    const answer = await answered(question);
    scope.postMessage({ id, answer }, handed(question, answer));
  } catch (why) {
    if (why instanceof Faulty) scope.postMessage({ id, fault: why.fault }, []);
    else scope.postMessage({ id, broken: why instanceof Error ? why.message : String(why) }, []);
  }
};
