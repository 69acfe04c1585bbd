"""The examples do what is recorded next to them, and the commands of the README exist."""

import json
import os
import re
import runpy
import shutil
from pathlib import Path

import pytest
from conftest import ROOT, agent_or_skip, settings_to_ourselves

from schedlab import Experiment

EXAMPLES = ROOT / "examples"
DOCS = runpy.run_path(str(ROOT / "scripts" / "docs.py"))


@pytest.mark.parametrize("file", DOCS["recorded"](), ids=lambda file: file.name)
def test_an_example_gives_its_recorded_output(schedlab, file):
    """Record anew: make docs"""
    shutil.copy(file, schedlab.folder)
    done = schedlab("run", file.name)
    assert done.returncode == 0, done.stderr
    assert without_folder(done.stdout) == without_folder(file.with_suffix(".out").read_text())


def test_an_example_of_the_host_has_no_recorded_output():
    """Every host gives another one."""
    of_host = [file for file in EXAMPLES.glob("*.toml") if Experiment.from_toml(file).is_of_host]
    assert of_host
    assert not {*of_host} & {*DOCS["recorded"]()}
    assert not [file for file in of_host if file.with_suffix(".out").exists()]


def test_nice_across_sessions_does_nothing_with_autogroup_and_much_without(schedlab):
    agent_or_skip()
    autogroup = Path("/proc/sys/kernel/sched_autogroup_enabled")
    if os.geteuid() or not autogroup.exists():
        pytest.skip("switching autogroup needs root, and a kernel that has it")
    anyhow = ("--dirty", "--patience", "0.7", "--quiet-below", "100")
    file = EXAMPLES / "nice_across_sessions.toml"
    with settings_to_ourselves():
        before = autogroup.read_text()
        done = schedlab.json("run", file, "--baseline", "workload.niced.nice=0", "--no-record", *anyhow)
        assert autogroup.read_text() == before
    found = {row["scheduler.autogroup"]: row for row in done["differences"]}
    assert found["false"]["verdict"] == "real"
    assert found["false"]["relative"] < -0.8
    assert abs(found["true"]["mean"]) < abs(found["false"]["mean"]) / 3


def without_folder(output: str) -> str:
    """Without the digest of the engine in the name of a results folder."""
    return re.sub(r"-[0-9a-f]{8}$", "", output, flags=re.MULTILINE)


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda file: file.name)
def test_a_notebook_gives_its_recorded_outputs(file):
    """Record anew: make docs"""
    notebook = json.loads(file.read_text())
    recorded = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert any(recorded)
    run_again = json.loads(DOCS["notebooks"]()[f"examples/{file.name}"])
    assert [cell["outputs"] for cell in run_again["cells"] if cell["cell_type"] == "code"] == recorded


def test_the_readme_begins_with_the_two_commands():
    commands = re.search(r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)[1]
    assert [line.split("#")[0].strip() for line in commands.splitlines()] == ["make demo", "make test"]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/experiment-files.md", "docs/releasing.md"])
def test_the_commands_of_a_page_exist(page, schedlab):
    text = (ROOT / page).read_text()
    commands = re.findall(r"^\s*(?:\$ )?(?:\.venv/bin/)?(make|schedlab) ([\w-]+)", text, re.MULTILINE)
    assert commands
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for program, word in set(commands):
        assert word in targets if program == "make" else schedlab(word, "--help").returncode == 0, (program, word)
