"""This computer's workers: threads of this process."""

import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from schedlab import _core
from schedlab.executors.executor import AHEAD


@dataclass(frozen=True)
class Local:
    """A number of threads."""

    threads: int

    @property
    def ahead(self) -> int:
        """Of what is under way and finished, the rows are in memory."""
        return AHEAD

    def sweep(self, stop: threading.Event) -> AbstractContextManager[_core.Sweep]:
        """Begin. When it is dropped, the threads end after the run that each has in hand."""
        return nullcontext(_core.Sweep(self.threads))
