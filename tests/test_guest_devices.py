"""Drives, memory, modules and command lines of guests: what a cell's machine is, and what true guests make of it."""

import gzip
import lzma
import shutil
import subprocess
from pathlib import Path

import pytest
from test_guest import booting, bzimage, quiet

from schedlab.errors import UsageError
from schedlab.experiment import Experiment
from schedlab.results import Results
from schedlab.targets.guest import filesystem, kernels, machine, setup, target, volume
from schedlab.targets.guest.kernels import Kernel
from schedlab.targets.guest.volume import Volume
from schedlab.targets.host.target import Host

KERNEL = "6.1"
MIB = 1 << 20

READER = """
machine = {machine}
seeds = 2
metrics = ["disk_requests", "swap_out", "tasks.reader.real"]
{more}
[groups.all]
{group}
[workload.reader]
group = "all"
steps = [{steps}]
"""


@pytest.fixture(scope="module")
def guest():
    return booting(KERNEL)


def experiment(
    machine: str = '"host"', more: str = "", group: str = "", steps: str = '{ read = "1MiB" }'
) -> Experiment:
    opened = '{ open = { files = 1, size = "1MiB" } }'
    text = READER.format(machine=machine, more=more, group=group, steps=f"{opened}, {steps}, 'close'")
    return Experiment.from_text(text, "reader.toml")


def wished(**fields: str):
    """What a cell wants for a drive."""
    cell = experiment(**fields).cells()[0]
    return volume.requested(cell.scenario, cell.host["tunables"])


def set_up(own: Volume | None = None, **fields: str):
    cell = experiment(**fields).cells()[0]
    return setup.of(cell.scenario, cell.host["tunables"], own)


def test_a_cell_that_asks_for_nothing_has_the_usual_guest():
    assert wished() is None
    assert set_up() == setup.Setup()
    assert set_up().spelled == ""


def test_a_disk_is_modelled_and_all_else_is_in_memory():
    of_1992 = '{ preset = "host", drive = "st3144a" }'
    assert wished(machine=of_1992)["disk"]["heads"]["value"] == 4
    assert wished(group='memory = "8MiB"') == {"request": "100us"}
    assert wished(more='tunables.elevator = "bfq"') == {"request": "100us"}
    assert wished(machine=of_1992, more='tunables.request_time = "1ms"') == {"request": "1ms"}
    swapping = '{ preset = "host", memory = { swap = "32MiB" } }'
    assert wished(machine=swapping) == {"request": "100us", "swap": "32MiB"}


def test_one_time_for_all_requests_is_reported():
    assert "takes 1ms for each request" in Volume({"request": "1ms"}, 64 * MIB, 1).caveat
    assert Volume({"disk": {}}, 64 * MIB, 1).caveat is None


@pytest.mark.parametrize(
    ("elevator", "modules"),
    [("bfq", ["bfq"]), ("kyber", ["kyber-iosched"]), ("mq_deadline", ["mq-deadline"]), ("fifo", []), ("none", [])],
)
def test_an_elevator_brings_its_module(elevator, modules):
    own = Volume({"request": "1ms"}, 64 * MIB, 1)
    assert list(own.modules({"elevator": elevator})) == ["null_blk", *modules]
    assert list(own.modules({"elevator@nullb0": elevator})) == ["null_blk", *modules]


def test_without_an_elevator_it_is_the_devices_usual_one():
    assert list(Volume({"request": "1ms"}, 64 * MIB, 1).modules({})) == ["null_blk", "mq-deadline"]
    assert list(Volume({"disk": {}}, 64 * MIB, 1).modules({})) == ["fuse", "loop"]


def test_memory_and_words_are_the_guests_and_the_drive_has_memory_of_its_own():
    small = '{ preset = "host", memory = { size = "256MiB" } }'
    made = set_up(machine=small, more='tunables.kernel_words = "preempt=full mitigations=off"')
    assert (made.memory_mib, made.words) == (256, ("preempt=full", "mitigations=off"))
    with_drive = set_up(Volume({"request": "1ms"}, 64 * MIB, 40), machine=small)
    assert with_drive.memory_mib == 296
    assert any(name.startswith("volume/") for name in with_drive.extra)
    assert len({made.digest, with_drive.digest, setup.Setup().digest}) == 3


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"machine": '{ preset = "host", memory = { size = "16MiB" } }'}, r"16MiB is not from 128MiB to 8192MiB"),
        ({"more": 'tunables.kernel_words = "preempt=full;reboot"'}, r"'preempt=full;reboot' is no word"),
        ({"more": 'tunables.kernel_words = "console=tty0"'}, r"'console' is set by schedlab"),
    ],
)
def test_a_guest_that_cannot_be_is_refused(fields, reason):
    with pytest.raises(UsageError, match=reason):
        set_up(**fields)


@pytest.mark.parametrize("name", ["kernel_words", "request_time"])
def test_what_only_a_guest_has_is_refused_on_the_host(name):
    cells = experiment(more=f'tunables.{name} = "1ms"').cells()
    with pytest.raises(UsageError, match=rf"tunables.{name}: a running kernel has no such setting"):
        Host().cells(cells)


@pytest.mark.skipif(not shutil.which("mke2fs", path="/sbin:/usr/sbin:/usr/bin"), reason="there is no mke2fs here")
def test_an_empty_file_system_is_sound_and_the_same_each_time(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "first"))
    first = filesystem.pieces(64 * MIB)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "second"))
    assert filesystem.pieces(64 * MIB) == first
    assert sum(map(len, first.values())) < MIB
    image = tmp_path / "image"
    with open(image, "wb") as file:
        file.truncate(64 * MIB)
        for name, piece in first.items():
            file.seek(int(name, 16))
            file.write(piece)
    checker = shutil.which("e2fsck", path="/sbin:/usr/sbin:/usr/bin")
    assert subprocess.run([checker, "-f", "-n", image], capture_output=True).returncode == 0


def own_kernel(tmp_path: Path, **modules: bytes) -> Kernel:
    """A kernel of one's own, with files of modules by their names."""
    image = bzimage(tmp_path / "bzImage")
    folder = tmp_path / "lib+modules" / "9.9.9"
    (folder / "kernel").mkdir(parents=True)
    for name, contents in modules.items():
        (folder / "kernel" / name.replace("__", ".")).write_bytes(contents)
    (folder / kernels.BUILT_IN).write_text("kernel/fs/fuse/fuse.ko\n")
    return kernels.find(f"{image}+{folder}", quiet)


def needing(*others: str) -> bytes:
    return b"\0license=GPL\0depends=" + ",".join(others).encode() + b"\0"


def test_modules_of_ones_own_build_come_after_what_they_need_however_they_are_packed(tmp_path):
    kernel = own_kernel(
        tmp_path,
        top__ko__xz=lzma.compress(needing("middle", "left-most", "fuse")),
        middle__ko__gz=gzip.compress(needing("bottom")),
        bottom__ko=needing(),
        left_most__ko=needing("bottom"),
    )
    assert list(kernels.needed(kernel, ("top",))) == ["bottom", "middle", "left-most", "top"]
    assert kernels.needed(kernel, ("fuse",)) == {}


@pytest.mark.skipif(not shutil.which("zstd"), reason="there is no zstd here")
def test_modules_packed_with_zstd_are_unpacked(tmp_path):
    packed = subprocess.run(["zstd", "-c"], input=needing(), capture_output=True, check=True).stdout
    assert kernels.module(own_kernel(tmp_path, a__ko__zst=packed), "a") == needing()


def test_a_module_that_a_kernel_lacks_is_named(tmp_path):
    kernel = own_kernel(tmp_path, null_blk__ko=needing(), broken__ko__xz=b"no archive")
    with pytest.raises(UsageError, match="has no module 'bfq', nor is it built in"):
        kernels.needed(kernel, ("bfq",))
    with pytest.raises(UsageError, match=r"broken.ko.xz cannot be unpacked"):
        kernels.needed(kernel, ("broken",))


def test_a_folder_without_modules_is_refused(tmp_path):
    image = bzimage(tmp_path / "bzImage")
    with pytest.raises(UsageError, match="there are no modules in"):
        kernels.find(f"{image}+{tmp_path / 'nowhere'}", quiet)


def run(guest, asked: Experiment, folder: Path) -> Results:
    """What comes of an experiment in the guest."""
    return asked.run(folder, targets=[target.Guest(KERNEL, of_host=True, _machine=guest)])


def means(results: Results, metric: str) -> list[float]:
    rows = results.summary("*").iter_rows(named=True)
    return [row["mean"] for row in rows if row["metric"] == metric]


def test_an_elevator_that_sorts_serves_more_requests_of_a_drive_that_seeks(guest, tmp_path):
    text = """
        machine = { preset = "host", drive = "st3144a" }
        duration = "4s"
        seeds = 2
        metrics = ["disk_requests"]
        [workload.readers]
        count = 16
        passes = "forever"
        steps = [
            { open = { files = 1, size = "48MiB", direct = true } }, { seek = "random" }, { read = "4KiB" }, "close",
            { compute = "50us" },
        ]
        [sweep]
        elevator = [{ name = "fifo" }, { name = "mq_deadline" }]
    """
    unsorted, in_order = means(run(guest, Experiment.from_text(text, "e.toml"), tmp_path), "disk_requests")
    assert in_order > 1.1 * unsorted > 0


def test_programs_of_a_limited_group_swap_to_a_drive_in_memory(guest, tmp_path):
    asked = experiment(
        machine='{ preset = "host", memory = { swap = "32MiB" } }',
        group='memory = "8MiB"',
        more='tunables.request_time = "1ms"',
        steps='{ touch = { size = "12MiB", write = true } }',
    )
    results = run(guest, asked, tmp_path)
    (swapped,) = means(results, "swap_out")
    assert swapped > 1024
    assert any("takes 1ms for each request" in one["warning"] for one in results.warnings)


def test_a_word_that_the_kernel_does_not_know_is_reported(guest, tmp_path):
    asked = experiment(more='tunables.kernel_words = "preemt=full"')
    with pytest.raises(UsageError, match=r'"preemt=full", which this kernel does not know'):
        run(guest, asked, tmp_path)


def test_a_limit_that_a_kernel_cannot_hold_is_refused(guest, tmp_path):
    asked = experiment(group='memory = "8MiB"', more='tunables.kernel_words = "cgroup_disable=memory"')
    with pytest.raises(UsageError, match=r"groups: group all: .*memory"):
        run(guest, asked, tmp_path)


def test_kyber_serves_a_drive_of_a_guest(guest, tmp_path):
    asked = experiment(more='tunables.request_time = "1ms"\nelevator = { name = "kyber", read_lat = "1ms" }')
    (requests,) = means(run(guest, asked, tmp_path), "disk_requests")
    assert requests > 0


def test_a_packaged_kernel_that_is_named_by_its_path_gives_the_same_table(guest, tmp_path):
    image = shutil.copy(guest.kernel.image, tmp_path / "bzImage")
    own = machine.ready(f"{image}+{guest.kernel.modules}", quiet)
    assert (own.kernel.release, own.engine == guest.engine) == (guest.kernel.release, False)
    asked = experiment(group='memory = "8MiB"')
    first, second = (run(one, asked, tmp_path / name) for one, name in ((guest, "packaged"), (own, "own")))
    assert means(second, "disk_requests") == means(first, "disk_requests") != [0]
    (real,), (also,) = (means(one, "tasks.reader.real") for one in (first, second))
    # A machine that is kept anew is another boot, whose ticks may come microseconds elsewhere.
    assert also == pytest.approx(real, rel=0.01)
