// Quantities in words, as experiment files and tables write them, and back.
//
// The engine judges what is written; here a text is only read to place a slider, and a number spelled to be written.

const SECONDS: [string, number][] = [["h", 3600], ["min", 60], ["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9]];
const BYTES: [string, number][] = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10], ["B", 1]];
const DECIMAL: [string, number][] = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]];

export type Kind = "duration" | "size" | "rate" | "count";

/** The number that a text says: durations in ns, sizes in bytes, rates per second; null if it says none. */
export function read(text: string, kind: Kind): number | null {
  const found = /^\s*(-?[\d_.]+(?:e[+-]?\d+)?)\s*([a-zA-Z]*)\s*(?:\/\s*([a-z]+))?\s*$/.exec(text);
  if (!found) return null;
  const value = Number(found[1]!.replaceAll("_", ""));
  const scale = scaleOf(found[2]!, found[3] ?? "", kind);
  return Number.isFinite(value) && scale !== null ? value * scale : null;
}

function scaleOf(unit: string, per: string, kind: Kind): number | null {
  const of = (units: [string, number][], name: string): number | null => units.find(([known]) => known === name)?.[1] ?? null;
  if (kind === "count") return unit === "" && per === "" ? 1 : null;
  if (kind === "duration") return scaled(of(SECONDS, unit), 1e9);
  if (kind === "size") return of([...BYTES, ...DECIMAL], unit);
  return unit === "" ? scaled(of(SECONDS, per), 1, true) : null;
}

function scaled(scale: number | null, by: number, inverse = false): number | null {
  return scale === null ? null : inverse ? by / scale : scale * by;
}

/** A number as an experiment file writes it. */
export function spell(value: number, kind: Kind): string {
  if (kind === "count") return String(Math.round(value));
  if (kind === "rate") return `${Number(value.toPrecision(6))}/s`;
  const units = kind === "duration" ? SECONDS.slice(2).map(([name, scale]): [string, number] => [name, scale * 1e9]) : BYTES;
  const [name, scale] = units.find(([, size]) => value >= size * (1 - 1e-9)) ?? units[units.length - 1]!;
  return `${Number((value / scale).toPrecision(6))}${value === 0 && kind === "duration" ? "s" : name}`;
}

/** A length of time in words, from ns. */
export function duration(ns: number): string {
  if (ns === 0) return "0 s";
  const [unit, scale] = ns >= 1e9 ? ["s", 1e9] : ns >= 1e6 ? ["ms", 1e6] : ns >= 1e3 ? ["us", 1e3] : ["ns", 1];
  return `${Number((ns / (scale as number)).toPrecision(4))} ${unit}`;
}

/** A moment in seconds, with as many places as steps of that length (ns) need. */
export function moment(ns: number, step: number): string {
  const places = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / 1e9) - 1e-9)));
  return `${(ns / 1e9).toFixed(places)} s`;
}

/** The unit in which numbers of about this size are read most easily, and what to multiply with. */
export function readable(unit: string, magnitude: number): { unit: string; by: number } {
  const units = unit === "s" ? SECONDS.slice(2) : unit === "B" ? BYTES : null;
  if (!units || !magnitude) return { unit: unit === "1" ? "" : unit, by: 1 };
  const [name, scale] = units.find(([, size]) => magnitude >= size) ?? units[units.length - 1]!;
  return { unit: name, by: 1 / scale };
}

/** A number with that many digits, and no exponent for everyday sizes. */
export function digits(value: number, significant = 4): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e7) return value.toExponential(significant - 1);
  const places = Math.max(0, significant - 1 - Math.floor(Math.log10(size)));
  if (isHalf(value, places)) return String(even(value * 10 ** places) / 10 ** places);
  return size >= 10 ** (significant - 1) ? value.toFixed(0) : String(Number(value.toPrecision(significant)));
}

/** Whether a value lies exactly between two numbers of that many places. A script rounds it away from zero, Python to the even one. */
function isHalf(value: number, places: number): boolean {
  return Number.isInteger(value * 2 ** (places + 1)) && Math.abs((value * 10 ** places) % 1) === 0.5;
}

const even = (half: number): number => 2 * Math.round(half / 2);

const fixed = (value: number, places: number): string => (isHalf(value, places) ? even(value * 10 ** places) / 10 ** places : value).toFixed(places);

/** A time in ms, from ns: a few ns have no exponent either. */
export function milliseconds(ns: number): string {
  return ns >= 0.5 && ns < 100 ? (ns / 1e6).toFixed(6).replace(/0+$/, "") : digits(ns / 1e6);
}

/** "1 task", "2 tasks". */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** "mean ± half", both to the place that the half width makes meaningful. */
export function spread(mean: number, half: number): string {
  if (!Number.isFinite(half)) return digits(mean);
  if (half <= Math.abs(mean) * 1e-6) return `${digits(mean, 6)} ± 0`;
  const largest = mean ? 5 - Math.floor(Math.log10(Math.abs(mean))) : 6;
  const places = Math.min(20, Math.max(0, Math.min(1 - Math.floor(Math.log10(half)), largest)));
  return `${fixed(mean, places)} ± ${fixed(half, places)}`;
}
