"""What the end of a run cut off, where it could change a number that is shown.

The engine gives a bound next to every statistic that such values could change: `wakeup_latency.p99_low` next to
`wakeup_latency.p99`, and `p99_high` where there is one. A bound that is there is a warning; nothing is judged here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

#: Digits of a number in a warning.
DIGITS = 4


def warnings(
    known: Sequence[str], values: Callable[[list[str]], Mapping], shown: Sequence[str]
) -> list[dict[str, Any]]:
    """Return a warning for each run and distribution of which a shown statistic has bounds.

    `known` are the metrics that the runs have; `values` gives those of some metrics, by scenario and metric.
    """
    bounded = [name for name in shown if "." in name and not name.endswith(("_low", "_high"))]
    if not any(f"{name}_low" in known for name in bounded):
        return []
    bases = {name.rpartition(".")[0] for name in bounded}
    names = [name + suffix for name in bounded for suffix in ("", "_low", "_high")]
    names += [f"{base}.{count}" for base in bases for count in ("count", "censored", "censored_max")]
    runs: dict[tuple[str, int], dict[str, float]] = {}
    for (scenario, metric), found in values(names).items():
        for seed, value in zip(found.seeds, found.values, strict=True):
            runs.setdefault((scenario, seed), {})[metric] = value
    return [
        {"scenario": scenario, "warning": text, "seeds": [seed]}
        for (scenario, seed), one in runs.items()
        for text in _texts(one, bounded)
    ]


def _texts(known: dict[str, float], bounded: Iterable[str]) -> Iterable[str]:
    """Yield what is to be said of one run: a line a distribution."""
    of: dict[str, list[str]] = {}
    for name in bounded:
        if f"{name}_low" in known:
            base, _, statistic = name.rpartition(".")
            of.setdefault(base, []).append(f"{statistic} is {_bounds(known, name)} ({_spell(known[name])} s without)")
    for base, warned in of.items():
        cut, whole = known[f"{base}.censored"], known[f"{base}.censored"] + known[f"{base}.count"]
        yield (
            f"{base}: {cut:.0f} of {whole:.0f} had not ended when the run ended, the oldest after "
            f"{_spell(known[f'{base}.censored_max'])} s; with these {', '.join(warned)}"
        )


def _bounds(known: dict[str, float], name: str) -> str:
    low, high = known[f"{name}_low"], known.get(f"{name}_high")
    return f"at least {_spell(low)} s" if high is None else f"between {_spell(low)} s and {_spell(high)} s"


def _spell(seconds: float) -> str:
    """Without an exponent, so that a range over several runs can be read."""
    text = f"{float(f'{seconds:.{DIGITS}g}'):.9f}"
    return text.rstrip("0").rstrip(".")
