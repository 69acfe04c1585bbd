"""Before the first run of a sweep: what else goes on, what these repeats can show here, and how long it takes.

    scatter   =  s / mean       of the elapsed times of PIECES pieces of the same work, one after the other
    visible   =  (t(0.975, n-1) + t(0.8, n-1)) scatter √(2/n)     share that n repeats find, four times in five
    lasting   =  Σ over the runs ahead (duration + what a run costs besides its tasks)

The pieces are like the runs to come: made, measured and ended by the agent, where the first run's tasks will be.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from schedlab.specification import Cell, Specification
from schedlab.stats.comparison import detectable
from schedlab.units import digits, seconds

PIECES = 7
#: The job of a piece: long compared with a tick, and all of them together short compared with a person's patience.
WORK = "fixed_work"
PIECE = f"""
machine = "host"
duration = "10s"
workload.{WORK} = {{ load = "spin", compute = "50ms" }}
"""


@dataclass(frozen=True)
class Preflight:
    """What was seen before the first run, and what follows from it."""

    #: The busiest processor of the sweep: what tasks of others, and the hypervisor, took of it, percent.
    foreign_percent: float
    steal_percent: float | None
    quiet: bool
    #: Elapsed times of the pieces, s; fewer than PIECES where some gave none.
    times: tuple[float, ...]
    #: What a run costs besides its tasks, s.
    overhead: float
    #: Repeats of each cell.
    repeats: int
    #: Runs ahead, those of known length among them, and how long these last at most, s.
    runs: int
    known: int
    lasting: float

    @property
    def scatter(self) -> float | None:
        """Deviation of a piece's time as a share of the mean; None if it was not seen."""
        if len(self.times) < 2:
            return None
        return statistics.stdev(self.times) / statistics.fmean(self.times)

    @property
    def visible(self) -> float | None:
        """The least difference, as a share, that these repeats find in four of five cases."""
        return None if self.scatter is None else detectable(self.scatter, self.repeats)

    def document(self) -> dict[str, Any]:
        """For the log and the manifest."""
        return {**vars(self), "times": list(self.times), "scatter": self.scatter, "visible": self.visible}

    def lines(self) -> list[str]:
        """In words, a line each."""
        return [self._of_others(), self._of_noise(), self._of_time()]

    def _of_others(self) -> str:
        stolen = "not reported by this kernel" if self.steal_percent is None else f"{self.steal_percent:.1f} %"
        worth = "" if self.quiet else ", which is not quiet"
        used = f"others use {self.foreign_percent:.1f} % of the busiest processor{worth}"
        return f"{used}; stolen by the hypervisor: {stolen}"

    def _of_noise(self) -> str:
        if self.scatter is None:
            return "how well work repeats here is not known: the pieces of fixed work gave no times"
        seen = f"the same work repeats within {digits(100 * self.scatter, 2)} % (deviation of {len(self.times)} pieces)"
        if self.visible is None:
            return f"{seen}; a single repeat of each setting shows no difference, however large: --seeds 10"
        return (
            f"{seen}; {self.repeats} repeats can show a difference of about {digits(100 * self.visible, 2)} % or more "
            "of such a time"
        )

    def _of_time(self) -> str:
        if not self.known:
            return f"{self.runs} runs ahead, as long as their jobs take: their length is not known"
        some = "" if self.known == self.runs else f" for {self.known} of them; the others end when their jobs do"
        return f"{self.runs} runs ahead: at most {spell(self.lasting)}{some}, more if runs are disturbed and repeated"


def look(
    run: Callable[[dict], dict],
    noise: dict,
    calibration: dict,
    ahead: Sequence[Cell],
    repeats: int,
    processor: int,
    between: float,
) -> Preflight:
    """Do the pieces on that processor with `run` (a plan in, an outcome out), and put together what is known.

    `noise` is what the agent saw last, `ahead` has a cell for each run, `between` are the seconds before each.
    """
    times, costs = [], []
    for number in range(PIECES):
        begun = time.monotonic()
        outcome = run(plan(calibration, processor, number))
        took = time.monotonic() - begun
        real = [row["value"] for row in outcome["rows"] if row["metric"] == f"tasks.{WORK}.real"]
        found = [value for value in real if value > 0]
        times += found
        costs += [took - value for value in found]
    processors = [one for window in noise["windows"][-1:] for one in window["processors"]]
    stolen = [one["steal_percent"] for one in processors if one.get("steal_percent") is not None]
    overhead = between + max(0.0, statistics.median(costs) if costs else 0.0)
    lengths = [length for length in map(duration, ahead) if length is not None]
    return Preflight(
        foreign_percent=max((one["foreign_percent"] for one in processors), default=0.0),
        steal_percent=max(stolen, default=None),
        quiet=noise["quiet"],
        times=tuple(times),
        overhead=overhead,
        repeats=repeats,
        runs=len(ahead),
        known=len(lengths),
        lasting=sum(lengths) + overhead * len(lengths),
    )


def plan(calibration: dict, processor: int, number: int) -> dict[str, Any]:
    """The plan of a piece; it sets nothing and records nothing."""
    scenario = Specification.from_text(PIECE, "preflight.toml").cells()[0].scenario
    scenario["machine"]["processors"] = 1
    options = {"trace": "off", "processors": [processor]}
    return {"scenario": scenario, "seed": number, "calibration": calibration, "options": options}


def duration(cell: Cell) -> float | None:
    """How long a run lasts at most, s; None if it ends when its jobs do."""
    given = cell.scenario.get("duration")
    return None if given is None else seconds(str(given))


def spell(length: float) -> str:
    """Seconds as a person says them: 42 s, 3 min 10 s, 2 h 5 min."""
    whole = max(1, round(length))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
