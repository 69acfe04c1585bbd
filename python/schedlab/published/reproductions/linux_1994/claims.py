"""The claims of the report, each checked: a function per id, with underscores for dashes.

Two orders are compared seed by seed, on the same programs and random draws, by the request list as the kernel had it. Two
controls repeat the comparison, with strict priority of one direction and without the race in reclaim: they separate the
effects of these rules.
"""

from collections.abc import Mapping, Sequence

from schedlab import stats
from schedlab.published.reproduction import Finding, ReportRunner, set_afterwards
from schedlab.published.rows import Row

Rows = Mapping[str, Row]
SEEDS_AFTERWARDS = "the number of seeds was raised twice, from 32 to 64 at last"
SIZES = {"2.0 MB": "2048KiB", "3.5 MB": "3584KiB"}
SWAPPED = "swap_in + swap_out"
STRICT = ["elevator.strict=true"]
NO_RACE = ["reclaim.race=false"]


def _startx(runner: ReportRunner, size: str, order: str, metric: str, set: Sequence[str] = ()):
    cell = {"machine.memory.size": SIZES[size], "elevator.name": order}
    return runner.each("startx", metric, cell, set=set)


def _changes(runner: ReportRunner, size: str, metric: str, set: Sequence[str] = ()):
    """By how many per cent of its mean under reads first a counter is more under writes first, seed by seed."""
    before, after = (_startx(runner, size, order, metric, set) for order in ("reads_first", "writes_first"))
    return 100 * (after - before) / before.mean()


def _change(runner: ReportRunner, size: str, metric: str, set: Sequence[str] = ()) -> stats.Interval:
    return stats.mean_interval(_changes(runner, size, metric, set))


def _growth(runner: ReportRunner, set: Sequence[str] = ()) -> stats.Interval:
    """By how many points the change in swapping is lower at 2.0 MB than at 3.5 MB: the gain grows if this is below 0."""
    return stats.mean_interval(_changes(runner, "2.0 MB", SWAPPED, set) - _changes(runner, "3.5 MB", SWAPPED, set))


def _spell(interval: stats.Interval) -> str:
    return f"{interval.mean:+.1f} % ({interval.low:+.1f} to {interval.high:+.1f})"


def _points(interval: stats.Interval) -> str:
    return f"{interval.mean:+.1f} ({interval.low:+.1f} to {interval.high:+.1f})"


def _described(runner: ReportRunner, set: Sequence[str] = ()) -> str:
    return "; ".join(
        f"{size}: swapped {_spell(_change(runner, size, SWAPPED, set))}, read from files "
        f"{_spell(_change(runner, size, 'page_in', set))}, time {_spell(_change(runner, size, 'elapsed', set))}"
        for size in SIZES
    )


@set_afterwards(f"strict priority counts for 'holds in part', as a second reading of the order; {SEEDS_AFTERWARDS}")
def writes_first_helps_under_swap(rows: Rows, runner: ReportRunner) -> Finding:
    """It holds if the kernel's own scan shows every part of it; in part, if the scan or strict priority shows less swapping."""
    swapped = {size: _change(runner, size, SWAPPED) for size in SIZES}
    strict = {size: _change(runner, size, SWAPPED, STRICT) for size in SIZES}
    cut = all(interval.high < 0 for interval in swapped.values())
    more_read = max(_change(runner, size, "page_in").low for size in SIZES) > 0
    grows = _growth(runner).high < 0
    cut_somewhere = any(interval.high < 0 for interval in (*swapped.values(), *strict.values()))
    return Finding(
        "holds" if cut and more_read and grows else "holds in part" if cut_somewhere else "does not hold",
        f"what writes first changes, with 95 % intervals over {swapped['2.0 MB'].n} seeds, by the kernel's own insertion scan: "
        f"{_described(runner)}. With strict priority: {_described(runner, STRICT)}. By the scan, without the race in reclaim: "
        f"{_described(runner, NO_RACE)}. Strict priority without the race: {_described(runner, STRICT + NO_RACE)}. The change in swapping at "
        f"2.0 MB less that at 3.5 MB, in points: {_points(_growth(runner))} by the scan, {_points(_growth(runner, STRICT))} strict, "
        f"{_points(_growth(runner, STRICT + NO_RACE))} strict without the race",
    )


def writes_first_costs_without_swap(rows: Rows, runner: ReportRunner) -> Finding:
    swapped = runner.each("tex", SWAPPED, {"elevator.name": "reads_first"}).sum()
    change = _without_swap(runner, "writes_first")
    return Finding.that(
        change.low > 0 and swapped == 0,
        f"TeX, which swaps {swapped:.0f} pages, takes {_spell(change)} more time with writes first, with strict priority "
        f"{_spell(_without_swap(runner, 'writes_first', STRICT))}; published +2 % by the text, -2 % by the counters of the runs",
    )


def _without_swap(runner: ReportRunner, order: str, set: Sequence[str] = ()) -> stats.Interval:
    before, after = (runner.each("tex", "elapsed", {"elevator.name": name}, set=set) for name in ("reads_first", order))
    return stats.mean_interval(100 * (after - before) / before.mean())


@set_afterwards(
    f"the switched order has to gain something, too, and either half is enough for 'in part'; {SEEDS_AFTERWARDS}"
)
def switch_by_load(rows: Rows, runner: ReportRunner) -> Finding:
    """It must gain something where the orders differ, and be nowhere worse than the better order beyond the interval."""
    gained = {size: _over(runner, size, "reads_first") for size in SIZES}
    worse = {size: _over(runner, size, _better(runner, size)) for size in SIZES}
    tex = _without_swap(runner, "adaptive_order")
    nowhere_worse = all(interval.low <= 0 for interval in (*worse.values(), tex))
    gains = gained["2.0 MB"].high < 0
    by_size = "; ".join(
        f"{size}: {_spell(gained[size])} against reads first, {_spell(worse[size])} against the better of the two"
        for size in SIZES
    )
    strict = "; ".join(f"{size} {_spell(_over(runner, size, _better(runner, size, STRICT), STRICT))}" for size in SIZES)
    return Finding(
        "holds" if gains and nowhere_worse else "holds in part" if gains or nowhere_worse else "does not hold",
        f"real time with writes first while two or more tasks swap: {by_size}; TeX against reads first {_spell(tex)}. "
        f"With strict priority, against the better of the two: {strict}",
    )


def _better(runner: ReportRunner, size: str, set: Sequence[str] = ()) -> str:
    """The fixed order under which X starts sooner."""
    return min(("reads_first", "writes_first"), key=lambda order: _startx(runner, size, order, "elapsed", set).mean())


def _over(runner: ReportRunner, size: str, order: str, set: Sequence[str] = ()) -> stats.Interval:
    """By how many per cent X starts later with the order switched by load than with that one."""
    fixed, adaptive = (_startx(runner, size, name, "elapsed", set) for name in (order, "adaptive_order"))
    return stats.mean_interval(100 * (adaptive - fixed) / fixed.mean())
