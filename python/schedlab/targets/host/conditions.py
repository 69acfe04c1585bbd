"""Under which conditions a run on the host counts, as the options of `schedlab run` give them."""

from dataclasses import dataclass
from pathlib import Path

#: `--scratch loop:SIZE` is a fresh file system of that size for each run.
LOOP = "loop:"


@dataclass(frozen=True)
class Conditions:
    """What a run on the host asks of it."""

    #: Most processor time of others, percent of the run's processors, that leaves a run undisturbed.
    quiet_below: float = 5.0
    #: Longest wait for a quiet machine before each run, seconds.
    patience: float = 30.0
    #: Whether the scheduler's events are recorded: "auto", "off" or "required".
    trace: str = "auto"
    #: Where the files of tasks go: a folder, or "loop:SIZE"; a folder in that of the results, if not given.
    scratch: Path | None = None
    #: Runs of each cell before those that count.
    warm_up: int = 0
    #: Whether the kernel's clean caches are dropped before each run.
    drop_caches: bool = False
    #: Whether a machine that does not become quiet is used all the same.
    dirty: bool = False
    #: Whether the log may not be read before the verdict.
    sealed: bool = False

    @property
    def loop_size(self) -> str | None:
        """The size of `--scratch loop:SIZE`."""
        text = str(self.scratch or "")
        return text.removeprefix(LOOP) if text.startswith(LOOP) else None
