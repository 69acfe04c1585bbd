"""`schedlab whatif`: changes that are asked for, the gate, and predictions from recordings made by hand."""

import json
from pathlib import Path
from statistics import fmean

import pytest
from conftest import valid

from schedlab.errors import UsageError
from schedlab.whatif.asked import Asked, Change, apply
from schedlab.whatif.document import predict
from schedlab.whatif.judged import judge
from schedlab.whatif.replays import Prepared

DOCUMENT = {
    "machine": {"preset": "uniform", "processors": 2, "clock": {"hz": "250/s"}},
    "scheduler": {"name": "eevdf", "variant": "6.12"},
    "workload": {
        "hog": {"replay": "hog", "count": 2, "cpus": [1]},
        "kworker_0_1": {"replay": "kworker_0_1", "count": 1},
    },
}
NAMES = {"hog": "hog", "kworker_0_1": "kworker/0:1"}


@pytest.mark.parametrize(
    ("text", "name", "fields"),
    [
        ("hog: nice=5", "hog", {"nice": 5}),
        ("h.*: nice=-3, slice=20ms", "hog", {"nice": -3, "slice": "20ms"}),
        ("hog:policy=fifo:10", "hog", {"policy": "fifo", "priority": 10}),
        ("kworker/0:1: cpus=0-1", "kworker_0_1", {"cpus": [0, 1]}),
        ("hog: cpus=0;1", "hog", {"cpus": [0, 1]}),
    ],
)
def test_a_change_reaches_the_tasks_whose_whole_name_matches(text, name, fields):
    changed = apply(Asked((Change.read(text),)), DOCUMENT, NAMES).definition["workload"]
    assert changed[name] == DOCUMENT["workload"][name] | fields
    other = next(job for job in changed if job != name)
    assert changed[other] == DOCUMENT["workload"][other]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("hog", "write 'REGEX: FIELD=VALUE'"),
        ("hog: nicer=5", "did you mean 'nice'?"),
        ("hog: nice=x", "is not a whole number"),
        ("hog: nice=20", "Linux has -20 to 19"),
        ("hog: nice=5, nice=6", "nice is there twice"),
        ("hog: group=web, weight=512", "make a group of their own"),
        ("ho: nice=5", "no task of the recording has such a name; there are hog, kworker/0:1"),
        ("(: nice=5", "is no regular expression"),
        ("hog: policy=fifo", "is none of other, batch, idle, fifo:10, rr:10"),
        ("hog: quota=50ms", "write it as 50ms/100ms"),
        ("hog: cpus=a", "are no processors"),
    ],
)
def test_a_wrong_change_is_refused_with_what_would_be_right(text, why):
    with pytest.raises(UsageError, match=why.replace("?", r"\?")):
        apply(Asked((Change.read(text),)), DOCUMENT, NAMES)


def test_a_change_of_one_task_takes_its_name_as_it_is():
    change = Change.of_task("kworker/0:1.nice=5")
    assert change.matches("kworker/0:1")
    assert not Change.of_task("h.g.nice=5").matches("hog")


def test_a_quota_makes_a_group_of_the_tasks():
    changed = apply(Asked((Change.read("hog: quota=50ms/100ms, weight=512"),)), DOCUMENT, NAMES).definition
    assert changed["groups"] == {"changed-1": {"quota": "50ms", "period": "100ms", "weight": 512}}
    assert changed["workload"]["hog"]["group"] == "changed-1"


def test_tasks_go_into_a_group_of_the_recording_or_into_a_new_one():
    recorded = {**DOCUMENT, "groups": {"web": {"weight": 50}}}
    changed = apply(Asked((Change.of_task("hog.group=web"),)), recorded, NAMES).definition
    assert changed["groups"] == recorded["groups"]
    assert changed["workload"]["hog"]["group"] == "web"
    changed = apply(Asked((Change.read("hog: group=batch"),)), recorded, NAMES).definition
    assert changed["groups"]["batch"] == {"weight": 1024}


def test_the_number_of_processors_is_a_field_like_others():
    asked = Asked().having("machine.processors=1").having("scheduler.name=ule")
    assert (asked.processors, asked.sets) == (1, ("scheduler.name=ule",))
    assert Asked().having("processors=4").processors == 4
    for wrong in ("0", "1025", "two"):
        with pytest.raises(UsageError, match="from 1 to 1024"):
            Asked().having(f"processors={wrong}")


def test_a_task_whose_processor_is_gone_may_use_all():
    changed = apply(Asked(processors=1), DOCUMENT, NAMES)
    assert "cpus" not in changed.definition["workload"]["hog"]
    assert changed.notes == ["hog was bound to processor 1, which is not there: it may use all"]


def test_another_policy_has_not_the_parameters_of_the_recorded_one():
    changed = apply(Asked(sets=("scheduler.name=ule",)), DOCUMENT, NAMES)
    assert changed.definition["scheduler"] == {"name": "ule"}


def test_a_slice_is_the_setting_of_a_host():
    assert apply(Asked(sets=("scheduler.slice=1ms",)), DOCUMENT, NAMES).sets == ["scheduler.base_slice=1ms"]
    with pytest.raises(UsageError, match=r"--set scheduler.slice=1: is no duration"):
        apply(Asked(sets=("scheduler.slice=1",)), DOCUMENT, NAMES)


def test_a_recorded_slice_grows_with_the_processors_as_that_of_a_kernel_does():
    recorded = {**DOCUMENT, "scheduler": {"name": "eevdf", "base_slice": "1500000ns"}}
    for processors, expected in ((1, "750000ns"), (2, "1500000ns"), (4, "2250000ns"), (64, "3000000ns")):
        changed = apply(Asked(processors=processors), recorded, NAMES).definition
        assert changed["scheduler"]["base_slice"] == expected


def test_a_number_that_the_replay_does_not_give_is_not_predicted():
    assert judge(("share_pct",), 50.0, [53.0, 53.1], [60.0]).predicted is None
    assert judge(("switches_per_s",), 100.0, [116.0, 117.0], [60.0]).predicted is None
    assert judge(("wakeup_us", "p99"), 4000.0, [5000.0, 5100.0], [60.0]).predicted is None
    assert judge(("wakeup_us", "p99"), 4000.0, [3000.0, 5100.0], [60.0]).predicted == 60.0


def test_an_interval_is_widened_by_what_the_replay_is_off():
    found = judge(("switches_per_s",), 110.0, [100.0, 100.0], [50.0, 60.0])
    assert (found.predicted, found.low, found.high) == (55.0, 47.5, pytest.approx(66.0))
    share = judge(("share_pct",), 50.0, [51.0], [30.0, 32.0])
    assert (share.low, share.high) == (29.0, 33.0)


class Traced:
    """A recording as tracefs prints it, of one processor."""

    def __init__(self, **priorities: int):
        """Begin idle. Priorities are the kernel's, by name of tasks; others have nice 0."""
        self.priorities = priorities
        self.lines = ["# tracer: nop", "#", "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION"]
        self.current = ("<idle>", 0)

    def switch(self, time_ms: float, to: tuple[str, int], state: str = "R") -> None:
        """The processor goes to another task."""
        name, pid = ("swapper/0", 0) if self.current[1] == 0 else self.current
        before, after = (self.priorities.get(one, 120) for one in (name, to[0]))
        event = f"prev_comm={name} prev_pid={pid} prev_prio={before} prev_state={state} ==> "
        self._line(time_ms, "d..2.", f"sched_switch: {event}next_comm={to[0]} next_pid={to[1]} next_prio={after}")
        self.current = to

    def wake(self, time_ms: float, task: tuple[str, int], flags: str = "d.h2.") -> None:
        """A task is woken."""
        self._line(time_ms, flags, f"sched_waking: comm={task[0]} pid={task[1]} prio=120 target_cpu=000")

    def _line(self, time_ms: float, flags: str, event: str) -> None:
        self.lines.append(
            f"{self.current[0]:>16}-{self.current[1]:<7} [000] {flags}  {time_ms / 1000 + 5:.6f}: {event}"
        )

    def write(self, path: Path) -> Path:
        """Write the file."""
        path.write_text("\n".join(self.lines) + "\n")
        return path


@pytest.fixture(scope="module")
def hogs(tmp_path_factory) -> Path:
    """Two hogs that took turns of 4 ms for two seconds."""
    trace, hogs = Traced(), [("a", 101), ("b", 102)]
    trace.switch(0, hogs[0])
    for turn in range(1, 500):
        trace.switch(4 * turn, hogs[turn % 2])
    return trace.write(tmp_path_factory.mktemp("hogs") / "hogs.txt")


@pytest.fixture
def predicted(schedlab):
    """Asks for a prediction, and gives the answer as JSON."""

    def ask(recording: Path, *words: str) -> dict:
        done = schedlab("whatif", str(recording), "--json", "--seeds", "4", *words)
        assert done.returncode == 0, done.stderr
        return valid(json.loads(done.stdout), "whatif")

    return ask


def test_hogs_share_by_weight_when_one_is_nicer(hogs, predicted):
    found = predicted(hogs, "--change", "b: nice=5")
    # Weights of nice 0 and 5 in kernel/sched/core.c.
    for name, weight in (("a", 1024), ("b", 335)):
        share = found["groups"][name]["share_pct"]
        assert share["recorded"] == pytest.approx(50, abs=0.5)
        assert share["predicted"] == pytest.approx(100 * weight / 1359, abs=1)
        assert share["low"] <= share["predicted"] <= share["high"]
    assert found["change"] == ["b: nice=5"]
    assert found["unattributed_share"] == 0


def test_without_a_change_the_replay_gives_the_recording(hogs, predicted):
    found = predicted(hogs)
    for name in ("a", "b"):
        numbers = found["groups"][name]
        assert numbers["share_pct"]["predicted"] == pytest.approx(50, abs=1)
        assert numbers["switches_per_s"]["predicted"] == pytest.approx(125, rel=0.15)
    assert found["elapsed_s"] is None


def test_a_group_without_tasks_is_named(hogs, predicted):
    (said,) = predicted(hogs, "--group", "none=ab")["cannot_tell"]
    assert (said["what"], "matches ab as a whole" in said["why"]) == ("none", True)


def test_a_hog_alone_has_the_processor(hogs, predicted):
    share = predicted(hogs, "--remove", "b")["groups"]["a"]["share_pct"]
    assert share["predicted"] == pytest.approx(100, abs=1)


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Path:
    """A client asks a server, which computes 3 ms, every 10 ms."""
    trace = Traced()
    client, server, idle = ("client", 11), ("server", 12), ("swapper/0", 0)
    for begin in range(10, 2000, 10):
        trace.wake(begin, client)
        trace.switch(begin + 0.01, client)
        trace.wake(begin + 0.5, server, "d..2.")
        trace.switch(begin + 0.51, server, "S")
        trace.wake(begin + 3.5, client, "d..2.")
        trace.switch(begin + 3.52, client, "S")
        trace.switch(begin + 4, idle, "S")
    return trace.write(tmp_path_factory.mktemp("served") / "served.txt")


def test_a_server_is_woken_by_its_client_and_not_by_the_clock(served, predicted):
    found = predicted(served)
    assert found["causes"]["server"]["tasks"] >= 190
    assert found["causes"]["client"]["tasks"] >= 190
    assert found["groups"]["server"]["share_pct"]["predicted"] == pytest.approx(30, abs=1)


@pytest.fixture(scope="module")
def looped(tmp_path_factory) -> Path:
    """Two tasks wake each other every 0.7 ms; a real-time task takes the first half of each 10 ms from them."""
    trace, pair, urgent = Traced(urgent=49), [("one", 11), ("two", 12)], ("urgent", 13)
    trace.switch(0, pair[0])
    running, left, now = 0, 0.7, 0.0
    for begin in range(10, 2000, 10):
        while now + left < begin - 0.01:
            now, running, left = now + left, 1 - running, 0.7
            trace.wake(now, pair[running], "d..2.")
            trace.switch(now, pair[running], "S")
        left = max(left - (begin - now), 0.02)
        trace.wake(begin, urgent)
        trace.switch(begin, urgent)
        now = begin + 5
        trace.switch(now, pair[running], "S")
    return trace.write(tmp_path_factory.mktemp("looped") / "looped.txt")


def test_a_closed_loop_that_has_more_time_does_more_than_it_did_in_the_recording(looped, predicted):
    found = predicted(looped, "--remove", "urgent")
    for name in ("one", "two"):
        share = found["groups"][name]["share_pct"]
        assert share["recorded"] == pytest.approx(25, abs=1)
        assert share["predicted"] == pytest.approx(50, abs=1.5)


def sleeper(path: Path, sleeps_ms: list[float]) -> Path:
    """A task computes 8 ms and sleeps, in turn as listed; a real-time task has the processor for 4 of each 10 ms."""
    trace, player, urgent, idle = Traced(urgent=49), ("player", 11), ("urgent", 12), ("swapper/0", 0)
    now, left, wakes, naps = 0.0, 8.0, None, 0
    trace.switch(0, player)
    for begin in range(10, 2000, 10):
        while wakes or now + left < begin:
            if wakes and wakes >= begin:
                break
            if wakes:
                now, left, wakes = wakes, 8.0, None
                trace.wake(now, player)
                trace.switch(now, player)
            else:
                now += left
                wakes, naps = now + sleeps_ms[naps % len(sleeps_ms)], naps + 1
                trace.switch(now, idle, "S")
        left -= 0.0 if wakes else begin - now
        trace.wake(begin, urgent)
        trace.switch(begin, urgent)
        now = begin + 4.0
        if wakes and wakes < now:
            trace.wake(wakes, player)
            left, wakes = 8.0, None
        trace.switch(now, idle if wakes else player, "S")
    return trace.write(path)


def test_a_task_whose_timers_show_no_rule_is_not_predicted_where_it_would_run_more(tmp_path, predicted):
    irregular = sleeper(tmp_path / "irregular.txt", [2, 7, 3.1, 5.3, 11, 2.6, 6.7])
    as_recorded = predicted(irregular)
    assert as_recorded["causes"]["player"]["irregular_timers"] > 50
    assert as_recorded["groups"]["player"]["share_pct"]["predicted"] is not None
    found = predicted(irregular, "--remove", "urgent")
    assert found["groups"]["player"]["share_pct"]["predicted"] is None
    assert "neither a period nor a length" in json.dumps(found["cannot_tell"])
    regular = predicted(sleeper(tmp_path / "regular.txt", [4]), "--remove", "urgent")
    assert regular["groups"]["player"]["share_pct"]["predicted"] == pytest.approx(100 * 8 / 12, abs=2)


def test_a_task_that_misses_periods_is_named(tmp_path, predicted):
    trace, player, idle, now = Traced(), ("player", 11), ("swapper/0", 0), 0.0
    for turn in range(90):
        now += 20 if turn % 3 == 0 else 10
        trace.wake(now, player)
        trace.switch(now, player)
        trace.switch(now + 1 + turn % 5, idle, "S")
    found = predicted(trace.write(tmp_path / "missed.txt"))
    assert found["causes"]["player"]["missed_periods"] == pytest.approx(30, abs=1)
    assert "what player does when it is on time" in [it["what"] for it in found["cannot_tell"]]


def test_recorded_work_is_an_experiment_that_runs(served, tmp_path, schedlab):
    out = tmp_path / "mine.toml"
    done = schedlab("whatif", str(served), "--change", "server: nice=5", "--write", str(out))
    assert done.returncode == 0, done.stderr
    assert "nice = 5" in out.read_text()
    ran = schedlab("run", str(out), "--set", "seeds=2", "--json", "--out", str(tmp_path / "results"))
    assert ran.returncode == 0, ran.stderr
    changed = out.with_suffix(".work")
    changed.write_bytes(changed.read_bytes()[:-1] + b"\x01")
    refused = schedlab("run", str(out), "--set", "seeds=3", "--out", str(tmp_path / "results"))
    assert refused.returncode == 2
    assert "the file was changed" in refused.stderr


def test_a_recording_without_switches_is_refused_with_what_to_record(tmp_path, schedlab):
    trace = Traced()
    trace.wake(1, ("a", 5))
    done = schedlab("whatif", str(trace.write(tmp_path / "few.txt")))
    assert done.returncode == 2
    assert "sched_switch" in done.stderr


def shares(**of: float) -> dict:
    """A run in which tasks had these shares."""
    rows = [{"comm": name, "share_pct": share, "wakeups": 100, "blocks": []} for name, share in of.items()]
    return {"tasks": rows, "groups": {}, "span_s": 1.0, "blocks": {"count": 1, "width_s": 1.0}}


@pytest.mark.parametrize(("replayed", "is_predicted"), [(64.0, True), (66.0, False), (55.5, True), (54.0, False)])
def test_nothing_is_predicted_where_what_competes_is_far_off(replayed, is_predicted):
    recorded = shares(hog=60.0, server=20.0) | {"lost": 0}
    one = Prepared({"recorded": recorded, "causes": {}, "fixed_work": None}, Path("none"))
    found = predict(one, Asked(), [], [shares(hog=replayed, server=20.1)], [shares(hog=40.0, server=39.0)], 10.0)
    share = found.groups["server"][0]
    assert (share.predicted is not None) == is_predicted
    assert is_predicted or share.why_not.startswith("the share of hog, which competes for the processors")


def run_of(shares_pct: list[float]) -> dict:
    """A run of a second in which a task had these shares of as many blocks."""
    width = 1.0 / len(shares_pct)
    blocks = [{"block": block, "run_s": share / 100 * width} for block, share in enumerate(shares_pct)]
    row = {"comm": "server", "share_pct": fmean(shares_pct), "wakeups": None, "blocks": blocks}
    whole = {"blocks": {"count": len(shares_pct), "width_s": width}}
    return {"tasks": [row], "groups": {}, "span_s": 1.0} | whole


def test_an_interval_has_what_another_run_may_give_though_replays_agree():
    steady, changing = [40.0] * 50, [10.0, 70.0] * 25
    for of_blocks, width in ((steady, 0.0), (changing, 4 * 30 / 50**0.5 * 2**0.5)):
        recorded = run_of(of_blocks) | {"lost": 0}
        one = Prepared({"recorded": recorded, "causes": {}, "fixed_work": None}, Path("none"))
        replays = [run_of(of_blocks)] * 3
        share = predict(one, Asked(), [], replays, replays, 10.0).groups["server"][0]
        assert share.predicted == pytest.approx(40)
        assert share.high - share.low == pytest.approx(width + 2, rel=0.2)


def test_a_recording_that_lacks_events_says_so_first_and_exits_with_3(hogs, tmp_path, schedlab):
    lines = hogs.read_text().splitlines()
    lossy = tmp_path / "lossy.txt"
    lossy.write_text("\n".join([*lines[:200], "CPU:0 [LOST 12 EVENTS]", *lines[200:]]) + "\n")
    for more in ((), ("--write", str(tmp_path / "mine.toml"))):
        done = schedlab("whatif", str(lossy), "--seeds", "2", *more)
        assert done.returncode == 3
        assert "lost: 12 events" in (done.stdout + done.stderr).partition("recorded")[0]
        assert schedlab("whatif", str(lossy), "--seeds", "2", "--allow-loss", *more).returncode == 0
    found = json.loads(schedlab("whatif", str(lossy), "--json", "--seeds", "2").stdout)
    assert found["lost"] == 12


def test_processors_are_swept_as_they_are_set(hogs, schedlab):
    done = schedlab("whatif", str(hogs), "--json", "--seeds", "2", "--sweep", "processors=1,2")
    points = json.loads(done.stdout)["points"]
    assert [point["groups"]["a"]["share_pct"]["predicted"] for point in points] == pytest.approx([50, 100], abs=1)


def test_a_recording_of_which_nothing_is_left_is_refused(hogs, schedlab):
    done = schedlab("whatif", str(hogs), "--remove", ".*")
    assert done.returncode == 2
    assert "nothing is left to replay" in done.stderr
