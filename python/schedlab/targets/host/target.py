"""A live host as a target: this computer, or another over ssh. The runner orders its runs (`run/order.py`).

before anything is measured            what the host cannot do is refused
look at the noise, do pieces of work   what these repeats can show is reported first
the runs                               see `session`
"""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from schedlab.errors import UsageError
from schedlab.results.manifest import read_manifest
from schedlab.specification import Cell, Specification
from schedlab.targets import ignored
from schedlab.targets.host.cell import RT_RUNTIME, capped, settings, volume
from schedlab.targets.host.conditions import LOOP, Conditions
from schedlab.targets.host.place import DROP_CACHES, Here, Place
from schedlab.targets.host.session import HostSession
from schedlab.targets.linux import KERNEL_WORDS, REQUEST_TIME, SCHED_EXT, scheduler
from schedlab.targets.target import Run
from schedlab.units import size


@dataclass
class Host:
    """The Linux of this computer, or of another."""

    conditions: Conditions = field(default_factory=Conditions)
    #: Asks a person about the run just done: letter or factors, and the number of the session; gives a score.
    judge: Callable[[dict[str, str], int], float] | None = None
    #: Gets a line for each observation made before the first run.
    tell: Callable[[str], None] = field(default=lambda line: None, repr=False)
    place: Place = field(default_factory=Here, repr=False)
    #: Whether the experiment's machine is this host with all of its processors, and not one that was read here.
    takes_all: bool = False
    repeatable: ClassVar[bool] = False
    _engine: str = field(default="", repr=False)
    _seen: dict = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """What the user calls it."""
        return self.place.name

    @property
    def engine(self) -> str:
        """Kernel and agent: results of another kernel, or of another agent, are never taken for these."""
        if not self._engine:
            facts = self.place.facts
            self._engine = f"{self.name} {facts.node} {facts.release} agent+{self.place.agent_digest[:8]}"
        return self._engine

    def cells(self, cells: list[Cell]) -> list[Cell]:
        """The cells with the host's settings, which decide results too. Settings that only a guest has are refused."""
        for name in (KERNEL_WORDS, REQUEST_TIME):
            if any(name in cell.host["tunables"] for cell in cells):
                raise UsageError(
                    f"tunables.{name}: a running kernel has no such setting; run it in a guest, as with --on guest:6.1"
                )
        if any(SCHED_EXT in cell.host["tunables"] for cell in cells):
            raise UsageError(
                f"tunables.{SCHED_EXT}: a scheduler that errs stops everybody, so only guests' kernels are given one: "
                "run it --on guest:6.17"
            )
        cells = [self._capped(self._on_all(cell)) for cell in cells]
        ignored.refuse_alike(cells, self.name, ignored.of_kernel)
        return [cell.but(hash=self._hash(cell)) for cell in cells]

    def ignores(self, experiment: Specification) -> list[str]:
        """What its kernel and its machine have of their own."""
        capped = [
            f"{RT_RUNTIME} = {cell.host['tunables'][RT_RUNTIME]}: a real-time task that never sleeps would take its "
            f"processor from everything else for good; {self._capped(cell).host['tunables'][RT_RUNTIME]} is set instead"
            for cell in experiment.cells()
            if self._capped(cell) is not cell
        ]
        return [*dict.fromkeys(capped), *ignored.by_kernel(experiment, scheduler(self.place.facts.release))]

    def _capped(self, cell: Cell) -> Cell:
        return capped(cell, self.place.facts.rt_period_us)

    def _on_all(self, cell: Cell) -> Cell:
        """The cell with as many processors as the host has, if it takes all of them."""
        if not self.takes_all:
            return cell
        count = len(self.place.facts.processors)
        machine = cell.scenario["machine"] | {"processors": count}
        hash = hashlib.sha256(f"{cell.hash}\n{count}".encode()).hexdigest()
        return cell.but(scenario=cell.scenario | {"machine": machine}, hash=hash)

    def _hash(self, cell: Cell) -> str:
        text = f"{self.engine}\n{cell.hash}\n{json.dumps(cell.host, sort_keys=True)}"
        return hashlib.sha256(text.encode()).hexdigest()

    def describe(self) -> dict:
        """Who ran it, and under which conditions."""
        facts = self.place.facts
        conditions = {k: str(v) if isinstance(v, Path) else v for k, v in vars(self.conditions).items()}
        return {"engine": self.engine, "kernel": f"{facts.release} {facts.version}", "conditions": conditions}

    def seen(self) -> dict:
        """What was seen before the first run."""
        return self._seen

    def ahead(self, pending: list[Run]) -> list:
        """Refuse what this host cannot do, before any target measures. Else nothing: what is done at once disturbs."""
        if pending:
            refuse_impossible(_once_each(pending), self.conditions, self.place)
        return []

    @contextmanager
    def session(self, pending: list[Run], folder: Path, stop: threading.Event) -> Iterator[HostSession]:
        """Measure what a second's work is, look at the noise, and do what comes before the runs that count."""
        session = HostSession(self.place, self.conditions, folder, stop, self.judge)
        seen = session.preflight([cell for cell, _ in pending], _repeats(pending, folder))
        self._seen["preflight"] = seen.document()
        for line in seen.lines():
            self.tell(line)
        for cell in _once_each(pending) * self.conditions.warm_up:
            session.attempt(cell, 0)
        yield session


def refuse_impossible(cells: list[Cell], conditions: Conditions, place: Place) -> None:
    """Have the host check every cell's settings, and what the runs need besides, before anything is touched."""
    if conditions.drop_caches and not place.facts.drops_caches:
        raise UsageError(f"--drop-caches: {DROP_CACHES} cannot be written on {place.name}; it needs root")
    if (wanted := conditions.loop_size) is not None:
        try:
            size(wanted)
        except (KeyError, ValueError):
            raise UsageError(f"--scratch {LOOP}{wanted}: is no size; write loop:2GiB") from None
    requests = [
        settings(cell) if volume(cell, conditions) is None else _of_a_loop(settings(cell), place) for cell in cells
    ]
    for wanted in {json.dumps(request, sort_keys=True): request for request in requests if request}.values():
        place.ask(["apply", "--dry-run", "--", *(f"{name}={value}" for name, value in wanted.items())])


def _of_a_loop(request: dict[str, str], place: Place) -> dict[str, str]:
    """What is set on a volume's own device is judged by another of its kind; not at all, where there is none."""
    loop = next(iter(place.facts.loops), None)
    known = place.ask(["tunables"]) or [] if request else []
    of_devices = {name for name, at, _ in (one["name"].partition("@") for one in known) if at}
    return {
        f"{name}@{loop}" if name in of_devices else name: value
        for name, value in request.items()
        if loop or name not in of_devices
    }


def _repeats(pending: list[Run], folder: Path) -> int:
    """Repeats of each cell when all is done, those of earlier calls included."""
    asked = read_manifest(folder).get("seeds", [])
    return max(asked if isinstance(asked, int) else len(asked), len({seed for _, seed in pending}))


def _once_each(pending: list[Run]) -> list[Cell]:
    return list({cell.hash: cell for cell, _ in pending}.values())
