// The worker: holds the WebAssembly module with the simulator, puts questions to it and gives back what it answers.
//
// A question and its answer go through one buffer of the module's (crates/web): `reserve` gives a place, `ask` answers,
// `answer` says where. Runs that are drawn go to the page as the bytes that they are, which costs less than to copy thousands of rows.

import { isFault, jsonOf, type Packed } from "./answers";
import { stream } from "./packed";
import type { Fault, Outline, Row, Run, Scenario } from "./types";

/** What the page asks. A question without a module compiles it. */
export type Question =
  | { do: "load"; packed: string }
  | { do: "start"; module: WebAssembly.Module }
  | { do: "catalog" }
  | { do: "outline"; text: string; label: string }
  | { do: "pictures"; text: string; label: string; sets: Record<string, string>[]; seed: number; spans: number }
  | { do: "run"; scenario: Scenario; seed: number }
  | { do: "draw"; scenario: Scenario; seed: number; from: number; to: number }
  | { do: "references"; text: string; policies: string; frames: number }
  | { do: "cylinders"; text: string; head: number; cylinders: number; elevators: Record<string, string>[] }
  | { do: "bursts"; text: string };

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

/** The module out of the page's text. */
async function compiled(packed: string): Promise<WebAssembly.Module> {
  return WebAssembly.compile(await new Response(stream(packed)).arrayBuffer());
}

async function start(module: WebAssembly.Module): Promise<WebAssembly.Module> {
  engine = (await WebAssembly.instantiate(module, {})).exports as unknown as Exports;
  return module;
}

/** Puts a question to the engine, and gives the bytes of its answer. */
function answerTo(question: object): ArrayBuffer {
  if (!engine) throw new Error("the engine was not started");
  const text = new TextEncoder().encode(JSON.stringify(question));
  const address = engine.reserve(text.length);
  if (!address) throw new Faulty({ message: `the experiment is too long: the question has ${text.length} bytes` });
  new Uint8Array(engine.memory.buffer, address, text.length).set(text);
  const length = answeredIn(engine, text.length), from = engine.answer();
  return engine.memory.buffer.slice(from, from + length);
}

/** The JSON that the engine answers. */
function asked<T>(question: object): T {
  const json = jsonOf<T & { fault?: Fault }>(answerTo(question)).json;
  if (json.fault) throw new Faulty(json.fault);
  return json;
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

function outline(text: string, label: string): Outline {
  const { cells, seeds, metrics, question, listed } = asked<Resolved>({ do: "resolve", text, label, set: {} });
  return { cells: cells.map((cell) => cell.factors), seeds, metrics: metrics ?? [], question: question ?? "", listed };
}

/** The first run of each set of fields. All are one question, so that a newer one replaces all or none. */
function pictures({ text, label, sets, seed, spans }: Extract<Question, { do: "pictures" }>): Packed[] {
  return sets.map((set) => {
    const { scenario } = asked<Resolved>({ do: "resolve", text, label, set }).cells[0]!;
    const run = answerTo({ do: "run", scenario, seed, spans });
    if (isFault(run)) throw new Faulty(jsonOf<{ fault: Fault }>(run).json.fault);
    return { scenario, run };
  });
}

async function answered(question: Question): Promise<unknown> {
  switch (question.do) {
    case "load":
      return start(await compiled(question.packed));
    case "start":
      return start(question.module);
    case "catalog":
    case "draw":
    case "references":
    case "cylinders":
    case "bursts":
      return asked(question);
    case "outline":
      return outline(question.text, question.label);
    case "pictures":
      return pictures(question);
    case "run":
      return asked<Run>({ do: "run", scenario: question.scenario, seed: question.seed, spans: 0 }).rows satisfies Row[];
  }
}

/** The bytes of pictures are handed over, not copied. */
const handed = (question: Question, answer: unknown): Transferable[] => (question.do === "pictures" ? (answer as Packed[]).map(({ run }) => run) : []);

scope.onmessage = async ({ data: { id, question } }) => {
  try {
    const answer = await answered(question);
    scope.postMessage({ id, answer }, handed(question, answer));
  } catch (why) {
    if (why instanceof Faulty) scope.postMessage({ id, fault: why.fault }, []);
    else scope.postMessage({ id, broken: why instanceof Error ? why.message : String(why) }, []);
  }
};
