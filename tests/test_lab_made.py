"""`make web` makes what a page of the lab is made of; where that cannot be had, it says so and goes on."""

import os
import shutil
import subprocess

import pytest
from conftest import ROOT

ENGINE = "python/schedlab/lab/engine.wasm"


@pytest.fixture
def tree(tmp_path):
    """A tree with stand-ins for what compiles; `tree(status)` is how they end."""

    def make(status):
        for folder in ("scripts", "web/src", "crates", "machines", "python/schedlab/lab", ".venv"):
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        for file in ("Cargo.toml", "Cargo.lock", "requirements.lock", "web/src/lab.ts", ".venv/tools"):
            (tmp_path / file).touch()
        made = {"web-engine": '> "$1"', "web-scripts": '> "$1/page.js"; > "$1/worker.js"'}
        for name, text in made.items():
            done = f"{text}\necho {name} >> made" if status == 0 else f"echo {name} cannot be made >&2"
            (tmp_path / "scripts" / name).write_text(f"#!/bin/sh\n{done}\nexit {status}\n")
            (tmp_path / "scripts" / name).chmod(0o755)
        return tmp_path

    return make


def make_web(tree):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CARGO", "MAKE", "MFLAGS", "VENV"))}
    command = [shutil.which("make"), "--file", ROOT / "Makefile", "web"]
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)


def test_both_are_made_once_and_again_when_their_sources_change(tree):
    tree = tree(0)
    for _ in range(2):
        assert make_web(tree).returncode == 0
    assert (tree / "made").read_text().split() == ["web-engine", "web-scripts"]
    os.utime(tree / "web/src/lab.ts", (2**32, 2**32))
    assert make_web(tree).returncode == 0
    assert (tree / "made").read_text().split()[2:] == ["web-scripts"]


def test_what_cannot_be_had_is_said_in_a_line_and_asked_for_again(tree):
    missing = tree(3)
    for _ in range(2):
        done = make_web(missing)
        assert done.returncode == 0
        assert done.stderr.splitlines() == ["web-engine cannot be made", "web-scripts cannot be made"]
    assert make_web(tree(0)).returncode == 0
    assert (missing / ENGINE).exists()


def test_a_fault_of_a_compiler_is_one_of_make(tree):
    assert make_web(tree(1)).returncode == 2
