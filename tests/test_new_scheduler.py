"""`make new-scheduler NAME=...` gives a scheduler that builds, passes its tests and says what is still to do."""

import os
import re
import shutil
import subprocess
import sys
import tomllib

import pytest
from conftest import ROOT

SCHEDULERS = "crates/policies/src/schedulers"


def copied(to):
    """A copy of what the crate of policies needs."""
    left_out = shutil.ignore_patterns("__pycache__", "*.so")
    for part in ("crates", "scripts", "machines"):
        shutil.copytree(ROOT / part, to / part, ignore=left_out)
    for part in ("Cargo.toml", "Cargo.lock", "rustfmt.toml"):
        shutil.copy(ROOT / part, to / part)
    return to


@pytest.fixture
def tree(tmp_path):
    return copied(tmp_path)


def begin(tree, *arguments):
    script = tree / "scripts" / "new-scheduler"
    return subprocess.run([sys.executable, script, *arguments], cwd=tree, capture_output=True, text=True)


#: The copy is compiled anew, for a few short tests: no faster than they need it. Libraries are those of other tests.
QUICKLY = ("--config=profile.dev.opt-level=0", "--config=profile.dev.package.'*'.opt-level=1")


def cargo(tree, *arguments):
    """Cargo, on the copy; what it builds goes where the project's own builds go, so that nothing is built twice."""
    env = {**os.environ, "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))}
    return subprocess.run(["cargo", *arguments], cwd=tree, env=env, capture_output=True, text=True)


def test_three_files_are_all_that_its_author_must_finish(tree):
    """Policy, tests and faults: with the TODOs done, its own test passes, and the kernel holds it to its laws."""
    done = begin(tree, "lucky_dip")
    assert done.returncode == 0, done.stderr
    written = [f"{SCHEDULERS}/classic/lucky_dip.rs", "crates/sim/tests/lucky_dip.rs", "scripts/faults/lucky_dip.toml"]
    assert re.findall(r"^wrote (.*)$", done.stdout, re.MULTILINE) == written
    for file in (tree / name for name in written[:2]):
        file.write_text(file.read_text().replace("TODO", "done"))
    own = "tasks_run_in_the_order_in_which_they_came"
    parts = {
        ("--package=schedlab-policies", "--lib"): [f"schedulers::classic::lucky_dip::tests::{own}"],
        ("--package=schedlab-sim", "--test=lucky_dip"): [own, "no_task_is_lost", "promises_are_kept"],
    }
    for part, tests in parts.items():
        tested = cargo(tree, "test", *part, "--offline", "--locked", *QUICKLY)
        assert tested.returncode == 0, tested.stdout + tested.stderr
        assert [test for test in tests if f"test {test} ... ok" not in tested.stdout] == []
    formatted = cargo(tree, "fmt", "--package", "schedlab-policies", "--check")
    assert formatted.returncode == 0, formatted.stdout


@pytest.mark.parametrize("name", ["a_first", "lucky_dip", "zz_last"])
def test_its_lines_are_in_alphabetical_order(tree, name):
    room, table = tree / SCHEDULERS / "classic" / "mod.rs", tree / SCHEDULERS / "mod.rs"
    before = room.read_text()
    assert begin(tree, name).returncode == 0
    after = room.read_text()
    for pattern in (r"^mod (\w+);", r"^pub use (\w+)::"):
        found = re.findall(pattern, after, re.MULTILINE)
        assert found == sorted([*re.findall(pattern, before, re.MULTILINE), name])
    types = re.findall(r"\w+", re.search(r"^table!\[(.*?)\];", table.read_text(), re.MULTILINE | re.DOTALL)[1])
    assert types == sorted(types)
    assert "".join(part.capitalize() for part in name.split("_")) in types


def test_the_planted_fault_is_found_once_in_its_file(tree):
    begin(tree, "lucky_dip")
    [mutant] = tomllib.loads((tree / "scripts/faults/lucky_dip.toml").read_text())["mutant"]
    assert (tree / mutant["file"]).read_text().count(mutant["find"]) == 1


def test_its_page_has_every_heading_of_the_others(tree):
    begin(tree, "lucky_dip")
    headings = lambda file: re.findall(r"^//! (#.*)$", file.read_text(), re.MULTILINE)  # noqa: E731
    wanted = headings(ROOT / SCHEDULERS / "classic" / "round_robin.rs")
    assert headings(tree / SCHEDULERS / "classic" / "lucky_dip.rs") == ["# lucky_dip", *wanted[1:]]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "one name is wanted"),
        (["a", "b"], "one name is wanted"),
        (["RoundRobin"], "small letters"),
        (["../outside"], "small letters"),
        (["two__bars"], "small letters"),
        (["2nd"], "small letters"),
        (["x" * 41], "small letters"),
        (["match"], "word of Rust"),
        (["minix"], "exists"),
        (["queue"], "exists"),
        (["mod"], "word of Rust"),
        (["context"], "something of that name"),
        (["enqueue"], "something of that name"),
    ],
)
def test_a_name_that_cannot_be_is_refused_and_nothing_changes(tree, arguments, why):
    files = lambda: {file: file.read_bytes() for file in (tree / "crates").rglob("*.rs")}  # noqa: E731
    before = files()
    done = begin(tree, *arguments)
    assert done.returncode == 2
    assert why in done.stderr
    assert files() == before
