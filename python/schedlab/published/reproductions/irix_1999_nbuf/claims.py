"""The claims of the report about `nbuf`, checked, and the rule by which an nbuf is recommended.

The rule: an nbuf is acceptable for one counter and one set of files if it lies in the better third of the counter's curve,
cannot be distinguished from the best, or is within 2 % of it, as the rule for `slice_size` has it. It is recommended if it is
acceptable for all four counters and all three sets at once; of those that are, the one that takes the least memory::

    |y(n) - y(best)|  <=  max(|y(worst) - y(best)| / 3,  h(n) + h(best),  2 % of |y(best)|)

The third term was added after the curves were seen, and verdicts that rest on it say so: without it nothing was recommended,
because system time, which varies by 3 % in all, is best where everything else is worst.

    y   the counter's mean over seeds        best   the nbuf with the greatest %rcache, or the least of another counter
    h   half of its 95 % interval            worst  the opposite

Two numbers are taken to differ when their intervals do not meet.
"""

from collections.abc import Mapping
from itertools import pairwise

from schedlab.published.reproduction import Finding, ReportRunner, set_afterwards
from schedlab.published.rows import Row

NBUF = [75, 600, 1200, 1800, 2400, 3000, 3600, 4200, 4800, 5400, 6000]
SETS = ["4x75MB", "100x3MB", "1000x300KB"]
COUNTERS = {"sys": "T_s", "wio": "%wio", "rcache": "%rcache", "busy": "%busy"}
PRINTED_RANGE = (27, 73)
SMALL = [n for n in NBUF if n < 2000]
# The set to which the printed numbers of %rcache are read to belong, and the row to which the model was fitted.
READ_AS = "4x75MB"
FITTED = f"rcache@nbuf=3000,files={READ_AS}"
HEADERS = "machine.files.cache_blocks"
# A difference of this share of the best is none that anybody feels.
NEAR = 0.02
NEAR_AFTERWARDS = "a value within 2 % of the best counts as acceptable"

Rows = Mapping[str, Row]
Curve = dict[int, Row]


@set_afterwards(NEAR_AFTERWARDS)
def recommended_nbuf(rows: Rows, runner: ReportRunner) -> tuple[float, float, float]:
    """The least nbuf that the rule recommends, with the least and the greatest; none, if there is none."""
    found = _acceptable(rows, COUNTERS)
    return (found[0], found[0], found[-1]) if found else (float("nan"),) * 3


def nbuf_rcache_rises(rows: Rows, runner: ReportRunner) -> Finding:
    curves = {files: _curve(rows, "rcache", files) for files in SETS}
    steps = {files: _steps(curve, sign=1) for files, curve in curves.items()}
    ends = {files: (curve[NBUF[0]].predicted, curve[NBUF[-1]].predicted) for files, curve in curves.items()}
    rises = [_above(curve[NBUF[-1]], curve[NBUF[0]]) for curve in curves.values()]
    everywhere = [all(steps[files]) for files in SETS]
    tolerance = rows[FITTED].spec.tolerance
    near = [tolerance.holds(end, printed) for end, printed in zip(ends[READ_AS], PRINTED_RANGE, strict=True)]
    shown = "; ".join(
        f"{files}: from {low:.0f} to {high:.0f} %, rising at {sum(steps[files])} of {len(NBUF) - 1} steps"
        for files, (low, high) in ends.items()
    )
    lru = {
        n: runner.value(
            "nbuf_4x75MB", "rcache", "%", {HEADERS: str(n)}, sweep={HEADERS: [1800, 2400, 3000]}, set=["cache.name=lru"]
        )
        for n in (1800, 2400, 3000)
    }
    return _verdict(
        [*rises, *everywhere, *near],
        f"{shown} (print: 27 to 73; the lower end of {READ_AS} is built in, as the share of the server's hits was set to it). At "
        f"{NBUF[-1]} the buffers hold {rows[f'buffers@nbuf={NBUF[-1]},files={READ_AS}'].predicted:.0f} MiB: memory ends them. The order of "
        f"the report does not state the replacement policy: were it least recently used, 4x75MB would go from {lru[1800].mean:.0f} % at 1800 "
        f"and {lru[2400].mean:.0f} % at 2400 to {lru[3000].mean:.0f} % at 3000, a step where one file fits",
    )


def nbuf_busy_falls(rows: Rows, runner: ReportRunner) -> Finding:
    curves = {files: _curve(rows, "busy", files) for files in SETS}
    falls = {files: _above(curve[NBUF[0]], curve[NBUF[-1]]) for files, curve in curves.items()}
    never_rises = {files: not any(_steps(curve, sign=1)) for files, curve in curves.items()}
    shown = "; ".join(
        f"{files}: from {curve[NBUF[0]].predicted:.1f} to {curve[NBUF[-1]].predicted:.1f} %, down at {sum(_steps(curve, sign=-1))} "
        f"and up at {sum(_steps(curve, sign=1))} of {len(NBUF) - 1} steps"
        for files, curve in curves.items()
    )
    return _verdict([*falls.values(), *never_rises.values()], shown)


@set_afterwards(NEAR_AFTERWARDS)
def nbuf_memory_cost(rows: Rows, runner: ReportRunner) -> Finding:
    paged = {files: [n for n, row in _curve(rows, "swap_in", files).items() if row.low > 0] for files in SETS}
    begins = [f"{files}: from {paged[files][0]} on" if paged[files] else f"{files}: never" for files in SETS]
    last = {files: rows[f"swap_in@nbuf={NBUF[-1]},files={files}"].predicted for files in SETS}
    missing = all(paged.values()) and all(min(paged[files]) > NBUF[0] for files in SETS)
    undone = [
        f"{COUNTERS.get(counter, counter)} {files} ({curve[best].predicted:.1f} at {best}, {curve[NBUF[-1]].predicted:.1f} at {NBUF[-1]})"
        for counter in [*COUNTERS, "real"]
        for files in SETS
        for curve in [_curve(rows, counter, files)]
        for best in [_best(curve, counter)]
        if _worse(curve[NBUF[-1]], curve[best], counter)
    ]
    roomy = runner.value(
        "nbuf_4x75MB",
        "tasks.files.real",
        cell={HEADERS: "6000"},
        sweep={HEADERS: [6000]},
        set=["machine.memory.size=256MiB"],
    )
    found = _acceptable(rows, COUNTERS)
    single = {name: _acceptable(rows, [counter]) for counter, name in COUNTERS.items()}
    without = _acceptable(rows, [counter for counter in COUNTERS if counter != "sys"])
    return _verdict(
        [missing, bool(undone)],
        f"programs get pages back from the swap area {'; '.join(begins)} ({', '.join(f'{last[f]:.0f}' for f in SETS)} pages at "
        f"{NBUF[-1]}); worse at {NBUF[-1]} than at their best are {', '.join(undone) or 'no counters'}; 4x75MB takes "
        f"{rows[f'real@nbuf={NBUF[-1]},files=4x75MB'].predicted:.0f} s at {NBUF[-1]}, with 256 MB for programs and buffers it would take "
        f"{roomy.mean:.0f} s. Acceptable for every counter and set: {_spell(found)} (without T_s, "
        f"which hardly changes: {_spell(without)}); for one counter in every set: "
        f"{', '.join(f'{name} {_spell(values)}' for name, values in single.items())}",
    )


@set_afterwards(NEAR_AFTERWARDS)
def wio_small_nbuf(rows: Rows, runner: ReportRunner) -> Finding:
    parts, shown = [], []
    for files in SETS:
        curve = _curve(rows, "wio", files)
        best = _best(curve, "wio")
        worse = [n for n in SMALL if _above(curve[n], curve[best])]
        far = [n for n in SMALL if n not in _acceptable_for(curve, "wio")]
        parts.append(best not in SMALL and worse == SMALL and far == SMALL)
        shown.append(
            f"{files}: {', '.join(f'{curve[n].predicted:.1f}' for n in SMALL)} % at {', '.join(map(str, SMALL))} against "
            f"{curve[best].predicted:.1f} % at {best}, the best; above it are {_spell(worse)}, by more than a third of the spread "
            f"{_spell(far)}"
        )
    return _verdict(parts, "; ".join(shown))


def _verdict(parts: list[bool], evidence: str) -> Finding:
    return Finding("holds" if all(parts) else "holds in part" if any(parts) else "does not hold", evidence)


def _curve(rows: Rows, counter: str, files: str) -> Curve:
    return {n: rows[f"{counter}@nbuf={n},files={files}"] for n in NBUF}


def _above(one: Row, other: Row) -> bool:
    """Whether one is greater, by intervals that do not meet."""
    return one.low > other.high


def _worse(one: Row, other: Row, counter: str) -> bool:
    return _above(other, one) if counter == "rcache" else _above(one, other)


def _steps(curve: Curve, sign: int) -> list[bool]:
    """From each nbuf to the next, whether the curve rises (1) or falls (-1)."""
    return [_above(b, a) if sign > 0 else _above(a, b) for a, b in pairwise(curve.values())]


def _best(curve: Curve, counter: str) -> int:
    choose = max if counter == "rcache" else min
    return choose(curve, key=lambda n: curve[n].predicted)


def _acceptable_for(curve: Curve, counter: str) -> list[int]:
    best = curve[_best(curve, counter)]
    means = [row.predicted for row in curve.values()]
    spread = max(means) - min(means)

    def near(row: Row) -> bool:
        untold = (row.high - row.low) / 2 + (best.high - best.low) / 2
        return abs(row.predicted - best.predicted) <= max(spread / 3, untold, NEAR * abs(best.predicted))

    return [n for n, row in curve.items() if near(row)]


def _acceptable(rows: Rows, counters) -> list[int]:
    """Those that the rule finds acceptable for every set of files and all of these counters."""
    each = [_acceptable_for(_curve(rows, counter, files), counter) for counter in counters for files in SETS]
    return [n for n in NBUF if all(n in one for one in each)]


def _spell(values: list[int]) -> str:
    return ", ".join(map(str, values)) or "none"
