// What the simulator needs of a browser.

/** What this browser lacks; empty if nothing. */
export function lacking(): string {
  const needed = ["WebAssembly", "DecompressionStream", "CompressionStream", "Worker", "ResizeObserver"];
  return needed.filter((name) => !(name in globalThis)).join(", ");
}
