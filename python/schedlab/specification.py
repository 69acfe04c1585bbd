"""What an experiment asks: scenarios times seeds, and a question. The engine alone judges what is written in it.

Everything that carries an experiment out or shows it takes this; `Experiment`, which a person uses, can also run it.
"""

import dataclasses
import json
import marshal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

from schedlab import _core
from schedlab.errors import UsageError
from schedlab.system import reading
from schedlab.system.escaped import escaped

#: More would not even find room in a list.
MOST_SEEDS = 10_000_000
#: Cells that the engine gives at once.
AT_ONCE = 512
#: A machine whose swap area is not given has one of this size (crates/model).
USUAL_SWAP = "1GiB"


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
class Specification:
    """What an experiment asks, checked. `definition` is its canonical form, with every default filled in."""

    name: str
    definition: dict[str, Any]
    #: Where paths in it begin: the folder of its file. It is no part of what is asked.
    folder: Path = field(default=Path(), compare=False)

    @classmethod
    def from_toml(cls, path: str | Path, set: Sequence[str] = ()) -> Self:
        """Read an experiment file. `set` overrides fields: `["scheduler.slice=36ms"]`."""
        path = Path(path)
        text = reading.text(path, reading.EXPERIMENT)
        return cls.from_text(text, escaped(str(path)), set=set, folder=path.parent)

    @classmethod
    def from_dict(cls, definition: Mapping[str, Any], name: str = "experiment") -> Self:
        """Check a dictionary of the same form as an experiment file."""
        return cls.from_text(json.dumps(definition), name, format="json")

    @classmethod
    def from_text(
        cls, text: str, label: str, format: str = "toml", set: Sequence[str] = (), folder: Path = Path()
    ) -> Self:
        """Check the text of an experiment; `label` is what errors call it, and its stem is the experiment's name.
        Files that it names are looked for in `folder`; the definition has what is in them.
        """
        names = _core.files_of_experiment(text, format, list(set))
        files = {name: _named(name, folder, label) for name in names}
        canonical = _core.read_experiment(text, label, format, list(set), files)
        return cls(Path(label).stem or "experiment", json.loads(canonical), folder)

    def sweep(self, factors: Mapping[str, Sequence]) -> Self:
        """A new experiment that also tries every combination of these values, given by field path."""
        swept = {**self.definition.get("sweep", {}), **factors}
        return self.replace(sweep=swept)

    def replace(self, **fields: Any) -> Self:
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
        text, parts, cells = json.dumps(self.definition), _Parts(), []
        while found := json.loads(_core.expand(text, len(cells), AT_ONCE)):
            cells += [
                Cell(
                    parts.scenario(cell["scenario"]),
                    {name: spelled(value) for name, value in cell["factors"].items()},
                    cell["hash"],
                    parts.once(cell["host"]),
                )
                for cell in found
            ]
        return cells


def _named(name: str, folder: Path, label: str) -> tuple[str, str]:
    """What messages call a file that the experiment `label` names, and its text."""
    path = folder / name
    try:
        return escaped(str(path)), reading.text(path, reading.EXPERIMENT)
    except (OSError, ValueError) as why:
        reason = why.strerror if isinstance(why, OSError) else str(why)
        raise UsageError(
            f"{label}: names the file {escaped(str(path))}, which cannot be read: {reason}; paths begin at its folder"
        ) from None


class _Parts:
    """Parts of scenarios, equal ones once: the machine of 20,000 cells takes as much memory as that of one."""

    def __init__(self):
        self._known: dict[bytes, Any] = {}

    def once(self, part: Any) -> Any:
        """The part, or one that is the same to the type of every number."""
        return self._known.setdefault(blake2b(marshal.dumps(part, 2), digest_size=16).digest(), part)

    def scenario(self, scenario: dict[str, Any]) -> dict[str, Any]:
        """The same scenario, of parts that others may have, too."""
        jobs = {name: self.once(job) for name, job in scenario["workload"].items()}
        return {name: jobs if name == "workload" else self.once(part) for name, part in scenario.items()}


def spelled(value: Any) -> str:
    """A value as a user writes it."""
    return value if isinstance(value, str) else json.dumps(value)


def plain(value: Any) -> Any:
    """A value of a machine, which may be given with its source: `{ value = "1GiB", source = "..." }`."""
    return value["value"] if isinstance(value, dict) and "value" in value else value


def swap_area(machine: Mapping[str, Any]) -> str | None:
    """The size of a machine's swap area; None if it is the usual one."""
    size = plain(machine["memory"]["swap"])
    return None if size == USUAL_SWAP else size


def has_limited_group(scenario: Mapping[str, Any]) -> bool:
    """Whether a control group's memory is limited."""
    return any(group.get("memory") for group in scenario.get("groups", {}).values())


def treatments(job: Mapping[str, Any]) -> list[dict]:
    """How a job's steps, and those of its children, change the way its tasks are treated."""
    return list(_changes(job.get("steps")))


def _changes(steps: Any) -> Iterator[dict]:
    if isinstance(steps, list):
        for step in steps:
            yield from _changes(step)
    elif isinstance(steps, dict):
        for name, value in steps.items():
            if name == "set":
                yield value
            else:
                yield from _changes(value)
