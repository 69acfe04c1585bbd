"""The bootstrap over blocks of time: how often its intervals hold what they should."""

import numpy as np
import pytest

from schedlab.stats import blocks


def rate(sums):
    return sums[..., 0] / sums[..., 1]


def recording(random, mean, n=48):
    """Blocks of a load whose blocks are skewed and independent."""
    return np.stack([random.lognormal(np.log(mean) - 0.125, 0.5, n), np.ones(n)], axis=1)


def test_intervals_cover_the_true_difference_about_as_often_as_stated():
    random = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        found = blocks.difference(recording(random, 3), recording(random, 2), rate)
        covered += found.low <= 1 <= found.high
    assert covered >= 180


def test_too_few_blocks_have_no_interval():
    few = np.ones((blocks.FEWEST - 1, 2))
    found = blocks.difference(few, np.ones((100, 2)), rate)
    assert found.mean == 0
    assert np.isnan(found.low)


def test_blocks_of_equal_rates_differ_in_nothing():
    found = blocks.difference(np.ones((20, 2)), np.ones((30, 2)), rate)
    assert found.low == pytest.approx(0)
    assert found.high == pytest.approx(0)


def test_a_recording_without_the_event_has_no_interval():
    none = np.zeros((20, 2))
    found = blocks.difference(none, np.ones((20, 2)), rate)
    assert np.isnan(found.low)


def test_another_recording_is_within_the_bounds_about_as_often_as_stated():
    random = np.random.default_rng(2)
    within = 0
    for _ in range(200):
        found = blocks.again(recording(random, 3), rate, resamples=400)
        within += found.low <= rate(recording(random, 3).sum(axis=0)) <= found.high
    assert 180 <= within < 200


def test_too_few_blocks_say_nothing_of_another_recording():
    found = blocks.again(np.ones((blocks.FEWEST - 1, 2)), rate)
    assert found.mean == 1
    assert np.isnan(found.low)
