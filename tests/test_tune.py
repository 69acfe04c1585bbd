"""`schedlab tune` as its users use it: files in, settings out, and what is said of them.
Long, because each wrong answer that an outsider found has its file here.
"""

import json
import shlex

import pytest

from schedlab import Experiment, load
from schedlab.errors import UsageError
from schedlab.results import Results
from schedlab.tune.ledger import swept
from schedlab.tune.space import Space

BASE = """
question = "Which slice answers short requests soonest alongside long work?"
metrics = ["tasks.request.turnaround.p50", "tasks.batch.share"]
seeds = 8
[machine]
preset = "uniform"
costs = { context_switch = "100us" }
[scheduler]
name = "round_robin"
[workload.request]
steps = [{ compute = "3ms" }, { call = "2ms" }]
count = 40
gap = { exp = "100ms" }
[workload.batch]
load = "spin"
count = 4
passes = "forever"
"""
GOAL = """
[goal]
minimize = ["tasks.request.turnaround.p50"]
"""
SPACE = """
[space]
"scheduler.slice" = { low = "1ms", high = "100ms" }
"""


def file(tmp_path, text, name="request"):
    path = tmp_path / f"{name}.toml"
    path.write_text(text)
    return path


def tuned(tmp_path, text, budget=200, **how):
    return Experiment.from_toml(file(tmp_path, text)).tune(budget, out=tmp_path / "results", **how)


def setting(found, path="scheduler.slice"):
    return found.space.fields(found.chosen)[path]


def test_the_slice_that_one_request_fits_in_is_found(tmp_path):
    """A request needs 5 ms: with 5600us, the next level, it has one turn; with 4700us it has two."""
    found = tuned(tmp_path, BASE + GOAL + SPACE)
    assert setting(found) == "5600us"
    assert found.spent <= 200
    assert found.made == found.spent
    (change,) = [row for row in found.changes if row["metric"] == "tasks.request.turnaround.p50"]
    assert (change["verdict"], change["n"]) == ("real", 8)
    assert change["relative"] < -0.9


def test_the_same_search_makes_no_run_again_and_ends_the_same(tmp_path):
    first = tuned(tmp_path, BASE + GOAL + SPACE, budget=80)
    again = tuned(tmp_path, BASE + GOAL + SPACE, budget=80)
    assert first.made == first.spent
    assert again.made == 0
    assert (again.spent, again.chosen, list(again.board.measured)) == (
        first.spent,
        first.chosen,
        list(first.board.measured),
    )
    # A larger budget goes on from there.
    more = tuned(tmp_path, BASE + GOAL + SPACE, budget=120)
    assert more.made < more.spent
    # And another start is another search.
    assert list(tuned(tmp_path, BASE + GOAL + SPACE, 80, start=1).board.measured) != list(first.board.measured)


def test_what_was_tried_is_a_folder_of_results_like_any_other(tmp_path):
    found = tuned(tmp_path, BASE + GOAL + SPACE, budget=60)
    results = Results.open(found.folder)
    assert len(results.manifest["cells"]) == len(found.board.measured)
    assert results.factors == ["scheduler.slice"]
    rows = load(found.folder)
    assert {"scheduler.slice", "tasks.batch.share"} <= {*rows.columns, *rows["metric"]}


def test_fresh_seeds_judge_the_gain(tmp_path):
    found = tuned(tmp_path, BASE + GOAL + SPACE)
    seeds = set(load(found.folder)["seed"])
    assert seeds == set(range(1, 17))
    assert max(one.repeats for one in found.board.measured.values()) == 8


def test_conditions_hold_in_every_run_of_what_is_recommended(tmp_path):
    """Of eight repeats the batch has least in the eighth: 92.37 % with a slice of 15 ms, 92.50 % with 18 ms."""
    kept = tuned(tmp_path, BASE + GOAL + 'keep = ["tasks.batch.share >= 92.4%"]\n' + SPACE, budget=300)
    assert setting(kept) == "18ms"
    rows = load(kept.folder)
    shares = rows.filter((rows["metric"] == "tasks.batch.share") & (rows["seed"] <= 8))
    assert shares.filter(shares["scheduler.slice"] == "18ms")["value"].min() >= 92.4
    assert shares.filter(shares["scheduler.slice"] == "15ms")["value"].min() < 92.4


def test_a_condition_that_nothing_keeps_leaves_all_as_it_is(tmp_path):
    found = tuned(tmp_path, BASE + GOAL + 'keep = ["tasks.batch.share >= 99.9%"]\n' + SPACE, budget=60)
    assert not found.keeps_conditions
    assert found.chosen == found.board.present
    assert found.front == []


def test_every_load_counts(tmp_path):
    """Requests of 5 ms and of 9 ms: what is recommended is, in the load where it is worst, as good as the best of all
    slices there, to within 5 %.
    """
    sweep = '[sweep]\n"workload.request.steps[0].compute" = ["3ms", "7ms"]\n'
    found = tuned(tmp_path, BASE + GOAL + sweep + SPACE, budget=300)
    assert len(found.board.counters) == 2
    levels = list(found.space.dimensions[0].levels)
    whole = Experiment.from_toml(file(tmp_path, BASE + GOAL + sweep)).sweep({"scheduler.slice": levels})
    rows = whole.run(tmp_path / "whole").summary("tasks.request.turnaround.p50")
    means = {(row["scheduler.slice"], row["workload.request.steps[0].compute"]): row["mean"] for row in rows.to_dicts()}
    best = {load: min(means[level, load] for level in levels) for load in ("3ms", "7ms")}
    worst = {level: max(means[level, load] / best[load] - 1 for load in best) for level in levels}
    assert worst[setting(found)] <= min(worst.values()) + 0.05


def test_a_field_that_does_nothing_stays_as_it_is(tmp_path):
    """A job that has not begun when the requests are over: whatever its nice level, nothing changes. With 2700us a
    request has two turns and waits for 2 x 4 x 2.8 ms, with 5600us one and 4 x 5.7 ms, which is nearly the same.
    """
    space = SPACE + '"scheduler.slice_size" = [0]\n'
    with pytest.raises(ValueError, match="a choice is among 2"):
        tuned(tmp_path, BASE + GOAL + space)
    idle = BASE + '[workload.late]\nload = "spin"\nstart = "10min"\n' + GOAL
    found = tuned(tmp_path, idle + SPACE + '"workload.late.nice" = { low = -5, high = 5 }\n', budget=300)
    assert "workload.late.nice" not in found.space.changed(found.chosen)
    assert setting(found) in ("2700us", "5600us")


def test_without_a_space_the_parameters_of_the_policies_are_tuned(tmp_path):
    experiment = Experiment.from_toml(file(tmp_path, BASE + GOAL))
    paths = [one.path for one in Space.of(experiment).dimensions]
    assert paths == ["scheduler.slice", "scheduler.slice_size"]


def test_runs_that_draw_nothing_are_made_once_a_setting(tmp_path):
    text = BASE.replace('gap = { exp = "100ms" }', 'gap = "100ms"')
    found = tuned(tmp_path, text + GOAL + SPACE, budget=60)
    assert found.spent <= len(found.board.measured) + 2
    assert all(one.alike for one in found.board.measured.values())
    assert setting(found) == "5600us"


def test_what_a_real_machine_has_is_left_as_it_is_in_the_present_setting():
    experiment = Experiment.from_dict(
        {
            "machine": "host",
            "scheduler": {"name": "eevdf"},
            "workload": {"a": {"load": "spin"}},
            "goal": {"minimize": ["tasks.a.real"]},
            "space": {"scheduler.base_slice": ["3ms", "10ms"]},
        }
    )
    space = Space.of(experiment)
    assert space.fields(space.present) == {"scheduler.base_slice": None}
    now, then = swept(experiment, space, [space.present, (1,)]).cells()
    assert now.host["tunables"] == {}
    assert then.host["tunables"] == {"slice": "10ms"}
    assert now.factors == {"scheduler.base_slice": "unset"}


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (BASE, [], "there is no goal"),
        (BASE, ["--goal", "interactiv"], "did you mean 'interactive'?"),
        (BASE + GOAL, ["--budget", "3"], "--budget 3 is too small: at least 10 runs are needed"),
        (BASE + GOAL, ["--on", "sim,host"], "--on sim,host: one place at a time"),
        (BASE + GOAL, ["--within", "5"], "--within 5: a share of the base between 0 and 1"),
        (BASE + GOAL + '[sweep]\n"scheduler.name" = ["fifo", "round_robin"]', [], "nothing to tune"),
        (BASE + GOAL + '[space]\n"scheduler.slise" = [1, 2]', [], 'did you mean "slice"?'),
        (BASE + GOAL + 'keep = ["tasks.batch.share > high"]', [], "is no bound of tasks.batch.share"),
    ],
)
def test_mistakes_are_named(tmp_path, schedlab, text, options, said):
    done = schedlab("tune", file(tmp_path, text), *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_the_words_the_table_and_json_say_the_same(tmp_path, schedlab):
    path = file(tmp_path, BASE + GOAL.replace("]", ']\nmaximize = ["tasks.batch.share"]', 1) + SPACE)
    done = schedlab("tune", path, "--svg", "ranges.svg")
    assert done.returncode == 0, done.stderr
    assert "set scheduler.slice = 5600us (now 100ms)" in done.stdout
    assert "the price: tasks.batch.share gets worse" in done.stdout
    assert "schedlab host apply rr_slice=5600us" in done.stdout
    document = json.loads(schedlab("tune", path, "--json").stdout)
    assert document["chosen"] == {"scheduler.slice": "5600us"}
    assert document["front"][0]["setting"] == document["chosen"]
    assert document["recommended"]
    assert [one["better"] for one in document["counters"]] == ["lower", "higher"]
    assert document["tunables"] == {"rr_slice": "5600us"}
    assert (tmp_path / "ranges.svg").read_text().startswith("<svg")
    head = schedlab("tune", path, "--csv").stdout.splitlines()[0]
    assert head.startswith("setting,tasks.request.turnaround.p50")
    assert "| → scheduler.slice = 5600us |" in schedlab("tune", path, "--markdown").stdout


STARVING = """
seeds = 4
duration = "4s"
machine = "uniform"
scheduler = { name = "round_robin", slice = "10ms" }
[workload.req]
steps = [{ compute = { exp = "30ms" } }]
count = 4
gap = { exp = "100ms" }
start = { exp = "200ms" }
[workload.batch]
load = "spin"
count = 4
passes = "forever"
[goal]
maximize = ["tasks.batch.share"]
keep = ["tasks.req.turnaround.p99 < 500ms"]
[space]
"scheduler.slice" = ["1ms", "10ms", "2s", "5s"]
"""


def test_a_condition_on_what_never_ended_is_missed(tmp_path):
    """With slices of seconds no request ends in time to have a turnaround: the share is best, the condition missed."""
    found = tuned(tmp_path, STARVING, budget=60)
    assert setting(found) in ("1ms", "10ms")
    assert all(found.board.missed((place,)) for place in (2, 3) if (place,) in found.board.measured)


def test_a_best_value_of_zero_is_one(tmp_path):
    """On two processors nothing waits; the wait of now is what that is measured against."""
    text = """
metrics = ["wakeup_latency.p99"]
seeds = 4
duration = "3s"
machine = { preset = "uniform", processors = 1 }
scheduler = { name = "fifo" }
[workload.io]
steps = [{ sleep = { exp = "50ms" } }, { compute = "1ms" }]
passes = "forever"
[workload.hog]
steps = [{ compute = "8ms" }, { sleep = { exp = "20ms" } }]
passes = "forever"
[goal]
minimize = ["wakeup_latency.p99"]
[space]
"machine.processors" = [1, 2]
"""
    found = tuned(tmp_path, text, budget=60)
    assert setting(found, "machine.processors") == 2


def test_what_goes_back_does_not_add_up(tmp_path):
    """Eight steps of which each may take a fourteenth less: one of them is worth little, all of them are not."""
    steps = ", ".join(['{ compute = "10ms" }'] * 8)
    space = "".join(f'"workload.x.steps[{at}].compute" = ["9300us", "10ms"]\n' for at in range(8))
    text = f"""
machine = "uniform"
scheduler = {{ name = "fifo" }}
[workload.x]
steps = [{steps}]
[goal]
minimize = ["tasks.x.real"]
[space]
{space}"""
    found = tuned(tmp_path, text, budget=200)
    best = min(found.board.values(one)[0] for one in found.board.measured)
    assert found.board.values(found.chosen)[0] <= 1.011 * best


def test_few_fields_that_matter_are_found_among_many(tmp_path):
    """Twelve jobs that come too late, whose levels do nothing, and the slice, which does."""
    jobs = "".join(f'[workload.late{n}]\nload = "spin"\nstart = "10min"\n' for n in range(12))
    space = SPACE + "".join(f'"workload.late{n}.nice" = [0, 5, 10]\n' for n in range(12))
    found = tuned(tmp_path, BASE + jobs + GOAL + space, budget=400)
    assert list(found.space.changed(found.chosen)) == ["scheduler.slice"]
    assert not found.cut_short


def test_a_level_that_draws_nothing_stands_for_all_repeats(tmp_path):
    """Requests at equal times and at random ones: the first have one run, which is compared with each of the others."""
    text = BASE.replace("count = 40", "count = 8") + GOAL
    space = '[space]\n"workload.request.gap" = ["100ms", { exp = "100ms" }, { exp = "50ms" }]\n'
    found = tuned(tmp_path, text.replace('gap = { exp = "100ms" }', 'gap = "100ms"') + space, budget=80, within=0.1)
    (curve,) = found.ranges[0].curves
    rows = load(found.folder)
    rows = rows.filter((rows["metric"] == "tasks.request.turnaround.p50") & (rows["seed"] <= 8))
    for level, mean in zip(found.ranges[0].levels, curve.means, strict=True):
        text = level if isinstance(level, str) else json.dumps(level, separators=(",", ":"))
        assert mean == pytest.approx(rows.filter(rows["workload.request.gap"] == text)["value"].mean(), rel=0.02)


@pytest.mark.parametrize("budget", [10, 11, 15, 30])
def test_the_budget_is_never_exceeded(tmp_path, budget):
    assert tuned(tmp_path, BASE + GOAL + SPACE, budget=budget).spent <= budget


def test_two_spellings_of_a_value_are_measured_once(tmp_path):
    text = BASE + GOAL + '[space]\n"workload.request.gap" = [{ exp = "0.1s" }, { exp = "50ms" }]\n' + SPACE[9:]
    found = tuned(tmp_path, text, budget=60)
    assert len(found.board.measured) > 3
    assert Results.open(found.folder).scenarios


def test_any_start_is_one(tmp_path):
    assert tuned(tmp_path, BASE + GOAL + SPACE, budget=60, start=10**12).spent


def test_what_fresh_runs_break_is_said(tmp_path, schedlab):
    text = BASE + GOAL + 'keep = ["tasks.request.turnaround.max < 90ms"]\n' + SPACE
    document = schedlab.json("tune", file(tmp_path, text), "--budget", "150", "--seeds", "2")
    rows = load(tmp_path / document["folder"])
    rows = rows.filter((rows["metric"] == "tasks.request.turnaround.max") & (rows["seed"] > 2))
    own = rows.filter(rows["scheduler.slice"] == document["chosen"]["scheduler.slice"])
    assert document["broken"] == {"runs": int((own["value"] >= 0.09).sum()), "of": len(own)}
    assert any("beware" in line for line in document["words"]) == (document["broken"]["runs"] > 0)


def test_the_printed_command_runs_the_setting(tmp_path, schedlab):
    """Overrides, a folder, a blank in the name and a table are part of it."""
    (tmp_path / "a b").mkdir()
    path = file(
        tmp_path / "a b",
        BASE + GOAL + '[space]\nscheduler = [{ name = "round_robin" }, { name = "round_robin", slice = "5600us" }]\n',
    )
    shown = schedlab("tune", path.relative_to(tmp_path), "--budget", "40", "--set", "workload.batch.count=1").stdout
    (line,) = [line for line in " ".join(shown.split()).split("to run it: ")[1:]]
    words = shlex.split(line.partition(" no Linux")[0].partition(" on a host")[0])
    assert words[:3] == ["schedlab", "run", "a b/request.toml"]
    done = schedlab(*words[1:], "--dry-run")
    assert done.returncode == 0, done.stderr


POOL = """
machine = { preset = "uniform", processors = 2 }
metrics = ["tasks.server.message_latency.p99"]
seeds = 4
[scheduler]
name = "eevdf"
[workload.server]
count = 2
arrivals = { poisson = "300/s" }
requests = 500
steps = [{ compute = { exp = "1ms" } }, { sleep = { exp = "10ms" } }]
[goal]
minimize = ["tasks.server.message_latency.p99"]
[space]
"workload.server.count" = [2, 3, 4, 6, 9, 14]
"""


def test_another_kernel_is_asked_and_its_answer_goes_first(tmp_path, schedlab):
    """The number of threads is found under eevdf and asked of fifo: both need more than two."""
    document = schedlab.json("tune", file(tmp_path, POOL, "pool"), "--budget", "80", "--confirm", "sim:fifo")
    real = document["confirmed"]
    assert real["on"] == "sim:fifo"
    assert int(real["chosen"]["workload.server.count"]) > 2
    of_goal = [row for row in real["changes"] if row["predicted"] is not None]
    assert of_goal
    assert all(row["predicted"] < -0.5 and row["relative"] < -0.5 for row in of_goal)
    assert "confirm" in real["words"][0]
    shown = schedlab("tune", tmp_path / "pool.toml", "--budget", "80", "--confirm", "sim:fifo").stdout
    assert "on sim:fifo, against the present setting" in shown
    assert real["words"][0].partition(":")[0] in shown


def test_a_real_kernel_confirms_what_the_simulator_finds(tmp_path, schedlab):
    """Slices of eevdf on one processor: fewer switches with longer ones, in a guest of 6.17 as predicted."""
    from test_guest import booting

    booting("6.17")
    text = """
machine = "guest"
seeds = 6
scheduler = { name = "eevdf", variant = "6.17" }
duration = "2s"
metrics = ["context_switches"]
[workload.hog]
load = "spin"
count = 3
passes = "forever"
[goal]
minimize = ["context_switches"]
[space]
"scheduler.base_slice" = ["700us", "3ms", "12ms"]
"""
    real = schedlab.json("tune", file(tmp_path, text, "slices"), "--budget", "30", "--confirm", "guest:6.17")[
        "confirmed"
    ]
    assert real["chosen"] == {"scheduler.base_slice": "12ms"}
    (row,) = [one for one in real["changes"] if one.get("setting", "scheduler.base_slice = 12ms").endswith("12ms")]
    assert row["verdict"] == "real"
    assert abs(row["predicted"] - row["relative"]) < 0.1


def test_what_a_search_needs_of_an_experiment_is_refused_early():
    experiment = Experiment.from_dict(
        {"machine": "uniform", "scheduler": {"name": "fifo"}, "workload": {"a": {"load": "spin"}}, "duration": "1s"}
    )
    with pytest.raises(UsageError, match="nothing to tune: its policies have no parameters"):
        Space.of(experiment)
