"""Which programs `schedlab diagnose` names as users: made-up tasks and ends of tasks, and what is named for them."""

import pytest

from schedlab.observe import diagnose, remedy
from schedlab.observe.grouping import Grouping
from schedlab.observe.watch import Means

NOTHING = {"cpu": 0.0, "ended": 0.0, "rss": 1.0, "nvcsw": 0.0, "rkB/s": 0.0, "wkB/s": 0.0, "policy": "other"}
#: Processes of this number and the next ones live on no host: nothing about them can be asked of the kernel.
FIRST = 999_999_001


def used(tasks, ended=None, alike=None, seconds=1.0, **seen):
    """The usage; `tasks`: name and what is not nothing. `alike`: sessions and command lines, else one session."""
    grouping = Grouping(lambda pid: (alike or {}).get(pid - FIRST, (7, b"")))
    usage = diagnose.Usage(grouping=grouping)
    lines = [{**NOTHING, "pid": FIRST + number, "name": name, **had} for number, (name, had) in enumerate(tasks)]
    usage.add({"tasks": lines})
    programs = [
        {"name": name, "under": FIRST + under, "tasks": count, "ran_ns": ran, "disk_kib_per_s": kib}
        for name, under, count, ran, kib in ended or []
    ]
    usage.take({"seconds": seconds, "ended": None if ended is None else programs, **seen})
    return usage


def amounts(tasks):
    return [(task.name, round(task.amount, 6)) for task in tasks]


def test_what_children_read_is_not_their_parents():
    usage = used([("sh", {"rkB/s": 1000.0})], [("dd", 0, 9, 0, 980.0)])
    assert [task.name for task in usage.disk()] == ["dd"]


def test_a_swarm_is_named_by_its_program_and_long_lives_are_not_counted_into_the_while():
    shell = [("sh", {"cpu": 5.0, "ended": 60.0})]
    first = used(shell, [("true", 0, 900, 3e8, 0.0)]).processor()[0]
    assert (first.name, first.amount, first.note) == ("true", 60.0, "900 ended below sh")
    # One life that ended, with 10 ms within the while: the rest of its parent's credit was used before.
    assert amounts(used(shell, [("true", 0, 1, 1e7, 0.0)]).processor()) == [("sh", 5.0), ("true", 1.4)]


def test_equal_hogs_of_a_program_are_summed_and_named_before_one_larger_task():
    tasks = [("one", {"cpu": 60.0}), *[("hog", {"cpu": 30.0 + number}) for number in range(4)]]
    first, second = used(tasks).processor()
    assert (first.name, first.amount, first.note) == ("hog", 126.0, "4 tasks of this program")
    assert (first.pid, first.members) == (FIRST + 4, tuple(FIRST + number for number in (4, 3, 2, 1)))
    assert (second.name, second.members) == ("one", (FIRST,))


def test_tasks_of_one_name_are_of_one_program_by_session_or_by_command_line():
    tasks = [("one", {"cpu": 60.0}), ("sh", {"cpu": 40.0}), ("sh", {"cpu": 35.0})]
    sessions = {0: (1, b"one"), 1: (2, b"sh a"), 2: (2, b"sh b")}
    assert amounts(used(tasks, alike=sessions).processor()) == [("sh", 75.0), ("one", 60.0)]
    each_its_own = sessions | {2: (3, b"sh a")}
    assert amounts(used(tasks, alike=each_its_own).processor()) == [("sh", 75.0), ("one", 60.0)]
    strangers = sessions | {2: (3, b"sh b")}
    assert amounts(used(tasks, alike=strangers).processor()) == [("one", 60.0), ("sh", 40.0), ("sh", 35.0)]
    unknown = {number: (None, b"") for number in range(3)}
    assert len(used(tasks, alike=unknown).processor()) == 3


def test_one_program_in_many_sessions_hides_no_other():
    tasks = [*[("builder", {"cpu": 40.0 - number}) for number in range(12)], ("one", {"cpu": 9.0})]
    sessions = {number: (number, f"{number}".encode()) for number in range(13)}
    names = [task.name for task in used(tasks, alike=sessions).processor()]
    assert (len(names), names[0], names[-1]) == (10, "builder", "one")


def test_what_ended_below_several_tasks_is_one_program():
    shells = [("one", {"cpu": 50.0}), *[("sh", {"ended": 30.0, "wkB/s": 400.0})] * 3]
    ended = [("dd", number, 100, 2.5e8, 400.0) for number in (1, 2, 3)]
    usage = used(shells, ended)
    first = usage.processor()[0]
    assert (first.name, first.amount, first.note) == ("dd", 90.0, "300 ended below sh and 2 more")
    assert amounts(usage.disk()) == [("dd", 1200.0)]
    assert amounts(usage.begun()) == [("dd", 300.0)]


BUILD = [(program, 1, 100, 9e7, 0.0) for program in ("sed", "tr", "expr", "sh")]


def test_a_build_of_many_programs_is_named_by_the_task_below_which_they_ended():
    tasks = [("one", {"cpu": 30.0}), ("make", {"cpu": 2.0, "ended": 40.0})]
    usage = used(tasks, BUILD)
    first, second = usage.processor()
    assert (first.name, first.pid, first.amount) == ("make", FIRST + 1, 42.0)
    assert first.note == "of 4 programs: sed, tr, expr ..., 400 ended below make"
    assert second.name == "one"
    assert amounts(usage.begun()) == [("make", 400.0)]


def test_where_one_program_is_most_of_what_ended_it_is_named_itself():
    tasks = [("one", {}), ("make", {"cpu": 2.0})]
    assert used(tasks, [("cc1", 1, 3, 3e9, 0.0), *BUILD]).processor()[0].name == "cc1"


def test_the_first_process_of_all_is_not_what_its_wards_have_in_common():
    ended = [(program, 1 - FIRST, 100, 9e7, 0.0) for program in ("sed", "tr", "expr")]
    assert [task.name for task in used([], ended).processor()] == ["sed", "tr", "expr"]


def test_children_that_no_parent_waits_for_are_known_by_their_own_records():
    server = [("serve", {"cpu": 3.0, "ended": 0.0}), ("one", {"cpu": 50.0})]
    first, *_ = used(server, [("serve", 0, 40, 1.2e9, 0.0)]).processor()
    assert (first.name, first.pid, round(first.amount)) == ("serve", FIRST, 123)


def test_the_watch_itself_is_no_suspect():
    tasks = [("agent", {"cpu": 90.0, "wkB/s": 5.0}), ("one", {"cpu": 50.0})]
    usage = used(tasks, [("exe", 0, 9, 9e8, 5.0)], pid=FIRST)
    assert amounts(usage.processor()) == [("one", 50.0)]
    assert usage.disk() == usage.begun() == []


def test_children_whose_programs_are_not_known_have_a_unit_of_their_own():
    (task,) = used([("sh", {"cpu": 1.0, "ended": 30.0})]).begun()
    assert (task.name, task.amount, task.unit) == ("sh", 30.0, "% of a processor")


def test_only_a_single_task_uses_a_whole_processor():
    tasks = [("sum", {"cpu": 50.0}), ("sum", {"cpu": 50.0}), ("whole", {"cpu": 97.0})]
    assert [task.name for task in diagnose.at_full_speed(used(tasks))] == ["whole"]


def test_an_experiment_has_as_many_hogs_as_were_summed():
    tasks = used([*[("hog", {"cpu": 30.0})] * 5, ("one", {"cpu": 40.0})]).processor()
    finding = diagnose.Finding("processor", True, [], tasks, "", None, [])
    assert remedy.experiment(finding, [])["workload"]["hog"]["count"] == 6


@pytest.mark.parametrize(("softirq", "name"), [("BLOCK", "reader"), ("TIMER", "talker")])
def test_interrupts_of_drives_are_those_of_their_users_and_threads_of_the_kernel_work_for_others(softirq, name):
    tasks = [
        ("kworker", {"nvcsw": 9000.0}),
        ("talker", {"nvcsw": 800.0}),
        ("reader", {"nvcsw": 100.0, "rkB/s": 4000.0}),
    ]
    usage = used(tasks, alike={0: (0, b""), 1: (1, b"talker"), 2: (2, b"reader")})
    means = Means()
    means.add({"at_ns": 0, "seconds": 1.0, "missed": 0, "own_ns": 1, "system.int": 90_000.0})
    seen = {"seconds": 1.0, "softirqs": {softirq: 40_000.0, "RCU": 50.0}}
    found = next(
        it
        for it in diagnose.judge({"processors": 2, "disks": ["sda"], "links": ["lo"]}, means, usage, seen)
        if it.resource == "interrupts"
    )
    assert (found.short, found.tasks[0].name) == (True, name)
    assert "kworker" not in [task.name for task in found.tasks]
