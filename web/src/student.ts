// The quantile of Student's t for 95 % intervals, and the interval of a mean.
//
// As python/schedlab/stats/student.py has it: Newton's method on the finite sums of Abramowitz and Stegun 26.7.3 and 26.7.4.
// A test compares the two.

/** What a normal variable stays between, minus and plus, with a probability of 0.95. */
const NORMAL = 1.959963984540054;
const CONFIDENCE = 0.95;
const known = new Map<number, number>();

/** The t that a variable with this many degrees of freedom stays between -t and t of with a probability of 0.95. */
export function quantile(freedom: number): number {
  let t = known.get(freedom);
  if (t === undefined) known.set(freedom, (t = newton(freedom)));
  return t;
}

// P(-t < T < t) rises ever more slowly in t, so from below every step stays below.
function newton(freedom: number): number {
  // The density is  scale / 2 * (1 + t * t / freedom) ** (-(freedom + 1) / 2)
  const scale = (2 * gammas(freedom)) / Math.sqrt(freedom * Math.PI);
  let t = NORMAL;
  for (;;) {
    const density = (1 + (t * t) / freedom) ** (-(freedom + 1) / 2);
    const step = (CONFIDENCE - between(t, freedom)) / (scale * density);
    if (!(step > t * 1e-15)) return t + step;
    t += step;
  }
}

// gamma((f + 1) / 2) / gamma(f / 2): for f = 1 it is 1 / sqrt(pi), and that for f times that for f + 1 is f / 2.
function gammas(freedom: number): number {
  let ratio = 1 / Math.sqrt(Math.PI);
  for (let f = 1; f < freedom; f++) ratio = f / 2 / ratio;
  return ratio;
}

/** How probable a value between -t and t is. */
function between(t: number, freedom: number): number {
  const angle = Math.atan(t / Math.sqrt(freedom)), sine = Math.sin(angle), cosine = Math.cos(angle);
  const odd = freedom % 2 === 1;
  let term = odd ? cosine : 1, total = 0;
  for (let factor = odd ? 2 : 1; factor < freedom; factor += 2) {
    total += term;
    term *= (factor / (factor + 1)) * cosine * cosine;
  }
  return odd ? (2 / Math.PI) * (angle + sine * total) : sine * total;
}

/** The sum, rounded once, as Python's math.fsum gives it: by Shewchuk's partial sums, none of which has a bit of another. */
export function sum(values: number[]): number {
  if (!values.every(Number.isFinite)) return values.reduce((total, value) => total + value, 0);
  const partials: number[] = [];
  for (const value of values) {
    let x = value, kept = 0;
    for (const y of partials) {
      const [larger, smaller] = Math.abs(x) < Math.abs(y) ? [y, x] : [x, y], high = larger + smaller, low = smaller - (high - larger);
      if (low) partials[kept++] = low;
      x = high;
    }
    partials.splice(kept, partials.length, x);
  }
  return rounded(partials);
}

// From the largest down until one is not taken up whole. A tie of it is decided by the next one's sign.
function rounded(partials: number[]): number {
  let place = partials.length - 1, total = partials[place] ?? 0, rest = 0;
  while (place > 0 && !rest) {
    const before = total, y = partials[--place]!;
    total = before + y;
    rest = y - (total - before);
  }
  if (place > 0 && Math.sign(rest) === Math.sign(partials[place - 1]!)) {
    const twice = 2 * rest, moved = total + twice;
    if (moved - total === twice) return moved;
  }
  return total;
}

export interface Interval {
  mean: number;
  /** Half the width of the interval; NaN for fewer than two values. */
  half: number;
  n: number;
}

// mean ± t(n - 1) * s / sqrt(n), where s * s is the sum of squared differences from the mean over n - 1.
export function interval(values: number[]): Interval {
  const n = values.length, mean = sum(values) / n;
  if (n < 2) return { mean, half: NaN, n };
  const squares = sum(values.map((value) => (value - mean) * (value - mean)));
  return { mean, half: (quantile(n - 1) * Math.sqrt(squares / (n - 1))) / Math.sqrt(n), n };
}
