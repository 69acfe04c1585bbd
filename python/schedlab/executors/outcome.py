"""What came back from a worker, looked at before it is believed: a worker may be another program than we think."""

import io
from dataclasses import dataclass
from typing import Any

import polars as pl

from schedlab.errors import UsageError
from schedlab.executors.work import Part

#: The columns of the engine's rows.
COLUMNS = {
    "run": pl.UInt32, "metric": pl.String, "unit": pl.String, "value": pl.Float64, "warning": pl.String,
    "seeded": pl.Boolean,
}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What a batch gave."""

    #: How many of its runs, from the first on, were made or need not be.
    runs: int
    rows: pl.DataFrame
    #: For each part, whether it is the same under every seed; None where no run of it is known.
    alike: list[bool | None]
    #: Seconds that the runs took.
    seconds: float
    #: Why the run after these was not made.
    refused: str | None
    fault: str | None


class Garbage(Exception):
    """No result of a batch."""


def checked(found: Any, wanted: str, parts: list[Part]) -> Outcome:
    """What a worker gave, if it is this batch's result. UsageError if its engine is another, otherwise `Garbage`."""
    try:
        if isinstance(found["engine"], str) and found["engine"] != wanted:
            raise UsageError(another_engine({"a worker": found["engine"]}, wanted))
        runs, seconds = found["runs"], found["seconds"]
        refused, fault = found.get("refused"), found.get("fault")
        total = sum(len(seeds) for _, seeds in parts)
        _insist(type(runs) is int and 0 <= runs <= total, "a number of runs that is not the batch's")
        _insist(type(seconds) is float and 0 <= seconds < float("inf"), "a time that is none")
        _insist(all(why is None or isinstance(why, str) for why in (refused, fault)), "a failure without words")
        _insist(runs == total or bool(refused or fault), "fewer runs than the batch has")
        rows = pl.read_ipc_stream(io.BytesIO(found["rows"])) if runs else pl.DataFrame(schema=COLUMNS)
        _insist(rows.schema == COLUMNS, "rows with other columns")
        return Outcome(runs, rows, _alike(rows, runs, parts), seconds, refused, fault)
    except (
        KeyError,
        TypeError,
        AttributeError,
        OSError,
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
    ) as why:
        raise Garbage(f"{type(why).__name__}: {str(why).partition(chr(10))[0][:200]}") from None


def _alike(rows: pl.DataFrame, runs: int, parts: list[Part]) -> list[bool | None]:
    """Whether each part depends on its seeds. All runs of one that does have rows, otherwise the first one alone."""
    there = rows.select("run", "seeded").unique(maintain_order=True)
    places, seeded = there["run"].to_list(), there["seeded"].to_list()
    _insist(places == sorted(set(places)) and None not in seeded, "rows out of order")
    depends = dict(zip(places, seeded, strict=True))
    found: list[bool | None] = []
    first = 0
    for _, seeds in parts:
        own = range(first, min(first + len(seeds), runs))
        present = [place for place in own if place in depends]
        is_alike = bool(present) and not depends[present[0]]
        _insist(present == list(own)[: 1 if is_alike else None], "rows of other runs than the batch has")
        _insist(all(depends[place] != is_alike for place in present), "rows that contradict each other")
        found.append(is_alike if present else None)
        first += len(seeds)
    _insist(not places or places[-1] < runs, "rows of more runs than the batch has")
    return found


def another_engine(found: dict[str, str], wanted: str) -> str:
    """What to say of workers with another engine."""
    where = "; ".join(f"{worker} has {engine}" for worker, engine in sorted(found.items())[:3])
    return (
        f"engines differ: this computer has {wanted}; {where}. Results of different engines are never mixed: "
        "install the same schedlab on all of them"
    )


def _insist(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise Garbage(otherwise)
