"""The claims of the report, each checked: a function per id, with underscores for dashes.

Two orders are compared seed by seed, on the same programs and random draws. Verdicts go by the request list as the kernel had
it. Beside them stands what becomes of the same comparison with strict priority of one direction, and without the race in
reclaim: controls that say which rule does what.
"""

from collections.abc import Mapping, Sequence

from schedlab import stats
from schedlab.reproduction import Finding, Lab, Row

Rows = Mapping[str, Row]
SIZES = {"2.0 MB": "2048KiB", "3.5 MB": "3584KiB"}
SWAPPED = "swap_in + swap_out"
STRICT = ["elevator.strict=true"]
NO_RACE = ["reclaim.race=false"]


def _startx(lab: Lab, size: str, order: str, metric: str, set: Sequence[str] = ()):
    cell = {"machine.memory.size": SIZES[size], "elevator.name": order}
    return lab.each("startx", metric, cell, set=set)


def _change(lab: Lab, size: str, metric: str, set: Sequence[str] = (), order: str = "writes_first") -> stats.Interval:
    """By how many per cent of the mean under reads first a counter is more under the other order."""
    before, after = (_startx(lab, size, name, metric, set) for name in ("reads_first", order))
    return stats.mean_interval(100 * (after - before) / before.mean())


def _spell(interval: stats.Interval) -> str:
    return f"{interval.mean:+.1f} % ({interval.low:+.1f} to {interval.high:+.1f})"


def _changes(lab: Lab, set: Sequence[str] = ()) -> str:
    return "; ".join(
        f"{size}: swapped {_spell(_change(lab, size, SWAPPED, set))}, read from files "
        f"{_spell(_change(lab, size, 'page_in', set))}, time {_spell(_change(lab, size, 'elapsed', set))}"
        for size in SIZES
    )


def writes_first_helps_under_swap(rows: Rows, lab: Lab) -> Finding:
    swapped = {size: _change(lab, size, SWAPPED) for size in SIZES}
    read = {size: _change(lab, size, "page_in") for size in SIZES}
    parts = [
        swapped["2.0 MB"].high < 0,
        swapped["3.5 MB"].high < 0,
        max(interval.low for interval in read.values()) > 0,
        swapped["2.0 MB"].high < swapped["3.5 MB"].low,
    ]
    return Finding(
        "holds" if all(parts) else "holds in part" if any(parts[:2]) else "does not hold",
        f"what writes first changes, with 95 % intervals over {swapped['2.0 MB'].n} seeds, by the kernel's own insertion scan: "
        f"{_changes(lab)}. With strict priority: {_changes(lab, STRICT)}. By the scan, without the race in reclaim: "
        f"{_changes(lab, NO_RACE)}. Strict priority without the race: {_changes(lab, STRICT + NO_RACE)}",
    )


def writes_first_costs_without_swap(rows: Rows, lab: Lab) -> Finding:
    swapped = lab.each("tex", SWAPPED, {"elevator.name": "reads_first"}).sum()
    change = _without_swap(lab, "writes_first")
    return Finding.that(
        change.low > 0 and swapped == 0,
        f"TeX, which swaps {swapped:.0f} pages, takes {_spell(change)} more time with writes first, with strict priority "
        f"{_spell(_without_swap(lab, 'writes_first', STRICT))}; published +2 % by the text, -2 % by the counters of the runs",
    )


def _without_swap(lab: Lab, order: str, set: Sequence[str] = ()) -> stats.Interval:
    before, after = (lab.each("tex", "elapsed", {"elevator.name": name}, set=set) for name in ("reads_first", order))
    return stats.mean_interval(100 * (after - before) / before.mean())


def switch_by_load(rows: Rows, lab: Lab) -> Finding:
    """It is as good as the better order in both regimes if it is nowhere worse than it beyond the interval."""
    worse = {size: _against_better(lab, size) for size in SIZES}
    tex = _without_swap(lab, "adaptive_order")
    strict = "; ".join(f"{size} {_spell(_against_better(lab, size, STRICT))}" for size in SIZES)
    spelled = "; ".join(f"{size} {_spell(interval)}" for size, interval in worse.items())
    parts = [interval.low <= 0 for interval in (*worse.values(), tex)]
    return Finding(
        "holds" if all(parts) else "holds in part" if any(parts) else "does not hold",
        f"real time with the order switched while two or more tasks swap, against the better of the two fixed orders: "
        f"{spelled}; TeX against reads first {_spell(tex)}. With strict priority: {strict}",
    )


def _against_better(lab: Lab, size: str, set: Sequence[str] = ()) -> stats.Interval:
    fixed = [_startx(lab, size, name, "elapsed", set) for name in ("reads_first", "writes_first")]
    better = min(fixed, key=lambda times: times.mean())
    adaptive = _startx(lab, size, "adaptive_order", "elapsed", set)
    return stats.mean_interval(100 * (adaptive - better) / better.mean())
