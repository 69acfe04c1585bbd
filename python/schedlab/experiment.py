"""An experiment: scenarios times seeds, and a question. The engine alone judges what is written in it.

::

    experiment = Experiment.from_toml("quantum.toml", set=["scheduler.ready_at=head"])
    results = experiment.sweep({"scheduler.slice": ["100ms", "36ms"]}).run()
"""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedlab import _core
from schedlab.errors import UsageError
from schedlab.system import reading
from schedlab.system.escaped import escaped

if TYPE_CHECKING:
    from schedlab.results import Results
    from schedlab.run.runner import Place


#: More would not even find room in a list.
MOST_SEEDS = 10_000_000


@dataclass(frozen=True)
class Cell:
    """One combination of the swept values: a scenario, and the values that make it differ from the others."""

    scenario: dict[str, Any]
    factors: dict[str, str]
    hash: str
    #: What the parameters given are on a live host: tunables, and paths of those `without` any.
    host: dict[str, Any] = field(default_factory=dict)
    #: Where it runs.
    on: str = "sim"


@dataclass(frozen=True)
class Experiment:
    """A checked experiment. `definition` is its canonical form, with every default filled in."""

    name: str
    definition: dict[str, Any]
    #: Where paths in it begin: the folder of its file. It is no part of what is asked.
    folder: Path = field(default=Path(), compare=False)

    @classmethod
    def from_toml(cls, path: str | Path, set: Sequence[str] = ()) -> "Experiment":
        """Read an experiment file. `set` overrides fields: `["scheduler.slice=36ms"]`."""
        path = Path(path)
        read = cls.from_text(reading.text(path, reading.EXPERIMENT), escaped(str(path)), set=set)
        return dataclasses.replace(read, folder=path.parent)

    @classmethod
    def from_dict(cls, definition: Mapping[str, Any], name: str = "experiment") -> "Experiment":
        """Check a dictionary of the same form as an experiment file."""
        return cls.from_text(json.dumps(definition), name, format="json")

    @classmethod
    def from_text(cls, text: str, label: str, format: str = "toml", set: Sequence[str] = ()) -> "Experiment":
        """Check the text of an experiment; `label` is what errors call it, and its stem is the experiment's name."""
        canonical = _core.read_experiment(text, label, format, list(set))
        return cls(Path(label).stem or "experiment", json.loads(canonical))

    def sweep(self, factors: Mapping[str, Sequence]) -> "Experiment":
        """A new experiment that also tries every combination of these values, given by field path."""
        swept = {**self.definition.get("sweep", {}), **factors}
        return self.replace(sweep=swept)

    def replace(self, **fields: Any) -> "Experiment":
        """A new experiment with other top-level fields: `experiment.replace(seeds=30)`."""
        return dataclasses.replace(type(self).from_dict({**self.definition, **fields}, self.name), folder=self.folder)

    @property
    def question(self) -> str:
        """What the experiment asks."""
        return self.definition.get("question") or ""

    @property
    def is_of_host(self) -> bool:
        """Whether its machine is the computer in front of the user."""
        machine = self.definition["machine"]
        return "host" in (machine, machine.get("preset") if isinstance(machine, dict) else None)

    @property
    def seeds(self) -> list[int]:
        """The seeds; each makes one run of every cell."""
        seeds = self.definition["seeds"]
        if isinstance(seeds, int) and seeds > MOST_SEEDS:
            raise UsageError(f"{self.name}: seeds = {seeds} are too many; at most {MOST_SEEDS:,}")
        return list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)

    def cells(self) -> list[Cell]:
        """Every combination of the swept values, in the order of the file."""
        return [
            Cell(cell["scenario"], {k: _spell(v) for k, v in cell["factors"].items()}, cell["hash"], cell["host"])
            for cell in json.loads(_core.expand(json.dumps(self.definition)))
        ]

    def run(
        self,
        out: str | Path = "results",
        threads: int | None = None,
        fresh: bool = False,
        progress: Callable[[int, int], None] | None = None,
        places: "Sequence[Place]" = (),
        tell: Callable[[str], None] = lambda line: None,
    ) -> "Results":
        """Run what has not been run yet and return all results.

        `threads` defaults to every processor; `fresh` runs everything again; `progress` is called with the number
        of runs done and the number of all. `places` says where to run, the simulator if none is named:
        `schedlab.targets.simulator.Simulator`, `schedlab.targets.host.target.LiveHost`,
        `schedlab.targets.guest.target.Guest`. `tell` hears, before the first new run, what a place ignores.
        """
        from schedlab.run.runner import run

        return run(self, Path(out), threads, fresh, progress, places, tell)

    def record(
        self, path: str | Path, kind: str, cell: int = 0, seed: int | None = None, first: float | None = None
    ) -> None:
        """Write one run to a file: "perfetto", "gantt_svg", "gantt_text" or "recording".

        Only the `first` seconds are written, if given.
        """
        seed = self.seeds[0] if seed is None else seed
        run = {"scenario": self.cells()[cell].scenario, "seed": seed}
        _core.record(json.dumps(run), kind, str(path), round((first or 0) * 1e9))

    def _repr_html_(self) -> str:
        from schedlab.results.tables import html_table

        cells = self.cells()
        rows = [[*cell.factors.values(), cell.hash[:12]] for cell in cells]
        caption = f"{self.question or self.name}: {len(cells)} cells, {len(self.seeds)} seeds each"
        return html_table([*cells[0].factors, "scenario"], rows, caption)


def _spell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
