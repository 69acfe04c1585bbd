"""The look before the first run: what it reports of a host, from given numbers."""

import statistics

import pytest
import scipy.stats

from schedlab.specification import Cell
from schedlab.targets.host import preflight
from schedlab.targets.host.preflight import PIECES, WORK

CALIBRATION = {"rounds_per_second": 1e9, "calls_per_second": 1e7, "spread": 0.01}


def noise(*foreign, quiet=True, steal=0.0):
    processors = [
        {"processor": n, "foreign_percent": percent, "steal_percent": steal} for n, percent in enumerate(foreign)
    ]
    return {"quiet": quiet, "windows": [{"processors": []}, {"processors": processors}]}


def cells(*durations):
    return [Cell({"duration": duration} if duration else {}, {}, str(n)) for n, duration in enumerate(durations)]


def looked(times, ahead=("1s",), repeats=10, seen=None, between=0.7):
    left = iter(times)

    def run(plan):
        assert plan["options"]["trace"] == "off"
        assert plan["scenario"]["workload"].keys() == {WORK}
        value = next(left, None)
        rows = [] if value is None else [{"metric": f"tasks.{WORK}.real", "unit": "s", "value": value}]
        return {"rows": rows}

    return preflight.look(run, seen or noise(1.0), CALIBRATION, cells(*ahead), repeats, 0, between)


def test_what_can_be_seen_follows_from_the_scatter_and_the_repeats():
    times = [0.050, 0.051, 0.049, 0.052, 0.048, 0.050, 0.050]
    found = looked(times, repeats=10)
    scatter = statistics.stdev(times) / statistics.fmean(times)
    t = scipy.stats.t(9)
    assert found.visible == pytest.approx((t.ppf(0.975) + t.ppf(0.8)) * scatter * (2 / 10) ** 0.5)
    assert looked(times, repeats=40).visible < found.visible


def test_one_repeat_can_show_nothing_and_it_is_said():
    found = looked([0.05] * PIECES, repeats=1)
    assert found.visible is None
    assert "--seeds 10" in found.lines()[1]


def test_the_busiest_processor_counts_and_a_kernel_without_steal_is_said_to_be_one():
    found = looked([0.05] * PIECES, seen=noise(1.0, 7.5, quiet=False, steal=3.0))
    assert (found.foreign_percent, found.steal_percent) == (7.5, 3.0)
    assert "7.5 %" in found.lines()[0]
    assert "not quiet" in found.lines()[0]
    assert "not reported by this kernel" in looked([0.05] * PIECES, seen=noise(1.0, steal=None)).lines()[0]


def test_pieces_that_give_no_time_leave_the_scatter_unknown():
    found = looked([])
    assert (found.scatter, found.visible) == (None, None)
    assert "not known" in found.lines()[1]


def test_the_length_of_a_sweep_is_known_where_durations_are():
    found = looked([0.05] * PIECES, ahead=["2s", "500ms", None], between=1.0)
    assert (found.runs, found.known) == (3, 2)
    assert found.lasting == pytest.approx(2.5 + 2 * found.overhead)
    assert "for 2 of them" in found.lines()[2]
    assert "not known" in looked([0.05] * PIECES, ahead=[None]).lines()[2]


def test_lengths_are_rounded_as_a_person_would():
    assert [preflight.spell(s) for s in (0.2, 42, 190, 7500)] == ["1 s", "42 s", "3 min 10 s", "2 h 5 min"]
