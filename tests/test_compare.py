"""`schedlab compare`, `--over` and `--within`: cells are matched, what is not alike is said, words come first."""

import re

import pytest

from schedlab import Experiment, UsageError
from schedlab.pictures.effects import OPEN, REAL, SAME, Effect, effects
from schedlab.results import compared
from schedlab.results.better import better
from schedlab.results.matched import match
from schedlab.stats.comparison import HIGHER, LOWER, difference


@pytest.fixture
def made(small, tmp_path):
    """Results of two schedulers' settings, and the function that makes more."""

    def make(name, *sets, seeds=8):
        path = tmp_path / f"{name}.toml"
        path.write_text(small.read_text())
        return Experiment.from_toml(path, set=[f"seeds={seeds}", *sets]).run(out=tmp_path / "results")

    return make


def alone(values, base):
    """The p of a single difference, and the lower bound of its interval."""
    found = difference(list(values), list(base))
    return found.p, found.of.low


def test_cells_are_matched_by_what_is_swept_and_runs_by_their_seeds(made):
    tail, head = made("tail"), made("head", "scheduler.ready_at=head")
    matched, metrics = match(tail, [head])
    found = matched.rows(compared.Question(), metrics)
    assert {(row["results"], row["scheduler.slice"]) for row in found} == {("head", "100ms"), ("head", "18ms")}
    (row,) = [row for row in found if (row["scheduler.slice"], row["metric"]) == ("100ms", "tasks.io.real")]
    values, base = (
        one.values("tasks.io.real", {"scheduler.slice": "100ms"}).sort("seed")["value"] for one in (head, tail)
    )
    assert row["mean"] == pytest.approx((values - base).mean())
    assert (row["n"], row["p"], row["low"]) == (8, *alone(values, base))
    assert matched.notes == ["head: scheduler.ready_at is head, not given in tail"]


def test_results_of_other_work_are_refused_by_the_name_of_what_differs(made):
    one = made("one")
    for name, sets, why in (
        ("files", ["workload.io.files=4"], "workload.io.files is 3 in one and 4"),
        ("length", ["duration=20s"], "duration is 30s in one and 20s"),
        ("machine", ["machine=uniform"], "machine is at_286 in one and uniform"),
        ("seeds", ["seeds=[101,102]"], "no seeds in common"),
        ("slice", ["sweep={'scheduler.slice'=['36ms']}"], "cell in common|only one of them sweeps"),
    ):
        with pytest.raises(UsageError, match=why):
            match(one, [made(name, *sets)])
    with pytest.raises(UsageError, match="with itself"):
        match(one, [one])
    with pytest.raises(UsageError, match="no metric"):
        match(one, [made("two", "scheduler.ready_at=head")], ["tasks.io.reel"])


def test_what_is_not_alike_without_being_refused_is_said(made):
    one, two = made("one"), made("two", "scheduler.ready_at=head", seeds=5)
    two.manifest["versions"]["engine"] = "0.0.1+other"
    two.manifest["places"] = {"host": {"noisy": True}}
    matched, _ = match(one, [two])
    said = "\n".join(matched.notes)
    for part in ("made by engine 0.0.1+other", "5 of 8 seeds are in both", "not measured in turns"):
        assert part in said
    assert matched.seeds == 5


def test_what_may_mislead_in_either_results_is_said_next_to_their_comparison(schedlab, tmp_path):
    path = tmp_path / "cut.toml"
    # The run ends before most tasks do: their turnaround is cut off.
    path.write_text(
        'machine = "guest"\nseeds = 6\nduration = "2s"\nmetrics = ["tasks.hogs.turnaround.mean"]\n'
        '[scheduler]\nname = "round_robin"\n'
        '[workload]\nhogs = { steps = [{ compute = { exp = "600ms" } }], count = 6 }\n'
    )
    schedlab("run", path)
    other = tmp_path / "other.toml"
    other.write_text(path.read_text())
    schedlab("run", other, "--set", "scheduler.slice=50ms")
    lines = schedlab("compare", "cut", "other").stdout.splitlines()
    assert {line.partition(": ")[0] for line in lines if ": warning: " in line} == {"cut", "other"}
    notes = schedlab.json("compare", "cut", "other")["notes"]
    assert {note.partition(": ")[0] for note in notes if ": warning: " in note} == {"cut", "other"}


def test_words_come_first_then_numbers_then_what_they_are(schedlab, small):
    schedlab("run", small, "--seeds", "8")
    (schedlab.folder / "other.toml").write_text(small.read_text())
    schedlab("run", "other.toml", "--seeds", "8", "--set", "scheduler.ready_at=head")
    done = schedlab("compare", "small", "other", "--within", "5%", "--svg", "effects.svg")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "compared with small"
    assert lines[2].startswith("results=other, scheduler.slice=100ms against small: lower wakeup_latency.p99 by ")
    assert re.search(r"lower tasks\.io\.real by [\d.]+\s+%\s+\[", done.stdout)
    assert "judged together by permutation within the pairs" in " ".join(done.stdout.split())
    assert lines[-1] == "picture: effects.svg"
    assert (schedlab.folder / "effects.svg").read_text().startswith("<svg")
    head = schedlab("compare", "small", "other", "--csv").stdout.splitlines()[0]
    assert head.startswith("results,scheduler.slice,metric,difference,low,high")
    assert head.endswith("p,adjusted,verdict,bounded,more,test")
    assert "- results=other" in schedlab("compare", "small", "other", "--markdown").stdout


def test_over_sweeps_a_field_and_compares_with_its_first_value(schedlab, small):
    over = ["--over", "scheduler.ready_at=tail,head", "--seeds", "6", "--within", "10%"]
    document = schedlab.json("run", small, *over, "--svg", "effects.svg")
    assert document["picture"] == "effects.svg"
    assert (schedlab.folder / "effects.svg").read_text().startswith("<svg")
    assert schedlab("run", small, *over, "--svg", "again.svg").stdout.splitlines()[-1] == "picture: again.svg"
    assert document["baseline"] == "scheduler.ready_at=tail"
    assert len(document["cells"]) == 4
    assert {row["scheduler.ready_at"] for row in document["differences"]} == {"head"}
    assert {row["bounded"] for row in document["differences"]} <= {None, "same", "no worse"}
    assert len(document["words"]) == 2


def test_over_on_compares_places(schedlab, tmp_path):
    path = tmp_path / "hogs.toml"
    path.write_text(
        'machine = "guest"\nseeds = 6\nduration = "2s"\nmetrics = ["wakeup_latency.p99"]\n[scheduler]\nname = "cfs"\n'
        '[workload]\nhogs = { load = "spin", count = 3, passes = "forever" }\n'
        'nap = { steps = [{ sleep = { exp = "9ms" } }, { compute = "1ms" }], passes = "forever" }\n'
    )
    document = schedlab.json("run", path, "--on", "sim:cfs,sim:eevdf", "--over", "on")
    assert document["baseline"] == "on=sim:cfs"
    assert [row["on"] for row in document["differences"]] == ["sim:eevdf"]
    assert schedlab.json("run", path, "--over", "on=sim:cfs,sim:eevdf")["differences"] == document["differences"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--over", "scheduler.slice"], "two values"),
        (["--over", "scheduler.slice=18ms"], "two values"),
        (["--over", "on", "--on", "sim"], "name several"),
        (["--over", "scheduler.ready_at=tail,head", "--baseline", "x=1"], "leave out --baseline"),
        (["--over", "scheduler.ready_at=tail,head", "--within", "2 meters"], "as 2% or 0.02"),
        (["--over", "scheduler.ready_at=tail,head", "--within", "0%"], "as 2% or 0.02"),
        (["--over", "scheduler.ready_at=tail,head", "--of", "mode"], "no statistic"),
        (["--svg", "effects.svg"], "add --over or --baseline"),
        (["--over", "scheduler.ready_at=tail,head", "--of", "p90", "--until-known"], "judges means"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_runs(schedlab, small, words, why):
    done = schedlab("run", small, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr
    assert not list(schedlab.folder.rglob("*.parquet"))


def test_it_is_known_of_waits_and_work_which_way_is_better_and_not_of_switches():
    found = {
        name: better(name, {})
        for name in ("tasks.io.wakeup_latency.p99", "throughput", "context_switches", "longest_gap")
    }
    assert found == {
        "tasks.io.wakeup_latency.p99": "lower",
        "throughput": "higher",
        "context_switches": None,
        "longest_gap": "lower",
    }


def test_a_picture_has_the_effects_with_their_intervals_the_largest_first():
    nan = float("nan")
    rows = [
        Effect("small", 0.5, 0.1, 0.9, SAME),
        Effect("large", -40, -50, -30, REAL),
        Effect("none", 3, nan, nan, OPEN),
    ]
    drawn = effects(rows, "base", 2.0).inner
    places = {one.label: float(re.search(rf'y="([\d.]+)"[^>]*>{one.label}<', drawn)[1]) for one in rows}
    assert places["large"] < places["none"] < places["small"]
    assert drawn.count('class="bar"') == 2
    assert "lines: ±2 %" in drawn
    assert effects([], "base").height > 0


def test_the_goal_of_the_file_says_which_way_is_better():
    goal = {"minimize": ["context_switches"], "maximize": ["tasks.io.wakeup_latency.p99"]}
    found = {name: better(name, goal) for name in ("context_switches", "tasks.io.wakeup_latency.p99", "longest_gap")}
    assert found == {"context_switches": LOWER, "tasks.io.wakeup_latency.p99": HIGHER, "longest_gap": LOWER}


def test_no_worse_is_said_by_the_goal(made):
    tail, head = made("tail"), made("head", "scheduler.ready_at=head")
    found = {}
    for field in ("minimize", "maximize"):
        tail.manifest["experiment"]["goal"] = {field: ["tasks.io.real"]}
        rows = match(tail, [head])[0].rows(compared.Question(within=0.01), ["tasks.io.real"])
        found[field] = {(row["mean"] < 0, row["bounded"]) for row in rows if row["scheduler.slice"] == "100ms"}
    assert found == {"minimize": {(True, "no worse")}, "maximize": {(True, None)}}


def test_what_is_equal_without_any_chance_is_said_once(schedlab, tmp_path):
    path = tmp_path / "one.toml"
    path.write_text(
        'machine = "uniform"\nduration = "1s"\nmetrics = ["tasks.hog.share", "context_switches"]\n'
        '[scheduler]\nname = "cfs"\n[workload]\nhog = { load = "spin", passes = "forever" }\n'
    )
    document = schedlab.json("run", path, "--over", "scheduler.name=cfs,eevdf", "--within", "2%")
    assert document["words"] == [
        "scheduler.name=eevdf against scheduler.name=cfs: equal tasks.hog.share, context_switches"
    ]


def test_students_t_says_how_many_repeats_need_no_assumption(schedlab, small):
    for sets, repeats in ((["--set", "scheduler.slice=36ms"], 6), ([], 7)):
        done = schedlab("run", small, "--seeds", "3", "--over", "scheduler.ready_at=tail,head", *sets)
        assert f"{repeats} repeats or more assume nothing" in " ".join(done.stdout.split()), done.stderr
