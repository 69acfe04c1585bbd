"""What makes a report live: the simulator, what is stored, and what each figure is drawn from, so that it can go on.

The script (`web/src/live/live.ts`) computes the point under a slider for the same seeds, and holds the first stored
numbers of each cell to those that the page computes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from schedlab.errors import UsageError
from schedlab.lab import given
from schedlab.lab.made import LIVE, Made, made, packed
from schedlab.lab.page import LARGEST
from schedlab.pictures import axes
from schedlab.pictures.effects import Effects
from schedlab.pictures.swept import Curves, Maps, Plot
from schedlab.results import Results

#: Stored numbers that a page has at most, of which it checks some: more would leave too little room for the report.
MOST_NUMBERS = 5_000
#: Why nothing is computed in a figure that does not say so itself.
STILL = "Stored results only: this figure is over nothing that was swept."
#: What a figure has to be drawn from, if it can go on.
LIVING = ("plots", "curves", "maps", "effects", "stretch")


@dataclass(frozen=True)
class Live:
    """What a page has beyond a report: the parts that it is made of, and what its script reads: JSON, packed."""

    parts: Made
    given: str


def put_in(results: Results, figures: Sequence[Mapping]) -> Live:
    """All of it. `figures` are those of the page; those with what they are drawn from can go on."""
    if not any(cell["on"] == "sim" for cell in results.manifest["cells"]):
        raise UsageError(
            f"--live: no cell of {results.folder} was simulated, and a page can compute none of a host or a guest; "
            "leave out --live"
        )
    about = given.of_opened(results, MOST_NUMBERS)
    document = {
        "file": about.file,
        "text": about.text,
        "stored": about.stored,
        "factors": _factors(results),
        "means": [{"id": one["id"], "plots": list(map(_plot, one["plots"]))} for one in _with(figures, "plots")],
        "tails": [{"id": one["id"], **_tail(one["curves"])} for one in _with(figures, "curves")],
        "maps": [{"id": one["id"], **_maps(one["maps"])} for one in _with(figures, "maps")],
        "effects": [{"id": one["id"], **_effects(one["effects"])} for one in _with(figures, "effects")],
        "schedules": [{"id": one["id"], **one["stretch"]} for one in _with(figures, "stretch")],
        "still": {one["id"]: one.get("still", STILL) for one in figures if not _with([one], *LIVING)},
    }
    return Live(made(LIVE), packed(json.dumps(document, allow_nan=False).encode()))


def _with(figures: Sequence[Mapping], *kinds: str) -> list[Mapping]:
    """The figures that can be drawn from one of these."""
    return [one for one in figures if any(one.get(kind) for kind in kinds)]


def _factors(results: Results) -> list[dict[str, Any]]:
    """What was swept, but for places: each field with its levels."""
    cells = results.manifest["cells"]
    found = {path: list(dict.fromkeys(cell["factors"][path] for cell in cells)) for path in results.factors}
    return [
        {"path": path, "levels": _levels(texts)} for path, texts in found.items() if path != "on" and len(texts) > 1
    ]


def _levels(texts: Sequence[str]) -> list[dict[str, Any]]:
    levels = zip(texts, axes.levels(texts), strict=True)
    return [{"text": text, "label": one.label, "value": one.value, "kind": one.kind} for text, one in levels]


def _plot(plot: Plot) -> dict[str, Any]:
    """A chart as the script draws it."""
    return {
        "over": plot.over,
        "levels": _levels(plot.levels),
        "title": plot.title,
        "heading": plot.heading,
        "by": plot.by,
        "series": [
            {
                "name": series.name,
                "metric": metric,
                "held": held,
                "accepted": None if series.accepted is None else sorted(series.accepted),
                "points": [[p.x, p.mean, _known(p.low), _known(p.high), p.n] for p in series.points],
            }
            for series, (metric, held) in zip(plot.series, plot.of, strict=True)
        ],
    }


def _tail(curves: Curves) -> dict[str, Any]:
    """A distribution as the script draws it: of each curve the percentiles, by the share of values that are longer."""
    return {
        "of": curves.of,
        "metrics": list(curves.metrics),
        "title": curves.title,
        "by": curves.by,
        "parts": [
            [
                {"name": name, "points": [[p.name, p.longer, p.mean, _known(p.low), _known(p.high)] for p in curve]}
                for name, curve in part
            ]
            for part in curves.parts
        ],
    }


def _maps(maps: Maps) -> dict[str, Any]:
    """Heat maps as the script draws them."""
    return {
        "metric": maps.metric,
        "over": list(maps.over),
        "columns": _levels(maps.columns),
        "rows": _levels(maps.rows),
        "title": maps.title,
        "by": maps.by,
        "maps": [
            {
                "heading": one.heading,
                "held": one.held,
                "tiles": [
                    [
                        tile.column,
                        tile.row,
                        tile.value,
                        _known(tile.low),
                        _known(tile.high),
                        tile.n,
                        tile.mark,
                        tile.tip,
                    ]
                    for tile in one.tiles
                ],
            }
            for one in maps.maps
        ],
    }


def _effects(found: Effects) -> dict[str, Any]:
    """Differences from a base as the script draws them, in %, and the bases."""
    rows = [[one.label, one.mean, _known(one.low), _known(one.high), one.kind] for one in found.rows]
    bases = [{"factors": factors, "given": given} for factors, given in found.bases]
    return {"metric": found.metric, "base": found.base, "within": found.within, "rows": rows, "bases": bases}


def _known(bound: float) -> float | None:
    """A bound, which a single run has none of."""
    return bound if isfinite(bound) else None


__all__ = ["LARGEST", "Live", "put_in"]
