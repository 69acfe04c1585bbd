"""The examples do what is recorded beside them, and the commands of the README exist."""

import ast
import json
import re
import shutil

import pytest
from conftest import ROOT

EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.toml")), ids=lambda file: file.name)
def test_an_example_gives_its_recorded_output(schedlab, file):
    """Record anew, from the examples folder: schedlab run NAME.toml --out $(mktemp -d) > NAME.out"""
    shutil.copy(file, schedlab.folder)
    done = schedlab("run", file.name)
    assert done.returncode == 0, done.stderr
    assert without_folder(done.stdout) == without_folder(file.with_suffix(".out").read_text())


def without_folder(output: str) -> str:
    """Where results lie, and the digest of the engine in that, are no part of what an example shows."""
    return re.sub(r"[^ ]*-[0-9a-f]{8}$", "FOLDER", output, flags=re.MULTILINE)


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda file: file.name)
def test_a_notebook_runs_and_every_last_value_shows(file, tmp_path, monkeypatch):
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(tmp_path / "examples")
    names = {}
    cells = [cell for cell in json.loads(file.read_text())["cells"] if cell["cell_type"] == "code"]
    assert cells
    for number, cell in enumerate(cells):
        tree = ast.parse("".join(cell["source"]), f"{file.name}[{number}]")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{file.name}[{number}]", "exec"), names)
        if last:
            value = eval(compile(ast.Expression(last.value), f"{file.name}[{number}]", "eval"), names)
            shown = value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)
            assert shown


def test_the_commands_of_the_readme_exist(schedlab):
    text = (ROOT / "README.md").read_text()
    commands = set(re.findall(r"^\s*(?:\$ )?((?:make|schedlab) .*)$", text, re.MULTILINE))
    assert {"make demo", "make test"} <= {command.split("#")[0].strip() for command in commands}
    verbs = set(re.findall(r"^  *│? *([a-z]+) ", schedlab("--help").stdout, re.MULTILINE)) | {"--version"}
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for command in commands:
        program, word = command.split()[:2]
        assert word in (verbs if program == "schedlab" else targets), command
