"""The matrix: every scheduler on every load, what must come out, and how it is shown."""

import json
import re
import runpy
import signal
import time
import tomllib
from itertools import pairwise

import pytest
from conftest import ROOT
from test_cli import refused
from test_report import read

from schedlab import UsageError, matrix
from schedlab.matrix import measures
from schedlab.report.matrix import STEPS, colour

FILES = {file.stem: tomllib.loads(file.read_text()) for file in sorted(matrix.FOLDER.glob("*.toml"))}
SCHEDULERS = matrix.schedulers()
#: The page's numbers are computed again for these; its scenarios are compared for all.
RECOMPUTED = ["cfs", "fifo", "minix"]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def whole(out):
    """Every scheduler on every load, with a seed each."""
    return matrix.run(seeds=1, out=out)


def value(done, measure, load, scheduler):
    return done.cells[measure, load, scheduler].mean


def test_the_loads_are_the_files_of_their_folder():
    assert set(matrix.LOADS) == set(FILES)
    assert len(matrix.LOADS) == 12


@pytest.mark.parametrize("load", matrix.LOADS)
def test_a_load_is_a_whole_experiment_that_every_measure_can_read(load):
    file = FILES[load]
    assert 10 <= measures.seconds(file["duration"]) <= 30
    assert 1 <= file["machine"].get("processors", 1) <= 2
    names = measures.asked(file)
    by_measure = {m.name: m.asked_of(file) for m in matrix.MEASURES}
    assert {"switches", "throughput", "longest_wait"} <= {name for name, found in by_measure.items() if found}
    assert all(len(by_measure[name]) <= 1 for name in ("latency_p50", "latency_p99", "switches"))
    for metric in by_measure["share_error"]:
        job = file["workload"][metric.split(".")[1]]
        assert (job["load"], job["passes"]) == ("spin", "forever"), "a fair part is known of tasks that never wait"
        assert file["machine"].get("processors", 1) == 1, "and on one processor"
    for metric in by_measure["missed"]:
        job = file["workload"][metric.split(".")[1]]
        assert (job["load"], job["passes"]) == ("periodic", "forever")
        assert isinstance(job["start"], str), "what is due by the end is known"
        assert metric.replace("deadline_misses", "deadlines") in names
    assert all(job.get("passes") == "forever" for job in file["workload"].values()), "the duration ends the run"


def test_two_loads_have_two_processors():
    assert [name for name in matrix.LOADS if FILES[name]["machine"].get("processors", 1) == 2] == [
        "compile",
        "hackbench",
    ]


def test_schedulers_for_one_processor_are_left_out_on_several(whole, out):
    left_out = {load.name: set(SCHEDULERS) - set(load.schedulers) for load in whole.loads}
    assert left_out == {name: {"minix"} if name in ("compile", "hackbench") else set() for name in matrix.LOADS}
    with pytest.raises(UsageError, match="minix: for one processor only, and hackbench has several"):
        matrix.run(["minix"], ["hackbench"], seeds=1, out=out)


def test_every_scheduler_has_every_number_that_its_loads_ask_for(whole):
    assert whole.schedulers == SCHEDULERS
    wanted = {(m.name, load.name, name) for load in whole.loads for m in load.measures for name in load.schedulers}
    assert set(whole.cells) == wanted
    assert {m.name for m in whole.measures} == {m.name for m in matrix.MEASURES}


def test_the_numbers_are_possible(whole):
    for (measure, load, scheduler), cell in whole.cells.items():
        where = f"{measure} of {scheduler} on {load}: {cell}"
        if cell.mean is None:
            assert measure in ("share_error", "latency_p50", "latency_p99"), where
            continue
        assert cell.mean >= 0, where
        if measure in ("share_error", "missed"):
            assert cell.mean <= 100, where
        if measure == "longest_wait":
            assert cell.mean <= 1000 * measures.seconds(FILES[load]["duration"]), where
    for load in whole.loads:
        latencies = [m.name for m in load.measures if m.name.startswith("latency")] + ["longest_wait"]
        for scheduler in load.schedulers:
            waits = [value(whole, measure, load.name, scheduler) for measure in latencies]
            assert all(a <= b for a, b in pairwise(wait for wait in waits if wait is not None)), (load.name, scheduler)


@pytest.mark.parametrize("load", ["hogs", "nice_ladder"])
def test_no_scheduler_does_more_work_than_there_is_time_for(whole, load):
    """A piece is 10 ms, and a piece under way at the end does not count."""
    assert all(value(whole, "throughput", load, scheduler) <= 100 for scheduler in SCHEDULERS)


def test_first_come_first_served_gives_all_to_the_first(whole):
    assert value(whole, "share_error", "hogs", "fifo") == pytest.approx(100 * 7 / 8)
    assert value(whole, "switches", "hogs", "fifo") == 0
    assert value(whole, "throughput", "hogs", "fifo") == pytest.approx(100, rel=0.01)


def test_first_come_first_served_starves_later_tasks(whole):
    for load in ("interactive", "audio", "server", "fork_storm"):
        assert value(whole, "latency_p50", load, "fifo") is None
        assert value(whole, "longest_wait", load, "fifo") > 9000
    assert value(whole, "missed", "audio", "fifo") == 100


def test_round_robin_is_fair_to_equals_and_blind_to_nice(whole):
    assert value(whole, "share_error", "hogs", "round_robin") < 0.5
    weights = [1.25**-nice for nice in (-10, -5, 0, 5, 10)]
    expected = 100 * (weights[0] / sum(weights) - 1 / 5)
    assert value(whole, "share_error", "nice_ladder", "round_robin") == pytest.approx(expected, abs=0.5)


def test_under_round_robin_a_woken_task_waits_for_the_slices_before_it(whole):
    """Three hogs, a slice of 100 ms each."""
    assert 200 < value(whole, "latency_p99", "interactive", "round_robin") < 301


@pytest.mark.parametrize("scheduler", ["edf", "rate_monotonic", "cfs", "eevdf"])
def test_who_heeds_reservations_or_priorities_meets_every_deadline(whole, scheduler):
    assert value(whole, "missed", "real_time", scheduler) == 0


@pytest.mark.parametrize("scheduler", ["cfs", "eevdf", "stride"])
def test_who_shares_by_weight_gives_each_level_of_nice_its_part(whole, scheduler):
    assert value(whole, "share_error", "nice_ladder", scheduler) < 2
    assert value(whole, "share_error", "hogs", scheduler) < 0.5


@pytest.mark.parametrize("scheduler", ["cfs", "eevdf"])
def test_the_fair_schedulers_of_linux_keep_editor_and_sound_going(whole, scheduler):
    assert value(whole, "latency_p99", "interactive", scheduler) < 10
    assert value(whole, "missed", "audio", scheduler) == 0


def promising(promise):
    catalogue = json.loads(matrix._core.catalogue())["schedulers"]
    return [info["name"] for info in catalogue if promise in [made["promise"] for made in info["promises"]]]


def test_who_promises_fairness_to_equals_is_fair_to_the_hogs(whole):
    for scheduler in promising("fair_to_equals"):
        assert value(whole, "share_error", "hogs", scheduler) < 3, scheduler


def test_a_matrix_is_not_run_twice(whole, out):
    again = matrix.run(seeds=1, out=out)
    assert (whole.computed, again.computed) == (whole.total, 0)
    assert again.cells == whole.cells
    assert matrix.run(["fifo"], ["hogs"], seeds=1, out=out).computed == 0, "a part is known from the whole"


def test_the_options_of_the_command_choose_a_part(schedlab):
    said = schedlab.json("matrix", "round_robin", "fifo", "--loads", "audio,hogs", "--loads", "hogs", "--seeds", 2)
    assert said["schedulers"] == ["round_robin", "fifo"]
    assert [load["name"] for load in said["loads"]] == ["audio", "hogs"]
    assert said["runs"] == {"total": 8, "computed": 8, "known": 0, "skipped": 0}
    assert [m["name"] for m in said["measures"]] == [m.name for m in matrix.MEASURES]
    cells = {(c["measure"], c["load"], c["scheduler"]): c for c in said["cells"]}
    assert len(cells) == 2 * (6 + 4)
    starved = cells["latency_p50", "audio", "fifo"]
    assert (starved["mean"], starved["low"], starved["n"], starved["seeds"]) == (None, None, 0, 2)
    for cell in cells.values():
        assert re.fullmatch("[0-9a-f]{64}", cell["scenario"])
        assert cell["mean"] is None or cell["low"] <= cell["mean"] <= cell["high"]


def test_the_table_shows_every_measure_with_its_unit(schedlab):
    done = schedlab("matrix", "round_robin", "--loads", "audio,hogs", "--seeds", 2)
    assert done.returncode == 0, done.stderr
    for measure in matrix.MEASURES:
        assert f"{measure.title} [{measure.unit}], {measure.better} is better" in done.stdout
    assert "4 runs (0 known before)" in done.stdout


def test_wrong_names_are_refused_with_the_nearest(schedlab):
    refused(schedlab("matrix", "round_robbin"), "round_robbin", "round_robin")
    refused(schedlab("matrix", "--loads", "hogs,hackbanch"), "hackbanch", "hackbench")
    refused(schedlab("matrix", "--seeds", "0"), "--seeds")
    with pytest.raises(UsageError, match="did you mean 'minix'"):
        matrix.run(["minixx"])


def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(schedlab):
    process = schedlab.start("matrix", "fifo", "--loads", "hogs", "--seeds", 1_000_000)
    while not list(schedlab.folder.glob("results/*/runs-*.parquet")):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    kept = int(re.search(r"stopped after (\d+) of 1000000 runs; they are kept in results", said)[1])
    again = schedlab.json("matrix", "fifo", "--loads", "hogs", "--seeds", kept)
    assert again["runs"] == {"total": kept, "computed": 0, "known": kept, "skipped": 0}


def test_progress_is_reported_over_all_loads(out, tmp_path):
    calls = []
    matrix.run(["fifo"], ["hogs", "audio"], 2, tmp_path, progress=lambda done, total: calls.append((done, total)))
    assert (calls[0], calls[-1]) == ((0, 4), (4, 4))
    assert calls == sorted(calls)


# The measures, on runs made up.


def test_the_share_error_is_the_largest_distance_from_the_fair_part():
    job = {"load": "spin"}
    load = {
        "metrics": ["tasks.*.share"],
        "workload": {"a": job, "b": job | {"nice": 0, "count": 1}, "c": job | {"nice": 5}},
    }
    (measure,) = (m for m in matrix.MEASURES if m.name == "share_error")
    fair = {"a": 1, "b": 1, "c": 1.25**-5}
    assert measure.of(load, {f"tasks.{job}.share": 10 * part for job, part in fair.items()}) == pytest.approx(0)
    assert measure.of(load, {"tasks.a.share": 30, "tasks.b.share": 30, "tasks.c.share": 0}) == pytest.approx(
        100 * fair["c"] / sum(fair.values())
    )
    assert measure.of(load, {"tasks.a.share": 0, "tasks.b.share": 0, "tasks.c.share": 0}) is None


def test_a_period_that_a_task_never_came_to_is_missed():
    load = {
        "metrics": ["tasks.p.deadline_misses"],
        "workload": {"p": {"period": "20ms", "start": "100ms", "count": 2}},
    }
    (measure,) = (m for m in matrix.MEASURES if m.name == "missed")
    run = lambda ended, missed: {  # noqa: E731
        "elapsed": 1.1,
        "tasks.p.deadlines": ended,
        "tasks.p.deadline_misses": missed,
    }
    assert measure.of(load, run(100, 0)) == 0
    assert measure.of(load, run(101, 0)) == 0, "a period may be met before its end"
    assert measure.of(load, run(100, 25)) == 25
    assert measure.of(load, run(40, 0)) == pytest.approx(60)
    assert measure.of(load, run(0, 0)) == 100


def test_a_ratio_counts_from_the_best_whatever_is_better():
    by_name = {m.name: m for m in matrix.MEASURES}
    assert by_name["switches"].ratio(9, [4, 9]) == 2, "a switch a second more or less is not significant"
    assert by_name["throughput"].ratio(4.9, [4.9, 9.9]) == 2
    assert by_name["latency_p50"].ratio(None, [1]) == float("inf")
    assert [colour(ratio) for ratio in (1, 1.2, 2, 5, 20, 50, 1000, float("inf"))] == [0, 1, 2, 3, 4, 5, 6, 6]


# The page.


@pytest.fixture(scope="module")
def html(whole, tmp_path_factory):
    from schedlab.report.matrix import write

    path = tmp_path_factory.mktemp("page") / "matrix.html"
    write(whole, path)
    return path


def test_the_page_holds_every_scheduler_load_and_measure(whole, html):
    page = read(html)
    text = " ".join(page.text)
    for name in [*SCHEDULERS, *(m.title for m in matrix.MEASURES), *(load.experiment.question for load in whole.loads)]:
        assert name in text
    fields = re.findall(r'<td class="h\d" title=', html.read_text())
    assert len(fields) == len(whole.cells)
    assert all(scenario in text for scenario in whole.scenarios.values())


def test_every_figure_of_the_page_names_its_scenarios_and_seeds(html):
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", html.read_text())
    assert len(captions) == len(matrix.MEASURES)
    assert all(re.search(r"scenario [0-9a-f]{12}.*1 seed each", caption) for caption in captions)


def themes(html):
    """The colours of the fields in light and in dark, each as (ground, ink) by its place on the scale."""
    values = re.findall(r"--([hi])(\d): (#[0-9a-f]{6})", html.read_text())
    assert len(values) == 2 * 2 * (len(STEPS) + 1)
    half = len(values) // 2
    for part in (values[:half], values[half:]):
        named = {(kind, int(place)): luminance(hexadecimal) for kind, place, hexadecimal in part}
        yield [(named["h", place], named["i", place]) for place in range(len(STEPS) + 1)]


def luminance(hexadecimal):
    """Relative luminance, as WCAG 2 defines it."""
    channels = [int(hexadecimal[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_scale_varies_in_lightness_alone_and_its_numbers_can_be_read(html):
    for fields in themes(html):
        grounds = [ground for ground, _ in fields]
        steps = [(max(a, b) + 0.05) / (min(a, b) + 0.05) for a, b in pairwise(grounds)]
        assert grounds in (sorted(grounds), sorted(grounds, reverse=True))
        assert min(steps) > 1.1, steps
        contrasts = [(max(pair) + 0.05) / (min(pair) + 0.05) for pair in fields]
        assert min(contrasts) >= 4.5, contrasts


# docs/matrix.md: all scenarios are compared, and the numbers of a few schedulers. The whole is for `make docs`.

DOCS = ROOT / "docs" / "matrix.md"


@pytest.fixture(scope="module")
def written():
    """The rows of the page by load and scheduler."""
    sections = re.split(r"^## ", DOCS.read_text(), flags=re.MULTILINE)[1:]
    lines = {section.split("\n")[0]: section.split("\n") for section in sections}
    rows = {
        (load, line.split(" | ")[0].removeprefix("| ")): line.replace("**", "")
        for load, found in lines.items()
        for line in found
        if re.search(r"\| `[0-9a-f]{12}` \|$", line)
    }
    return rows


def test_the_page_of_the_matrix_names_every_scenario(written):
    """Write it anew: make docs"""
    loads = {load: matrix.Load.of(load, SCHEDULERS) for load in matrix.LOADS}
    assert set(written) == {(name, scheduler) for name, load in loads.items() for scheduler in load.schedulers}
    for load, made in loads.items():
        for cell in made.experiment.cells():
            row = written[load, cell.factors[matrix.SCHEDULER]]
            assert row.endswith(f"| `{cell.hash[:12]}` |"), row


def test_the_numbers_of_the_page_are_up_to_date(written, tmp_path):
    """Write it anew: make docs"""
    docs = runpy.run_path(str(ROOT / "scripts" / "docs.py"))
    done = matrix.run(RECOMPUTED, out=tmp_path)
    for load in done.loads:
        assert docs["matrix_section"](done, load).split("\n|")[0] in DOCS.read_text(), load.name
        for scheduler in load.schedulers:
            row = " | ".join(docs["matrix_row"](done, load, scheduler)).replace("**", "")
            assert written[load.name, scheduler] == f"| {row} |"
