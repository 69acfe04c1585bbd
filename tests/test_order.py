"""The order of runs that depend on their moment: one for all targets and cells. With targets that drift, knowingly."""

import hashlib
import json
import os
import random
import threading
from contextlib import contextmanager

import polars as pl
import pytest

from schedlab.experiment import Experiment
from schedlab.run import order
from schedlab.run.order import blocked
from schedlab.stats.comparison import differences
from schedlab.targets.rows import ROW
from schedlab.targets.simulator import Simulator
from schedlab.targets.target import HERE, LOG

FILE = """
machine = "uniform"
scheduler = { name = "fifo" }
seeds = 20
duration = "1s"
metrics = ["tasks.hog.real"]
workload.hog = { steps = [{ compute = { uniform = ["9ms", "11ms"] } }] }
[sweep]
"workload.hog.nice" = [0, 1]
"""
REPEATS, EXPERIMENTS = 20, 200
CELLS = Experiment.from_text(FILE, "drift.toml").cells()


class Clock:
    """The only quantity in which two moments differ: it drifts, with noise that lasts."""

    def __init__(self, seed: int):
        self.chance, self.lasting, self.made = random.Random(seed), 0.0, []

    def tick(self, target: str) -> float:
        self.made.append(target)
        self.lasting = 0.75 * self.lasting + self.chance.gauss(0, 0.02)
        return 1 + 0.01 * len(self.made) + self.lasting


class Drifting(Simulator):
    """A target that measures nothing but when it measures."""

    repeatable = False
    machine, processors = HERE, 10**6

    def __init__(self, name: str, clock: Clock):
        super().__init__(1, name)
        object.__setattr__(self, "clock", clock)

    def cells(self, cells):
        """As of any target that is not simulated: results of one are never taken for those of another."""
        return [cell.but(hash=hashlib.sha256(f"{self.name} {cell.hash}".encode()).hexdigest()) for cell in cells]

    @contextmanager
    def session(self, pending, folder, stop):
        yield self

    def run(self, cell, seed):
        row = (0, "tasks.hog.real", "s", self.clock.tick(self.name), None)
        return pl.DataFrame([row], schema=ROW, orient="row")


class Counting:
    """A session whose runs take a number of processors; it reports how many were taken at once."""

    machine = HERE
    taken, most, lock = 0, 0, threading.Lock()

    def __init__(self, processors):
        self.processors = processors

    def run(self, cell, seed):
        with Counting.lock:
            Counting.taken += self.processors
            Counting.most = max(Counting.most, Counting.taken)
        threading.Event().wait(0.002)
        with Counting.lock:
            Counting.taken -= self.processors
        return seed


def found(folder, number, ordered) -> list[str]:
    """Verdicts on two targets that are the same, of all cells together."""
    clock = Clock(number)
    targets = {name: Drifting(name, clock) for name in ("one", "two")}
    cells = [cell.but(on=name) for name, target in targets.items() for cell in target.cells(CELLS)]
    values = {}
    for cell, seed in ordered([(cell, seed) for cell in cells for seed in range(REPEATS)], folder / str(number)):
        values.setdefault((cell.on, cell.factors["workload.hog.nice"]), {})[seed] = clock.tick(cell.on)
    pairs = [tuple([values[on, nice][seed] for seed in range(REPEATS)] for on in ("two", "one")) for nice in ("0", "1")]
    return [one.verdict for one in differences(pairs)]


def by_the_runner(pending, folder):
    """The order in which the runner has sessions make their runs."""
    made = []

    class Noting(Counting):
        def run(self, cell, seed):
            made.append((cell, seed))

    sessions = {on: Noting(10**6) for on in ("one", "two")}
    list(order._made(sessions, blocked(pending, random.Random(folder.name)), threading.Event()))
    return made


def test_places_that_are_the_same_are_called_so_though_everything_drifts(tmp_path):
    false = sum("real" in found(tmp_path, number, by_the_runner) for number in range(EXPERIMENTS))
    # A family of verdicts is wrong in at most one of twenty cases; 20 of 200 is more than three deviations from that.
    assert false < EXPERIMENTS // 10
    in_bulk = sum("real" in found(tmp_path, number, lambda pending, _: pending) for number in range(20))
    assert in_bulk == 20, "one target after the other, the same drift makes a difference"


def test_every_repeat_has_all_cells_of_all_places_in_an_order_of_its_own(tmp_path):
    clock = Clock(1)
    experiment = Experiment.from_text(FILE, "drift.toml")
    results = experiment.run(tmp_path, targets=[Drifting(name, clock) for name in ("one", "two", "three")])
    lines = [json.loads(line) for line in (results.folder / LOG).read_text().splitlines()]
    assert [line["on"] for line in lines] == clock.made
    assert [line["order"] for line in lines] == list(range(1, 6 * REPEATS + 1))
    assert {line["of"] for line in lines} == {6 * REPEATS}
    orders = []
    for repeat in range(REPEATS):
        block = lines[6 * repeat : 6 * (repeat + 1)]
        assert {line["seed"] for line in block} == {repeat + 1}
        orders.append([(line["on"], line["scenario"]) for line in block])
        assert len(set(orders[-1])) == 6
    assert len(set(map(tuple, orders))) > REPEATS // 2


def test_what_is_repeatable_is_made_in_bulk_before_the_rest(tmp_path):
    clock = Clock(1)
    experiment = Experiment.from_text(FILE, "drift.toml")
    targets = [Drifting("one", clock), Simulator(1), Drifting("two", clock)]
    results = experiment.run(tmp_path, targets=targets)
    assert results.computed == 6 * REPEATS
    assert len(clock.made) == 4 * REPEATS


def test_a_run_that_goes_on_leaves_the_finished_ones_and_the_log(tmp_path):
    clock = Clock(1)
    targets = [Drifting("one", clock), Drifting("two", clock)]
    for seeds in (2, 5):
        experiment = Experiment.from_text(FILE, "drift.toml", set=[f"seeds={seeds}"])
        results = experiment.run(tmp_path, targets=targets)
    assert len(clock.made) == 4 * 5
    assert len((results.folder / LOG).read_text().splitlines()) == 4 * 5


@pytest.mark.parametrize("processors", [(1, 2), (4, 1), (3, 2)])
def test_runs_are_made_at_once_only_where_they_fit(monkeypatch, processors):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    Counting.taken = Counting.most = 0
    (cell,) = Experiment.from_text(FILE, "x.toml", set=["workload.hog.nice=0"]).cells()
    sessions = {str(number): Counting(count) for number, count in enumerate(processors)}
    runs = blocked([(cell.but(on=on), seed) for on in sessions for seed in range(40)], random.Random(1))
    done = list(order._made(sessions, runs, threading.Event()))
    assert [chunk for (chunk,), _ in done] == runs
    assert [seed for _, seed in done] == [seed for _, seed in runs]
    assert max(processors) <= Counting.most <= 4


def test_ctrl_c_stops_between_two_runs(tmp_path):
    stop = threading.Event()

    class Stopping(Counting):
        def run(self, cell, seed):
            stop.set()
            threading.Event().wait(0.2)
            return seed

    (cell,) = Experiment.from_text(FILE, "x.toml", set=["workload.hog.nice=0"]).cells()
    with pytest.raises(KeyboardInterrupt):
        list(order._made({"sim": Stopping(1)}, [(cell, 1), (cell, 2)], stop))


def turns(*names):
    """Four runs for each of these targets, in turns."""
    (cell,) = Experiment.from_text(FILE, "x.toml", set=["workload.hog.nice=0"]).cells()
    return [(cell.but(on=on), seed) for seed in range(4) for on in names]


def test_different_computers_work_at_the_same_time(tmp_path):
    meeting = threading.Barrier(2)

    class Meeting(Counting):
        def run(self, cell, seed):
            meeting.wait(20)
            return seed

    sessions = {on: Meeting(10**6) for on in ("one", "two")}
    for on, session in sessions.items():
        session.machine = on
    runs = turns("one", "two")
    done = list(order._lanes(sessions, runs, tmp_path / LOG, threading.Event()))
    for on in sessions:
        assert [run for (run,), _ in done if run[0].on == on] == [run for run in runs if run[0].on == on]
    lines = [json.loads(line) for line in (tmp_path / LOG).read_text().splitlines()]
    assert {(line["order"], line["on"]) for line in lines} == {(n, run[0].on) for n, run in enumerate(runs, 1)}


def test_when_one_computer_fails_what_others_have_begun_is_kept(tmp_path):
    failed = threading.Event()

    class Failing(Counting):
        machine = "one"

        def run(self, cell, seed):
            failed.set()
            raise ValueError("it burns")

    class Lasting(Counting):
        machine = "two"

        def run(self, cell, seed):
            assert failed.wait(20)
            threading.Event().wait(0.2)
            return seed

    lanes = order._lanes(
        {"one": Failing(1), "two": Lasting(10**6)}, turns("one", "two"), tmp_path / LOG, threading.Event()
    )
    kept = []
    with pytest.raises(ValueError, match="it burns"):
        kept.extend(lanes)
    assert [run[0].on for (run,), _ in kept] == ["two"]
