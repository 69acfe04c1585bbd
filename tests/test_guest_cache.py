"""The cache of guests: what is damaged is named or made anew, and what killed processes leave goes."""

import dataclasses
import json
import os
import subprocess
import tempfile
import threading
from subprocess import CompletedProcess

import pytest
from conftest import killed
from test_cli import refused
from test_guest import bzimage, empty, quiet  # noqa: F401

from schedlab.errors import UsageError
from schedlab.targets.guest import apt, cache, kernels, machine, qemu
from schedlab.targets.guest.emulation import Emulation
from schedlab.targets.guest.kernels import Kernel
from schedlab.targets.guest.qemu import Emulator


def kernel_folder():
    """A kernel as if it had been fetched."""
    folder = cache.folder() / "kernels" / "6.1.0-1-cloud-amd64_6.1.1-1"
    folder.mkdir(parents=True)
    bzimage(folder / "vmlinuz", "6.1.0-1-cloud-amd64 (somebody)")
    about = {"release": "6.1.0-1-cloud-amd64", "version": "6.1.1-1", "image": "vmlinuz", "modules": None}
    (folder / kernels.RECORD).write_text(json.dumps(about))
    return folder


@pytest.fixture
def ready(empty, monkeypatch):  # noqa: F811
    """Makes a machine of a kernel, an emulator and an agent that are none."""
    program = empty / "agent"
    program.write_bytes(b"\x7fELF\x02" + bytes(59))
    program.chmod(0o755)
    monkeypatch.setenv("SCHEDLAB_AGENT", str(program))
    monkeypatch.setattr(qemu, "find", lambda say, of=None: Emulator(empty / "qemu", "7.2"))
    kernel_folder()
    return lambda: machine.ready("6.1", quiet)


def test_what_a_killed_process_has_half_fetched_goes_when_it_is_fetched_again(empty):  # noqa: F811
    target = cache.folder() / "kernels" / "6.1"
    half, others = target.parent / ".6.1-abc", target.parent / ".6.12-abc"
    for folder in (half, others):
        folder.mkdir(parents=True)
        (folder / "linux.deb").write_text("half")
    killed(half)
    with cache.building(target) as new:
        (new / "whole").touch()
    assert sorted(path.name for path in target.parent.iterdir() if path.is_dir()) == [".6.12-abc", "6.1"]


def test_ctrl_c_ends_the_wait_for_another_process(empty):  # noqa: F811
    stop = threading.Event()
    stop.set()
    with (
        cache.alone_at(cache.folder() / "apt"),
        pytest.raises(KeyboardInterrupt),
        cache.alone_at(cache.folder() / "apt", stop),
    ):
        pass


DAMAGES = {
    "a record that is cut off": lambda folder: (folder / kernels.RECORD).write_text('{"rel'),
    "no image": lambda folder: (folder / "vmlinuz").unlink(),
    "an empty image": lambda folder: (folder / "vmlinuz").write_text(""),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_kernel_is_refused_with_its_folder(empty, schedlab, damage):  # noqa: F811
    folder = kernel_folder()
    damage(folder)
    with pytest.raises(UsageError, match=r"6\.1\.1-1 is damaged; remove that folder"):
        kernels.find("6.1", quiet)
    refused(schedlab("guest", "list", "--here"), "is damaged; remove that folder")


def test_a_damaged_emulator_is_refused_with_its_folder(empty, monkeypatch):  # noqa: F811
    monkeypatch.setattr(qemu.shutil, "which", lambda name: None)
    tree = cache.folder() / "qemu" / "usr" / "bin"
    tree.mkdir(parents=True)
    with pytest.raises(UsageError, match=r"cannot be run: (?s:.*)remove \S*qemu, and it is fetched again"):
        qemu.find(quiet)


def test_an_image_that_is_cut_off_is_written_anew(ready):
    image = ready().image
    whole = image.read_bytes()
    os.truncate(image, 10)
    assert ready().image.read_bytes() == whole


def test_a_damaged_calibration_is_made_anew(ready, monkeypatch):
    measured = {"rounds_per_second": 1.0}
    monkeypatch.setattr(machine.Machine, "calibrate", lambda self, stop=None: measured)
    one = ready()
    assert one.calibration() == measured
    (path,) = (cache.folder() / "calibrations").iterdir()
    path.write_text("")
    assert one.calibration() == measured
    assert json.loads(path.read_text()) == measured


def test_the_same_kernel_in_another_folder_is_another_machine_only_by_its_bytes(ready):
    one = ready()
    named = dataclasses.replace(one.kernel, name="mine", image=one.kernel.image.rename(one.kernel.image.with_name("b")))
    assert dataclasses.replace(one, kernel=named)._digest == one._digest
    another = Kernel("mine", named.image, named.release, "sha256+1")
    assert dataclasses.replace(one, kernel=another)._digest != one._digest


@pytest.fixture
def full(tmp_path):
    """A folder on a disk without room."""
    folder = tmp_path / "full"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_full_disk_is_named_with_the_way_to_another_one(full, monkeypatch):
    with pytest.raises(UsageError, match=r"full cannot be written to: No space left .*XDG_CACHE_HOME names another"):
        cache.write(full / "a", bytes(1 << 20))
    assert list(full.iterdir()) == []
    with (
        pytest.raises(UsageError, match="No space left"),
        cache.building(full / "b") as new,
    ):
        (new / "c").write_bytes(bytes(1 << 20))
    assert [path.name for path in full.iterdir() if path.is_dir()] == []
    with pytest.raises(UsageError, match=r"full has 0 MiB free, and up to 512 are needed"):
        apt.Apt(full, installed=False).update("Types: deb", quiet)


def test_a_full_or_absent_folder_for_temporary_files_is_named(full, monkeypatch):
    kernel = Kernel("6.1", full / "vmlinuz", "6.1", "6.1-1")
    emulation = Emulation(Emulator(full / "qemu", "7.2"), kernel)
    monkeypatch.setattr(tempfile, "tempdir", str(full))
    with pytest.raises(
        UsageError, match=r"schedlab-guest-\S+ cannot be written to: No space left.*TMPDIR names another"
    ):
        emulation.boot([bytes(1 << 20)], {})
    assert list(full.iterdir()) == []
    monkeypatch.setattr(tempfile, "tempdir", str(full / "absent"))
    with pytest.raises(UsageError, match="no folder for temporary files: No such file or directory; TMPDIR names one"):
        emulation.boot([], {})


def test_without_a_network_the_error_says_what_could_not_be_fetched(empty, monkeypatch):  # noqa: F811
    said = "W: Failed to fetch http://a/InRelease  Could not connect\nW: Some index files failed to download.\n"
    monkeypatch.setattr(apt.Apt, "run", lambda *_, **__: CompletedProcess([], 100, "", said))
    with pytest.raises(UsageError, match=r"no list of packages could be fetched: W: Failed to fetch http://a"):
        apt.Apt(empty, installed=False).update("Types: deb", quiet)
    with pytest.raises(UsageError, match=r"a package could not be fetched: W: Failed to fetch http://a"):
        apt.Apt(empty, installed=False).unpack(["linux=6.1"], empty, quiet)
