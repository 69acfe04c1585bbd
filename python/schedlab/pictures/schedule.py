"""Which stretch of a run a drawn schedule shows, and the drawing.

Where nothing is named, it is the stretch around the first wait above the median of a task that was woken. Waits of
preempted tasks are not counted with these: hogs that share a processor have many of them, and would decide the median.
They are looked at where no woken task waited, and so is the wait of a task for its first time on a processor.
"""

import io
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedlab import _core
from schedlab.errors import UsageError
from schedlab.units import quantity, seconds

if TYPE_CHECKING:
    import polars as pl

#: Nanoseconds of a run in which a wait is looked for.
LOOKED_AT = 10_000_000_000
#: A stretch is this many times as long as its wait, and so much of that is before it.
LONG, BEFORE = 12, 3
#: Reasons to leave a processor after which a task is still ready (`_core.turns`): preempted, slice end, yielded.
STILL_READY = (0, 1, 2)


@dataclass(frozen=True)
class Stretch:
    """From when to when, in ns, and why."""

    begin: int
    end: int
    why: str = ""

    def __str__(self) -> str:
        """Spell both ends, and the reason."""
        return f"{quantity(self.begin, 'ns')} to {quantity(self.end, 'ns')}" + (f": {self.why}" if self.why else "")


def chosen(turns: "pl.DataFrame") -> Stretch | None:
    """The stretch around the first wait above the median; None where no task of the workload waited.

    A task waits while it is ready and has no processor: after a wakeup, after a preemption, and at its beginning.
    """
    import polars as pl

    is_later = pl.col("end_ns").shift().over("task").is_not_null()
    before = pl.when(pl.col("left").shift().over("task").is_in(STILL_READY)).then(pl.col("end_ns").shift().over("task"))
    ready = pl.coalesce(pl.col("woken_ns"), before).alias("ready")
    waits = (
        turns.with_columns(ready, woken=is_later & pl.col("woken_ns").is_not_null())
        .filter(pl.col("job").is_not_null() & (pl.col("begin_ns") > pl.col("ready")))
        .with_columns(wait=pl.col("begin_ns") - pl.col("ready"))
        .sort("ready", "task")
    )
    if waits.is_empty():
        return None
    after_wakeups = waits.filter("woken")
    what = (
        "the first wait after a wakeup above their median"
        if after_wakeups.height
        else "the first wait above the median"
    )
    waits = after_wakeups if after_wakeups.height else waits
    longer = waits.filter(pl.col("wait") > waits["wait"].median())
    one = (longer if longer.height else waits).row(0, named=True)
    # Round ends are read more easily: to a hundredth of the length.
    length = LONG * one["wait"]
    step = 10 ** max(0, floor(log10(length / 50)))
    begin = max(0, one["ready"] - BEFORE * one["wait"]) // step * step
    wait, at = (quantity(float(f"{value:.3g}"), "ns") for value in (one["wait"], one["ready"]))
    why = f"{what}, {wait} of {one['job']}#{one['task']} at {at}"
    return Stretch(begin, begin + -(-length // step) * step, why)


def between(start: str | None, end: str | None, first: float | None = None) -> Stretch:
    """A stretch as it is asked for: from `start` (0 if left out) to `end`, or `first` seconds long, or 2 s long."""
    begin = _nanoseconds(start or "0s")
    last = _nanoseconds(end) if end else begin + round((first or 2.0) * 1e9)
    if last <= begin:
        raise UsageError(f"nothing to draw from {start or '0s'} to {end}: the end must come after the beginning")
    return Stretch(begin, last)


def _nanoseconds(text: str) -> int:
    time = seconds(text)
    if time is None or not 0 <= time < 1e9:
        raise UsageError(f"{text!r} is no time of a run; write it as 150ms or 2s")
    return round(time * 1e9)


def of_recording(recording: Path) -> Stretch | None:
    """The stretch to be shown of a recording."""
    import polars as pl

    return chosen(pl.read_ipc_stream(io.BytesIO(_core.turns(str(recording)))))


def of_run(run: Mapping[str, Any]) -> Stretch:
    """The stretch to be shown of a simulated run; its beginning where no task waits."""
    return chosen(_turns(run, LOOKED_AT)) or Stretch(0, 2_000_000_000)


def of_job(run: Mapping[str, Any], job: str, first: float) -> Stretch:
    """The `first` seconds of a job, and a tenth of them before."""
    import polars as pl

    begins = _turns(run, 0).filter(pl.col("job") == job)["begin_ns"]
    begin = max(0, int(begins.min() or 0) // 1_000_000 * 1_000_000 - round(first * 1e8))
    return Stretch(begin, begin + round(first * 1.1e9))


def _turns(run: Mapping[str, Any], limit_ns: int) -> "pl.DataFrame":
    import polars as pl

    with tempfile.TemporaryDirectory(prefix="schedlab-") as folder:
        recording = Path(folder) / "recording"
        _core.record(json.dumps(run), "recording", str(recording), limit_ns)
        return pl.read_ipc_stream(io.BytesIO(_core.turns(str(recording))))


def drawn(run: Mapping[str, Any], stretch: Stretch) -> str:
    """The simulator's drawing of a stretch of a run, an SVG document."""
    with tempfile.TemporaryDirectory(prefix="schedlab-") as folder:
        path = Path(folder) / "schedule.svg"
        _core.record(json.dumps(run), "gantt_svg", str(path), stretch.end, stretch.begin)
        return path.read_text(encoding="utf-8")
