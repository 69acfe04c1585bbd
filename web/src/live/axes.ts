// The axes of the charts of reports, as python/schedlab/pictures/axes.py has them; a test holds the two together.

/** Width of a character of a label, in units of a drawing; space between two labels. */
const CHARACTER = 7, APART = 4;
/** An axis of what was measured is logarithmic if its largest value is this many times its smallest. */
export const SPREAD = 50;
/** Less than this is nothing. */
export const LEAST = 1e-290;

/** From `low` to `high`. */
export interface Axis {
  low: number;
  high: number;
  log: boolean;
}

/** The place of a value: 0 at `low`, 1 at `high`. */
export function at({ low, high, log }: Axis, value: number): number {
  if (!log) return (value - low) / (high - low);
  const from = Math.log10(low);
  return (Math.log10(Math.max(value, low)) - from) / (Math.log10(high) - from);
}

/** An axis for settings: of linear and logarithmic that on which the nearest two are farther apart. */
export function swept(values: number[]): Axis {
  const ordered = [...new Set(values)].sort((a, b) => a - b), low = ordered[0]!, high = ordered[ordered.length - 1]!;
  const log = low > 0 && high >= 10 * low && closest(ordered.map(Math.log10)) > closest(ordered);
  return around(low, high, log);
}

/** The axis of `values` with room for more. It stays as it is if it has room for them; far above all values it is logarithmic. */
export function widened(values: number[], more: number[]): Axis {
  const axis = swept(values);
  if (more.every((value) => value >= axis.low && value <= axis.high)) return axis;
  const low = Math.min(...values, ...more), high = Math.max(...values, ...more);
  const far = low > 0 && high >= 10 * low && (high > 3 * Math.max(...values) || low < Math.min(...values) / 3);
  return around(low, high, low > 0 && (axis.log || far));
}

function around(low: number, high: number, log: boolean): Axis {
  if (log) {
    const margin = (high / low) ** 0.05;
    return { low: low / margin, high: high * margin, log };
  }
  const margin = 0.05 * (high - low);
  return { low: 0 < low && low <= 0.3 * high ? 0 : low - margin, high: high + margin, log };
}

function closest(places: number[]): number {
  const apart = places.slice(1).map((place, before) => place - places[before]!);
  return Math.min(...apart) / (places[places.length - 1]! - places[0]!);
}

/** An axis for what was measured, with its marks: from zero, or logarithmic where the values are far apart. */
export function measured(values: number[], lows: number[]): { axis: Axis; marks: number[] } {
  const found = values.filter(Number.isFinite), high = found.length ? Math.max(...found) : 1, least = Math.min(...found);
  if (found.length && least > LEAST && high >= SPREAD * least) {
    const marks = logTicks(Math.min(least, ...lows.filter((low) => Number.isFinite(low) && low >= least / 3)), high);
    return { axis: { low: marks[0]!, high: marks[marks.length - 1]!, log: true }, marks };
  }
  const low = Math.min(0, ...found), marks = low === 0 ? ticks(high) : aroundZero(low, high);
  return { axis: { low: marks[0]!, high: marks[marks.length - 1]!, log: false }, marks };
}

/** Round steps from zero to at least `largest`. */
function ticks(largest: number): number[] {
  if (!(largest > LEAST)) return [0, 1];
  const step = stepOf(largest);
  return counted(0, Math.ceil((largest / step) * 0.999)).map((place) => step * place);
}

/** Round steps that have zero and both ends in them. */
export function aroundZero(low: number, high: number): number[] {
  const step = stepOf(Math.max(high, 0) - low);
  return counted(Math.floor(low / step), Math.ceil(Math.max(high, 0) / step)).map((place) => step * place);
}

function stepOf(length: number): number {
  const raw = length / 4, power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= raw * 0.999)!;
}

const counted = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, place) => from + place);

/** Powers of ten around both, or their doubles and halves too where there are few. */
export function logTicks(low: number, high: number): number[] {
  const first = Math.floor(Math.log10(low) + 1e-9), last = Math.max(Math.ceil(Math.log10(high) - 1e-9), first + 1);
  if (last - first > 2) {
    const apart = Math.ceil((last - first) / 7);
    return counted(0, Math.ceil((last - first) / apart)).map((place) => 10 ** (first + place * apart));
  }
  const powers = counted(first, last).map((power) => 10 ** power);
  const fine = [...powers.slice(0, -1).flatMap((power) => [power, 2 * power, 5 * power]), powers[powers.length - 1]!];
  const begin = fine.findLastIndex((mark) => mark <= low * 1.001), end = fine.findIndex((mark) => mark >= high * 0.999);
  return fine.slice(Math.min(begin, fine.length - 2), Math.max(end, begin + 1) + 1);
}

/** About how wide a label is. */
export const width = (text: string): number => CHARACTER * text.length;

/** From where to where a centred label reaches, moved inside the edges if need be. */
export function extent(label: string, place: number, left: number, right: number): [number, number] {
  const half = width(label) / 2, middle = Math.min(Math.max(place, left + half), Math.max(right - half, left + half));
  return [middle - half, middle + half];
}

/** Which labels to show under their places so that none touches another or the edges: the ends, then what fits. */
export function fitting(labels: string[], places: number[], left: number, right: number): number[] {
  const order = labels.map((_, index) => index).sort((a, b) => places[a]! - places[b]!), shown = new Map<number, [number, number]>();
  for (const index of [...order.slice(0, 1), ...order.slice(-1), ...halves(order.slice(1, -1))]) {
    const span = extent(labels[index]!, places[index]!, left, right);
    if ([...shown.values()].every((other) => span[1] + APART <= other[0] || other[1] + APART <= span[0])) shown.set(index, span);
  }
  return [...shown.keys()].sort((a, b) => places[a]! - places[b]!);
}

function halves(order: number[]): number[] {
  if (!order.length) return [];
  const middle = Math.floor(order.length / 2);
  return [order[middle]!, ...halves(order.slice(0, middle)), ...halves(order.slice(middle + 1))];
}

/** A text of at most this width: its end says what it is. */
export function shortened(text: string, room: number): string {
  const most = Math.max(4, Math.floor(room / CHARACTER));
  return text.length <= most ? text : `…${text.slice(1 - most)}`;
}

