"""The runs of a search: made by the runner like those of any experiment, kept in a folder of results, counted.

    <out>/<name>-<hash8>/      every setting that was tried, as a sweep; each with the repeats that it was worth

A run counts when the search asks for it, whether it is made or was known: a search that is resumed asks for the same
runs.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from schedlab import _core
from schedlab.errors import UsageError
from schedlab.results import Results, store
from schedlab.results.series import Series, Values
from schedlab.run import runner
from schedlab.specification import Specification
from schedlab.tune.board import Board, Counter, Measured, names
from schedlab.tune.space import Setting, Space

if TYPE_CHECKING:
    from schedlab.targets.target import Target


class Ledger:
    """Measures settings of a space, and enters them on a board."""

    def __init__(
        self,
        experiment: Specification,
        space: Space,
        place: "Callable[[Specification], Target]",
        out: Path,
        fresh: bool = False,
        report: Callable[[int], None] = lambda spent: None,
        tell: Callable[[str], None] = lambda line: None,
    ):
        """`place` gives where an experiment runs; `report` is called with the number of runs that were asked for."""
        self.experiment, self.space = experiment, space
        self.board = Board(counters(experiment), space.present)
        self.folder = out / f"{experiment.name}-{_hash(experiment, space, place(experiment))}"
        self.made = 0
        self.units = ["1"] * len(self.board.counters)
        self._place, self._out, self._report, self._tell = place, out, report, tell
        self._fresh = fresh
        self._asked: set[tuple[str, int]] = set()
        #: After how many runs which setting looked best: an entry for each change.
        self.history: list[tuple[int, Setting]] = []

    @property
    def spent(self) -> int:
        """How many runs were asked for."""
        return len(self._asked)

    @cached_property
    def loads(self) -> list[dict[str, str]]:
        """The cells of the experiment's own sweep: each setting is run in all of them."""
        return _loads(self.experiment)

    def cost(self, setting: Setting, repeats: int) -> int:
        """The runs that are still needed for this number of repeats of a setting."""
        known = self.board.measured.get(setting)
        there = 0 if known is None else repeats if known.alike else known.repeats
        return max(0, repeats - there) * len(self.loads)

    def measure(self, asked: Iterable[tuple[Setting, int]]) -> None:
        """Run each of these settings with as many of the first seeds as is said, and the present one with no fewer."""
        wanted = {one: repeats for one, repeats in asked if one not in self.board.refused}
        present = self.board.present
        if wanted:
            wanted[present] = max(wanted.get(present, 1), *wanted.values())
        for repeats in sorted(set(wanted.values())):
            settings = [one for one, number in wanted.items() if number == repeats and self._lacks(one, repeats)]
            for some in self._possible(settings):
                self._enter(some, self.results(some, self.experiment.seeds[:repeats]))
        if self.board.measured:
            best = self.board.order(list(self.board.measured))[0]
            if not self.history or self.history[-1][1] != best:
                self.history.append((self.spent, best))

    def results(self, settings: Sequence[Setting], seeds: Sequence[int]) -> Results:
        """Make the runs of settings with these seeds that are not known; the cells of a load are next to each other."""
        part = swept(self.experiment, self.space, settings).replace(seeds=list(seeds))
        fresh, self._fresh = self._fresh, False
        targets = [self._place(part)]
        found = runner.run(part, self._out, fresh=fresh, targets=targets, tell=self._tell, folder=self.folder)
        self.made += found.computed
        alike = store.alike(store.files(self.folder))
        for scenario in found.scenarios:
            repeats = [alike[scenario]] if scenario in alike else seeds
            self._asked.update((scenario, seed) for seed in repeats)
        self._report(self.spent)
        return found

    @contextmanager
    def kept(self):
        """In the end, also after Ctrl-C, the folder shows all settings that were tried, not those of the last batch."""
        try:
            yield self
        finally:
            if self.board.measured:
                self._show_all()

    def _show_all(self) -> None:
        tried = list(self.board.measured)
        seeds = self.experiment.seeds[: max(one.repeats for one in self.board.measured.values())]
        try:
            whole = swept(self.experiment, self.space, tried)
        except _core.ScenarioError:
            # Two of them are the same but for their spelling.
            first = {swept(self.experiment, self.space, [one]).cells()[0].hash: one for one in reversed(tried)}
            whole = swept(self.experiment, self.space, list(first.values())[::-1])
        whole = whole.replace(seeds=seeds)
        targets = [self._place(whole)]
        with store.locked(self.folder):
            store.Store(self.folder, runner.manifest(whole, runner.placed(whole, targets), targets))

    def _lacks(self, setting: Setting, repeats: int) -> bool:
        known = self.board.measured.get(setting)
        return known is None or (not known.alike and known.repeats < repeats)

    def _possible(self, settings: list[Setting]) -> Iterable[list[Setting]]:
        """The settings that the experiment can have, together where that can be; what is wrong with others is noted."""
        if not settings:
            return
        try:
            swept(self.experiment, self.space, settings)
            yield settings
            return
        except _core.ScenarioError:
            pass
        for one in settings:
            # One by one: two may be the same but for their spelling, and are no sweep.
            try:
                swept(self.experiment, self.space, [one])
            except _core.ScenarioError as why:
                if one == self.board.present:
                    raise
                self.board.refused[one] = str(why)
                continue
            yield [one]

    def _enter(self, settings: Sequence[Setting], results: Results) -> None:
        """Read the values of the settings from their runs."""
        conditions = self.space.conditions
        metrics = [one.metric for one in [*self.board.counters, *conditions]]
        found = results.values_of(dict.fromkeys(metrics))
        self.units = [found.unit_of(one.metric) or "1" for one in self.board.counters]
        scenarios = [cell["scenario"] for cell in results.manifest["cells"]]
        drawn_nothing = store.alike(store.files(self.folder))
        for at, setting in enumerate(settings):
            own = scenarios[at :: len(settings)]
            of = {json.dumps(load): scenario for load, scenario in zip(self.loads, own, strict=True)}
            alike = all(scenario in drawn_nothing for scenario in own)
            seeds = results.seeds[:1] if alike else results.seeds
            rows = [
                _row(found.get((of[json.dumps(dict(one.load))], one.metric)), seeds, alike)
                for one in self.board.counters
            ]
            missed = self.missed(found, own, seeds, alike)
            if np.isnan(rows).all(axis=1).any():
                self._refuse(setting, rows)
                continue
            self.board.measured[setting] = Measured(np.array(rows), missed, alike)

    def missed(self, found: Series, scenarios: Sequence[str], seeds: Sequence[int], alike: bool) -> np.ndarray:
        """By how much each run misses the conditions under its worst load; a run without a value misses."""
        missed = np.zeros(len(seeds))
        for condition in self.space.conditions:
            for scenario in scenarios:
                row = _row(found.get((scenario, condition.metric)), seeds, alike)
                missed = np.maximum(missed, [1.0 if np.isnan(value) else condition.missed(value) for value in row])
        return missed

    def _refuse(self, setting: Setting, rows: Sequence[np.ndarray]) -> None:
        """A setting in whose runs a counter has no value cannot be judged; the present one has to be."""
        without = next(c for c, row in zip(self.board.counters, rows, strict=True) if np.isnan(row).all())
        reason = f"{without.text} has no value"
        if setting == self.board.present:
            raise UsageError(f"{self.experiment.name}: {reason} in any run of the present setting")
        self.board.refused[setting] = reason
        self.board.measured.pop(setting, None)


def counters(experiment: Specification) -> list[Counter]:
    """Every metric of the goal under every load."""
    goal = experiment.definition.get("goal", {})
    weights = goal.get("weights", {})
    signs = {name: sign for field, sign in (("minimize", 1), ("maximize", -1)) for name in goal.get(field, ())}
    if not signs:
        raise UsageError(
            f"{experiment.name}: there is no goal; say what is better in [goal], as minimize = "
            '["wakeup_latency.p99"], or name a built-in one with --goal'
        )
    loads = _loads(experiment)
    return [
        Counter(name, sign, load, called, weights.get(name, 1.0))
        for load, called in zip(loads, names(loads), strict=True)
        for name, sign in signs.items()
    ]


def swept(experiment: Specification, space: Space, settings: Sequence[Setting]) -> Specification:
    """The experiment with these settings as a sweep: under each load one cell after the other."""
    sweep = experiment.definition.get("sweep", {})
    fields = [space.fields(setting) for setting in settings]
    zipped = {path: [one[path] for one in fields] for path in fields[0]}
    return experiment.replace(sweep={**sweep, "zip": [*sweep.get("zip", []), zipped]}, space={})


def _loads(experiment: Specification) -> list[dict[str, str]]:
    return [cell.factors for cell in experiment.cells()]


def _row(found: Values | None, seeds: Sequence[int], alike: bool) -> np.ndarray:
    """The values of some seeds, NaN where a run has none."""
    if found is None:
        return np.full(len(seeds), np.nan)
    values = [np.nan if value is None else value for value in found.values]
    if alike:
        return np.array(values[:1], float)
    of = dict(zip(found.seeds, values, strict=True))
    return np.array([of.get(seed, np.nan) for seed in seeds], float)


def _hash(experiment: Specification, space: Space, target: "Target") -> str:
    """What tells the folder of a search from that of another."""
    parts = {
        name: value for name, value in experiment.definition.items() if name not in ("question", "seeds", "metrics")
    }
    text = json.dumps([parts, [one.path for one in space.dimensions], target.name, target.engine], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]
