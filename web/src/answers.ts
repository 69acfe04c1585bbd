// An answer of the engine: the length of a JSON text, the text, zeros up to a multiple of 8, and arrays. The worker reads the JSON of most
// answers; a run that is drawn comes to the page as bytes.

import type { Picture, Run, Scenario, Spans } from "./types";

/** How the JSON of a fault begins. */
const FAULT = '{"fault":';

/** The first run of a set of fields, as the worker hands it over. */
export interface Packed {
  scenario: Scenario;
  run: ArrayBuffer;
}

/** The JSON of an answer, and where its arrays begin. */
export function jsonOf<T>(bytes: ArrayBuffer): { json: T; after: number } {
  const ends = 4 + new DataView(bytes).getUint32(0, true);
  return { json: JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, ends - 4))) as T, after: aligned(ends) };
}

/** Whether an answer says what is wrong with the question: its JSON has nothing else then. */
export function isFault(bytes: ArrayBuffer): boolean {
  return new TextDecoder().decode(new Uint8Array(bytes, 4, Math.min(FAULT.length, bytes.byteLength - 4))) === FAULT;
}

/** What a picture was packed from. */
export function unpacked({ scenario, run }: Packed): Picture {
  const { json, after } = jsonOf<Omit<Run, "spans"> & { spans: number }>(run);
  return { scenario, run: { ...json, spans: spansOf(run, after, json.spans) } };
}

/** The arrays of a run, where they are in the answer. */
function spansOf(bytes: ArrayBuffer, after: number, n: number): Spans {
  const end = aligned(after + 8 * n), task = aligned(end + 8 * n), processor = aligned(task + 4 * n);
  return {
    begin: new Float64Array(bytes, after, n),
    end: new Float64Array(bytes, end, n),
    task: new Uint32Array(bytes, task, n),
    processor: new Uint16Array(bytes, processor, n),
  };
}

const aligned = (offset: number): number => Math.ceil(offset / 8) * 8;
