"""Comparisons of distributions on several processors: the verdicts, and that the suite can be run on every place."""

import math
from pathlib import Path

import pytest
from test_cli import refused

from schedlab.experiment import Experiment
from schedlab.parity import processors
from schedlab.parity.processors import CANNOT_TELL, MISSES, WITHIN
from schedlab.targets.factory import targets
from schedlab.targets.guest.qemu import Processors
from schedlab.targets.guest.refused import refuse_impossible
from schedlab.targets.host.conditions import Conditions

#: So long that 64 hogs are unpinned, and no longer.
SHORT = ["duration=1500ms"]


def verdict(metric, simulated, measured):
    return processors.judge("x", metric, processors.allowance_of(metric), simulated, measured).verdict


def run(name: str, on: str, folder: Path, *set: str):
    (path,) = processors.scenarios([name])
    experiment = Experiment.from_toml(path, set=[*processors.overrides(on, 2), *set])
    where = targets(processors.places(on), experiment, 1, Conditions(dirty=True, quiet_below=100))
    return list(processors.compare(experiment.run(folder, targets=where), on))


# With t(0.975, 1) = 12.706 the interval of two differences d - e and d + e is d ± 12.706 e.
@pytest.mark.parametrize(
    ("simulated", "measured", "expected"),
    [
        ([31.0, 31.0], [30.0, 30.0], WITHIN),
        ([30.0, 30.0], [32.0, 32.0], WITHIN),
        ([32.5, 32.5], [30.0, 30.0], MISSES),
        ([30.0, 30.0], [32.5, 32.5], MISSES),
        ([30.9, 31.1], [30.0, 30.0], CANNOT_TELL),
        ([30.95, 31.05], [30.0, 30.0], WITHIN),
        ([50.0, 53.0], [30.0, 30.0], MISSES),
        ([50.0, 54.0], [30.0, 30.0], CANNOT_TELL),
        ([30.0], [30.0], CANNOT_TELL),
    ],
)
def test_a_share_is_within_where_the_whole_interval_is(simulated, measured, expected):
    assert verdict("tasks.a.share", simulated, measured) == expected


@pytest.mark.parametrize(
    ("simulated", "measured", "expected"),
    [
        ([29.9, 29.9], [20.0, 20.0], WITHIN),
        ([31.0, 31.0], [20.0, 20.0], MISSES),
        ([20.0, 20.0], [31.0, 31.0], MISSES),
        ([10.0, 40.0], [20.0, 20.0], CANNOT_TELL),
        ([0.0, 0.0], [1.0, 1.0], WITHIN),
        ([0.0, 0.0], [2.0, 2.0], MISSES),
    ],
)
def test_a_count_is_within_by_a_factor(simulated, measured, expected):
    assert verdict("tasks.migrations", simulated, measured) == expected
    assert verdict("tasks.context_switches", simulated, measured) == expected


def test_the_difference_of_counts_is_a_factor_with_its_interval():
    one = processors.judge("x", "tasks.migrations", processors.COUNTS, [20.0, 45.0], [10.0, 10.0])
    assert one.is_factor
    # The geometric mean of 2 and 4.5, and half the distance of their logarithms times 12.706.
    assert one.difference.mean == pytest.approx(3.0)
    assert one.difference.high / 3.0 == pytest.approx(math.exp(12.7062 * math.log(1.5)), rel=1e-4)


def test_a_median_wait_may_differ_by_a_fifth_or_by_200_us():
    metric = "tasks.a.run_wait.p50"
    assert verdict(metric, [0.0, 0.0], [0.19e-3, 0.19e-3]) == WITHIN
    assert verdict(metric, [0.0, 0.0], [0.21e-3, 0.21e-3]) == MISSES
    assert verdict(metric, [9.5e-3, 9.5e-3], [8e-3, 8e-3]) == WITHIN
    assert verdict(metric, [9.7e-3, 9.7e-3], [8e-3, 8e-3]) == MISSES


def test_there_are_scenarios_of_all_kinds_that_every_place_can_make():
    paths = processors.scenarios()
    assert len(paths) >= 24
    for path in paths:
        experiment = Experiment.from_toml(path, set=["scheduler.name=eevdf", "machine.processors=2"])
        (cell,) = experiment.cells()
        assert experiment.is_of_host
        assert 2.0 <= float(experiment.definition["duration"].removesuffix("s")) <= 10.0
        refuse_impossible(cell, of_host=True, processors=Processors(2))
    assert set(processors.UNPINNED_AT) <= {path.stem for path in paths}


def test_a_policy_compared_with_itself_is_within_wherever_its_repeats_agree(tmp_path):
    on = "sim:eevdf"
    (path,) = processors.scenarios(["three_hogs"])
    experiment = Experiment.from_toml(path, set=["seeds=4", "scheduler.name=eevdf", "duration=2s"])
    results = experiment.run(tmp_path, targets=targets(f"sim,{on}", experiment, 1, Conditions()))
    compared = {one.metric: one for one in processors.compare(results, on)}
    of_hogs = {"tasks.hogs.run_wait.p50", "tasks.hogs.share"}
    assert set(compared) == {"tasks.context_switches", "tasks.migrations", "wasted", *of_hogs}
    assert {one.verdict for one in compared.values()} == {WITHIN}
    assert all(one.measured.n == one.simulated.n == 4 for one in compared.values())


def test_the_time_until_balanced_is_what_the_second_processor_wastes(tmp_path):
    # Nothing else idles: the pinned hogs may not use that processor before, and both are busy afterwards.
    compared = {one.metric: one for one in run("unpinning_8", "sim:fifo", tmp_path, *SHORT, "machine.processors=2")}
    for side in ("simulated", "measured"):
        found, wasted = (getattr(compared[metric], side).mean for metric in (processors.UNTIL_BALANCED, "wasted"))
        assert found == pytest.approx(wasted / 100 * 2 * 1.5, abs=1e-3)


def test_the_command_prints_every_number_with_its_verdict(schedlab):
    words = ["parity", "--on", "sim:cfs", "--only", "unpinning_8", "--repeats", "2"]
    found = schedlab.json(*words)
    assert found["reference"] == "sim:cfs"
    assert {one["metric"] for one in found["comparisons"]} >= {"tasks.migrations", "until_balanced", "wasted"}
    shown = schedlab(*words)
    assert shown.returncode == 0, shown.stderr
    assert "half of the 95 % interval" in shown.stdout
    counted = [sum(one["verdict"] == each for one in found["comparisons"]) for each in processors.VERDICTS]
    assert "{} within, {} misses, {} cannot tell".format(*counted) in shown.stdout


def test_a_single_repeat_decides_nothing(schedlab):
    found = schedlab.json("parity", "--on", "sim:cfs", "--only", "unpinning_8", "--repeats", "1")
    assert {one["verdict"] for one in found["comparisons"]} == {CANNOT_TELL}
    assert found["comparisons"][0]["difference"]["low"] is None


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--on", "guest:6.1"], "'guest:6.1' is nothing to compare the simulator with; did you mean 'guest:6.1@2'?"),
        (["--on", "guest:6.1@1"], "it has 1 processor, and these scenarios are for two or more"),
        (["--on", "guest", "--processors"], "name a guest of several processors"),
        (["--on", "guest:6.1@2", "--kernel", "6.1"], "--kernel and --switches are for guests of one processor"),
        (["--on", "sim:cfs", "--only", "four_hogs"], "there is no such scenario; did you mean 'five_hogs'?"),
    ],
)
def test_what_cannot_be_compared_is_refused(schedlab, words, why):
    refused(schedlab("parity", *words), why)
