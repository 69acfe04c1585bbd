"""Ranges that two of the reports are about, found by a search and by running everything: they are the same."""

import pytest
from conftest import ROOT

from schedlab import Experiment
from schedlab.published.reproductions.irix_1999_slice.claims import COPIES, LONGEST_WAIT_S, MOST_USER_TIME, SIZES

REPORTS = ROOT / "python" / "schedlab" / "published" / "reproductions"


def found_range(found, path):
    (one,) = [one for one in found.ranges if one.path == path]
    return one


@pytest.mark.parametrize("start", [0, 1])
def test_slice_size_of_irix_comes_out_as_by_running_everything(tmp_path, start):
    """The rule of irix-1999-slice: user time within 2 % of the least, and no wait beyond a second, for every number of
    copies. The search may use half of the runs of the whole.
    """
    whole = Experiment.from_toml(REPORTS / "irix_1999_slice" / "slice_size.toml")
    rows = whole.run(tmp_path / "whole").summary(["tasks.copies.user", "tasks.copies.longest_gap"]).to_dicts()
    of = {
        (int(row["scheduler.slice_size"]), int(row["workload.copies.count"]), row["metric"].rpartition(".")[2]): row[
            "mean"
        ]
        for row in rows
    }
    least = {n: min(of[size, n, "user"] for size in SIZES) for n in COPIES}
    favourable = [
        size
        for size in SIZES
        if all(
            of[size, n, "user"] <= MOST_USER_TIME * least[n] and of[size, n, "longest_gap"] <= LONGEST_WAIT_S
            for n in COPIES
        )
    ]
    asked = whole.replace(
        scheduler={"name": "round_robin", "slice_size": 30},
        sweep={"workload.copies.count": COPIES},
        goal={"minimize": ["tasks.copies.user"], "keep": [f"tasks.copies.longest_gap <= {LONGEST_WAIT_S:g}s"]},
        space={"scheduler.slice_size": SIZES},
    )
    found = asked.tune(600, out=tmp_path / "tuned", within=MOST_USER_TIME - 1, start=start)
    slices = found_range(found, "scheduler.slice_size")
    low, high = slices.ends
    assert [slices.levels[low], slices.levels[high]] == [favourable[0], favourable[-1]]
    assert len(favourable) > 1


def test_the_quantum_of_1990_comes_out_as_by_running_everything(tmp_path):
    """A reader next to a hog on the 286: the quanta with which it is within 30 % of its best."""
    levels = ["17ms", "34ms", "50ms", "67ms", "84ms", "100ms", "150ms", "200ms"]
    file = ROOT / "examples" / "quantum.toml"
    whole = Experiment.from_toml(file, set=["seeds=8"]).replace(sweep={"scheduler.slice": levels})
    means = {row["scheduler.slice"]: row["mean"] for row in whole.run(tmp_path / "whole").entries("tasks.io.real")}
    best = min(means.values())
    accepted = [level for level in levels if means[level] <= 1.3 * best]
    asked = whole.replace(sweep={}, goal={"minimize": ["tasks.io.real"]}, space={"scheduler.slice": levels})
    found = asked.tune(60, out=tmp_path / "tuned", within=0.3)
    assert found.spent < len(levels) * 8
    slices = found_range(found, "scheduler.slice")
    low, high = slices.ends
    assert [slices.levels[low], slices.levels[high]] == [accepted[0], accepted[-1]]
    assert means[found.space.fields(found.chosen)["scheduler.slice"]] == best
