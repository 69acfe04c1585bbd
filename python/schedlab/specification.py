"""What an experiment asks: scenarios times seeds, and a question. The engine alone judges what is written in it.

Everything that carries an experiment out or shows it takes this; `Experiment`, which a person uses, can also run it.
"""

import dataclasses
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from schedlab import _core
from schedlab.errors import UsageError
from schedlab.system import reading
from schedlab.system.escaped import escaped

#: More would not even find room in a list.
MOST_SEEDS = 10_000_000
#: Cells that the engine gives at once: with their scenarios, and without.
AT_ONCE, OUTLINES = 256, 16384
#: A machine whose swap area is not given has one of this size (crates/model).
USUAL_SWAP = "1GiB"


class Cell:
    """One combination of the swept values: a scenario, and the values that make it differ from the others.

    `host` says what the parameters given are on a live host: tunables, and paths of those `without` any. `on` is where
    it runs. The scenario and `host` of a cell of an experiment are made whenever they are asked for.
    """

    __slots__ = ("_host", "_scenario", "factors", "hash", "on")

    def __init__(
        self,
        scenario: "dict[str, Any] | _Later",
        factors: dict[str, str],
        hash: str,
        host: "dict[str, Any] | _Later | None" = None,
        on: str = "sim",
    ):
        """Make a cell; see the class."""
        self._scenario, self._host = scenario, {} if host is None else host
        self.factors, self.hash, self.on = factors, hash, on

    @property
    def scenario(self) -> dict[str, Any]:
        """What runs: machine, policies, workload. Not to be changed."""
        return self._scenario.whole()["scenario"] if isinstance(self._scenario, _Later) else self._scenario

    @property
    def host(self) -> dict[str, Any]:
        """What a live host would be set to. Not to be changed."""
        return self._host.whole()["host"] if isinstance(self._host, _Later) else self._host

    @property
    def is_of_sweep(self) -> bool:
        """Whether the experiment and the factors decide its scenario: it is as it was written, and simulated."""
        return isinstance(self._scenario, _Later) and self.on == "sim"

    def but(self, **changes: Any) -> "Cell":
        """The same cell with other parts."""
        own = {"scenario": self._scenario, "host": self._host}
        own |= {name: getattr(self, name) for name in ("factors", "hash", "on")}
        return Cell(**own | changes)

    def with_scenario_of(self, other: "Cell") -> "Cell":
        """The same cell with the scenario of another, and so its hash."""
        return self.but(scenario=other._scenario, hash=other.hash)

    def __eq__(self, other: object) -> bool:
        """Whether all parts are equal."""
        if not isinstance(other, Cell):
            return NotImplemented
        names = ("hash", "factors", "on", "scenario", "host")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    __hash__ = None

    def __repr__(self) -> str:
        """By what it is known."""
        return f"Cell({self.hash[:12]}, {self.factors}, on={self.on!r})"


@dataclass(frozen=True)
class Specification:
    """What an experiment asks, checked. `definition` is its canonical form, with every default filled in."""

    name: str
    definition: dict[str, Any]
    #: Where paths in it begin: the folder of its file. It is no part of what is asked.
    folder: Path = field(default=Path(), compare=False)
    #: What its file says that is ignored, done in another way (a task set of rt-app), or hardly meant.
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def from_toml(cls, path: str | Path, set: Sequence[str] = ()) -> Self:
        """Read an experiment file, or a task set of rt-app. `set` overrides fields: `["scheduler.slice=36ms"]`."""
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
        notes = tuple(_core.notes_of_experiment(text)) if format == "toml" else ()
        definition = json.loads(canonical)
        notes += _namesake(definition["machine"])
        if recording := definition.get("recording"):
            # The engine opens it, wherever it is asked from.
            recording["file"] = str((folder / recording["file"]).absolute())
        return cls(Path(label).stem or "experiment", definition, folder, notes)

    def sweep(self, factors: Mapping[str, Sequence]) -> Self:
        """A new experiment that also tries every combination of these values, given by field path."""
        swept = {**self.definition.get("sweep", {}), **factors}
        return self.replace(sweep=swept)

    def replace(self, **fields: Any) -> Self:
        """A new experiment with other top-level fields: `experiment.replace(seeds=30)`."""
        return dataclasses.replace(type(self).from_dict({**self.definition, **fields}, self.name), folder=self.folder)

    def written(self, format: str = "toml") -> str:
        """It as the text of a file: "toml", or "rt-app" for a task set of rt-app, if that can say the same."""
        return _core.write_experiment(json.dumps(self.definition), self.name, format)

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
    def names_processors(self) -> bool:
        """Whether it says how many processors its machine has, or sweeps over their number."""
        machine, path = self.definition["machine"], "machine.processors"
        given = isinstance(machine, dict) and "processors" in machine
        return given or any(path in cell.factors for cell in self.cells()[:1])

    @property
    def seeds(self) -> list[int]:
        """The seeds; each makes one run of every cell."""
        seeds = self.definition["seeds"]
        if isinstance(seeds, int) and seeds > MOST_SEEDS:
            raise UsageError(f"{self.name}: seeds = {seeds} are too many; at most {MOST_SEEDS:,}")
        return list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)

    def cells(self) -> list[Cell]:
        """Every combination of the swept values, in the order of the file."""
        return list(self._cells)

    @cached_property
    def _cells(self) -> list[Cell]:
        text, cells, texts = json.dumps(self.definition), [], {}
        whole = _Whole(text)
        names, found = _core.outline(text, 0, OUTLINES)
        while found:
            for hash, values in found:
                later = _Later(whole, len(cells))
                factors = dict(zip(names, (texts.setdefault(value, value) for value in values), strict=True))
                cells.append(Cell(later, factors, hash, later))
            _, found = _core.outline(text, len(cells), OUTLINES) if len(found) == OUTLINES else (names, [])
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


def _namesake(machine: Any) -> tuple[str, ...]:
    """A note on a machine that is a table of its own with the name of a preset, and has not all that the preset has."""
    if not isinstance(machine, dict) or "preset" in machine:
        return ()
    presets = json.loads(_core.catalogue())["machines"]
    of_preset = next((tomllib.loads(one["text"]) for one in presets if one["name"] == machine.get("name")), {})
    lacking = sorted(of_preset.keys() - machine.keys() - {"title"})
    if not lacking:
        return ()
    name = machine["name"]
    has = f"lacks its {', '.join(lacking)}"
    return (f'machine.name = "{name}" is not the preset of that name, and {has}; preset = "{name}" has them',)


class _Whole:
    """The cells of an experiment with their scenarios, some at a time: all of 20,000 take half a gigabyte."""

    def __init__(self, experiment: str):
        self._experiment = experiment
        self._held: tuple[int, list[dict[str, Any]]] = (0, [])

    def at(self, place: int) -> dict[str, Any]:
        """The cell of that place; it and its neighbours are held until another one is asked for."""
        # Threads may ask: what is held is replaced as one.
        first, held = self._held
        if not first <= place < first + len(held):
            first = place - place % AT_ONCE
            held = json.loads(_core.expand(self._experiment, first, AT_ONCE))
            self._held = first, held
        return held[place - first]


class _Later:
    """A cell that is made when it is asked for."""

    __slots__ = ("_cells", "_place")

    def __init__(self, cells: _Whole, place: int):
        self._cells, self._place = cells, place

    def whole(self) -> dict[str, Any]:
        """It, with its scenario."""
        return self._cells.at(self._place)


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
