"""Whether a difference is real: how often noise is named one, in any order of runs and on any host.
Long, because tests, intervals and verdicts are held to the same simulated noise.
"""

import math
import random
import re
from itertools import product

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from schedlab import Experiment, UsageError
from schedlab.run.order import blocked
from schedlab.specification import Cell
from schedlab.stats import bootstrap, comparison, statistic
from schedlab.stats.comparison import (
    CERTAIN,
    HIGHER,
    LOWER,
    NO_WORSE,
    NOT_SHOWN,
    PERMUTATION,
    REAL,
    SAME,
    STUDENT,
    TOO_FEW,
    Compared,
    Question,
    detectable,
    difference,
    differences,
    families,
    holm,
)

#: Repeats of a window, as in a common sweep.
REPEATS = 12


def at_most(level: float, of: int) -> int:
    """The number of `of` that are exceeded by chance once in a thousand times, if each has the chance `level`."""
    return int(scipy.stats.binom.ppf(0.999, of, level))


def test_a_difference_of_too_few_pairs_for_permutation_is_judged_by_students_t():
    rng = np.random.default_rng(1)
    for _ in range(200):
        a, b = rng.normal(size=5), rng.normal(0.7, size=5)
        found = difference(b, a)
        expected = scipy.stats.ttest_rel(b, a)
        assert found.test == STUDENT
        assert found.p == pytest.approx(expected.pvalue)
        assert (found.of.low, found.of.high) == pytest.approx(tuple(expected.confidence_interval()))
        assert found.real == (found.of.low > 0 or found.of.high < 0)


def test_a_single_difference_is_judged_by_the_share_of_permutations_that_give_as_much():
    rng = np.random.default_rng(2)
    for pairs in (6, 9, 12):
        a, b = rng.lognormal(size=pairs), rng.lognormal(0.7, size=pairs)
        each, found = b - a, difference(b, a)
        sums = [abs(sum(s * d for s, d in zip(signs, each, strict=True))) for signs in product((1, -1), repeat=pairs)]
        assert found.test == PERMUTATION
        assert found.p == pytest.approx(np.mean(np.array(sums) >= abs(each.sum()) - 1e-9))


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
    # Values of a simulator that are equal under all seeds have no chance in them, if they are not few.
    exact = [difference([2.0] * n, [1.0] * n, exact=True) for n in (2, 5, 6)]
    assert [(one.verdict, one.test) for one in exact] == [(TOO_FEW, None), (TOO_FEW, None), (REAL, CERTAIN)]
    assert difference([1.0, 2.0], [0.0, 1.0], exact=True).verdict == TOO_FEW
    assert difference([1.0] * 9, [1.0] * 9).verdict == NOT_SHOWN
    assert difference([1.0] * 9, [0.0] * 9).relative is None


def test_metrics_of_few_values_are_hardly_ever_named_real_whatever_the_repeats():
    rng = np.random.default_rng(31)
    for repeats in (2, 3, 5, 6, 8):
        drawn = rng.integers(0, 2, (400, 2, repeats)).astype(float)
        assert sum(difference(*both, exact=True).verdict == REAL for both in drawn) / 400 <= 0.05 + 0.02


def test_a_difference_of_the_size_that_can_be_seen_is_found_in_four_of_five_cases():
    rng = np.random.default_rng(80)
    size = detectable(1.0, REPEATS)
    found = sum(difference(rng.normal(size, 1, REPEATS), rng.normal(0, 1, REPEATS)).real for _ in range(2000))
    assert found / 2000 == pytest.approx(comparison.POWER, abs=0.03)
    assert detectable(1.0, 1) is None


def lasting(rng, repeats):
    """Lag-1 0.75 and a drift of three deviations, in blocks of both cells in random order."""
    noise = [rng.normal()]
    for step in rng.normal(size=2 * repeats - 1) * math.sqrt(1 - 0.75**2):
        noise.append(0.75 * noise[-1] + step)
    blocks = (np.array(noise) + np.linspace(0, 3, 2 * repeats)).reshape(repeats, 2)
    return rng.permuted(blocks, axis=1).T


def shared(rng, repeats):
    """The same lognormal work, done by each with lognormal noise of its own."""
    return rng.lognormal(0, 0.7, repeats) * rng.lognormal(0, 0.3, (2, repeats))


WORLDS = {
    "normal": lambda rng, repeats: rng.normal(10, 1, (2, repeats)),
    "skewed": lambda rng, repeats: rng.lognormal(0, 1, (2, repeats)),
    "shared": shared,
    "lasting": lasting,
}


@pytest.mark.parametrize("repeats", [3, 6, 10, 30])
@pytest.mark.parametrize("world", WORLDS)
def test_of_500_pairs_of_equal_cells_at_most_the_stated_share_is_named(world, repeats):
    rng = np.random.default_rng([500, repeats])
    named = sum(difference(*WORLDS[world](rng, repeats)).real is True for _ in range(500))
    assert named <= at_most(comparison.LEVEL, 500)


@pytest.mark.parametrize("repeats", [5, 8, 20])
@pytest.mark.parametrize("world", WORLDS)
def test_of_many_metrics_of_several_cells_none_is_named_at_more_than_the_stated_rate(world, repeats):
    """Four cells and a base, six metrics, three of them nearly the same."""
    rng = np.random.default_rng([20, repeats])

    def some_named():
        cells = []
        for _ in range(4):
            common = WORLDS[world](rng, repeats)
            alike = [common * (1 + 0.01 * rng.normal(size=(2, repeats))) for _ in range(3)]
            cells.append([Compared(*both) for both in [*alike, *(WORLDS[world](rng, repeats) for _ in range(3))]])
        return any(one.real for metrics in families(cells) for one in metrics)

    assert sum(some_named() for _ in range(300)) <= at_most(comparison.LEVEL, 300)


def covered(world, repeats, of, longer, truth):
    """Of 500 intervals how many have the truth in them; the values are `longer` times what the world gives."""
    rng = np.random.default_rng([95, repeats])
    count = 0
    for _ in range(500):
        values, base = WORLDS[world](rng, repeats)
        ((found,),) = families([[Compared(values * longer, base)]], Question(of))
        count += found.of.low <= truth <= found.of.high
    return count


@pytest.mark.parametrize("repeats", [3, 10, 30])
@pytest.mark.parametrize(("world", "truth"), [("normal", 3.0), ("skewed", 0.3 * math.exp(0.5)), ("lasting", 0.0)])
def test_of_500_intervals_of_a_mean_the_stated_share_has_the_truth_in_it(world, truth, repeats):
    longer = 1.0 if world == "lasting" else 1.3
    assert covered(world, repeats, "mean", longer, truth) >= 500 - at_most(comparison.LEVEL, 500)


@pytest.mark.parametrize(
    ("world", "of", "repeats"),
    [("normal", "median", 10), ("shared", "median", 10), ("skewed", "median", 30), ("skewed", "p90", 50)],
)
def test_of_500_intervals_of_a_quantile_the_stated_share_has_the_truth_in_it(world, of, repeats):
    law = scipy.stats.norm(10, 1) if world == "normal" else scipy.stats.lognorm(math.hypot(0.7, 0.3))
    law = scipy.stats.lognorm(1) if world == "skewed" else law
    truth = 0.3 * law.ppf({"median": 0.5, "p90": 0.9}[of])
    assert covered(world, repeats, of, 1.3, truth) >= 500 - at_most(comparison.LEVEL, 500)


def test_a_quantile_is_that_of_numpy():
    values = np.random.default_rng(3).normal(size=(3, 11))
    for name, share in (("median", 0.5), ("p90", 0.9), ("p05", 0.05), ("p999", 0.999)):
        assert statistic.of(values, name) == pytest.approx(np.quantile(values, share, axis=1))
    for name in ("p", "p9", "p00", "mode"):
        with pytest.raises(ValueError, match="no statistic"):
            statistic.quantile(name)


def test_a_quantile_of_too_few_repeats_has_no_interval():
    rng = np.random.default_rng(9)
    for of, repeats in (("median", 9), ("p90", 49), ("p99", 499)):
        ((few,),) = families([[Compared(*rng.normal(size=(2, repeats)))]], Question(of))
        ((enough,),) = families([[Compared(*rng.normal(size=(2, repeats + 1)))]], Question(of))
        assert math.isnan(few.of.low), of
        assert enough.of.low < enough.of.mean < enough.of.high, of


def test_under_drift_pairs_find_what_a_naive_t_test_of_two_samples_misses():
    rng = np.random.default_rng(70)
    ours = naive = 0
    for _ in range(300):
        values, base = lasting(rng, 12) * 0.5
        values = values + 0.35
        ours += difference(values, base).real
        naive += scipy.stats.ttest_ind(values, base).pvalue <= comparison.LEVEL
    assert ours > 2 * naive
    assert ours > 0.5 * 300


@pytest.mark.parametrize("longer", [1.02, 0.98, 1.0])
def test_what_lies_on_the_bound_is_called_the_same_at_most_at_the_stated_rate(longer):
    rng = np.random.default_rng(2)
    counts = dict.fromkeys((SAME, NO_WORSE, None), 0)
    for _ in range(500):
        base = rng.normal(100, 1, 20)
        values = base * longer + rng.normal(0, 1, 20)
        ((found,),) = families([[Compared(values, base, better=LOWER)]], Question(within=0.02))
        counts[found.bounded] += 1
    if longer == 1.02:
        assert counts[SAME] + counts[NO_WORSE] <= at_most(comparison.LEVEL, 500)
    elif longer == 0.98:
        assert counts[SAME] <= at_most(comparison.LEVEL, 500)
        assert counts[NO_WORSE] > 450
    else:
        assert counts[SAME] > 450


def test_no_worse_is_said_only_where_it_is_known_what_is_better():
    base = np.linspace(99, 101, 12)
    values = base * 0.9 + np.tile([-0.1, 0.1], 6)
    found = {}
    for better in (LOWER, HIGHER, None):
        ((one,),) = families([[Compared(values, base, better=better)]], Question(within=0.02))
        found[better] = one.bounded
        assert one.verdict == REAL
    assert found == {LOWER: NO_WORSE, HIGHER: None, None: None}


def test_with_about_as_many_more_pairs_as_are_said_a_verdict_is_likely():
    rng = np.random.default_rng(12)
    ((one,),) = families([[Compared(rng.normal(0.5, 1, 8), np.zeros(8))]])
    assert one.verdict == NOT_SHOWN
    size, pairs = one.of.mean, 8 + one.more
    found = [difference(rng.normal(size, 1, pairs), np.zeros(pairs)).real for _ in range(400)]
    assert 0.6 < sum(found) / 400 < 0.97


@pytest.mark.parametrize(("of", "pairs"), [("mean", 20), ("median", 20), ("p90", 60)])
def test_the_scatter_from_which_more_pairs_are_reckoned_is_that_of_the_statistic(of, pairs):
    rng = np.random.default_rng(7)
    drawn = rng.lognormal(sigma=0.5, size=(4000, 2, pairs))
    wanted = math.sqrt(pairs) * np.std(statistic.of(drawn[:, 0], of) - statistic.of(drawn[:, 1], of))
    found = np.median([bootstrap.deviation(*both, of) for both in drawn[:200]])
    assert found == pytest.approx(wanted, rel=0.2)


def test_of_quantiles_it_is_said_how_many_more_pairs_would_tell_once_their_scatter_is_known():
    rng = np.random.default_rng(3)
    values, base = rng.lognormal(0.1, size=12), rng.lognormal(size=12)
    ((known,),) = families([[Compared(values, base)]], Question("median"))
    assert (known.verdict, known.more is not None) == (NOT_SHOWN, True)
    ((few,),) = families([[Compared(values[:9], base[:9])]], Question("median"))
    assert few.more is None


def test_the_same_data_give_the_same_verdict_whatever_came_before():
    rng = np.random.default_rng(4)
    values, base = rng.lognormal(size=(2, 40))
    first = difference(values, base)
    difference(*rng.lognormal(size=(2, 33)))
    assert difference(values, base) == first


SAMPLES = st.integers(2, 16).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(-1000, 1000), min_size=n, max_size=n) for _ in range(2)))
)


@settings(max_examples=60)
@given(SAMPLES)
def test_to_exchange_both_sides_mirrors_the_difference(pair):
    there, back = difference(*pair), difference(*reversed(pair))
    assert (there.p, there.adjusted, there.verdict) == (back.p, back.adjusted, back.verdict)
    assert there.of.mean == pytest.approx(-back.of.mean)
    # Resamples are ranked from below: their quantiles are not quite symmetrical.
    width = max(1.0, there.of.high - there.of.low) if there.of.n > 1 else 1.0
    assert there.of.low == pytest.approx(-back.of.high, abs=0.05 * width)


@settings(max_examples=60)
@given(SAMPLES, st.integers(-1000, 1000))
def test_to_add_the_same_to_both_sides_changes_nothing(pair, more):
    moved = difference(*([value + more for value in side] for side in pair))
    assert moved[:1] + moved[2:5] == difference(*pair)[:1] + difference(*pair)[2:5]


def test_metrics_that_say_the_same_cost_nothing():
    """Ten copies of a metric are judged as one: Holm alone would take ten times the p."""
    rng = np.random.default_rng(10)
    values, base = rng.normal(0.8, 1, 12), rng.normal(0, 1, 12)
    (found,) = families([[Compared(values, base)] * 10])
    assert {one.adjusted for one in found} == {difference(values, base).p}


def test_a_metric_without_a_value_in_some_repeats_is_judged_by_the_others():
    rng = np.random.default_rng(11)
    values, base = rng.normal(3, 1, 12), rng.normal(0, 1, 12)
    some = [None if place in (2, 7) else value for place, value in enumerate(values)]
    (found,) = families([[Compared(some, base)]])
    assert found[0].of.n == 10
    assert found[0].p == difference(np.delete(values, [2, 7]), np.delete(base, [2, 7])).p


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
    assert re.search(r"(is|are) judged( together)? by Student's t", done.stdout)
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
