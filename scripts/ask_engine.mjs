// Asks the engine for pages, in node: node scripts/ask_engine.mjs ENGINE.wasm. Each line of the input is a question; each line of the output is its
// answer, without the arrays of spans. Values of metrics are their bits, in hexadecimal digits; `took` is the processor time of
// the engine, in ms, and `memory` how many bytes it has.
import { readFileSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), {});
const { memory, reserve, ask, answer } = instance.exports;

function bits(value) {
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, value);
    return view.getBigUint64(0).toString(16).padStart(16, "0");
}

function asked(question) {
    const bytes = new TextEncoder().encode(question);
    const start = process.cpuUsage();
    const address = reserve(bytes.length);
    if (address === 0) throw new Error(`the question has ${bytes.length} bytes, more than the engine takes`);
    new Uint8Array(memory.buffer, address, bytes.length).set(bytes);
    ask(bytes.length);
    const used = process.cpuUsage(start);
    const took = (used.user + used.system) / 1e3;
    const length = new DataView(memory.buffer).getUint32(answer(), true);
    const found = JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, answer() + 4, length)));
    if (found.rows) found.rows = found.rows.map(([metric, value, unit]) => [metric, bits(value), unit]);
    return { ...found, took, memory: memory.buffer.byteLength };
}

for await (const line of createInterface({ input: process.stdin })) {
    writeSync(1, JSON.stringify(asked(line)) + "\n");
}
