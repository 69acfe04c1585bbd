"""Whether a difference is real: how often noise is named one, in any order of runs and on any host."""

import math
import random

import numpy as np
import pytest
import scipy.stats

from schedlab import Experiment, UsageError
from schedlab.run.order import blocked
from schedlab.specification import Cell
from schedlab.stats import comparison
from schedlab.stats.comparison import NOT_SHOWN, REAL, TOO_FEW, detectable, difference, differences, holm

#: Repeats of a window, as in a common sweep.
REPEATS = 12


def at_most(level: float, of: int) -> int:
    """The number of `of` that are exceeded by chance once in a thousand times, if each has the chance `level`."""
    return int(scipy.stats.binom.ppf(0.999, of, level))


def test_a_single_difference_is_judged_by_its_interval():
    rng = np.random.default_rng(1)
    for _ in range(200):
        a, b = rng.normal(size=7), rng.normal(0.7, size=7)
        found = difference(b, a)
        expected = scipy.stats.ttest_rel(b, a)
        assert found.p == pytest.approx(expected.pvalue)
        assert (found.of.low, found.of.high) == pytest.approx(tuple(expected.confidence_interval()))
        assert found.real == (found.of.low > 0 or found.of.high < 0)


@pytest.mark.parametrize("noise", ["normal", "lognormal", "t"])
def test_of_500_pairs_that_do_not_differ_at_most_the_stated_share_is_named(noise):
    rng = np.random.default_rng(500)
    draw = {
        "normal": lambda: rng.normal(10, 1, REPEATS),
        "lognormal": lambda: rng.lognormal(0, 1, REPEATS),
        "t": lambda: rng.standard_t(3, REPEATS),
    }[noise]
    flagged = sum(difference(draw(), draw()).real for _ in range(500))
    assert flagged <= at_most(comparison.LEVEL, 500)


def test_counts_that_do_not_differ_are_not_named_either():
    rng = np.random.default_rng(7)
    for repeats in (2, 3, 6, 12):
        found = [difference(rng.integers(0, 2, repeats), rng.integers(0, 2, repeats)).real for _ in range(500)]
        assert sum(one is True for one in found) <= at_most(comparison.LEVEL, 500), repeats


def test_of_many_differences_none_is_named_in_nineteen_experiments_of_twenty():
    rng = np.random.default_rng(20)

    def some_named():
        base = rng.normal(10, 1, REPEATS)
        found = differences([(rng.normal(10, 1, REPEATS), base) for _ in range(15)])
        return any(one.real for one in found)

    assert sum(some_named() for _ in range(500)) <= at_most(comparison.LEVEL, 500)


def test_a_true_difference_among_many_is_found_all_the_same():
    rng = np.random.default_rng(3)
    base = rng.normal(10, 1, REPEATS)
    found = differences([(rng.normal(10, 1, REPEATS), base), (base + rng.normal(4, 1, REPEATS), base)])
    assert [one.verdict for one in found] == [NOT_SHOWN, REAL]
    assert found[1].relative == pytest.approx(found[1].of.mean / base.mean())


def test_holm_is_as_in_the_textbook():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_what_one_pair_or_equal_counts_cannot_tell_is_too_few():
    assert difference([2.0], [1.0]).verdict == TOO_FEW
    assert difference([], []).verdict == TOO_FEW
    assert [difference([2.0] * n, [1.0] * n).verdict for n in (2, 5, 6)] == [TOO_FEW, TOO_FEW, REAL]
    assert difference([2.0] * 2, [1.0] * 2, exact=True).verdict == REAL
    assert difference([1.0, 2.0], [0.0, 1.0], exact=True).verdict == TOO_FEW
    assert difference([1.0] * 9, [1.0] * 9).verdict == NOT_SHOWN
    assert difference([1.0] * 9, [0.0] * 9).relative is None


def test_a_difference_of_the_size_that_can_be_seen_is_found_in_four_of_five_cases():
    rng = np.random.default_rng(80)
    size = detectable(1.0, REPEATS)
    found = sum(difference(rng.normal(size, 1, REPEATS), rng.normal(0, 1, REPEATS)).real for _ in range(2000))
    assert found / 2000 == pytest.approx(comparison.POWER, abs=0.03)
    assert detectable(1.0, 1) is None


def of_windows(order_of, windows: int, seed: int) -> int:
    """In how many windows A and B are distinguished, though they are the same on a host that drifts.

    The noise is lag-1 0.75 in the order of time, and the host slows down by three of its deviations in a window.
    """
    cells = [Cell({}, {"cell": name}, name) for name in "AB"]
    named = 0
    for window in range(windows):
        rng = np.random.default_rng([seed, window])
        steps = rng.normal(size=2 * REPEATS) * math.sqrt(1 - 0.75**2)
        noise = [rng.normal()]
        for step in steps[1:]:
            noise.append(0.75 * noise[-1] + step)
        values = {}
        for place, (cell, repeat) in enumerate(order_of(cells, window)):
            values[cell.hash, repeat] = noise[place] + 3 * place / (2 * REPEATS)
        sample = {name: [values[name, repeat] for repeat in range(REPEATS)] for name in "AB"}
        named += difference(sample["B"], sample["A"]).real
    return named


def test_one_after_the_other_finds_a_difference_between_equal_targets_and_our_order_does_not():
    """The order is that of the live host: `blocked`, which the runner uses."""

    def ours(cells, window):
        return blocked([(cell, repeat) for cell in cells for repeat in range(REPEATS)], random.Random(window))

    def one_after_the_other(cells, window):
        return [(cell, repeat) for cell in cells for repeat in range(REPEATS)]

    windows = 2000
    assert of_windows(one_after_the_other, windows, 1) > 0.3 * windows
    assert of_windows(ours, windows, 1) <= 0.06 * windows


@pytest.fixture
def found(small, tmp_path):
    return Experiment.from_toml(small).run(out=tmp_path / "results")


def test_cells_are_compared_with_a_baseline_repeat_by_repeat(found):
    table = found.differences("tasks.io.real", {"scheduler.slice": "100ms"})
    (row,) = table.iter_rows(named=True)
    assert row["scheduler.slice"] == "18ms"
    quick = found.values("tasks.io.real", {"scheduler.slice": "18ms"}).sort("seed")["value"]
    slow = found.values("tasks.io.real", {"scheduler.slice": "100ms"}).sort("seed")["value"]
    assert row["mean"] == pytest.approx((quick - slow).mean())
    assert row["relative"] == pytest.approx((quick - slow).mean() / slow.mean())
    assert row["n"] == 3
    assert found.differences(["tasks.io.real"], "scheduler.slice=100ms").equals(table)


def test_a_baseline_of_some_factors_leaves_the_others_as_they_are(small, tmp_path):
    swept = Experiment.from_toml(small).sweep({"workload.io.files": [3, 6]})
    table = swept.run(out=tmp_path).differences("tasks.io.real", "scheduler.slice=100ms")
    assert table.select("scheduler.slice", "workload.io.files").rows() == [("18ms", "3"), ("18ms", "6")]
    table = swept.run(out=tmp_path).differences("tasks.io.real", "scheduler.slice=100ms,workload.io.files=3")
    assert len(table) == 3


def test_a_baseline_that_is_none_is_answered(found):
    for baseline, hint in (("slice=100ms", "scheduler.slice"), ("scheduler.slice=101ms", "100ms")):
        with pytest.raises(UsageError, match=hint):
            found.differences(None, baseline)
    with pytest.raises(UsageError, match="no metric"):
        found.differences("tasks.io.reel", "scheduler.slice=100ms")


def test_the_command_says_what_differs_and_what_was_adjusted(schedlab, small):
    done = schedlab("run", small, "--baseline", "scheduler.slice=100ms")
    assert done.returncode == 0, done.stderr
    assert "compared with scheduler.slice=100ms" in done.stdout
    assert "differences are judged together (Holm)" in done.stdout
    document = schedlab.json("run", small, "--baseline", "scheduler.slice=100ms")
    assert {row["verdict"] for row in document["differences"]} <= {REAL, NOT_SHOWN, TOO_FEW}
    assert document["baseline"] == "scheduler.slice=100ms"


def test_one_seed_is_too_few(schedlab, small):
    done = schedlab("run", small, "--baseline", "scheduler.slice=100ms", "--seeds", "1")
    assert "too few" in done.stdout
    assert "--seeds 10" in done.stdout


def test_a_wrong_baseline_is_answered_before_anything_runs(schedlab, small):
    done = schedlab("run", small, "--baseline", "scheduler.slice=100")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'100ms'" in done.stderr
    assert not list(schedlab.folder.rglob("*.parquet"))
