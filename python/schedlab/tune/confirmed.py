"""What a kernel says of a tuning, in words and as a table; where it disagrees with the simulator."""

from collections.abc import Mapping
from typing import Any

from schedlab.tables import Cell, Column, Table
from schedlab.tune import summary
from schedlab.tune.board import factors
from schedlab.tune.confirm import Confirmed
from schedlab.tune.gain import SETTING
from schedlab.tune.space import Setting
from schedlab.tune.tuning import Tuning
from schedlab.units import counted, digits

#: Rows that are named.
NAMED = 4
#: A prediction that is off by less than this share of the present value is none to speak of.
OFF = 0.05


def settled(found: Tuning, real: Confirmed | None) -> Setting:
    """What to set in the end, the present setting to leave it: a kernel's answer goes before the search's."""
    if real:
        return real.chosen
    return found.chosen if summary.recommended(found) else found.board.present


def verdict(found: Tuning, real: Confirmed | None) -> list[str]:
    """What to do: what a kernel says first, then what the search says; where they differ, of which place that is."""
    own = summary.verdict(found)
    if real is None:
        return own
    if real.chosen != found.chosen:
        own = [f"on {found.on} alone: {own[0]}", *own[1:]]
    return [*confirmed_words(found, real), *own]


def confirmed_words(found: Tuning, real: Confirmed) -> list[str]:
    """What the kernel says, where it agrees with the simulator and where not."""
    text = found.space.text
    if real.chosen == found.chosen:
        tried = counted(len(real.candidates) + 1, "setting")
        lines = [f"{real.on} confirms it: {text(real.chosen)} is the best of {tried} there"]
    elif real.chosen == found.board.present:
        lines = [f"{real.on} does not confirm it: the present setting is the best there; leave it"]
    else:
        lines = [f"{real.on} does not confirm it: {text(real.chosen)} is the best there; set that"]
    missed = [row for row in real.changes if _misses(row)]
    for row in missed[:NAMED]:
        of = f" with {row[SETTING]}" if SETTING in row else ""
        lines.append(
            f"{row['metric']}{of}: predicted {_signed(row['predicted'])}, on {real.on} {_signed(row['relative'])} "
            f"[{', '.join(_signed(end) for end in _bounds(row))}]"
        )
    return lines


def _misses(row: Mapping[str, Any]) -> bool:
    """Whether a prediction lies outside of the measured interval and is off by more than a twentieth."""
    bounds = _bounds(row)
    if row["predicted"] is None or not bounds:
        return False
    outside = not bounds[0] <= row["predicted"] <= bounds[1]
    return outside and abs(row["predicted"] - row["relative"]) > OFF


def _bounds(row: Mapping[str, Any]) -> list[float]:
    """The interval of a difference as shares of the base; empty if there is none."""
    if row["relative"] is None or row["low"] is None or row["low"] != row["low"] or not row["mean"]:
        return []
    scale = row["relative"] / row["mean"]
    return sorted([row["low"] * scale, row["high"] * scale])


def _signed(share: float) -> str:
    return f"{100 * share:+.3g} %"


def confirmed_table(found: Tuning, real: Confirmed) -> Table:
    """Each candidate against the present setting: predicted and measured."""
    distinct = list(factors(found.loads)[0])
    keys = ([SETTING] if len(real.candidates) > 1 else []) + distinct
    columns = [Column(name, key=True, prose=name == SETTING) for name in keys]
    columns += [
        Column("metric", key=True),
        Column("predicted", "%", numeric=True),
        Column("measured", "%", numeric=True, plain=("measured [%]", "low [%]", "high [%]")),
        Column("pairs", numeric=True),
        Column("verdict"),
    ]
    rows = []
    for row in real.changes:
        predicted, relative = row["predicted"], row["relative"]
        bounds = [100 * end for end in _bounds(row)]
        inside = f" [{digits(bounds[0], 3)}, {digits(bounds[1], 3)}]" if bounds else ""
        measured = "" if relative is None else f"{100 * relative:+.3g}{inside}"
        plain = (None if relative is None else 100 * relative, *(bounds or (None, None)))
        rows.append(
            [
                *(Cell(str(row[name])) for name in keys),
                Cell(row["metric"]),
                Cell(
                    "" if predicted is None else f"{100 * predicted:+.3g}",
                    (None if predicted is None else 100 * predicted,),
                ),
                Cell(measured, plain),
                Cell(str(row["n"])),
                Cell(row["verdict"]),
            ]
        )
    return Table(columns, rows, f"on {real.on}, against the present setting")
