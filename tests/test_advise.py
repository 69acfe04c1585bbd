"""`schedlab advise`: what is tried for which shortage, and that a host is as it was when it is over."""

import json

import pytest
from conftest import agent_or_skip, valid

from schedlab import Experiment
from schedlab.observe import remedy
from schedlab.observe.diagnose import Finding
from schedlab.tune.space import Space


def finding(resource, device=None):
    return Finding(resource, True, [], [], "%", device, [])


def tunable(name, value, domain=None, access="writable"):
    return {"name": name, "value": value, "access": access, "domain": domain or {"kind": "count", "low": 0, "high": 9}}


HERE = [
    tunable("slice", None, access="per_task"),
    tunable("autogroup", "true", {"kind": "switch"}),
    tunable("swappiness", "60"),
    tunable("thp", "madvise", {"kind": "choice", "names": ["always", "madvise", "never"]}),
    tunable("elevator@vda", "none", {"kind": "choice", "names": ["none", "mq-deadline"]}),
    tunable("read_ahead@vda", "128KiB"),
    tunable("base_slice", None, access="unmounted"),
]


@pytest.mark.parametrize(
    ("short", "fields"),
    [
        (None, ["scheduler.base_slice", "tunables.autogroup", "workload.command.policy"]),
        (finding("processor"), ["scheduler.base_slice", "tunables.autogroup", "workload.command.policy"]),
        (finding("disk", "vda"), ["tunables.elevator@vda", "tunables.read_ahead@vda"]),
        (finding("memory and paging"), ["tunables.swappiness", "tunables.thp"]),
    ],
)
def test_a_command_is_tried_with_the_settings_of_what_is_short(short, fields):
    experiment = Experiment.from_dict(remedy.search(short, HERE, "make -j4"))
    assert sorted(experiment.definition["space"]) == fields
    assert experiment.definition["goal"] == {"minimize": ["tasks.command.real"]}
    space = Space.of(experiment)
    now = space.fields(space.present)
    # What is known of the host is written; the slice of tasks that ask for none is not.
    assert {path for path, value in now.items() if value is None} <= {"scheduler.base_slice"}
    assert now.get("tunables.swappiness", 60) == 60


@pytest.mark.parametrize("resource", ["processor", "run queue", "disk", "memory and paging"])
def test_a_load_like_the_one_seen_is_tried_without_a_command(resource):
    experiment = Experiment.from_dict(remedy.search(finding(resource, "vda"), HERE))
    assert experiment.definition["goal"]["minimize"]
    assert not experiment.definition.get("sweep")
    space = Space.of(experiment)
    assert space.size > 1
    assert None not in space.fields(space.present).values()


def test_where_nothing_is_short_there_is_nothing_to_try():
    assert remedy.search(None, HERE) is None
    assert remedy.search(finding("network"), HERE) is None
    assert remedy.search(finding("disk", "vdb"), HERE) is None


def test_a_command_is_advised_on_and_the_host_is_left_as_it_was(schedlab):
    agent_or_skip()
    before = [(one["name"], one["value"]) for one in schedlab.json("host", "tunables")["tunables"]]
    done = schedlab("advise", "--for", "400ms", "--budget", "12", "--json", "--", "true")
    assert done.returncode == 0, done.stderr
    document = valid(json.loads(done.stdout))
    assert document["tuning"]["runs"] <= 12
    assert document["advice"] == document["tuning"]["words"]
    after = [(one["name"], one["value"]) for one in schedlab.json("host", "tunables")["tunables"]]
    assert after == before


def test_a_command_that_fails_is_not_run_again(schedlab):
    agent_or_skip()
    done = schedlab("advise", "--for", "300ms", "--", "echo once >> runs; exit 3")
    assert (done.returncode, done.stdout) == (2, "")
    assert "ended with status 3; nothing was tried" in done.stderr
    assert (schedlab.folder / "runs").read_text() == "once\n"


def test_the_experiment_can_be_written_and_read_instead(schedlab):
    agent_or_skip()
    done = schedlab("advise", "--for", "300ms", "--write", "try.toml", "--", "true")
    assert done.returncode == 0, done.stderr
    experiment = Experiment.from_toml(schedlab.folder / "try.toml")
    assert experiment.is_of_host
    assert schedlab("lint", "try.toml").returncode == 0
