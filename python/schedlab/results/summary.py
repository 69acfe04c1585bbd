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


def paired(values: Values, base: Values, alike: tuple[bool, bool] = (False, False)) -> tuple[list[float], list[float]]:
    """The values of the seeds that both have, in the order of the seeds.

    `alike` says which of them is the same under every seed: it is compared with every seed of the other. Two of them
    make a single pair.
    """
    if all(alike):
        return values.values[:1], base.values[:1]
    first, second = (dict(zip(one.seeds, one.values, strict=True)) for one in (values, base))
    if alike[0]:
        first = dict.fromkeys(second, values.values[0])
    if alike[1]:
        second = dict.fromkeys(first, base.values[0])
    both = sorted(first.keys() & second.keys())
    return [first[seed] for seed in both], [second[seed] for seed in both]
