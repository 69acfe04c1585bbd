"""The examples do what is recorded beside them, and the commands of the README exist."""

import json
import re
import runpy
import shutil

import pytest
from conftest import ROOT

EXAMPLES = ROOT / "examples"
DOCS = runpy.run_path(str(ROOT / "scripts" / "docs.py"))


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.toml")), ids=lambda file: file.name)
def test_an_example_gives_its_recorded_output(schedlab, file):
    """Record anew: make docs"""
    shutil.copy(file, schedlab.folder)
    done = schedlab("run", file.name)
    assert done.returncode == 0, done.stderr
    assert without_folder(done.stdout) == without_folder(file.with_suffix(".out").read_text())


def without_folder(output: str) -> str:
    """Where results lie, and the digest of the engine in that, are no part of what an example shows."""
    return re.sub(r"[^ ]*-[0-9a-f]{8}$", "FOLDER", output, flags=re.MULTILINE)


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


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/experiment-files.md"])
def test_the_commands_of_a_page_exist(page, schedlab):
    text = (ROOT / page).read_text()
    commands = re.findall(r"^\s*(?:\$ )?(?:\.venv/bin/)?(make|schedlab) ([\w-]+)", text, re.MULTILINE)
    assert commands
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for program, word in set(commands):
        assert word in targets if program == "make" else schedlab(word, "--help").returncode == 0, (program, word)
