"""What is written about the program is what it does: generated pages, the schema, commands with their output."""

import json
import os
import re
import runpy
import shutil
import subprocess
import tomllib

import pytest
from conftest import COMMAND, ROOT

WRITTEN = runpy.run_path(str(ROOT / "scripts" / "docs.py"))
SCHEMA = ROOT / "schema" / "experiment.json"
PAGES = [ROOT / "docs" / name for name in ("concepts.md", "experiment-files.md", "traces.md")]


def test_the_pages_of_the_policies_are_up_to_date():
    """Write them anew: make docs"""
    pages = WRITTEN["pages"]()
    assert {str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "policies").rglob("*.md")} == set(pages)
    for path, text in pages.items():
        assert (ROOT / path).read_text() == text, path


def test_the_schema_is_up_to_date(schedlab):
    """Write it anew: make docs"""
    assert SCHEMA.read_text() == schedlab("schema").stdout


def test_the_picture_of_the_readme_is_up_to_date():
    """Draw it anew: make docs"""
    for path, text in WRITTEN["pictures"]().items():
        assert (ROOT / path).read_text() == text, path
        assert f"]({path})" in (ROOT / "README.md").read_text()


def test_the_rows_of_the_readme_are_those_of_the_reproduction(tmp_path):
    from schedlab.published.reproduction import reproduce
    from schedlab.report.reproduced import row_texts

    rows = reproduce("minix-1990", {"out": tmp_path}).rows
    said = {row.spec.id: " ".join([*row_texts(row), row.verdict]) for row in rows}
    shown = re.findall(r"^  (?:io|cpu)\.loaded\.real@.*$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(shown) == 6
    for line in shown:
        assert line.split() == said[line.split()[0]].split()


def experiments():
    """Every experiment file of the project: the reproductions keep other tables as well."""
    package = ROOT / "python" / "schedlab"
    folders = [ROOT / "examples", package / "matrix" / "loads", *(package / "published" / "reproductions").iterdir()]
    files = [file for folder in folders for file in sorted(folder.glob("*.toml"))]
    return [file for file in files if "workload" in tomllib.loads(file.read_text())]


@pytest.mark.parametrize("file", experiments(), ids=lambda file: file.name)
def test_an_editor_finds_nothing_wrong_with_an_experiment_of_the_project(file):
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    faults = [f"{fault.json_path}: {fault.message}" for fault in validator.iter_errors(tomllib.loads(file.read_text()))]
    assert not faults


def test_an_editor_finds_a_wrong_name():
    jsonschema = pytest.importorskip("jsonschema")
    experiment = tomllib.loads((ROOT / "examples" / "queue.toml").read_text())
    experiment["scheduler"]["name"] = "fofi"
    assert not jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).is_valid(experiment)


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.toml")), ids=lambda file: file.name)
def test_an_example_names_its_schema_for_editors(file):
    named = re.match(r"#:schema (\S+)\n", file.read_text())
    assert (file.parent / named[1]).resolve() == SCHEMA


def test_every_hook_of_a_scheduler_is_in_the_guide_for_contributors():
    source = (ROOT / "crates" / "policies" / "src" / "schedulers" / "mod.rs").read_text()
    trait = re.search(r"^pub trait Scheduler.*?^}", source, re.MULTILINE | re.DOTALL)[0]
    hooks = re.findall(r"^    fn (\w+)", trait, re.MULTILINE)
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    assert len(hooks) > 8
    assert [hook for hook in hooks if f"`{hook}`" not in guide] == []


def blocks(kind):
    """The blocks of that kind in the pages, each with its place."""
    for page in PAGES:
        for found in re.finditer(rf"^```{kind}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
            yield pytest.param(found[1], id=f"{page.stem}:{page.read_text()[: found.start()].count(chr(10)) + 1}")


@pytest.mark.parametrize("block", list(blocks("console")))
def test_a_command_of_the_pages_prints_what_is_shown(block, tmp_path, monkeypatch):
    """A line of three dots matches any number of lines."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("results"))
    monkeypatch.setenv("PATH", str(COMMAND.parent), prepend=":")
    monkeypatch.setenv("NO_COLOR", "1")
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        # Named, or a child inherits a width that only the C library of this process knows of (readline's).
        options["env"] = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        done = subprocess.run(["sh", "-c", command], cwd=tmp_path, text=True, **options)
        pattern = "(?:.*\n)*".join(map(re.escape, trimmed(shown).split("...\n")))
        assert re.fullmatch(pattern, trimmed(done.stdout)), f"$ {command}\n{done.stdout}"


def trimmed(text):
    """Without the digest of an engine's results: every verb takes their name without it."""
    return re.sub(r"-[0-9a-f]{8}$", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize("block", list(blocks("toml")))
def test_what_the_pages_show_of_an_experiment_file_is_right(block, schedlab):
    """A piece of a file replaces the same tables of an example, which is for one processor."""
    shown, base = tomllib.loads(block), tomllib.loads(BASE)
    if "machine" in shown:
        base["scheduler"] = {"name": "round_robin"}
    whole = base | shown
    (schedlab.folder / "shown.json").write_text(json.dumps(whole))
    from schedlab import Experiment

    assert Experiment.from_dict(whole).cells()


BASE = """
machine = "at_286"
scheduler = { name = "minix" }
workload = { io = { load = "read_files" }, hog = { load = "spin", passes = "forever" } }
"""


def test_the_readmes_own_experiment_runs_as_it_says(tmp_path, monkeypatch):
    """Its file, and each of its commands, one after the other: what one prints, the next one is given."""
    text = (ROOT / "README.md").read_text().partition("## An experiment of your own")[2]
    (tmp_path / "mine.toml").write_text(re.search(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1])
    shown = re.search(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1]
    commands = [line.split("#")[0].replace(".venv/bin/", "").strip() for line in shown.splitlines()]
    assert any(command.startswith("schedlab report") for command in commands)
    monkeypatch.setenv("PATH", str(COMMAND.parent), prepend=":")
    for command in commands:
        done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, f"$ {command}\n{done.stderr}"
    assert {"mine.pftrace", "mine.html"} <= {file.name for file in tmp_path.iterdir()}
