// Stored results next to what is computed here: the same seed must give the same number, to the last bit.

import type { Side } from "./setting";
import type { Outline, Row, Stored, StoredCell } from "./types";

/** The stored cell that a side is; undefined if it differs in a field, or the text is another. */
export function cellOf(stored: Stored | null, side: Side, outline: Outline, sameText: boolean): StoredCell | undefined {
  if (!stored || !sameText || side.set.size) return undefined;
  const factors = Object.entries(outline.cells[side.cell] ?? {});
  return stored.cells.find((cell) => Object.keys(cell.factors).length === factors.length && factors.every(([path, value]) => cell.factors[path] === value));
}

/** What was found where a computed run was held against the stored one of its seed. */
export interface Checked {
  compared: number;
  /** A line for each number that differs. */
  differing: string[];
}

/** Two checks as one. */
export function added(one: Checked | null, other: Checked): Checked {
  return { compared: (one?.compared ?? 0) + other.compared, differing: [...(one?.differing ?? []), ...other.differing] };
}

export function check(cell: StoredCell, seed: number, rows: Row[]): Checked {
  const computed = new Map(rows.map(([metric, value]) => [metric, value])), found: Checked = { compared: 0, differing: [] };
  for (const [metric, { values, seeds }] of Object.entries(cell.metrics)) {
    // Where runs draw no random number, one stands for all seeds.
    const known = values[cell.alike ? 0 : seeds.indexOf(seed)];
    if (known === undefined) continue;
    found.compared += 1;
    const here = computed.get(metric) ?? null;
    if (!Object.is(here, known)) found.differing.push(`${metric} of seed ${seed}: stored ${known}, computed ${here}`);
  }
  return found;
}
