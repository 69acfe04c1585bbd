"""A/A on the true host: equal cells are called different no more often than stated."""

import random

import scipy.stats
from conftest import agent_or_skip

from schedlab.run.order import blocked
from schedlab.specification import Cell
from schedlab.stats import comparison
from schedlab.stats.comparison import PERMUTATION, difference
from schedlab.targets import agent
from schedlab.targets.host.preflight import WORK, plan

#: Pairs of equal cells, and repeats of each: the fewest that are judged by permutation.
PAIRS = 24
REPEATS = 6


def test_24_live_pairs_that_do_not_differ_are_named_at_most_at_the_stated_rate():
    """In the order of the live host, but without its wait for a quiet machine: noise is what this is about."""
    agent_or_skip()
    calibration = agent.ask(["calibrate"])
    cells = [Cell({}, {"cell": name}, name) for name in "AB"]
    found = []
    for pair in range(PAIRS):
        times = {name: [0.0] * REPEATS for name in "AB"}
        for cell, repeat in blocked([(c, n) for c in cells for n in range(REPEATS)], random.Random(pair)):
            times[cell.hash][repeat] = once(calibration, repeat)
        found.append(difference(times["B"], times["A"]))
    named = sum(one.real is True for one in found)
    widest = max(one.of.high - one.of.mean for one in found)
    print(f"{named} of {PAIRS} live pairs named; widest interval ±{1000 * widest:.1f} ms of 50 ms")
    assert all(one.test == PERMUTATION for one in found)
    assert named <= scipy.stats.binom.ppf(0.999, PAIRS, comparison.LEVEL)


def once(calibration, repeat) -> float:
    """Elapsed seconds of fixed work."""
    asked = plan(calibration, processor=0, number=repeat)
    asked["options"].pop("processors")
    asked["scenario"]["workload"][WORK]["compute"] = "50ms"
    (real,) = [row["value"] for row in agent.ask(["run"], asked)["rows"] if row["metric"] == f"tasks.{WORK}.real"]
    return real
