"""What `schedlab run --trace` writes of a run says what the run says: by `schedlab trace` and by `schedlab whatif`."""

import json
import tomllib

import pytest
from conftest import valid

LOAD = """
duration = "3s"
seeds = 1
metrics = [
    "tasks.*.wakeup_latency.count", "tasks.*.wakeup_latency.p50", "tasks.*.wakeup_latency.p90",
    "tasks.*.wakeup_latency.p99", "tasks.*.share", "tasks.*.involuntary_switches", "tasks.*.migrations",
]
scheduler = { name = "eevdf" }
workload.hogs = { load = "spin", compute = "1000s", passes = "forever", count = 2 }
workload.client = { passes = "forever", steps = [{ compute = "100us" }, { send = "asks" }, { receive = "answers" }] }
workload.server = { passes = "forever", steps = [{ receive = "asks" }, { compute = "200us" }, { send = "answers" }] }
workload.sleepers = { passes = "forever", count = 3, steps = [
    { sleep = { uniform = ["2ms", "5ms"] } }, { compute = "300us" },
] }
"""
SECONDS = 3
#: How a task is treated, in an experiment file.
FIELDS = {"group", "policy", "priority", "nice", "slice", "cpus"}
TASKS = {"hogs": 2, "client": 1, "server": 1, "sleepers": 3}


@pytest.fixture(scope="module", params=[("uniform", 1), ("uniform", 2), ("guest", 2)], ids=str)
def traced(request, tmp_path_factory):
    """The numbers of a run, and a folder with what `--trace` writes of it."""
    from conftest import Command

    machine, processors = request.param
    schedlab = Command(tmp_path_factory.mktemp("traced"))
    (schedlab.folder / "load.toml").write_text(
        f'machine = {{ preset = "{machine}", processors = {processors} }}\n{LOAD}'
    )
    for name in ("run.recording", "run.pftrace"):
        found = schedlab.json("run", "load.toml", "--trace", name)
    means = {name: metric["mean"] for name, metric in found["cells"][0]["metrics"].items()}
    return schedlab, means, processors


@pytest.mark.parametrize("name", ["run.recording", "run.pftrace"])
def test_a_trace_gives_the_numbers_of_its_run(traced, name):
    schedlab, means, processors = traced
    tasks = schedlab.json("trace", name, "--by", "comm")["tasks"]
    assert {task["comm"] for task in tasks} == set(TASKS)
    for task in tasks:
        comm = task["comm"]
        of_run = lambda metric, of=comm: means.get(f"tasks.{of}.{metric}", 0.0)  # noqa: E731
        # The last turn of each processor, of 4 ms at most, is cut off in a trace for Perfetto.
        cut = 0.02 if name == "run.recording" else processors * 0.4 / SECONDS
        assert task["share_pct"] == pytest.approx(processors * of_run("share"), abs=cut)
        assert task["preempted_per_s"] * SECONDS == pytest.approx(of_run("involuntary_switches"), abs=1.5)
        # A trace for Perfetto has no migrations but those that runs show, and the start of a task is a wakeup, too.
        starts = 0 if name == "run.recording" else TASKS[comm]
        assert task["migrations"] <= of_run("migrations")
        assert task["migrations"] == of_run("migrations") or name == "run.pftrace"
        assert task["wakeups"] - starts == of_run("wakeup_latency.count")
        if task["wakeups"] > 100:
            for quantile in ("p50", "p90", "p99"):
                of_trace = task["wakeup_us"][quantile]
                assert of_trace == pytest.approx(1e6 * of_run(f"wakeup_latency.{quantile}"), rel=0.06, abs=20), comm


def test_a_recording_of_a_run_says_which_task_woke_another(traced):
    schedlab, *_ = traced
    wakers = schedlab.json("trace", "run.recording")["wakers"]
    by = {(one["waker"] or {}).get("comm"): set() for one in wakers}
    for one in wakers:
        by[(one["waker"] or {}).get("comm")].add(one["woken"]["comm"])
    assert by == {"client": {"server"}, "server": {"client"}, None: {"sleepers"}}


def test_messages_of_a_recorded_run_are_replayed_as_messages(traced):
    schedlab, *_ = traced
    found = valid(json.loads(schedlab.ok("whatif", "run.recording", "--json", "--seeds", "2")), "whatif")
    for name, cause in (("client", "tasks"), ("server", "tasks"), ("sleepers", "relative_timers")):
        causes = found["causes"][name]
        assert causes[cause] > 100
        assert causes["unknown"] == 0


TREATED = """
machine = { preset = "uniform", processors = 4 }
scheduler = { name = "eevdf" }
duration = "2s"
seeds = 1
groups = { outer = { weight = 512 }, inner = { parent = "outer", quota = "30ms", period = "100ms" } }
workload.hogs = { load = "spin", compute = "1000s", passes = "forever", count = 4, group = "inner" }
workload.urgent = { policy = "rr", priority = 20, passes = "forever", steps = [{ compute = "1ms" }, { sleep = "9ms" }] }
[workload.quiet]
start = "10ms"
policy = "batch"
nice = 4
slice = "5ms"
cpus = [1, 3]
passes = "forever"
steps = [{ compute = "5ms" }, { sleep = "5ms" }]
"""


def test_a_recording_of_a_run_says_how_its_tasks_are_treated(schedlab):
    """What the kernel's own events do not have: policies, slices, sets of processors, groups."""
    (schedlab.folder / "load.toml").write_text(TREATED)
    schedlab.ok("run", "load.toml", "--trace", "run.recording")
    schedlab.ok("whatif", "run.recording", "--write", "mine.toml")
    mine = tomllib.loads((schedlab.folder / "mine.toml").read_text())
    parts = {name: {k: v for k, v in job.items() if k in FIELDS} for name, job in mine["workload"].items()}
    assert parts == {
        "hogs": {"group": "outer-inner"},
        "urgent": {"policy": "rr", "priority": 20},
        "quiet": {"policy": "batch", "nice": 4, "slice": "5ms", "cpus": [1, 3]},
    }
    assert mine["groups"] == {
        "outer-inner": {"parent": "outer", "weight": 1024, "quota": "30ms", "period": "100ms"},
        "outer": {"weight": 512},
    }
    by_group = {row["comm"]: row["run_s"] for row in schedlab.json("trace", "run.recording", "--by", "cgroup")["tasks"]}
    assert by_group["/outer/inner"] == pytest.approx(0.6, abs=0.04)
    assert by_group.keys() == {"/outer/inner", "/"}, "a task that begins later has its group, too"


URGENT = """
machine = { preset = "uniform", clock = { hz = "250/s" } }
scheduler = { name = "eevdf" }
duration = "2s"
seeds = 3
metrics = ["tasks.urgent.share"]
workload.hog = { load = "spin", compute = "1000s", passes = "forever" }
[workload.urgent]
POLICY
passes = "forever"
steps = [{ compute = { uniform = ["5ms", "7ms"] } }, { sleep = { uniform = ["3ms", "5ms"] } }]
"""


def test_whatif_grants_a_recorded_real_time_task_its_priority(schedlab):
    """As recorded it runs when it wants to; once it is an ordinary task, it waits for the hog as in a run of that."""
    for name, policy in (("recorded", 'policy = "fifo"\npriority = 20'), ("other", "")):
        (schedlab.folder / f"{name}.toml").write_text(URGENT.replace("POLICY", policy))
    schedlab.ok("run", "recorded.toml", "--set", "seeds=[1]", "--trace", "run.recording")
    truth = schedlab.json("run", "other.toml")["cells"][0]["metrics"]["tasks.urgent.share"]["mean"]
    words = ("whatif", "run.recording", "--task", "urgent.policy=other", "--json", "--seeds", "3")
    share = json.loads(schedlab.ok(*words))["groups"]["urgent"]["share_pct"]
    assert share["recorded"] == pytest.approx(60, abs=1)
    assert share["predicted"] == pytest.approx(truth, abs=1.5)
    assert truth < 45


ALONE = """
duration = "2s"
seeds = 1
scheduler = { name = "eevdf" }
metrics = ["tasks.hogs.share"]
machine = { preset = "uniform", processors = 3 }
workload.hogs = { load = "spin", compute = "1000s", passes = "forever", count = 3 }
"""


def test_a_hog_that_has_a_processor_for_itself_has_run_all_the_time(schedlab):
    """It never leaves it: all that it runs is a turn that the end of the run cuts off."""
    (schedlab.folder / "load.toml").write_text(ALONE)
    schedlab.ok("run", "load.toml", "--trace", "run.recording")
    (row,) = schedlab.json("trace", "run.recording", "--by", "comm")["tasks"]
    assert row["share_pct"] == pytest.approx(300, abs=0.1)
    share = json.loads(schedlab.ok("whatif", "run.recording", "--json", "--seeds", "3"))["groups"]["hogs"]["share_pct"]
    assert [share["recorded"], share["predicted"]] == pytest.approx([300, 300], abs=0.6)


def test_a_kernel_s_recording_that_ends_within_a_turn_says_so(schedlab):
    """A kernel records no switch then, so that is no run; `whatif` counts it."""
    line = "{0} [{1:03}] {2}: sched:sched_switch: prev_comm={3} prev_pid={4} prev_prio=120 prev_state={5} ==> "
    line += "next_comm={6} next_pid={7} next_prio=120\n"
    text = line.format("swapper 0", 0, "1.000000", "swapper/0", 0, "R", "hog", 2)
    text += line.format("swapper 0", 1, "1.000000", "swapper/1", 0, "R", "short", 3)
    text += line.format("short 3", 1, "2.000000", "short", 3, "S", "swapper/1", 0)
    (schedlab.folder / "perf.txt").write_text(text)
    assert "run time and share lack turns that had not ended at the end: hog 1 s" in schedlab.ok("trace", "perf.txt")
    groups = json.loads(schedlab.ok("whatif", "perf.txt", "--json", "--seeds", "2"))["groups"]
    assert groups["hog"]["share_pct"]["recorded"] == pytest.approx(100)


BARRIER = """
duration = "4s"
seeds = [1]
metrics = ["tasks.workers.share"]
machine = { preset = "uniform", processors = 2 }
scheduler = { name = "eevdf" }
shared.round = { barrier = 4 }
workload.workers = { count = 4, passes = "forever", steps = [
    { compute = { uniform = ["3ms", "7ms"] } }, { barrier = "round" },
] }
"""


def test_whatif_knows_tasks_that_meet_at_a_barrier_whichever_comes_last(schedlab):
    """In a recording the last one wakes the others. With a processor for each another is the last."""
    (schedlab.folder / "load.toml").write_text(BARRIER)
    schedlab.ok("run", "load.toml", "--trace", "run.recording")
    found = json.loads(schedlab.ok("whatif", "run.recording", "--processors", "4", "--json"))
    (said,) = [line for line in found["assumptions"] if "barrier" in line]
    assert said.startswith("4 tasks (workers) met ")
    run = schedlab.json("run", "load.toml", "--set", "machine.processors=4", "--set", "seeds=[2, 3, 4]")
    truth = 4 * run["cells"][0]["metrics"]["tasks.workers.share"]["mean"]
    share = found["groups"]["workers"]["share_pct"]
    assert share["low"] < truth < share["high"]
    assert share["predicted"] == pytest.approx(truth, abs=4)
    assert truth < 340, "they wait for each other, each on its own processor"


def test_whatif_knows_what_tasks_that_are_woken_at_one_moment_would_do_on_more_processors(schedlab):
    """Two of them may be woken for one idle processor: the turn of the first is not the other's way there."""
    more = ("--set", "workload.workers.count=5", "--set", "shared.round.barrier=5")
    (schedlab.folder / "load.toml").write_text(BARRIER)
    run = schedlab.json("run", "load.toml", *more, "--set", "machine.processors=8", "--set", "seeds=[2, 3]")
    truth = 8 * run["cells"][0]["metrics"]["tasks.workers.share"]["mean"]
    for recorded in (2, 3):
        processors = f"machine.processors={recorded}"
        schedlab.ok("run", "load.toml", *more, "--set", processors, "--trace", f"{recorded}.recording")
        words = ("whatif", f"{recorded}.recording", "--processors", "8", "--json", "--seeds", "3")
        share = json.loads(schedlab.ok(*words))["groups"]["workers"]["share_pct"]
        assert share["predicted"] == pytest.approx(truth, rel=0.025), recorded


YIELDS = """
machine = { preset = "uniform", clock = { hz = "1000/s" } }
duration = "3s"
seeds = [1]
metrics = ["tasks.polite.share"]
scheduler = { name = "eevdf" }
workload.hog = { load = "spin", compute = "1000s", passes = "forever" }
workload.polite = { passes = "forever", steps = [{ compute = { uniform = ["1ms", "2500us"] } }, "yield"] }
"""


def test_whatif_knows_tasks_that_yield(schedlab):
    """Round robin gives the processor to the other task at each yield, and that keeps it for a slice."""
    (schedlab.folder / "load.toml").write_text(YIELDS)
    run = schedlab.json("run", "load.toml", "--trace", "run.recording")
    recorded = run["cells"][0]["metrics"]["tasks.polite.share"]["mean"]
    found = json.loads(schedlab.ok("whatif", "run.recording", "--json"))["groups"]["polite"]["share_pct"]
    assert found["predicted"] == pytest.approx(recorded, abs=2)
    other = ("--set", "scheduler.name=round_robin")
    truth = schedlab.json("run", "load.toml", *other)["cells"][0]["metrics"]["tasks.polite.share"]["mean"]
    share = json.loads(schedlab.ok("whatif", "run.recording", *other, "--json"))["groups"]["polite"]["share_pct"]
    assert share["predicted"] == pytest.approx(truth, abs=0.5)


SERVER = """
duration = "3s"
seeds = [1]
metrics = ["tasks.server.share", "tasks.clients.share"]
scheduler = { name = "eevdf" }
workload.server = { passes = "forever", steps = [{ receive = "asks" }, { compute = "300us" }, { send = "answers" }] }
workload.clients = { count = 2, passes = "forever", steps = [
    { compute = "200us" }, { send = "asks" }, { receive = "answers" },
] }
"""


def shares(found: dict, processors: int) -> dict[str, float]:
    """Of server and clients in a run, in percent of one processor."""
    metrics = found["cells"][0]["metrics"]
    return {name: processors * metrics[f"tasks.{name}.share"]["mean"] for name in ("server", "clients")}


def test_whatif_knows_a_server_whose_requests_were_there_before_it_waited(schedlab):
    """The recording has two of a hundred requests: the server found the others. At nice -10 it waits for most."""
    hogs = 'workload.hogs = { load = "spin", compute = "1000s", passes = "forever", count = 2 }\n'
    machine = 'machine = { preset = "guest", processors = 2 }\n'
    (schedlab.folder / "load.toml").write_text(machine + SERVER + hogs)
    schedlab.ok("run", "load.toml", "--trace", "run.recording")
    found = json.loads(schedlab.ok("whatif", "run.recording", "--change", "server: nice=-10", "--json", "--seeds", "5"))
    (said,) = [line for line in found["assumptions"] if "answers" in line]
    assert said.startswith("server answers 2 tasks (clients): ")
    truth = shares(schedlab.json("run", "load.toml", "--set", "workload.server.nice=-10", "--set", "seeds=[2, 3]"), 2)
    predicted = {name: found["groups"][name]["share_pct"]["predicted"] for name in truth}
    assert predicted == pytest.approx(truth, abs=3)
    assert truth["server"] < 65, "its clients hold it up"


def test_whatif_asks_of_a_server_what_more_clients_would(schedlab):
    """Three times as many of them, each of which waits for its answers."""
    (schedlab.folder / "load.toml").write_text('machine = { preset = "uniform", processors = 8 }\n' + SERVER)
    schedlab.ok("run", "load.toml", "--set", "workload.server.steps.1.compute=100us", "--trace", "run.recording")
    words = ("whatif", "run.recording", "--copies", "clients=3", "--json", "--seeds", "3")
    found = json.loads(schedlab.ok(*words))["groups"]
    more = ("--set", "workload.server.steps.1.compute=100us", "--set", "workload.clients.count=6")
    truth = shares(schedlab.json("run", "load.toml", *more), 8)
    assert {name: found[name]["share_pct"]["predicted"] for name in truth} == pytest.approx(truth, rel=0.04)
    assert truth["server"] > 97, "they keep it busy"
    assert found["server"]["share_pct"]["recorded"] < 70


def test_of_copies_that_wait_for_a_task_that_is_no_known_server_nothing_is_predicted(schedlab):
    """A server that is always busy waits for no request, so none is recorded. Clients would share what it does."""
    more = "workload.clients.count=3"
    (schedlab.folder / "load.toml").write_text('machine = { preset = "uniform", processors = 8 }\n' + SERVER)
    schedlab.ok("run", "load.toml", "--set", more, "--trace", "run.recording")
    asked = lambda *words: json.loads(schedlab.ok("whatif", "run.recording", *words, "--json", "--seeds", "3"))  # noqa: E731
    assert asked()["groups"]["server"]["share_pct"]["predicted"] == pytest.approx(100, abs=0.5)
    for copied in ("clients", "server"):
        found = asked("--copies", f"{copied}=2")
        assert all(group["share_pct"]["predicted"] is None for group in found["groups"].values())
        (why,) = {line["why"] for line in found["cannot_tell"]}
        assert why == f"copies of {copied} would wait for other tasks, and how long is not known"


READER = """
duration = "3s"
seeds = [1]
metrics = ["tasks.reader.share", "tasks.quick.share", "tasks.hog.share"]
machine = { preset = "uniform", processors = 1 }
scheduler = { name = "eevdf" }
workload.reader = { passes = "forever", steps = [{ receive = "lines" }, { compute = "2ms" }] }
workload.quick = { passes = "forever", steps = [
    { compute = "1ms" }, { sleep = { uniform = ["2ms", "9ms"] } }, { send = "lines" },
] }
workload.slow = { passes = "forever", steps = [
    { compute = "2ms" }, { sleep = { uniform = ["2ms", "20ms"] } }, { send = "lines" },
] }
workload.hog = { load = "spin", compute = "1000s", passes = "forever" }
"""


def test_whatif_names_a_task_that_takes_what_several_send(schedlab):
    """Reduced to nice 19, one of its senders comes seldom: the other does not wait for it."""
    (schedlab.folder / "load.toml").write_text(READER)
    schedlab.ok("run", "load.toml", "--trace", "run.recording")
    words = ("whatif", "run.recording", "--change", "slow: nice=19", "--json", "--seeds", "3")
    found = json.loads(schedlab.ok(*words))
    assert [line for line in found["assumptions"] if "several tasks send to reader:" in line]
    run = schedlab.json("run", "load.toml", "--set", "workload.slow.nice=19", "--set", "seeds=[2, 3]")
    for name in ("reader", "quick", "hog"):
        truth = run["cells"][0]["metrics"][f"tasks.{name}.share"]["mean"]
        assert found["groups"][name]["share_pct"]["predicted"] == pytest.approx(truth, abs=2), name


def test_recorded_tasks_are_replayed_by_one_job(schedlab):
    (schedlab.folder / "load.toml").write_text(BARRIER)
    schedlab.ok("run", "load.toml", "--trace", "run.recording")
    schedlab.ok("whatif", "run.recording", "--write", "mine.toml")
    text = (schedlab.folder / "mine.toml").read_text()
    again = '[workload]\nagain = { count = 4, passes = "forever", replay = "workers" }\n'
    (schedlab.folder / "mine.toml").write_text(text.replace("[workload]\n", again))
    done = schedlab("run", "mine.toml")
    assert done.returncode == 2
    assert 'workload.workers: another job replays "workers", too' in done.stderr


def test_whatif_says_how_long_a_recorded_run_of_fixed_work_takes(schedlab):
    (schedlab.folder / "load.toml").write_text(
        """
        machine = { preset = "uniform", clock = { hz = "250/s" } }
        scheduler = { name = "eevdf" }
        seeds = 1
        workload.job.steps = [{ compute = "500ms" }]
        workload.hog = { load = "spin", compute = "1000s", passes = "forever" }
        """
    )
    schedlab.ok("run", "load.toml", "--trace", "run.recording")
    asked = lambda *words: json.loads(schedlab.ok("whatif", "run.recording", *words, "--json", "--seeds", "3"))  # noqa: E731
    assert asked()["elapsed_s"]["recorded"] == pytest.approx(1, abs=0.02)
    # Weights of nice 0 and 5 in kernel/sched/core.c.
    assert asked("--task", "hog.nice=5")["elapsed_s"]["predicted"] == pytest.approx(0.5 * 1359 / 1024, abs=0.02)


NICER = """
machine = { preset = "uniform", clock = { hz = "250/s" } }
scheduler = { name = "eevdf" }
duration = "4s"
seeds = 3
metrics = ["tasks.sleepers.share"]
workload.hogs = { load = "spin", compute = "1000s", passes = "forever", count = 2, nice = NICE }
[workload.sleepers]
passes = "forever"
count = 2
steps = [{ sleep = { uniform = ["7ms", "8ms"] } }, { compute = { uniform = ["1ms", "3ms"] } }]
"""


def test_whatif_lets_a_task_that_waits_less_do_more_than_was_recorded(schedlab):
    for nice in (0, 10):
        (schedlab.folder / f"{nice}.toml").write_text(NICER.replace("NICE", str(nice)))
    schedlab.ok("run", "0.toml", "--set", "seeds=[1]", "--trace", "run.recording")
    truth = schedlab.json("run", "10.toml")["cells"][0]["metrics"]["tasks.sleepers.share"]["mean"]
    words = ("whatif", "run.recording", "--task", "hogs.nice=10", "--json", "--seeds", "3")
    share = json.loads(schedlab.ok(*words))["groups"]["sleepers"]["share_pct"]
    assert truth > share["recorded"] + 3
    assert share["predicted"] == pytest.approx(truth, abs=1.5)
