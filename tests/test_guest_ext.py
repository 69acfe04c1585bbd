"""Schedulers of one's own in guest kernels: built, loaded, believed only while the kernel keeps them."""

import dataclasses
import json
import shutil
import struct
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from hypothesis import given as given_
from hypothesis import settings
from hypothesis import strategies as st
from test_cli import refused
from test_guest import quiet

from schedlab.errors import UsageError
from schedlab.experiment import Experiment
from schedlab.specification import USUAL_SWAP, Cell
from schedlab.targets.guest import build, constants, elf, ext, kernels, machine, target
from schedlab.targets.guest.setup import Setup
from schedlab.targets.host.target import Host

KERNEL = "6.17"
SCHEDULERS = ROOT / "examples" / "schedulers"
#: Shares its processor by weights, with constants that a loader would fill.
WEIGHTED = ROOT / "tests" / "schedulers" / "weighted.bpf.c"
#: The kernel's weights of nice 0 and nice 5.
WEIGHTS = 1024, 335
#: The slice in fifo.bpf.c, and the clock tick at which it ends, ms.
SLICE, TICK = 20, 4

BROKEN = """
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
char LICENSE[] SEC("license") = "GPL";
SEC("struct_ops/broken_enqueue")
int BPF_PROG(broken_enqueue, struct task_struct *p, u64 enq_flags)
{
	BODY
	return 0;
}
SEC(".struct_ops.link")
struct sched_ext_ops broken = { .enqueue = (void *)broken_enqueue, .name = "broken", .timeout_ms = 1000 };
"""
#: It reads what it may not.
UNSAFE = "scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, *(u64 *)enq_flags, enq_flags);"
#: It forgets the tasks that are nice, so that they never run again.
FORGETFUL = "if (p->static_prio <= 120) scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 20000000, enq_flags);"


@pytest.fixture(scope="module")
def guest():
    """A machine with sched_ext, and all that compiles for it; where they cannot be had, the reason."""
    try:
        ready = machine.ready(KERNEL, quiet)
        ext.tool(quiet)
        build.compiler(quiet)
        build.headers(quiet)
        return ready
    except UsageError as why:
        pytest.skip(str(why))


def built(source, guest):
    return build.build(Path(source), guest, quiet)


@pytest.fixture
def example(guest, tmp_path):
    """The example's experiment, in a folder with its scheduler."""
    for name in ("fifo.bpf.c", "fifo.toml"):
        shutil.copy(SCHEDULERS / name, tmp_path)
    built(tmp_path / "fifo.bpf.c", guest)
    return Experiment.from_toml(tmp_path / "fifo.toml")


def asked(experiment, guest):
    """What comes of it in the guest."""
    there = target.Guest(KERNEL, True, folder=experiment.folder, _machine=guest)
    return experiment.run(experiment.folder, targets=[there])


def table(results):
    """Means by metric, for each cell in the order of the file."""
    cells = {}
    for row in results.summary("*").iter_rows(named=True):
        cells.setdefault(row.get("tunables.sched_ext"), {})[row["metric"]] = row["mean"]
    return list(cells.values())


def simulated(experiment, slice_):
    """The same tasks under the simulator's round robin."""
    fields = {"machine": {"preset": "uniform"}, "scheduler": {"name": "round_robin", "slice": f"{slice_}ms"}}
    definition = {k: v for k, v in experiment.definition.items() if k not in ("tunables", "sweep")}
    (row,) = table(Experiment.from_dict(definition | fields).run(experiment.folder))
    return row


def part(row):
    """What a has of what both hogs have."""
    return row["tasks.a.share"] / (row["tasks.a.share"] + row["tasks.b.share"])


def wanting(named):
    """A cell that asks for that scheduler."""
    scenario = {"machine": {"processors": 1, "memory": {"swap": USUAL_SWAP}}, "workload": {"a": {"load": "spin"}}}
    return Cell(scenario, {}, "1", {"tunables": {"sched_ext": named}})


@pytest.fixture(params=["config-9.9", "config"])
def plain(tmp_path, request):
    """A kernel of a package, older or newer, that was built without sched_ext."""
    (tmp_path / request.param).write_text("CONFIG_BPF=y\n# CONFIG_SCHED_CLASS_EXT is not set\n")
    return kernels.Kernel("9.9", tmp_path / "vmlinuz-9.9", "9.9", "9.9-1")


def test_no_scheduler_asks_for_no_file(plain, tmp_path):
    assert ext.files("none", tmp_path, plain, quiet) == {}


def test_a_kernel_without_sched_ext_is_refused(plain, tmp_path):
    with pytest.raises(UsageError, match=r"guest:9\.9: tunables\.sched_ext: .*CONFIG_SCHED_CLASS_EXT; guest:6\.17 has"):
        ext.files("fifo.bpf.o", tmp_path, plain, quiet)


def test_what_is_no_object_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"absent\.bpf\.o cannot be read: No such file.*'none' is the kernel's own"):
        ext.read(tmp_path / "absent.bpf.o")
    (tmp_path / "text.bpf.o").write_text("struct sched_ext_ops fifo;")
    with pytest.raises(UsageError, match=r"text\.bpf\.o is no object for BPF .*guest build"):
        ext.read(tmp_path / "text.bpf.o")
    with pytest.raises(UsageError, match="is no object for BPF"):
        ext.read(Path(sys.executable))


def test_a_scheduler_is_refused_where_it_would_harm_others():
    with pytest.raises(UsageError, match=r"only guests' kernels are given one: run it --on guest:6\.17"):
        Host().cells([wanting("fifo.bpf.o")])


def test_a_simulated_machine_has_no_place_for_it(schedlab):
    shutil.copy(SCHEDULERS / "fifo.toml", schedlab.folder)
    refused(schedlab("run", "fifo.toml", "--on", "sim"), "only a real machine has tunables")


def test_a_path_begins_where_the_experiment_lies(tmp_path):
    shutil.copy(SCHEDULERS / "fifo.toml", tmp_path)
    read = Experiment.from_toml(tmp_path / "fifo.toml")
    assert read.folder == tmp_path
    assert read.sweep({"workload.b.nice": [0, 5]}).folder == tmp_path


def test_a_source_that_is_none_is_refused(guest, tmp_path):
    with pytest.raises(UsageError, match=r"the name of a scheduler's source ends in \.bpf\.c"):
        built(tmp_path / "fifo.c", guest)
    with pytest.raises(UsageError, match="there is no such file"):
        built(tmp_path / "fifo.bpf.c", guest)
    (tmp_path / "fifo.bpf.c").write_text("struct sched_ext_ops fifo;\nint x = y;\n")
    with pytest.raises(UsageError, match=r"does not compile:(?s:.*)undeclared identifier 'y'"):
        built(tmp_path / "fifo.bpf.c", guest)
    assert [path.name for path in tmp_path.iterdir()] == ["fifo.bpf.c"]


def test_the_same_source_makes_the_same_object_in_any_folder(guest, tmp_path):
    objects = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        source = shutil.copy(SCHEDULERS / "fifo.bpf.c", tmp_path / name)
        objects.append(built(source, guest).read_bytes())
    assert objects[0] == objects[1]


def test_another_object_under_the_same_name_is_another_result(guest, tmp_path):
    path = built(shutil.copy(SCHEDULERS / "fifo.bpf.c", tmp_path), guest)
    cell = wanting(path.name)

    def hashed():
        return target.Guest(KERNEL, True, folder=tmp_path, _machine=guest).cells([cell])[0].hash

    first = hashed()
    assert hashed() == first
    path.write_bytes(path.read_bytes() + b"\0")
    assert hashed() != first


def test_in_a_queue_a_sleeper_waits_for_all_slices_to_the_same_byte(guest, example):
    results = asked(example, guest)
    for line in (results.folder / target.LOG).read_text().splitlines():
        assert len({boot["digest"] for boot in json.loads(line)["guests"]}) == 1
    own, queue = table(results)
    assert part(own) == pytest.approx(WEIGHTS[0] / sum(WEIGHTS), abs=0.01)
    # A slice ends at the first tick at which it is used up: the simulator's round robin with either slice is a bound.
    least, most = (simulated(example, slice_) for slice_ in (SLICE, SLICE + TICK))
    wait = "tasks.s.wakeup_latency.p50"
    assert least[wait] <= queue[wait] <= most[wait]


def test_in_a_queue_hogs_share_equally_however_nice(guest, example):
    hogs = {job: example.definition["workload"][job] for job in "ab"}
    metrics = ["tasks.a.share", "tasks.b.share"]
    alone = example.replace(workload=hogs, metrics=metrics, sweep={"tunables.sched_ext": ["fifo.bpf.o"]})
    (row,) = table(asked(alone, guest))
    assert row["tasks.a.share"] == pytest.approx(row["tasks.b.share"], abs=1)


@pytest.fixture(scope="module")
def weighted(guest, tmp_path_factory):
    """An object with constants of each kind."""
    return built(shutil.copy(WEIGHTED, tmp_path_factory.mktemp("weighted")), guest)


def given(weighted, guest, words):
    """The object with these words behind its path, as it comes into the guest."""
    named = f"'{weighted}' {words}"
    of_guest = ext.files(named, weighted.parent, guest.kernel, quiet, lambda: build.enumerators(guest, quiet))
    return of_guest[f"{ext.FOLDER}/{ext.SCHEDULER}"]


def values(program):
    """The constants of an object by name."""
    known = constants.found(program, ext.types(program, "test"))
    return {one.name: int.from_bytes(one.compiled(program), "little") for one in known}


def test_constants_are_filled_as_a_loader_would_and_nothing_else_changes(weighted, guest):
    before = weighted.read_bytes()
    assert values(before) == {"__SCX_SLICE_DFL": 0, "slack": 100, "forgetful": 0}
    after = given(weighted, guest, "forgetful=default")
    assert values(after) == {"__SCX_SLICE_DFL": 20_000_000, "slack": 100, "forgetful": 0}
    assert sum(a != b for a, b in zip(before, after, strict=True)) <= 8
    set_ = given(weighted, guest, "forgetful=true slack=0x7 __SCX_SLICE_DFL=5000000")
    assert values(set_) == {"__SCX_SLICE_DFL": 5_000_000, "slack": 7, "forgetful": 1}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("", "its loader would fill forgetful, here 0(?s:.*)forgetful=default"),
        ("forgetful=2", "forgetful=2: a whole number from 0 to 1"),
        ("forgetful=0 slack=-1", "slack=-1: a whole number from 0 to 18446744073709551615"),
        ("forgetful=0 slack=fast", "slack=fast: a whole number"),
        ("forgetfull=0", "has no constant 'forgetfull'; did you mean 'forgetful'"),
        ("forgetful", "'forgetful' is not of the form NAME=VALUE"),
        ("slack=1 slack=2", "'slack=2' is given twice"),
    ],
)
def test_a_constant_without_a_value_or_with_a_wrong_one_is_refused(weighted, guest, words, why):
    with pytest.raises(UsageError, match=why):
        given(weighted, guest, words)


def test_a_scheduler_with_filled_constants_shares_by_weight(weighted, guest):
    # Two of each: of two tasks, the one that does not run is always the next.
    hogs = {job: {"load": "spin", "passes": "forever", "count": 2, "nice": nice} for job, nice in (("a", 0), ("b", 5))}
    # Long next to the slices that tasks may be ahead: two of 24 ms, a slice and the tick that ends it, are 0.4 % of it.
    fields = {"machine": "host", "duration": "12s", "seeds": 1, "metrics": ["tasks.a.share", "tasks.b.share"]}
    asked_for = {"tunables": {"sched_ext": f"{weighted.name} forgetful=false"}}
    experiment = Experiment.from_dict(fields | asked_for | {"workload": hogs})
    (row,) = table(asked(dataclasses.replace(experiment, folder=weighted.parent), guest))
    # The kernel gives sched_ext weights of 100 and 33.
    assert part(row) == pytest.approx(100 / 133, abs=0.01)


@settings(max_examples=200)
@given_(data=st.data())
def test_damaged_objects_are_refused_in_words(data):
    size = data.draw(st.integers(0, 400))
    program = bytearray(data.draw(st.binary(min_size=size, max_size=size)))
    header = elf.MAGIC + bytes(60)
    program[: min(len(header), size)] = header[:size]
    if size >= 64:
        struct.pack_into("<Q", program, elf.SECTIONS_AT, data.draw(st.integers(0, 500)))
        struct.pack_into("<HHH", program, elf.SECTION_SIZES_AT, 64, data.draw(st.integers(0, 8)), 0)
    try:
        found = elf.symbols(bytes(program), constants.SECTION)
    except UsageError:
        return
    assert all(symbol.at + symbol.size <= size for symbol in found)


def test_a_scheduler_that_the_kernel_finds_unsafe_is_refused_with_the_reason(guest, tmp_path):
    (tmp_path / "broken.bpf.c").write_text(BROKEN.replace("BODY", UNSAFE))
    files = ext.files(str(built(tmp_path / "broken.bpf.c", guest)), tmp_path, guest.kernel, quiet)
    with pytest.raises(UsageError, match=r"does not take the scheduler(?s:.*)invalid mem access 'scalar'"):
        dataclasses.replace(guest, setup=Setup(extra=files)).ask(["check"], settle_ns=0)


def test_a_scheduler_that_is_thrown_out_gives_no_number_but_the_kernels_words(guest, example):
    (example.folder / "broken.bpf.c").write_text(BROKEN.replace("BODY", FORGETFUL))
    built(example.folder / "broken.bpf.c", guest)
    under_it = example.replace(sweep={"tunables.sched_ext": ["broken.bpf.o"]})
    with pytest.raises(UsageError, match=r"not attached, its state is \"disabled\"(?s:.*)runnable task stall"):
        asked(under_it, guest)
