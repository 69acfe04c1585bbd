"""Which fields matter: shares that are known in closed form, intervals that cover them, and what cannot be inferred."""

import itertools

import numpy as np
import pytest

from schedlab.tune.importance import (
    FLOOR,
    LEAST,
    MOST,
    STUDENT,
    Unknown,
    _covariance,
    _effects,
    _interval,
    _Space,
    importance,
)

#: Three quantities and one field of names.
LEVELS, ORDERED = (8, 6, 4, 5), (True, True, False, True)
PAIRS = list(itertools.combinations(range(len(LEVELS)), 2))


def at(settings, field):
    """A quantity from 0 to 1."""
    return settings[:, field] / (LEVELS[field] - 1)


def additive(settings):
    return 2 * at(settings, 0) + at(settings, 1) + np.array([0.1, 0.9, 0.0, 0.4])[settings[:, 2]]


def product(settings):
    return (at(settings, 0) - 0.5) * (at(settings, 1) - 0.5)


def steps(settings):
    """Half of the names shift the place of a step."""
    return 1.0 * (at(settings, 0) > 0.5) * (settings[:, 2] < 2) + 0.5 * at(settings, 3)


def whole():
    return np.array(list(itertools.product(*(range(count) for count in LEVELS))))


def parts(values):
    """The shares of fields and of pairs by the definition, from the values of all settings."""
    table = values.reshape(LEVELS) - values.mean()
    mean = lambda *kept: table.mean(axis=tuple(one for one in range(len(LEVELS)) if one not in kept))  # noqa: E731
    single = [mean(one).var() for one in range(len(LEVELS))]
    double = [mean(i, j).var() - single[i] - single[j] for i, j in PAIRS]
    return np.array(single) / table.var(), np.array(double) / table.var()


def drawn(function, count, seed=0, noise=0.0):
    """Settings at random, and their values with noise of that share of their standard deviation."""
    rng = np.random.default_rng(seed)
    settings = np.column_stack([rng.integers(0, levels, count) for levels in LEVELS])
    values = function(settings)
    return settings, values + noise * values.std() * rng.normal(size=count)


def found(function, count, seed=0, noise=0.0):
    return importance(LEVELS, *drawn(function, count, seed, noise), ORDERED, seed)


def by_pair(result):
    return {(one.i, one.j): one for one in result.pairs}


def test_of_an_additive_function_each_field_has_its_share_and_no_pair_has_any():
    shares, _ = parts(additive(whole()))
    result = found(additive, 200)
    assert [one.share for one in result.fields] == pytest.approx(shares, abs=0.02)
    assert all(one.share < 0.01 for one in result.pairs)
    assert result.explained > 0.98


def test_of_a_product_all_is_in_the_pair():
    result = found(product, 120)
    first = result.pairs[0]
    assert (first.i, first.j) == (0, 1)
    assert first.share > 0.97
    assert all(one.share < 0.02 for one in [*result.fields, *result.pairs[1:]])
    assert result.totals[0].share == pytest.approx(first.share, abs=0.03)


def test_pairs_come_the_largest_first():
    shares = [one.share for one in found(steps, 120).pairs]
    assert shares == sorted(shares, reverse=True)
    assert len(shares) == len(PAIRS)


def test_a_field_that_does_nothing_is_named_and_one_that_only_interacts_is_not():
    assert found(additive, 200).nothing == [3]
    assert found(product, 200).nothing == [2, 3]


def test_under_noise_a_field_is_not_said_to_do_nothing_only_because_its_effect_cannot_be_seen():
    for seed in range(4):
        result = found(lambda settings: additive(settings) + 0.25 * at(settings, 3), 30, seed, 0.6)
        assert 3 not in result.nothing


def test_of_chance_alone_nothing_is_told():
    for seed in range(4):
        settings, _ = drawn(additive, 60, seed)
        result = importance(LEVELS, settings, np.random.default_rng(seed + 1).normal(size=60), ORDERED)
        assert not result.conclusive
        assert result.nothing == []


def test_a_known_function_is_told_and_what_is_left_out_is_predicted_less_well_under_noise():
    clear, noisy = found(additive, 100), found(additive, 100, noise=0.5)
    assert clear.conclusive
    assert noisy.explained < clear.explained
    # Of a variance of 1.25 the noise has 0.25, which no fit can predict.
    assert noisy.explained < 0.85


def test_names_have_no_order():
    settings, values = drawn(additive, 120)
    mixed = settings.copy()
    mixed[:, 2] = np.array([2, 0, 3, 1])[settings[:, 2]]
    one, other = importance(LEVELS, settings, values, ORDERED), importance(LEVELS, mixed, values, ORDERED)
    assert [share.share for share in other.fields] == pytest.approx([share.share for share in one.fields], abs=0.01)


def test_neighbours_of_a_quantity_are_alike_and_no_name_is_nearer_to_one_than_to_another():
    nearest, second, third, *_ = _covariance(9, True)[0]
    assert nearest > second > third
    assert _covariance(5, False)[0, 1:] == pytest.approx(_covariance(5, False)[0, 1])


def test_an_interval_is_around_the_share_without_its_error_and_as_wide_as_both_parts():
    halves, errors = np.array([[0.3], [0.5]]), np.array([[0.15], [0.05]])
    middle, low, high = _interval(np.array([0.6]), halves, errors)
    half = FLOOR + STUDENT * np.hypot(0.2, 0.1) / np.sqrt(2)
    assert middle == pytest.approx([0.5])
    assert (low, high) == (pytest.approx([0.5 - half]), pytest.approx([0.5 + half]))
    assert _interval(np.array([1.2]), halves, errors)[0] == [1.0]


def test_units_of_the_counter_do_not_matter():
    settings, values = drawn(steps, 60)
    one, other = importance(LEVELS, settings, values, ORDERED), importance(LEVELS, settings, 5 - 1e-3 * values, ORDERED)
    assert [share.share for share in other.fields] == pytest.approx([share.share for share in one.fields], abs=0.02)


@pytest.mark.parametrize("value", [0.0, 7.25, -1e9])
def test_values_that_are_all_equal_have_no_shares(value):
    settings, _ = drawn(additive, 40)
    rounded = value * (1 + 1e-14 * np.arange(40))
    assert importance(LEVELS, settings, rounded, ORDERED) == Unknown("the same in all 40 settings")


def test_of_too_few_settings_nothing_is_said():
    settings, values = drawn(additive, LEAST - 1)
    assert importance(LEVELS, settings, values, ORDERED) == Unknown("measured in 9 settings; at least 10 are needed")
    assert importance(LEVELS, np.zeros((0, 4)), np.zeros(0), ORDERED).why.startswith("measured in 0 settings")


def test_settings_outside_of_the_levels_and_without_a_value_are_left_out():
    settings, values = drawn(additive, LEAST + 2)
    settings[0, 1], values[1], values[2] = -1, np.inf, np.nan
    assert importance(LEVELS, settings, values, ORDERED).why.startswith("measured in 9 settings")
    settings, values = drawn(additive, 60)
    strange, whatever = np.vstack([settings, [[8, 0, 0, 0], [0, 0, 0, -1]]]), np.append(values, [1e9, -1e9])
    assert importance(LEVELS, strange, whatever, ORDERED) == importance(LEVELS, settings, values, ORDERED)


def test_the_same_settings_and_seed_give_the_same_shares():
    settings, values = drawn(steps, 50, noise=0.3)
    one = importance(LEVELS, settings, values, ORDERED, seed=3)
    np.random.seed(5)
    assert importance(LEVELS, settings, values, ORDERED, seed=3) == one
    assert importance(LEVELS, settings, values, ORDERED, seed=4) != one


def test_a_field_of_one_level_and_very_many_settings_are_no_trouble():
    settings, values = drawn(additive, 3 * MOST)
    result = importance((*LEVELS, 1), np.column_stack([settings, np.zeros(len(settings))]), values, (*ORDERED, True))
    assert result.fields[4].share == pytest.approx(0, abs=1e-12)
    assert result.nothing == [3, 4]


def test_effects_of_trees_are_those_over_all_settings():
    from sklearn.ensemble import RandomForestRegressor

    space, every = _Space(LEVELS, ORDERED), whole()
    settings, values = drawn(lambda settings: np.random.default_rng(1).normal(size=len(settings)), 80)
    forest = RandomForestRegressor(5, random_state=0).fit(space.features(settings), values)
    variances, effects = _effects(space, forest)
    for number, tree in enumerate(forest.estimators_):
        predicted = tree.predict(space.features(every))
        assert variances[number] == pytest.approx(predicted.var())
        of_tree = [(one[number] ** 2).mean() / predicted.var() for one in effects]
        assert of_tree == pytest.approx(np.concatenate(parts(predicted)))


@pytest.fixture(scope="module")
def simulated():
    """Known shares with what was found, of several functions and noisy samples of each."""
    rows = []
    for function in (additive, product, steps):
        truth = parts(function(whole()))
        for seed in range(8):
            result = found(function, 60, 100 + seed, 0.3)
            pairs = by_pair(result)
            rows.append((truth, result.fields, [pairs[pair] for pair in PAIRS], result))
    return rows


def test_intervals_cover_the_known_shares(simulated):
    known = [
        (share, one)
        for (single, double), fields, pairs, _ in simulated
        for share, one in zip([*single, *double], [*fields, *pairs], strict=True)
    ]
    assert all(one.low <= one.share <= one.high for _, one in known)
    # Shares that are not zero, and zeros: each kind by itself.
    for kind in (True, False):
        covered = [one.low - 1e-9 <= share <= one.high + 1e-9 for share, one in known if (share > 1e-9) == kind]
        assert np.mean(covered) >= 0.93, f"{sum(covered)} of {len(covered)}"


def test_intervals_are_narrow_enough_to_say_something(simulated):
    widths = [one.high - one.low for _, fields, pairs, _ in simulated for one in [*fields, *pairs]]
    assert np.mean(widths) < 0.2
    for function in (additive, product, steps):
        result = found(function, 200, noise=0.3)
        assert max(one.low for one in [*result.fields, *result.pairs]) > 0.1


def test_no_field_of_a_total_above_the_bound_is_said_to_do_nothing(simulated):
    for (single, double), _, _, result in simulated:
        for field in result.nothing:
            total = single[field] + sum(share for share, pair in zip(double, PAIRS, strict=True) if field in pair)
            assert total < 0.01
