"""The first hour (docs/tour.md) and the pages on comparing and tuning: their commands print what is shown.


Write the outputs anew: .venv/bin/python scripts/tour.py
"""

import re
import runpy
import shutil

import pytest
from conftest import ROOT, agent_or_skip

from schedlab.errors import UsageError

TOUR = runpy.run_path(str(ROOT / "scripts" / "tour.py"))
TEXT = TOUR["PAGE"].read_text()
STEPS = list(TOUR["steps"](TEXT))
MAKEFILE = (ROOT / "Makefile").read_text()
#: The host of tests is shared.
ANYHOW = " --patience 0.7 --quiet-below 100"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the commands run, with the page's files."""
    made = tmp_path_factory.mktemp("tour")
    shutil.copytree(ROOT / "schema", made / "schema")
    for step in STEPS:
        if step.is_file:
            (made / step.where).write_text(step.shown)
    return made


def carried_out(step, folder, more=""):
    done = TOUR["run"](step.command + more, folder)
    assert done.returncode == 0, f"$ {step.command}\n{done.stderr}"
    return TOUR["trimmed"](done.stdout) if done.stdout else ""


def the(*places):
    """The steps of these places, each with the line it begins at as its name."""
    return [pytest.param(one, id=one.command) for one in STEPS if not one.is_file and one.where.split(":")[0] in places]


@pytest.mark.parametrize("step", the(""))
def test_a_command_prints_what_is_shown(step, folder):
    output = carried_out(step, folder)
    assert TOUR["agrees"](step.shown, output), f"$ {step.command}\n{output}"


@pytest.mark.parametrize("step", the("form", "host"))
def test_a_command_prints_the_form_that_is_shown(step, folder):
    if step.where == "host":
        agent_or_skip()
    output = carried_out(step, folder, ANYHOW if step.where == "host" else "")
    assert TOUR["agrees"](step.shown, output, TOUR["form"]), f"$ {step.command}\n{output}"


@pytest.mark.parametrize("step", the("guest"))
def test_a_guest_prints_the_form_that_is_shown(step, folder):
    from schedlab.targets.guest import machine

    agent_or_skip()
    for kernel in step.where.removeprefix("guest:").split(","):
        try:
            machine.ready(kernel, lambda text: None)
        except UsageError as why:
            pytest.skip(str(why))
    output = carried_out(step, folder)
    assert TOUR["agrees"](step.shown, output, TOUR["form"]), f"$ {step.command}\n{output}"


@pytest.mark.parametrize("page", TOUR["EXACT"], ids=lambda page: page.stem)
def test_a_page_prints_what_is_shown(tmp_path, page):
    for step in TOUR["steps"](page.read_text()):
        if step.is_file:
            (tmp_path / step.where).write_text(step.shown)
        else:
            output = carried_out(step, tmp_path)
            assert TOUR["agrees"](step.shown, output), f"$ {step.command}\n{output}"


def test_what_takes_long_is_a_target_of_the_makefile():
    words = [step.command.split() for step in STEPS if step.where == "make"]
    assert words == [["make", "setup"], ["make", "demo"]]
    for _, target in words:
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)
    demo = re.search(r"^demo:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)[1]
    assert "schedlab reproduce --html demo.html" in demo
    shown = next(step.shown for step in STEPS if step.command == "make demo")
    assert shown.endswith("The page with the pictures: demo.html\n")


def test_the_scores_of_the_demo_are_those_of_the_page_on_validity():
    shown = next(step.shown for step in STEPS if step.command == "make demo")
    rows = {tuple(re.split(r"\s{2,}", line.strip())) for line in shown.splitlines() if " of " in line}
    known = re.findall(
        r"^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", (ROOT / "docs/validity.md").read_text(), re.MULTILINE
    )
    assert len(rows) == 7
    assert rows <= set(known)


def test_the_page_has_every_part_of_a_first_hour():
    titles = re.findall(r"^## (\d)\. (.*)$", TEXT, re.MULTILINE)
    assert [int(number) for number, _ in titles] == [1, 2, 3, 4, 5, 6]
    places = {step.where.split(":")[0] for step in STEPS if not step.is_file}
    assert places == {"", "form", "make", "host", "guest"}
    parts = re.split(r"^## ", TEXT, flags=re.MULTILINE)[3:7]
    assert all("Look " in part for part in parts), "each part says what to look at"


def test_the_readme_names_the_tour():
    assert (ROOT / "README.md").read_text().count("](docs/tour.md)") == 2


# What the comparison lets through.


@pytest.mark.parametrize(
    ("shown", "output", "same"),
    [
        ("a 1 ± 2\n", "a   17.5 ± 0.01\n", True),
        ("a 1 ± 2\n", "a 17.5\n", False),
        ("a 1\nb 2\n", "b 1\na 2\n", False),
        ("  sim  1.5\n", "  sim   1.5\n", True),
        ("  sim  1.5\n", "  sim   1.6\n", False),
        ("a 1\n", "a 2\nwarning: noisy,\n  very\n", True),
        ("a 1\n", "a 2\nnote: noisy\n", False),
        ("x 1\n...\ny 2\n", "x 3\nin between\nin between\ny 4\n", True),
        ("x 1\n...\ny 2\n", "x 3\nin between\n", False),
    ],
)
def test_a_form_is_all_but_the_numbers_of_a_measurement(shown, output, same):
    assert TOUR["agrees"](shown, output, TOUR["form"]) is same


def test_an_output_is_cut_as_the_one_before():
    assert TOUR["renewed"]("a\n...\nb\nc\n", "1\n2\n3\n4\n5\n") == "1\n...\n4\n5\n"
    assert TOUR["renewed"]("a\nb\n", "1\n") == "1\n"
