"""Nothing is removed because of its name: only what carries its own marker, of this user, of a process that is dead."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from conftest import killed

from schedlab.results import store
from schedlab.system import leftovers
from schedlab.targets.guest import cache, emulation, snapshots

#: Larger than any number that a kernel gives a process.
NOBODY = 99_999_999


def full(folder: Path) -> Path:
    folder.mkdir()
    (folder / "f").write_text("x")
    return folder


def test_what_a_dead_process_has_left_goes_and_what_a_living_one_has_stays(tmp_path):
    dead, living, unmarked = (full(tmp_path / name) for name in ("dead", "living", "unmarked"))
    killed(dead)
    leftovers.mark(living)
    leftovers.remove_left(tmp_path.iterdir())
    assert not dead.exists()
    assert (living / "f").exists()
    assert (unmarked / "f").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda marker: marker.pop("inode"),
        lambda marker: marker.update(inode=marker["inode"] + 1),
        lambda marker: marker.update(device=-1),
        lambda marker: marker.update(uid=marker["uid"] + 1),
        lambda marker: marker.clear(),
    ],
)
def test_a_marker_that_says_otherwise_is_none(tmp_path, change):
    folder = full(tmp_path / "folder")
    killed(folder)
    marker = json.loads((folder / leftovers.FILE).read_text())
    change(marker)
    (folder / leftovers.FILE).write_text(json.dumps(marker))
    assert not leftovers.is_left(folder)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"null", b"\xff", b"1"])
def test_a_marker_that_is_torn_is_none(tmp_path, text):
    folder = full(tmp_path / "folder")
    (folder / leftovers.FILE).write_bytes(text)
    assert not leftovers.is_left(folder)


def test_a_copy_and_a_link_are_not_what_was_marked(tmp_path):
    folder = full(tmp_path / "folder")
    killed(folder)
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert not leftovers.is_left(copy)
    assert not leftovers.is_left(link)
    assert leftovers.is_left(folder)


def test_another_process_of_the_same_number_is_another(tmp_path):
    folder = full(tmp_path / "folder")
    leftovers.mark(folder)
    marker = json.loads((folder / leftovers.FILE).read_text())
    (folder / leftovers.FILE).write_text(json.dumps(marker | {"start": marker["start"] - 1}))
    assert leftovers.is_left(folder)


def test_temporary_folders_of_guests_are_known_by_their_marker(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mine, left = (full(tmp_path / f"{emulation.FOLDER}{NOBODY}-{name}") for name in ("mine", "left"))
    killed(left)
    emulation.sweep()
    assert (mine / "f").exists()
    assert not left.exists()


def test_half_made_folders_of_the_cache_are_known_by_their_marker(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    target = cache.folder() / "6.1"
    mine, left, other = (full(target.parent / name) for name in (".6.1-mine", ".6.1-left", ".6.1-cloud-being-made"))
    killed(left)
    with cache.building(target) as new:
        (new / "kernel").write_text("x")
    assert [path.name for path in target.iterdir()] == ["kernel"]
    assert (mine / "f").exists()
    assert (other / "f").exists()
    assert not left.exists()


def test_half_made_machines_are_known_by_their_marker(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    snapshots.folder().mkdir(parents=True)
    mine, left = (full(snapshots.folder() / name) for name in (".abc-mine", ".abc-left"))
    killed(left)
    snapshots.remove_oldest(1 << 40, snapshots.folder() / "none")
    assert (mine / "f").exists()
    assert not left.exists()


def test_temporary_files_in_a_folder_of_results_are_known_by_their_marker(tmp_path):
    mine = tmp_path / ".notes.tmp"
    mine.write_text("x")
    dead = f"""
import os, pathlib
from schedlab.system import leftovers
with open({str(tmp_path / ".runs-0000.parquet.1.tmp")!r}, "w") as file:
    leftovers.mark_file(file.fileno())
"""
    subprocess.run([sys.executable, "-c", dead], check=True)
    left = tmp_path / ".runs-0000.parquet.1.tmp"
    if not leftovers.is_left(left):
        pytest.skip("this file system has no attributes")
    store.Store(tmp_path, {"warnings": []})
    assert mine.exists()
    assert not left.exists()
    assert not os.listxattr(tmp_path / "manifest.json"), "what stays is not marked"
