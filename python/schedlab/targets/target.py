"""What a target is: the place where runs happen, as the runner sees it.

a run is the same whenever it is made   the target makes its runs in bulk, as it likes          `Target.runs`
a run depends on its moment             the runner says which run of which target is next       `Target.session`
"""

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from schedlab.specification import Cell, Specification

if TYPE_CHECKING:
    import polars as pl

#: A cell, and its seed.
Run = tuple[Cell, int]
#: The computer on which this runs, among those whose processors runs take.
HERE = ""
#: Finished runs, and their rows as an Arrow stream: run (index in the list), metric, unit, value, warning.
Chunk = tuple[list[Run], bytes]
#: The log of every attempt at a run that depends on its moment, and of their order, in the folder of the results.
LOG = "attempts.jsonl"


class Session(Protocol):
    """A target at work, from its first run to its last."""

    #: Whose processors its runs take: HERE, or what tells that computer from others.
    machine: str
    #: Processors of it that a run takes. Only runs that fit next to each other are made at once.
    processors: int

    def run(self, cell: Cell, seed: int) -> "pl.DataFrame":
        """Make one run and give its rows, each of run 0; see `rows`."""


class Target(Protocol):
    """Where runs happen."""

    #: What the user calls it.
    name: str
    #: What decides its results, besides scenario and seed.
    engine: str
    #: Whether a run is the same whenever it is made. Such a target has `runs`, any other one `session`.
    repeatable: bool

    def cells(self, cells: list[Cell]) -> list[Cell]:
        """The cells with the hashes that their results have here, in the order of tables."""

    def ignores(self, experiment: Specification) -> list[str]:
        """What the experiment gives and this target ignores, in words; see `ignored`."""

    def ahead(self, pending: list[Run]) -> list[Callable[[threading.Event], None]]:
        """What can be done before the runs of any target, in parallel with that of others; stops when the event is set.

        What cannot be done there is refused now: nothing has been measured.
        """

    def runs(self, pending: list[Run], folder: Path, stop: threading.Event) -> Generator[Chunk, None, None]:
        """Yield finished chunks. `stop` ends it by KeyboardInterrupt; `folder` is that of the results."""

    def session(self, pending: list[Run], folder: Path, stop: threading.Event) -> AbstractContextManager[Session]:
        """Begin: do all that comes before the first run. KeyboardInterrupt on `stop`."""

    def describe(self) -> dict:
        """What the manifest says of it."""

    def seen(self) -> dict:
        """What was seen there before the first run; the manifest keeps it."""


def cautions(outcome: Mapping) -> list[str]:
    """The agent's warnings of a run, as text."""
    return [f"{one['seen']}; {one['why']}: {one['advice']}" for one in outcome["warnings"]]
