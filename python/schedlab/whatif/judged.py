"""Which numbers of a replay can be trusted, and what they predict.

The gate is self-consistency: the replay of the recorded setting has to give the recorded numbers.

    share       within 2 percentage points; else nothing of the task is predicted
    switches    within 15 %
    durations   within 15 % or 0.1 ms, or within the range of the replays

A number that passes is predicted as the median of the replays of the changed setting. Its interval spans these and
what another run of that length may give (`scatter`), and is widened by what the replay of the recorded setting is off:
a model that is 5 % low there may be 5 % low here. And one that is right there is not known to be as right here:

    share       at least 1 percentage point to either side, or 5 % of it if that is less
    all else    at least 5 %
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

#: Of shares, percentage points.
SHARE_POINTS = 2.0
#: Of all else, relative.
RELATIVE = 0.15
#: Of durations, us; of switches a second.
DURATION_US = 100.0
SWITCHES = 1.0
#: What a model is off under another setting, at least: of shares, percentage points; of all, relative.
LEAST_POINTS = 1.0
LEAST = 0.05
#: Fewer wakeups in a run show no 99th percentile.
FEW_WAKEUPS = 20

#: What is predicted: the path of the number in a row of `schedlab trace --json`.
NUMBERS = (
    ("share_pct",),
    ("switches_per_s",),
    *(("wakeup_us", name) for name in ("mean", "p50", "p90", "p99", "max")),
    *(("run_length_us", name) for name in ("mean", "p50", "p90", "p99", "max")),
)


@dataclass(frozen=True)
class Predicted:
    """A number: as recorded, and as predicted with its interval, if it could be; else why not."""

    recorded: float | None
    predicted: float | None = None
    low: float | None = None
    high: float | None = None
    why_not: str | None = None


def of_row(row: dict[str, Any] | None, path: Sequence[str]) -> float | None:
    """A number of a row, if it has it."""
    found: Any = row
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def judge(
    path: Sequence[str],
    recorded: float | None,
    base: Sequence[float | None],
    new: Sequence[float | None],
    another: Callable[[], tuple[float, float] | None] = lambda: None,
) -> Predicted:
    """A number from its values in the recording, in replays of it, and in replays of the changed setting.

    `another` gives the bounds of another run of the changed setting, if it can.
    """
    known, wanted = [one for one in base if one is not None], [one for one in new if one is not None]
    if recorded is None:
        return Predicted(None, why_not="the recording does not have it")
    if not known or not wanted:
        return Predicted(recorded, why_not="the replay has no such events")
    off = _off(path[0], recorded, known)
    if off:
        return Predicted(recorded, why_not=off)
    spanned = [*wanted, *(another() or ())]
    low, high = _widened(path[0], recorded, known, min(spanned), max(spanned))
    return Predicted(recorded, median(wanted), low, high)


def _off(kind: str, recorded: float, base: list[float]) -> str | None:
    """Why a replay of the recorded setting is not the recording; None if it is."""
    middle = median(base)
    said = f"the replay of the recorded setting gives {middle:.4g}, the recording has {recorded:.4g}"
    apart = abs(middle - recorded)
    if kind == "share_pct":
        return None if apart <= SHARE_POINTS else said
    least = SWITCHES if kind == "switches_per_s" else DURATION_US
    if apart <= max(RELATIVE * recorded, least):
        return None
    within = kind != "switches_per_s" and min(base) <= recorded <= max(base)
    return None if within else said


def _widened(kind: str, recorded: float, base: list[float], low: float, high: float) -> tuple[float, float]:
    middle = median(base)
    apart = abs(middle - recorded)
    is_duration = kind not in ("share_pct", "switches_per_s")
    if kind == "share_pct" or middle <= 0 or recorded <= 0 or (is_duration and apart <= DURATION_US):
        # An amount, not a factor: of durations within the resolution of the model.
        return max(0.0, low - max(apart, _least(kind, low))), high + max(apart, _least(kind, high))
    return _by_factors(recorded / middle, low, high)


def _least(kind: str, value: float) -> float:
    return min(LEAST_POINTS, LEAST * value) if kind == "share_pct" else LEAST * value


def _by_factors(ratio: float, low: float, high: float) -> tuple[float, float]:
    return low * min(1 - LEAST, ratio), high * max(1 + LEAST, ratio)


def elapsed(fixed: tuple[str, float] | None, base: list[dict], new: list[dict], limit: float) -> Predicted | None:
    """How long the recorded command takes, if it is one that ends by itself, in seconds."""
    if fixed is None:
        return None
    recorded = fixed[1]
    known, wanted = ([run["span_s"] for run in runs] for runs in (base, new))
    middle = median(known)
    if abs(middle - recorded) > RELATIVE * recorded:
        return Predicted(recorded, why_not=f"the replay of the recorded setting takes {middle:.4g} s")
    if max(wanted) >= limit:
        return Predicted(recorded, why_not=f"it has not ended after {limit:.4g} s")
    return Predicted(recorded, median(wanted), *_by_factors(recorded / middle, min(wanted), max(wanted)))
