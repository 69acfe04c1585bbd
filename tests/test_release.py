"""A release: what the archive of the sources has, and the recipe of `make wheel`, with stand-ins for what compiles."""

import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT

RECIPE = ROOT / "Makefile"
#: What each stand-in does. The agent that "cargo" makes is a line with its options; a wheel is a file with the agent
#: that lies in the tree, and the options of "maturin".
STAND_INS = {
    "rustc": 'echo "libraries/$4"',
    "cargo": """
        test ! -e broken || exit 101
        for word; do case $before in --target) target=$word;; esac; before=$word; done
        mkdir -p target/$target/release
        echo "$@" > target/$target/release/schedlab-agent""",
    "maturin": """
        for word; do case $before in --target) target=$word;; esac; before=$word; done
        case $1 in build) { cat python/schedlab/targets/bin/schedlab-agent; echo "$@"; } > dist/$target.whl;; esac
        case $1 in sdist) mkdir dist; : > dist/sources.tar.gz;; esac""",
    "python": 'echo "$@" >> asked',
}
MANIFESTS = ("Cargo.toml", "Cargo.lock", "pyproject.toml", "requirements.lock", "scripts/requirements-wheel.txt")
OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}
#: What the recipe uses of a machine as it is.
PLAIN = ("sh", "cat", "find", "install", "ls", "mkdir", "rm")


@pytest.mark.skipif(not shutil.which("cargo"), reason="there is no cargo")
def test_the_archive_of_the_sources_has_all_that_a_wheel_is_made_of(tmp_path):
    maturin = Path(sys.executable).with_name("maturin")
    done = subprocess.run([maturin, "sdist", "--out", tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    subprocess.run([sys.executable, ROOT / "scripts" / "permissions.py", archive], check=True)
    with tarfile.open(archive) as files:
        assert {file.mode for file in files if file.name.endswith("python/launcher/scripts/schedlab")} == {0o755}
        files.extractall(tmp_path, filter="data")
    sources = tmp_path / archive.name.removesuffix(".tar.gz")
    needed = [ROOT / name for name in ("LICENSE", "README.md", "Cargo.lock", "pyproject.toml")]
    for folder in ("machines", "python/launcher", "python/schedlab", *map(str, ROOT.glob("crates/*/src"))):
        needed += [file for file in (ROOT / folder).rglob("*") if file.is_file()]
    made = re.compile(r"\.so$|\.pyc$|/targets/bin/|/lab/(engine\.wasm|(page|live|gallery|worker)\.js)$")
    names = [name for file in needed if not made.search(name := str(file.relative_to(ROOT)))]
    assert [name for name in names if not (sources / name).is_file()] == []
    # pip builds it with the versions of Cargo.lock, or not at all where that has crates that no member needs.
    assert tomllib.loads((sources / "pyproject.toml").read_text())["tool"]["maturin"]["locked"]
    # Nor where a manifest names a file that is missing, such as a test: cargo looks for them before it fetches.
    ask = ["cargo", "fetch", "--locked", "--offline", "--target", target(platform.machine())]
    done = subprocess.run(ask, cwd=sources, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def target(architecture):
    return f"{architecture}-unknown-linux-gnu"


@pytest.fixture
def machine(tmp_path):
    """An empty tree on a machine that can link for both architectures; `machine(name)` says which one it is."""

    def make(name):
        tools = tmp_path / "tools"
        tools.mkdir()
        does = STAND_INS | {"uname": f"echo {name}", "cc": "", f"{OTHER[name]}-linux-gnu-gcc": ""}
        for tool, text in does.items():
            (tools / tool).write_text(f"#!/bin/sh\nset -e\n{text}\n")
            (tools / tool).chmod(0o755)
        for tool in PLAIN:
            (tools / tool).symlink_to(shutil.which(tool))
        for folder in ("crates", "machines", "python", *(f"libraries/{target(each)}" for each in OTHER)):
            (tmp_path / folder).mkdir(parents=True)
        for file in MANIFESTS:
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).touch()
        # The environment of Python has been set up.
        (tmp_path / ".venv").mkdir()
        (tmp_path / ".venv/bin").symlink_to(tools)
        for stamp in ("tools", "zig", "engine", "scripts"):
            (tmp_path / ".venv" / stamp).touch()
        return tmp_path

    return make


def make_wheel(tree):
    """`make wheel` there."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CARGO", "MAKE", "MFLAGS", "VENV"))}
    return subprocess.run(
        [shutil.which("make"), "--file", RECIPE, "wheel"],
        cwd=tree,
        env=environment | {"PATH": str(tree / "tools")},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("own", ["x86_64", "aarch64"])
def test_each_wheel_has_the_agent_of_its_own_architecture_and_the_tree_keeps_that_of_the_machine(machine, own):
    tree = machine(own)
    done = make_wheel(tree)
    assert done.returncode == 0, done.stderr
    linkers = {own: "cc", OTHER[own]: f"{OTHER[own]}-linux-gnu-gcc"}
    assert {file.name for file in tree.glob("dist/*.whl")} == {f"{target(each)}.whl" for each in linkers}
    assert (tree / "asked").read_text() == "scripts/permissions.py dist/sources.tar.gz\n"
    for architecture, linker in linkers.items():
        agent, wheel = (tree / f"dist/{target(architecture)}.whl").read_text().splitlines()
        assert f"--target {target(architecture)} " in agent
        assert agent.endswith(f"linker={linker}")
        assert f"--target {target(architecture)} " in wheel
    assert f"--target {target(own)} " in (tree / "python/schedlab/targets/bin/schedlab-agent").read_text()


def test_wheels_are_stripped_and_run_with_the_glibc_that_the_page_names(machine):
    tree = machine("x86_64")
    assert make_wheel(tree).returncode == 0
    for file in tree.glob("dist/*.whl"):
        agent, wheel = file.read_text().splitlines()
        # The agent has its libc within it.
        assert "target-feature=+crt-static" in agent
        assert "strip=symbols" in agent
        assert {"--strip", "--locked", "--zig"} <= set(wheel.split())
        # PEP 599: manylinux2014 is glibc 2.17.
        assert "--compatibility manylinux2014 " in wheel
    assert "glibc 2.17" in (ROOT / "docs/releasing.md").read_text()


@pytest.mark.parametrize(
    ("lacks", "cure"),
    [
        ("libraries/aarch64-unknown-linux-gnu", "rustup target add aarch64-unknown-linux-gnu"),
        ("tools/aarch64-linux-gnu-gcc", "there is no aarch64-linux-gnu-gcc"),
    ],
)
def test_an_architecture_that_the_machine_cannot_link_for_is_left_out_with_a_line(machine, lacks, cure):
    tree = machine("x86_64")
    (tree / lacks).rename(tree / "elsewhere")
    done = make_wheel(tree)
    assert done.returncode == 0, done.stderr
    assert f"wheel: none for aarch64: {cure}\n" in done.stdout
    assert [file.name for file in tree.glob("dist/*.whl")] == ["x86_64-unknown-linux-gnu.whl"]


def test_where_a_compiler_fails_there_is_no_wheel_with_an_agent_of_before(machine):
    tree = machine("x86_64")
    (tree / "broken").touch()
    agent = tree / "python/schedlab/targets/bin/schedlab-agent"
    agent.parent.mkdir(parents=True)
    agent.write_text("of before\n")
    assert make_wheel(tree).returncode == 2
    assert not list(tree.glob("dist/*.whl"))
