"""Drawn schedules: the stretch that matters, or that is asked for; and pictures in a notebook."""

import re

import polars as pl
import pytest
from test_cli import refused

from schedlab import Experiment
from schedlab.errors import UsageError
from schedlab.pictures import schedule, style

PREEMPTED, BLOCKED = 0, 3


def turns(*rows):
    """Rows of task, job, when it was woken, began and ended, and why it left."""
    columns = {"task": pl.UInt32, "job": pl.String, "woken_ns": pl.UInt64, "begin_ns": pl.UInt64, "end_ns": pl.UInt64}
    return pl.DataFrame(rows, schema=columns | {"left": pl.UInt8}, orient="row")


def test_the_stretch_is_around_the_first_wait_above_the_median():
    waits = [10, 20, 1000, 30, 2000]
    rows, now = [], 0
    for wait in waits:
        rows.append((1, "io", now, now + wait, now + wait + 50, BLOCKED))
        now += 5000
    found = schedule.chosen(turns(*rows))
    ready = 10_000
    assert found.begin <= ready - 2900
    assert found.end >= ready + 1000
    assert found.end - found.begin == pytest.approx(12 * 1000, rel=0.1)
    assert found.why == "the first wait after a wakeup above their median, 1us of io#1 at 10us"


def test_waits_of_preempted_tasks_and_first_waits_do_not_count_where_a_woken_task_waits():
    hogs = [
        (task, "hog", 0 if turn < 2 else None, turn * 500, turn * 500 + 500, PREEMPTED)
        for turn in range(40)
        for task in [turn % 2]
    ]
    woken = [(2, "io", 0, 1, 2, BLOCKED), (2, "io", 4000, 4020, 4030, BLOCKED), (2, "io", 6000, 6090, 6100, BLOCKED)]
    assert schedule.chosen(turns(*hogs, *woken)).why.endswith("90ns of io#2 at 6us")
    assert schedule.chosen(turns(*hogs)).why.startswith("the first wait above the median, 500ns of hog#")


def test_a_preempted_task_waits_from_then_on():
    rows = [(1, "io", 10, 10, 20, PREEMPTED), (2, "hog", 0, 20, 520, BLOCKED), (1, "io", None, 520, 600, BLOCKED)]
    assert "500ns of io#1 at 20ns" in schedule.chosen(turns(*rows)).why


def test_servers_and_tasks_that_blocked_do_not_wait():
    rows = [(1, None, 0, 900, 1000, BLOCKED), (2, "io", 0, 0, 20, BLOCKED), (2, "io", None, 500, 520, BLOCKED)]
    assert schedule.chosen(turns(*rows)) is None
    assert schedule.chosen(turns()) is None


def test_where_all_wait_equally_long_the_first_wait_is_shown():
    rows = [(1, "io", ready, ready + 10, ready + 20, BLOCKED) for ready in (0, 100, 200)]
    assert schedule.chosen(turns(*rows)).begin == 70


@pytest.mark.parametrize(
    ("asked", "stretch"),
    [
        (("150ms", "2s"), (150_000_000, 2_000_000_000)),
        ((None, "3us"), (0, 3000)),
        (("1s", None), (1_000_000_000, 3_000_000_000)),
        ((None, None, 0.5), (0, 500_000_000)),
    ],
)
def test_times_are_asked_for_with_their_units(asked, stretch):
    found = schedule.between(*asked)
    assert (found.begin, found.end) == stretch


@pytest.mark.parametrize(
    ("asked", "why"), [(("2s", "1s"), "the end must come after"), (("soon", None), "no time of a run")]
)
def test_times_that_are_none_are_refused(asked, why):
    with pytest.raises(UsageError, match=why):
        schedule.between(*asked)


def test_a_job_is_drawn_from_where_it_begins(small):
    (cell, _) = Experiment.from_toml(small, set=["workload.io.start=7s"]).cells()
    found = schedule.of_job({"scenario": cell.scenario, "seed": 1}, "io", 2)
    assert found.begin == pytest.approx(6.8e9, abs=0.2e9)
    assert found.end - found.begin == 2_200_000_000


def bars(svg):
    """Where bars begin and end, in percent, from the left margin of 2 to 98."""
    found = re.findall(r'<rect class="(\w+)" x="([\d.]+)%" y="[\d.]+" width="([\d.]+)%"', svg)
    return [(kind, float(x), float(x) + float(width)) for kind, x, width in found]


def test_the_command_draws_the_stretch_and_the_cell_that_are_asked_for(schedlab, small):
    stretch = ["--from", "200ms", "--to", "400ms"]
    done = schedlab("run", small, "--gantt", "a.svg", *stretch, "--cell", "scheduler.slice=18ms")
    assert done.returncode == 0, done.stderr
    assert "gantt_svg of seed 1 of the cell scheduler.slice=18ms, 200ms to 400ms: a.svg" in " ".join(
        done.stdout.split()
    )
    svg = (schedlab.folder / "a.svg").read_text()
    assert re.findall(r'class="scale"[^>]*>(\w+)<', svg) == ["200ms", "250ms", "300ms", "350ms", "400ms"]
    assert all(begin >= 2 and end <= 98.07 for _, begin, end in bars(svg))
    assert any(kind == "ready" for kind, _, _ in bars(svg))
    schedlab("run", small, "--gantt", "b.svg", *stretch)
    assert (schedlab.folder / "b.svg").read_text() != svg


def test_the_command_draws_the_first_wait_above_the_median_if_nothing_is_asked_for(schedlab, small):
    done = schedlab("run", small, "--gantt", "a.txt")
    assert "the first wait after a wakeup above their median" in " ".join(done.stdout.split())
    lines = (schedlab.folder / "a.txt").read_text().splitlines()
    assert any(re.match(r"(io|hog)#\d+ .*\.\.", line) for line in lines), "a task waits"


def test_a_wrong_time_or_cell_is_refused_before_the_runs(schedlab, small):
    refused(
        schedlab("run", small, "--gantt", "a.svg", "--cell", "scheduler.slice=36ms"), "--cell", "scheduler.slice=18ms"
    )
    refused(schedlab("run", small, "--gantt", "a.svg", "--from", "now"), "no time of a run")
    refused(schedlab("run", small, "--from", "1s"), "add --gantt")
    assert not (schedlab.folder / "results").exists()
    refused(schedlab("run", small, "--gantt", "a.svg", "--from", "900s"), "the run ends at")


def test_a_drawn_schedule_has_the_colours_of_the_pages(schedlab, small):
    schedlab("run", small, "--gantt", "a.svg")
    svg = (schedlab.folder / "a.svg").read_text()
    light, dark = (dict(re.findall(r"--(\w+):(#\w+)", part)) for part in svg.split("@media screen", 1))
    names = {"card", "ink", "dim", "line", *style.STATES}
    assert light == {name: style.LIGHT[name] for name in names}
    assert dark == {name: style.DARK[name] for name in names}


def test_a_notebook_shows_the_pictures_of_results(small, tmp_path):
    results = Experiment.from_toml(small).run(tmp_path / "results")
    chart = results.plot("tasks.io.real")
    assert chart._repr_svg_().startswith("<svg")
    assert ">18 ms<" in chart.svg
    assert results.plot().svg == chart.svg
    assert "p99.9" in results.plot("wakeup_latency").svg
    drawn = results.plot("schedule", {"scheduler.slice": "18ms"}, end="500ms")
    assert "in the kernel" in drawn.svg
    assert "ready" in results.plot("schedule").svg
    drawn.write(tmp_path / "schedule.svg")
    assert (tmp_path / "schedule.svg").read_text() == drawn.svg
    assert len(repr(drawn)) < 60
    with pytest.raises(UsageError, match=r"tasks\.io\.real"):
        results.plot("tasks.io.rael")
    alone = Experiment.from_toml(small, set=["scheduler.slice=18ms"]).run(tmp_path / "results")
    with pytest.raises(UsageError, match="nothing was swept"):
        alone.plot("tasks.io.real")
