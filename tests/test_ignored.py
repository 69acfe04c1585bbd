"""What a target makes nothing of is refused or said, before anything is measured, wherever the numbers are shown."""

import json
import tomllib

import pytest
from conftest import ROOT
from test_cli import refused
from test_live import host, log_of  # noqa: F401

from schedlab.experiment import Experiment
from schedlab.targets import ignored

FILE = """
machine = { preset = "host", processors = 1 }
seeds = 1
duration = "1s"
metrics = ["tasks.hog.real"]
[workload]
hog = { load = "spin", compute = "10ms" }
"""


def asked(*set):
    return Experiment.from_text(FILE, "x.toml", set=list(set))


#: What a file gives, and what a real kernel ignores of it.
GIVEN = {
    "scheduler.name=minix": ["scheduler.name = minix: the kernel has its own (eevdf)"],
    "scheduler.name=eevdf": [],
    "scheduler={name='minix', ready_at='head'}": [
        "scheduler.name = minix: the kernel has its own (eevdf)",
        "scheduler.ready_at: real kernels have no such setting",
    ],
    "scheduler={name='eevdf', base_slice='5ms'}": [],
    "cache.name=arc": ["cache.name = arc: the kernel has its own block cache"],
    "reclaim={name='two_list', swappiness=10}": ["reclaim.name = two_list: the kernel has its own"],
    "machine.preemption=none": ["machine.preemption = none: the real machine has its own"],
    "machine.costs={context_switch='5us'}": ["machine.costs.context_switch = 5us: the real machine has its own"],
    "machine.clock={hz='100/s'}": ["machine.clock.hz = 100/s: the real machine has its own"],
    "machine.memory={size='64MiB', swap='32MiB'}": ["machine.memory.size = 64MiB: the real machine has its own"],
    "machine=uniform": [
        "machine = uniform: the real machine is used; of this one only processors, disk, queue.requests, memory.swap"
    ],
    "machine.drive=st380011a": [],
    "machine.queue={requests=64, writes=8}": ["machine.queue.writes = 8: the real machine has its own"],
    "workload.hog.policy=iso": ["workload.hog.policy = iso: Linux has none, and its tasks are ordinary ones"],
    "workload.hog.nice=20": ["workload.hog.nice = 20: Linux's highest is 19, which is taken"],
    "workload.hog.nice=19": [],
    "workload.hog={steps=[{set={nice=20}}, {set={policy='iso'}}, {set={nice=19}}, {compute='10ms'}]}": [
        "workload.hog.steps: set.nice = 20: Linux's highest is 19, which is taken",
        "workload.hog.steps: set.policy = iso: Linux has none, and its tasks are ordinary ones",
    ],
    "workload.hog.session=one": [],
    "groups={one={weight=512, memory='64MiB'}}": [],
    "tunables={swappiness=10}": [],
    "elevator.name=deadline": [],
}  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), GIVEN.items(), ids=GIVEN)
def test_a_real_kernel_ignores_what_it_has_of_its_own(given, expected):
    # On the machine "host" the scheduler may be left out; on any other it must be given.
    more = ["scheduler.name=eevdf"] if given == "machine=uniform" else []
    assert ignored.by_kernel(asked(given, *more), "eevdf") == expected


@pytest.mark.parametrize("given", ["tunables={swappiness=10}", "groups={one={memory='64MiB'}}"])
def test_what_a_simulated_machine_does_not_have_is_refused_before_a_host_measures(schedlab, host, given):  # noqa: F811
    (schedlab.folder / "x.toml").write_text(FILE)
    done = schedlab("run", "x.toml", "--on", "host,sim", "--set", given, "--trust")
    assert (done.returncode, "only a " in done.stderr) == (2, True), done.stderr
    assert not host.asked("calibrate")


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("scheduler.name", '["minix", "eevdf"]'),
        ("scheduler.ready_at", '["head", "tail"]'),
        ("cache.name", '["lru", "arc"]'),
        ("machine.preemption", '["none", "full"]'),
        ("machine.costs.trap", '["1us", "2us"]'),
    ],
)
def test_a_sweep_of_what_a_host_ignores_is_refused_before_anything_is_measured(schedlab, host, path, values):  # noqa: F811
    given = {"scheduler": '"minix"', "cache": '"lru"'}
    part = path.partition(".")[0]
    more = f"{part}.name = {given[part]}\n" if part in given and not path.endswith("name") else ""
    (schedlab.folder / "x.toml").write_text(f'{more}{FILE}[sweep]\n"{path}" = {values}\n')
    refused(schedlab("run", "x.toml", "--on", "sim,host"), path, "one measurement under two names")
    assert not host.asked("calibrate")
    assert not (schedlab.folder / "results").exists()


def test_what_is_ignored_is_reported_before_the_runs_below_the_table_in_json_and_in_the_manifest(schedlab, host):  # noqa: F811
    (schedlab.folder / "x.toml").write_text(f'scheduler = {{ name = "minix" }}\n{FILE}')
    done = schedlab("run", "x.toml", "--on", "sim,host")
    assert done.returncode == 0, done.stderr
    first = done.stderr.splitlines()[0]
    assert first.startswith("host ignores scheduler.name = minix: the kernel has its own (")
    assert "ignored on host: scheduler.name = minix" in done.stdout
    document = schedlab.json("run", "x.toml", "--on", "sim,host")
    assert list(document["ignored"]) == ["host"]
    (manifest,) = schedlab.folder.rglob("manifest.json")
    assert json.loads(manifest.read_text())["places"]["host"]["ignored"] == document["ignored"]["host"]
    assert "ignores" not in schedlab("run", "x.toml", "--on", "sim,host").stderr, "nothing is measured"


def test_attention_levels_are_none_of_what_a_host_ignores():
    sweep = '[attention]\nfocus = [{ at = "0s", job = "hog" }]\n[sweep]\n"attention.enabled" = [false, true]'
    cells = Experiment.from_text(FILE + sweep, "x.toml").cells()
    ignored.refuse_alike(cells, "host", ignored.of_kernel)
    assert ["attention" in cell.scenario for cell in cells] == [False, True]


def test_a_sweep_of_what_tasks_share_is_none_of_what_a_host_ignores():
    sweep = '[shared]\nq = { queue = 1 }\n[sweep]\n"shared.q.queue" = [1, 2]'
    cells = Experiment.from_text(FILE + sweep, "x.toml").cells()
    ignored.refuse_alike(cells, "host", ignored.of_kernel)
    assert len(cells) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--scratch", "loop:much"), "is no size"),
        (("--set", "elevator.name=sstf", "--trust"), "does not offer"),
        (("--set", "machine.drive=st380011a", "--set", "elevator.name=sstf", "--trust"), "does not offer"),
    ],
)
def test_what_a_host_cannot_do_is_refused_before_the_calibration(schedlab, host, words, said):  # noqa: F811
    host.says(refuses="elevator: this kernel does not offer it")
    (schedlab.folder / "x.toml").write_text(FILE)
    refused(schedlab("run", "x.toml", "--on", "host", *words), said)
    assert not host.asked("calibrate")


@pytest.mark.parametrize(
    ("machine", "lacking"),
    [
        ('"guest"', None),
        ('{ preset = "guest", processors = 2 }', None),
        ('{ name = "bare", processors = 2 }', None),
        ('{ name = "guest", processors = 2 }', "accounting, calls, clock, costs, files"),
    ],
)
def test_a_machine_that_only_has_the_name_of_a_preset_is_noted(schedlab, machine, lacking):
    hog = 'workload.hog = { load = "spin", compute = "10ms" }'
    text = f'machine = {machine}\nscheduler = {{ name = "cfs" }}\n{hog}\n'
    notes = Experiment.from_text(text, "x.toml").notes
    assert len(notes) == (0 if lacking is None else 1)
    for note in notes:
        assert lacking in note
        (schedlab.folder / "x.toml").write_text(text)
        assert f"x.toml: {note}\n" in schedlab("run", "x.toml").stderr


def test_a_machine_with_all_that_its_preset_has_is_not_noted():
    """Such tables are what programs write."""
    with open(ROOT / "machines" / "guest.toml", "rb") as file:
        whole = tomllib.load(file)
    job = {"load": "spin", "compute": "1s"}
    definition = {"machine": whole, "scheduler": {"name": "cfs"}, "workload": {"hog": job}}
    assert Experiment.from_dict(definition).notes == ()
