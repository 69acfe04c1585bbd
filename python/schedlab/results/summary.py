"""From the values of runs to what a table says of them."""

from typing import Any

from schedlab import stats
from schedlab.results.store import Values


def summed_up(values: list[float]) -> dict[str, Any]:
    """Mean and 95 % interval; None where there is none."""
    if not values:
        return {"n": 0, "mean": None, "low": None, "high": None}
    mean, low, high, n = stats.mean_interval(values)
    known = n > 1
    return {"n": n, "mean": mean, "low": low if known else None, "high": high if known else None}


def paired(values: Values, base: Values) -> tuple[list[float], list[float]]:
    """The values of the seeds that both have, in the order of the seeds."""
    first, second = (dict(zip(one.seeds, one.values, strict=True)) for one in (values, base))
    both = sorted(first.keys() & second.keys())
    return [first[seed] for seed in both], [second[seed] for seed in both]
