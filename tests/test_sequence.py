"""Differences that are looked at after every pair: how often noise is named one, and when an answer is known."""

import math
import warnings

import numpy as np
import polars as pl
import pytest
import scipy.stats
from test_order import FILE as DRIFT
from test_order import Clock, Drifting

from schedlab.cli import comparing
from schedlab.cli.comparing import until_known
from schedlab.errors import Interrupted
from schedlab.experiment import Experiment
from schedlab.results import Results
from schedlab.stats import comparison, sequence
from schedlab.stats.comparison import E_PROCESS, REAL, SAME, Compared, Question, families
from schedlab.targets.rows import ROW

PAIRS = 60
NOISE = {
    "normal": lambda rng, size: rng.normal(size=size),
    "lognormal": lambda rng, size: rng.lognormal(0, 1, size) - rng.lognormal(0, 1, size),
    "counts": lambda rng, size: rng.integers(0, 3, size) - rng.integers(0, 3, size),
    "drifting": lambda rng, size: rng.normal(size=size) * np.linspace(1, 5, size),
}


def at_most(level: float, of: int) -> int:
    return int(scipy.stats.binom.ppf(0.999, of, level))


@pytest.mark.parametrize("noise", NOISE)
def test_whoever_stops_at_the_first_answer_is_wrong_at_most_at_the_stated_rate(noise):
    """A t-test after every pair is wrong several times as often."""
    rng = np.random.default_rng(60)
    ours = naive = 0
    for _ in range(500):
        each = NOISE[noise](rng, PAIRS).astype(float)
        ours += sequence.chance(each) <= comparison.LEVEL
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            naive += any(scipy.stats.ttest_1samp(each[:n], 0).pvalue <= comparison.LEVEL for n in range(3, PAIRS, 3))
    assert ours <= at_most(comparison.LEVEL, 500)
    assert naive > 2 * at_most(comparison.LEVEL, 500)


def test_the_chance_of_all_pairs_is_the_least_after_any_of_them():
    """So a look at the end is a look after every pair."""
    each = np.random.default_rng(1).normal(0.5, 1, 30)
    so_far = [sequence.chance(each[:n]) for n in range(31)]
    assert so_far == sorted(so_far, reverse=True)
    assert so_far[0] == 1.0


def test_intervals_have_the_truth_in_them_after_every_pair():
    rng = np.random.default_rng(95)
    wrong = 0
    for _ in range(300):
        each = rng.normal(3.0, 1, 25)
        # The truth is outside after some pair if its shift is excluded by any.
        wrong += sequence.chance(each - 3.0) <= comparison.LEVEL
        found = sequence.interval(each, comparison.LEVEL)
        assert found.low < found.high
    assert wrong <= at_most(comparison.LEVEL, 300)


def test_an_interval_is_where_the_test_does_not_exclude_a_shift():
    each = np.random.default_rng(2).normal(1.0, 1, 30)
    found = sequence.interval(each, comparison.LEVEL)
    assert found.low < 1.0 < found.high
    for end, outwards in ((found.low, -0.01), (found.high, 0.01)):
        assert sequence.chance(each - (end + outwards)) <= comparison.LEVEL
        assert sequence.chance(each - (end - outwards)) > comparison.LEVEL
    assert math.isnan(sequence.interval(each[:5], comparison.LEVEL).low)


def test_a_clear_difference_takes_seven_pairs_and_none_may_take_fewer():
    clear = 1 + 0.01 * np.random.default_rng(3).normal(size=12)
    known = [n for n in range(13) if sequence.chance(clear[:n]) <= comparison.LEVEL]
    assert known[0] == 7


def test_many_metrics_are_judged_together_and_what_is_the_same_becomes_known():
    rng = np.random.default_rng(4)
    base = rng.normal(100, 1, 30)
    cells = [[Compared(base * 1.1 + rng.normal(size=30), base), Compared(base + rng.normal(size=30), base)]]
    ((longer, same),) = families(cells, Question(within=0.02, sequence=True))
    assert (longer.verdict, same.verdict) == (REAL, SAME)
    assert longer.test == E_PROCESS
    assert longer.adjusted == pytest.approx(2 * longer.p)


FILE = """
question = "Is the one scheduler better than the other?"
machine = "guest"
seeds = 40
metrics = ["tasks.editor.wakeup_latency.p99", "tasks.make.share"]
scheduler = { name = "eevdf" }
[workload]
editor = { steps = [{ sleep = { exp = "20ms" } }, { compute = { uniform = ["1ms", "4ms"] } }], passes = 50 }
make = { load = "spin", count = 4, passes = "forever" }
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "editor.toml"
    path.write_text(FILE)
    return path


def test_runs_stop_as_soon_as_every_answer_is_known(schedlab, file):
    words = ["run", file, "--over", "scheduler.name=eevdf,cfs", "--until-known", "--within", "5%"]
    document = schedlab.json(*words)
    made = document["runs"]["total"]
    assert 14 <= made < 80
    assert {row["test"] for row in document["differences"]} == {E_PROCESS}
    assert all(row["verdict"] in (REAL, SAME) for row in document["differences"])
    again = schedlab.json(*words)
    assert (again["runs"]["computed"], again["runs"]["total"]) == (0, made)
    assert again["differences"] == document["differences"]


class Measuring(Drifting):
    """A target whose second setting takes longer."""

    def run(self, cell, seed):
        longer = 0.5 if cell.factors["workload.hog.nice"] == "1" else 0.0
        row = (0, "tasks.hog.real", "s", self.clock.tick(self.name) + longer, None)
        return pl.DataFrame([row], schema=ROW, orient="row")


def test_in_turns_one_session_makes_runs_until_the_answer_is_known(tmp_path):
    clock = Clock(1)
    experiment = Experiment.from_text(DRIFT, "drift.toml")
    question = Question(sequence=True)
    run = lambda part, **how: part.run(tmp_path, targets=[Measuring("one", clock)], **how)  # noqa: E731
    found = until_known(experiment, False, run, True, "workload.hog.nice=0", question)
    assert found.seeds == list(range(1, 8))
    assert found.computed == len(clock.made) == 14
    assert Results.open(found.folder).seeds == found.seeds
    again = until_known(experiment, False, run, True, "workload.hog.nice=0", question)
    assert (again.computed, again.seeds, len(clock.made)) == (0, found.seeds, 14)
    every = until_known(experiment, False, run, True, "workload.hog.nice=0", Question(within=1e-9, sequence=True))
    assert every.seeds == found.seeds, "what is real is known, whatever the bound"


class Unmoved(Drifting):
    """A target whose settings change nothing, not even by chance: the order of runs is another one for each engine."""

    def run(self, cell, seed):
        return pl.DataFrame([(0, "tasks.hog.real", "s", 1.0 + seed / 100, None)], schema=ROW, orient="row")


def test_in_turns_what_is_never_known_ends_with_the_seeds(tmp_path):
    experiment = Experiment.from_text(DRIFT, "drift.toml", set=["seeds=9"])
    target = Unmoved("one", Clock(2))
    run = lambda part, **how: part.run(tmp_path, targets=[target], **how)  # noqa: E731
    found = until_known(experiment, False, run, True, "workload.hog.nice=0", Question(sequence=True))
    assert (len(found.seeds), found.computed) == (9, 18)


def test_what_is_never_known_ends_with_the_seeds(schedlab, file):
    """A second start at the same moment is no difference."""
    words = ["--over", "workload.make.start=0s,1ns", "--until-known", "--seeds", "9"]
    document = schedlab.json("run", file, *words)
    assert document["runs"]["total"] == 18


def test_what_no_seed_changes_is_known_at_once(schedlab, tmp_path):
    path = tmp_path / "half.toml"
    path.write_text(
        'machine = "uniform"\nseeds = 30\nduration = "1s"\nscheduler = { name = "fifo" }\n'
        'metrics = ["tasks.a.turnaround.mean"]\n[workload]\na = { count = 2, steps = [{ compute = "9ms" }] }\n'
    )
    document = schedlab.json("run", path, "--over", "scheduler.name=fifo,round_robin", "--until-known")
    assert document["runs"]["computed"] == 2
    assert [row["test"] for row in document["differences"]] == ["certain"]


def test_only_a_comparison_can_be_known(schedlab, file):
    for option in (["--until-known"], ["--within", "2%"], ["--of", "median"]):
        done = schedlab("run", file, *option)
        assert done.returncode == 2
        assert "add --over or --baseline" in done.stderr


def test_ctrl_c_between_two_parts_says_what_is_kept(small, tmp_path, monkeypatch):
    experiment = Experiment.from_toml(small, set=["seeds=30"])

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparing, "differences", interrupted)
    run = lambda part, fresh: part.run(tmp_path, fresh=fresh)  # noqa: E731
    with pytest.raises(Interrupted, match=r"after 14 of 60 runs; they are kept"):
        until_known(experiment, False, run, False, "scheduler.slice=100ms", Question(sequence=True))
