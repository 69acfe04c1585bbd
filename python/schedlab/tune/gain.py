"""What settings are worth: each and the present one in the same runs, compared pair by pair.

The seeds are others than those of the search. A setting was chosen because its runs were good, partly by chance; so
those runs flatter it, and fresh ones do not. What gets worse is the price, whether it is in the goal or not: every
metric that the experiment shows is compared.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from schedlab.results import Results
from schedlab.results.better import better
from schedlab.results.compared import Both, rows
from schedlab.stats.comparison import LOWER, REAL, Question

#: The factor that says which of several settings a row is about.
SETTING = "setting"


def fresh_seeds(seeds: Sequence[int], count: int) -> list[int]:
    """The next seeds after those of an experiment."""
    return list(range(max(seeds) + 1, max(seeds) + 1 + count))


def changes(
    results: Results,
    names: Sequence[str],
    metrics: Sequence[str],
    within: float | None,
    loads: Sequence[Mapping[str, str]],
) -> list[dict[str, Any]]:
    """Compare settings with the first one under every load: rows as `results.compared.rows` gives them.

    The cells of `results` are, load by load, those of the settings called `names`; `loads` tells the loads
    apart (`board.factors`).
    """
    cells = results.manifest["cells"]
    values = results.values_of(metrics)
    several = len(names) > 2
    both = []
    for at, load in enumerate(loads):
        own = cells[at * len(names) : (at + 1) * len(names)]
        for name, cell in list(zip(names, own, strict=True))[1:]:
            factors = {**({SETTING: name} if several else {}), **load}
            alike = (cell["scenario"] in results.alike, own[0]["scenario"] in results.alike)
            both.append(Both({**cell, "factors": factors}, own[0], values, values, alike))
    exact = all(cell["on"] == "sim" for cell in cells)
    return rows(both, metrics, Question(within=within, exact=exact), results.goal)


def is_better(row: Mapping[str, Any], goal: Mapping[str, Sequence[str]]) -> bool | None:
    """Whether a row's difference is an improvement; None if it is no real one, or not known to be either."""
    wanted = better(row["metric"], goal)
    if row["verdict"] != REAL or wanted is None:
        return None
    return (row["mean"] < 0) == (wanted == LOWER)
