"""What `schedlab run --trace` writes of a run says what the run says: by `schedlab trace` and by `schedlab whatif`."""

import json

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
        # The last turn of each processor, of 4 ms at most, is cut off.
        assert task["share_pct"] == pytest.approx(processors * of_run("share"), abs=processors * 0.4 / SECONDS)
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
