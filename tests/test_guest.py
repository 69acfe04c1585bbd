"""Guest kernels: images that a kernel can unpack, names of kernels, and one small experiment in a true guest."""

import dataclasses
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import killed
from test_cli import refused

from schedlab.errors import UsageError
from schedlab.experiment import Experiment
from schedlab.targets.guest import apt, cache, elf, emulation, kernels, machine, target
from schedlab.targets.guest.initramfs import File, archive
from schedlab.targets.guest.qemu import COUNTED
from schedlab.targets.guest.refused import refuse_impossible
from schedlab.targets.guest.setup import Setup
from schedlab.targets.guest.vote import Vote
from schedlab.targets.names import split

KERNEL = "6.1"

HOGS = """
question = "Do hogs share by nice?"
machine = "host"
seeds = 1
duration = "4s"
metrics = ["tasks.a.share", "tasks.b.share"]
[workload]
a = { load = "spin", compute = "1s", passes = "forever" }
b = { load = "spin", compute = "1s", passes = "forever", nice = 5 }
"""
#: The kernel's weights of nice 0 and nice 5.
WEIGHTS = 1024, 335


def quiet(text):
    """Discard messages."""


def booting(kernel):
    """A machine that boots; where none can be had, the reason."""
    try:
        return machine.ready(kernel, quiet)
    except UsageError as why:
        pytest.skip(str(why))


@pytest.fixture(scope="module")
def guest():
    return booting(KERNEL)


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """A cache with nothing in it, on a machine without sources of packages."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(apt, "SOURCES", tmp_path / "etc")
    return tmp_path


def cell(**job):
    scenario = {"machine": {"processors": 1}, "workload": {"a": {"load": "spin"} | job}}
    return SimpleNamespace(scenario=scenario)


def bzimage(path: Path, release="9.9.9-mine (me@here) #1") -> Path:
    head = bytearray(0x1000)
    head[0x202:0x206] = b"HdrS"
    head[0x20E:0x210] = (0x300).to_bytes(2, "little")
    head[0x500 : 0x500 + len(release)] = release.encode()
    path.write_bytes(head)
    return path


def test_an_archive_is_the_bytes_that_the_format_prescribes():
    packed = archive({"a": File(b"hello")})
    header = b"070701" + b"00000001" + b"000081a4" + b"00000000" * 2 + b"00000001" + b"00000000" + b"00000005"
    assert packed.startswith(header + b"00000000" * 4 + b"00000002" + b"00000000" + b"a\0" + b"hello\0\0\0")
    assert len(packed) % 4 == 0
    assert b"TRAILER!!!\0" in packed


def test_an_archive_has_the_folders_of_its_files_before_them():
    packed = archive({"modules/deep/a.ko": File(b"x"), "init": File(b"y", executable=True)})
    places_of = [packed.index(name + b"\0") for name in (b"modules", b"modules/deep", b"modules/deep/a.ko")]
    assert places_of == sorted(places_of)


def test_the_same_files_make_the_same_archive_in_whatever_order():
    a, b = {"x": File(b"1"), "y": File(b"2")}, {"y": File(b"2"), "x": File(b"1")}
    assert archive(a) == archive(b)


@pytest.mark.parametrize("path", ["/init", "a//b", "../a", ""])
def test_an_archive_has_no_path_that_leads_out_of_it(path):
    with pytest.raises(ValueError, match="no path inside"):
        archive({path: File(b"")})


@pytest.mark.skipif(not shutil.which("cpio"), reason="there is no cpio here")
def test_cpio_reads_what_is_written():
    listed = subprocess.run(["cpio", "-t"], input=archive({"d/a": File(b"1"), "b": File(b"")}), capture_output=True)
    assert listed.stdout.decode().split() == ["d", "b", "d/a"]


def test_a_program_without_an_interpreter_is_static():
    header = bytearray(b"\x7fELF\x02" + bytes(59))
    header[32:40] = (64).to_bytes(8, "little")
    header[54:58] = (56).to_bytes(2, "little") + (1).to_bytes(2, "little")
    loads, interpreted = (bytes([kind]) + bytes(55) for kind in (1, 3))
    assert elf.is_static(bytes(header) + loads)
    assert not elf.is_static(bytes(header) + interpreted)
    assert not elf.is_static(bytes(header))
    assert not elf.is_static(b"#!/bin/sh\n")


@pytest.mark.parametrize(
    ("on", "names"),
    [
        ("guest:6.1", ["guest:6.1"]),
        ("guest:5.10,6.1,sim", ["guest:5.10", "guest:6.1", "sim"]),
        ("sim,guest:5.10,guest:./bzImage,host", ["sim", "guest:5.10", "guest:./bzImage", "host"]),
        ("sim,6.1", ["sim", "6.1"]),
    ],
)
def test_kernels_after_a_guest_are_guests_too(on, names):
    assert split(on) == names


def test_versions_are_ordered_by_their_numbers():
    versions = ["6.1.192-2", "6.12.95-1~bpo12+1", "6.12.117-1~deb12u1", "6.12.107-1", "5.10.262-1"]
    assert sorted(versions, key=kernels.order) == [versions[i] for i in (4, 0, 1, 3, 2)]


@pytest.mark.parametrize("name", ["latest", "6", "6.1;ls", "-6.1", ""])
def test_a_name_that_is_no_version_is_refused(empty, name):
    with pytest.raises(UsageError, match=r"is no kernel; name a version, as in guest:6\.1"):
        kernels.find(name, quiet)


def test_a_version_is_not_taken_for_a_longer_one(empty):
    for release, version in [("6.1.0-56-cloud-amd64", "6.1.192-2"), ("6.12.117+deb12-cloud-amd64", "6.12.117-1")]:
        folder = cache.folder() / "kernels" / f"{release}_{version}"
        folder.mkdir(parents=True)
        bzimage(folder / "vmlinuz", release)
        about = {"release": release, "version": version, "image": "vmlinuz", "modules": None}
        (folder / kernels.RECORD).write_text(json.dumps(about))
    assert kernels.find("6.1", quiet).release == "6.1.0-56-cloud-amd64"
    assert kernels.find("6.12", quiet).version == "6.12.117-1"


def test_ones_own_kernel_is_known_by_what_it_calls_itself_and_by_its_bytes(tmp_path):
    first = kernels.find(str(bzimage(tmp_path / "bzImage")), quiet)
    second = kernels.find(str(bzimage(tmp_path / "other", "9.9.9-mine #2")), quiet)
    assert first.release == second.release == "9.9.9-mine"
    assert first.version.startswith("sha256+")
    assert first.version != second.version


def test_a_path_that_is_no_kernel_is_refused(tmp_path):
    (tmp_path / "text").write_text("no kernel")
    with pytest.raises(UsageError, match="no kernel that can be booted"):
        kernels.find(str(tmp_path / "text"), quiet)
    with pytest.raises(UsageError, match="there is no such file"):
        kernels.find(str(tmp_path / "nothing"), quiet)


def test_a_scheduler_without_a_source_is_refused_before_a_kernel_is_looked_for(schedlab):
    refused(schedlab("guest", "build", "none.bpf.c", "--kernel", "9.9"), "none.bpf.c: there is no such file")


def test_sibling_suites_have_the_names_of_other_releases(tmp_path, monkeypatch):
    monkeypatch.setattr(apt, "SOURCES", tmp_path)
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text(
        "# deb http://old bookworm main\ndeb [signed-by=/k.gpg] http://a bookworm-security main # ours\n"
        "deb http://elsewhere nodistro main\n"
    )
    (tmp_path / "sources.list.d/a.sources").write_text(
        "Types: deb\n# a comment\nURIs: http://b\nSuites: bookworm bookworm-updates\nComponents: main\n"
    )
    first, second = apt._sources("bookworm", ["bullseye", "trixie"], ("-backports",)).strip().split("\n\n")
    assert "Suites: bullseye-security trixie-security\n" in first
    assert "Signed-By: /k.gpg" in first
    suites = "bullseye bullseye-updates bullseye-backports trixie trixie-updates trixie-backports"
    assert f"Suites: {suites}\n" in second + "\n"


def test_a_machine_without_sources_says_what_to_do_instead(empty):
    with pytest.raises(UsageError, match="name a bzImage instead"):
        kernels.find("6.1", quiet)


@pytest.mark.parametrize(
    ("job", "why"),
    [
        ({"footprint": "64KiB"}, "has no caches"),
        ({"cpus": [1]}, "processor 0 only"),
        ({"load": "command", "run": "ls"}, "no programs"),
        ({"steps": [{"repeat": {"times": 2, "steps": [{"run": "ls"}]}}]}, "no programs"),
    ],
)
def test_what_a_guest_cannot_answer_is_refused(job, why):
    with pytest.raises(UsageError, match=why):
        refuse_impossible(cell(**job), of_host=True, processors=COUNTED)


def test_a_machine_of_two_processors_is_refused_unless_it_is_the_host():
    two = cell()
    two.scenario["machine"]["processors"] = {"value": 2, "source": "a book"}
    with pytest.raises(UsageError, match=r"set machine\.processors=1"):
        refuse_impossible(two, of_host=False, processors=COUNTED)
    refuse_impossible(two, of_host=True, processors=COUNTED)


def reports_of(digests: str) -> Callable[[], machine.Report]:
    """Guests whose answers have these digests, one after the other."""
    answers = iter(digests)
    return lambda: machine.Report({}, next(answers), None)


@pytest.mark.parametrize(
    ("digests", "chosen", "doubt"),
    [("aa", "a", None), ("aba", "a", "2 of 3"), ("abb", "b", "2 of 3"), ("abc", "a", "3 answers")],
)
def test_the_answer_of_most_guests_is_kept_and_doubt_is_reported(digests, chosen, doubt):
    vote = Vote(reports_of(digests), 2)
    for guest in range(2):
        vote.run_guest(guest)
    report, said = vote.outcome()
    assert report.digest == chosen
    assert said is None if doubt is None else doubt in said
    assert len(vote.reports) == len(digests)


def test_a_third_guest_votes_before_the_next_run_has_its_turn():
    begun = []

    def asking(run, digests):
        ask = reports_of(digests)
        return lambda: begun.append(run) or ask()

    votes = [Vote(asking("first", "aba"), 2), Vote(asking("second", "aa"), 2)]
    with ThreadPoolExecutor(1) as pool:
        for vote in votes:
            for guest in range(2):
                pool.submit(vote.run_guest, guest)
    assert begun == ["first"] * 3 + ["second"] * 2


def test_wrong_places_are_refused_with_what_would_be_right(schedlab, small):
    refused(schedlab("run", small, "--on", "gest:6.1"), "'gest:6.1' is no place to run")
    refused(schedlab("run", small, "--on", "guest:newest"), "is no kernel; name a version, as in guest:6.1")


def test_hogs_in_a_guest_share_by_their_weights_to_the_same_byte(guest, tmp_path):
    experiment = Experiment.from_text(HOGS, "hogs.toml")
    results = experiment.run(tmp_path, targets=[target.Guest(KERNEL, of_host=True, _machine=guest)])
    (line,) = (results.folder / target.LOG).read_text().splitlines()
    digests = [boot["digest"] for boot in json.loads(line)["guests"]]
    assert len(digests) == target.TIMES
    assert len(set(digests)) == 1
    shares = {row["metric"]: row["mean"] for row in results.summary("*").iter_rows(named=True)}
    for job, weight in zip("ab", WEIGHTS, strict=True):
        assert shares[f"tasks.{job}.share"] == pytest.approx(100 * weight / sum(WEIGHTS), abs=0.5)


def test_a_module_of_the_kernel_is_loaded_with_its_parameters(guest):
    ready = dataclasses.replace(guest, setup=Setup(modules={"null_blk": "hw_queue_depth=2"}))
    (elevator,) = ready.ask(["tunables", "elevator@nullb0"], settle_ns=0).answer
    assert elevator["access"] == "writable"
    with pytest.raises(UsageError, match="has no module 'null_bkl', nor is it built in; did you mean 'null_blk'"):
        dataclasses.replace(guest, setup=Setup(modules={"null_bkl": ""})).ask(["check"])


def test_a_kernel_that_panics_shows_the_end_of_its_console(guest, tmp_path):
    nothing = tmp_path / "nothing.cpio"
    nothing.write_bytes(archive({}))
    with pytest.raises(UsageError, match=r"ended before it was ready(?s:.*)Kernel panic"):
        dataclasses.replace(guest, image=nothing).ask(["check"])


def test_a_guest_that_does_not_end_is_ended(guest, tmp_path, monkeypatch):
    monkeypatch.setattr(emulation.tempfile, "tempdir", str(tmp_path))
    with pytest.raises(
        UsageError, match=r"did not end within 0.5 s; the end of its console(?s:.*)guest boot \S+ --console"
    ):
        emulation.Emulation(guest.emulator, guest.kernel, longest=0.5).boot([guest.image], {})
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_has_left_is_removed_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(emulation.tempfile, "tempdir", str(tmp_path))
    names = [f"{emulation.FOLDER}{os.getpid()}-a", f"{emulation.FOLDER}mine", "another"]
    for name in [*names, f"{emulation.FOLDER}{2**31}-a"]:
        (tmp_path / name).mkdir()
    killed(tmp_path / f"{emulation.FOLDER}{2**31}-a")
    emulation.sweep()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_ctrl_c_ends_a_guest(guest, tmp_path, monkeypatch):
    monkeypatch.setattr(emulation.tempfile, "tempdir", str(tmp_path))
    stop = threading.Event()
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        guest.ask(["check"], stop=stop)
    assert not list(tmp_path.iterdir())
    assert not [pid for pid in os.listdir("/proc") if pid.isdigit() and str(tmp_path) in cmdline(pid)]


def cmdline(pid: str) -> str:
    try:
        return Path("/proc", pid, "cmdline").read_text()
    except OSError:
        return ""


def damaged(kernel, folder):
    """A kernel whose decompressor halts the machine."""
    image = bytearray(kernel.image.read_bytes())
    middle = len(image) // 2
    image[middle : middle + 65536] = bytes(65536)
    path = folder / "damaged"
    path.write_bytes(image)
    return path


def test_a_boot_that_hangs_is_reported_while_it_lasts_and_ended_with_its_console(guest, tmp_path, monkeypatch):
    monkeypatch.setattr(emulation, "REPORTED_EVERY", 1.0)
    said, console = [], []
    path = damaged(guest.kernel, tmp_path)
    hanging = dataclasses.replace(
        machine.ready(str(path), said.append),
        longest=6.0,
        setup=Setup(words=emulation.VERBOSE),
        console=console.append,
    )
    with pytest.raises(UsageError, match=r"did not end within 6 s(?s:.*)  \| .*System halted"):
        hanging.ask(["check"], settle_ns=0)
    assert [line for line in said if " s of at most 6 s; the console" in line]
    assert any("System halted" in line for line in console)
    assert not any("\x1b" in line for line in console)


def test_the_limit_of_a_boot_is_the_one_that_the_help_states(schedlab):
    assert f"(default: {emulation.BOOT_LIMIT:g})" in " ".join(schedlab("guest", "boot", "--help").stdout.split())
    refused(schedlab("guest", "boot", "6.1", "--timeout", "0"), "--timeout")
