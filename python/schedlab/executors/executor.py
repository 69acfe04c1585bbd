"""What an executor is: the workers that make simulated runs. Results do not depend on which one it was.

this computer   `_core.Sweep`, threads of this process                                          the default
a cluster       `cluster.Cluster`, over Ray or Dask; its own or one that is started for a while
"""

import threading
from contextlib import AbstractContextManager
from typing import Protocol

#: Runs that are before the workers of this computer at a time. They are in memory until the ones before them are done.
AHEAD = 512


class Sweep(Protocol):
    """Workers with a queue of runs before them; what is finished is taken in the order of `put`."""

    def put(self, scenario_json: str, seeds: list[int], /) -> None:
        """Queue a run of a scenario for each seed."""

    def wait(self, seconds: float, /) -> tuple[int, int]:
        """Wait for finished runs, at most that long; give how many can be taken and how many are under way."""

    def take(self) -> tuple[int, bytes]:
        """Take what is finished: the number of runs, and the rows of those that were made, as an Arrow stream."""


class Executor(Protocol):
    """The workers, before and between sweeps."""

    def sweep(self, stop: threading.Event) -> AbstractContextManager[Sweep]:
        """Begin; KeyboardInterrupt on `stop`. At the end nothing is under way any more."""

    @property
    def ahead(self) -> int:
        """How many runs should be before the workers, so that none has to wait for more."""
