"""An experiment: what it asks (`schedlab.specification`), and its runs.

::

    experiment = Experiment.from_toml("quantum.toml", set=["scheduler.ready_at=head"])
    results = experiment.sweep({"scheduler.slice": ["100ms", "36ms"]}).run()
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from schedlab import _core
from schedlab.specification import Cell, Specification

if TYPE_CHECKING:
    from schedlab.executors.executor import Executor
    from schedlab.results import Results
    from schedlab.targets.target import Target
    from schedlab.tune.notebook import Tuned

__all__ = ["Cell", "Experiment"]


@dataclass(frozen=True)
class Experiment(Specification):
    """A checked experiment that can be run."""

    def run(
        self,
        out: str | Path = "results",
        threads: int | None = None,
        fresh: bool = False,
        progress: Callable[[int, int], None] | None = None,
        targets: "Sequence[Target]" = (),
        tell: Callable[[str], None] = lambda line: None,
        enough: "Callable[[Results], bool] | None" = None,
        executor: "Executor | None" = None,
    ) -> "Results":
        """Run what has not been run yet and return all results.

        `threads` defaults to every processor; `fresh` runs everything again; `progress` is called with the number
        of runs done and the number of all. `targets` says where to run, the simulator if none is named:
        `schedlab.targets.simulator.Simulator`, `schedlab.targets.host.target.Host`,
        `schedlab.targets.guest.target.Guest`. `tell` is called before the first new run with a line for all that a
        target ignores. `enough` is asked after each repeat of targets whose runs depend on their moment, with the
        results of all whole repeats: if it says so, no more runs are made. `executor` makes the simulated runs in place
        of this computer's processors, with the same results: `schedlab.executors.cluster.cluster("dask", ADDRESS)`.
        """
        from schedlab.run.runner import run

        if executor:
            from schedlab.targets.simulator import Simulator, on_cluster

            targets = on_cluster(targets or [Simulator(threads or os.cpu_count() or 1)], executor)
        return run(self, Path(out), threads, fresh, progress, targets, tell, enough)

    def tune(
        self,
        budget: int = 200,
        out: str | Path = "results",
        within: float | None = None,
        start: int = 0,
        threads: int | None = None,
        fresh: bool = False,
        executor: "Executor | None" = None,
    ) -> "Tuned":
        """Search the space of the experiment for what its goal says is best, with that many simulated runs.

        `within` is the share of a counter's best (0.02) up to which a level is acceptable; None: what repeats cannot
        tell apart. `start` begins another search of the same space. Runs that are known are not made again. A notebook
        shows what is found. `executor` is as for `run`.
        """
        from schedlab.targets.simulator import Simulator
        from schedlab.tune.notebook import Tuned
        from schedlab.tune.tuning import tune

        simulator = Simulator(threads or os.cpu_count() or 1, executor=executor)
        return Tuned.of(tune(self, budget, lambda part: simulator, Path(out), within, start, fresh))

    def record(
        self, path: str | Path, kind: str, cell: int = 0, seed: int | None = None, first: float | None = None
    ) -> None:
        """Write one run to a file: "perfetto", "chrome" (the same as JSON), "gantt_svg", "gantt_text" or "recording".

        Only the `first` seconds are written, if given.
        """
        seed = self.seeds[0] if seed is None else seed
        run = {"scenario": self.cells()[cell].scenario, "seed": seed}
        _core.record(json.dumps(run), kind, str(path), round((first or 0) * 1e9))

    def _repr_html_(self) -> str:
        from schedlab.results.tables import html_table
        from schedlab.tables import Column, Table
        from schedlab.units import counted

        cells = self.cells()
        columns = [Column(name, key=True) for name in [*cells[0].factors, "scenario"]]
        rows = [[*cell.factors.values(), cell.hash[:12]] for cell in cells]
        counts = f"{counted(len(cells), 'cell')}, {counted(len(self.seeds), 'seed')} each"
        table, left = Table.of_texts(columns, rows).shortened()
        return html_table(table, f"{self.question or self.name}: {counts}", [f"{left}: cells()"] if left else [])
