"""Axes: what was swept, read as numbers where it is numbers; linear or logarithmic; round marks; labels that fit."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, isfinite, log10

from schedlab.units import digits, seconds

#: Width of a character of a label, in units of a drawing.
CHARACTER = 7.0
#: Space between two labels.
APART = 4.0
#: A vertical axis is logarithmic if its largest value is this many times its smallest.
SPREAD = 50.0
#: The same of an axis that begins near its least value.
WIDE = 10.0
#: Less than this is nothing.
LEAST = 1e-290
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)\s*(B|KiB|MiB|GiB|TiB|%|/s|/min)?")
_SIZES = {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}
_RATES = {"/s": 1.0, "/min": 1 / 60}


@dataclass(frozen=True)
class Level:
    """A value of what was swept: its label, and its place on a numeric axis if it has one."""

    label: str
    value: float | None = None
    #: What kind of number: levels of one kind share an axis.
    kind: str = ""


def level(text: str) -> Level:
    """Read a level as experiment files and results spell it."""
    if text.startswith("{"):
        return _of_table(text)
    if text.startswith('[{"'):
        return Level(_of_steps(text))
    if (time := seconds(text)) is not None:
        number, unit = re.fullmatch(r"\s*(.*?)\s*([a-z]+)\s*", text).groups()
        return Level(f"{number} {unit}", time, "s")
    if found := _NUMBER.fullmatch(text.strip()):
        number, unit = float(found[1]), found[2] or ""
        if unit in _SIZES:
            return Level(f"{found[1]} {unit}", number * _SIZES[unit], "B")
        if unit in _RATES:
            return Level(f"{found[1]} {unit}", number * _RATES[unit], "/s")
        return Level(f"{found[1]} {unit}".strip(), number, unit)
    return Level(text)


def _of_steps(text: str) -> str:
    """Steps as a reader says them: "sleep 2 s, compute exp(2 s)"."""
    try:
        steps = json.loads(text)
    except ValueError:
        return text
    named = [(step.items() if isinstance(step, dict) else [("", step)]) for step in steps]
    spell = lambda value: _of_table(json.dumps(value)).label if isinstance(value, dict) else _spelled(value)  # noqa: E731
    return ", ".join(f"{name} {spell(value)}".strip() if name else str(value) for one in named for name, value in one)


def _of_table(text: str) -> Level:
    """A policy by its name and parameters; a distribution as it is said: exp(500 us)."""
    try:
        table = json.loads(text)
    except ValueError:
        return Level(text)
    if "name" in table:
        return Level(" ".join([str(table.pop("name")), *(f"{key}={_spelled(value)}" for key, value in table.items())]))
    if len(table) == 1:
        ((name, value),) = table.items()
        label = f"{name}({_spelled(value)})"
        inner = level(str(value)) if isinstance(value, str | int | float) else Level("")
        return Level(label, inner.value, inner.kind and f"{name} {inner.kind}")
    return Level(", ".join(f"{key} {_spelled(value)}" for key, value in table.items()))


def _spelled(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_spelled, value))
    return level(value).label if isinstance(value, str) else json.dumps(value)


def levels(texts: Iterable[str]) -> list[Level]:
    """Read them all; without their numbers where they are not all numbers of one kind."""
    read = [level(text) for text in texts]
    kinds = {one.kind for one in read if one.value != 0}
    if len(kinds) == 1 and all(one.value is not None for one in read) and len({one.value for one in read}) > 1:
        return read
    return [Level(one.label) for one in read]


@dataclass(frozen=True)
class Axis:
    """From `low` to `high`; either may be the larger."""

    low: float
    high: float
    log: bool = False

    def at(self, value: float) -> float:
        """The place of a value: 0 at `low`, 1 at `high`."""
        if self.log:
            low, high, value = log10(self.low), log10(self.high), log10(max(value, min(self.low, self.high)))
        else:
            low, high = self.low, self.high
        return (value - low) / (high - low)


def swept(values: Sequence[float]) -> Axis:
    """An axis for settings: of linear and logarithmic that on which the nearest two are farther apart."""
    ordered = sorted(set(values))
    low, high = ordered[0], ordered[-1]
    if low > 0 and high >= 10 * low:
        linear, logs = ([*map(float, ordered)], [log10(value) for value in ordered])
        if _closest(logs) > _closest(linear):
            margin = (high / low) ** 0.05
            return Axis(low / margin, high * margin, True)
    margin = 0.05 * (high - low)
    return Axis(0.0 if 0 < low <= 0.3 * high else low - margin, high + margin)


def _closest(places: list[float]) -> float:
    return min(b - a for a, b in pairwise(places)) / (places[-1] - places[0])


def measured(values: Iterable[float], lows: Iterable[float] = ()) -> tuple[Axis, list[float]]:
    """An axis for what was measured, with its marks: from zero, or logarithmic where the values are far apart.

    `values` are means and upper bounds; `lows` lower bounds, which are cut at zero or at the end of the axis.
    """
    found = [value for value in values if isfinite(value)]
    high = max(found, default=1.0)
    if found and min(found) > LEAST and high >= SPREAD * min(found):
        marks = log_ticks(min([min(found), *(low for low in lows if isfinite(low) and low >= min(found) / 3)]), high)
        return Axis(marks[0], marks[-1], True), marks
    low = min([0.0, *found])
    marks = ticks(high) if low == 0 else around_zero(low, high)
    return Axis(marks[0], marks[-1]), marks


def around(values: Iterable[float]) -> tuple[Axis, list[float], list[str]]:
    """An axis close around values, for differences of a few per cent; with its marks and their labels.

    It is logarithmic if the largest value is WIDE times the smallest.
    """
    found = [value for value in values if isfinite(value)]
    low, high = min(found, default=0.0), max(found, default=1.0)
    if low > LEAST and high >= WIDE * low:
        marks = log_ticks(low, high)
        return Axis(marks[0], marks[-1], True), marks, [digits(mark) for mark in marks]
    # What is equal but for rounding is drawn as a level line, not as its rounding.
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        low, high = low - (abs(low) / 2 or 1.0), high + (abs(high) / 2 or 1.0)
    step = ticks(high - low)[1]
    marks = [step * at for at in range(floor(low / step + 1e-3), ceil(high / step - 1e-3) + 1)]
    exact = next(n for n in range(4, 18) if n == 17 or len({digits(mark, n) for mark in marks}) == len(marks))
    return Axis(marks[0], marks[-1]), marks, [digits(mark, exact) for mark in marks]


def ticks(largest: float) -> list[float]:
    """Round steps from zero to at least `largest`."""
    if not largest > LEAST:
        return [0.0, 1.0]
    step = _step(largest)
    return [step * i for i in range(ceil(largest / step * 0.999) + 1)]


def around_zero(low: float, high: float) -> list[float]:
    """Round steps that have zero and both ends in them."""
    step = _step(max(high, 0.0) - low)
    return [step * i for i in range(floor(low / step), ceil(max(high, 0.0) / step) + 1)]


def _step(length: float) -> float:
    raw = length / 4
    power = 10.0 ** floor(log10(raw))
    return next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten around both, or their doubles and halves too where there are few."""
    first = floor(log10(low) + 1e-9)
    last = max(ceil(log10(high) - 1e-9), first + 1)
    if last - first > 2:
        apart = ceil((last - first) / 7)
        return [10.0**n for n in range(first, last + apart, apart)]
    powers = [10.0**n for n in range(first, last + 1)]
    fine = [m * power for power in powers[:-1] for m in (1, 2, 5)] + powers[-1:]
    begin = max(i for i, mark in enumerate(fine) if mark <= low * 1.001)
    end = min(i for i, mark in enumerate(fine) if mark >= high * 0.999)
    return fine[min(begin, len(fine) - 2) : max(end, begin + 1) + 1]


def width(text: str) -> float:
    """About how wide a label is."""
    return CHARACTER * len(text)


def fitting(labels: Sequence[str], places: Sequence[float], left: float, right: float) -> list[int]:
    """Which labels to show under their places so that none touches another or the edges: the ends, then what fits."""
    order = sorted(range(len(labels)), key=places.__getitem__)
    shown: dict[int, tuple[float, float]] = {}
    for index in [*order[:1], *order[-1:], *_halves(order[1:-1])]:
        span = extent(labels[index], places[index], left, right)
        if all(span[1] + APART <= other[0] or other[1] + APART <= span[0] for other in shown.values()):
            shown[index] = span
    return sorted(shown, key=places.__getitem__)


def _halves(order: list[int]) -> list[int]:
    if not order:
        return []
    middle = len(order) // 2
    return [order[middle], *_halves(order[:middle]), *_halves(order[middle + 1 :])]


def extent(label: str, place: float, left: float, right: float) -> tuple[float, float]:
    """From where to where a centred label reaches, moved inside the edges if need be."""
    half = width(label) / 2
    middle = min(max(place, left + half), max(right - half, left + half))
    return middle - half, middle + half


def shortened(text: str, room: float) -> str:
    """A text of at most this width: its end says what it is."""
    most = max(4, int(room / CHARACTER))
    return text if len(text) <= most else "…" + text[1 - most :]
