"""How numbers came about, on a page: the experiment file that asks the same again, and what was done where."""

import re
import shlex
import tomllib
from urllib.parse import unquote

import pytest
from conftest import ROOT

from schedlab import Experiment
from schedlab.report import measured, method
from schedlab.results import Results
from schedlab.specification import Specification
from schedlab.system import toml

FILES = [*sorted((ROOT / "examples").glob("*.toml")), *sorted((ROOT / "python/schedlab/published").rglob("*.toml"))]
EXPERIMENTS = [file for file in FILES if re.search(r"^\[workload", file.read_text(), re.MULTILINE)]


@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_the_file_of_a_page_asks_what_the_experiment_asked(file):
    asked = Specification.from_toml(file)
    again = Specification.from_text(toml.text(asked.definition), file.name)
    assert again.definition == asked.definition
    assert [cell.hash for cell in again.cells()[:3]] == [cell.hash for cell in asked.cells()[:3]]


@pytest.mark.parametrize(
    "words", ['quoted "twice"', "back\\slash", "two\nlines", "tab\t bell\x07 delete\x7f", "µ 漢 🙂", ""]
)
def test_any_text_is_written_as_toml_that_gives_it_back(words):
    definition = {"question": words, words or "x": {"in a table": [words, 1, 1.5, True, {"a.b": words}]}, "no": None}
    found = tomllib.loads(toml.text(definition))
    assert found == {name: value for name, value in definition.items() if value is not None}


def test_the_page_has_the_file_as_text_and_as_a_download_and_the_command_that_runs_it(schedlab, small):
    schedlab("run", small)
    schedlab("report", "results/small", "-o", "page.html")
    page = (schedlab.folder / "page.html").read_text()
    name, address = re.search(
        r'<a download="([^"]+)" href="data:application/toml;charset=utf-8,([^"]+)"', page
    ).groups()
    command = re.search(r"<code>(.*?)</code>", page)[1]
    assert shlex.split(command) == ["schedlab", "run", name]
    (schedlab.folder / "again").mkdir()
    (schedlab.folder / "again" / name).write_text(unquote(address))
    (folder,) = (schedlab.folder / "results").iterdir()
    said = schedlab("run", f"again/{name}").stdout
    assert f"0 runs (6 known before); results/{folder.name}" in said, "it asks for the very same runs"


def about(small, tmp_path, **changes):
    """Results that say they were made elsewhere."""
    results = Experiment.from_toml(small).run(out=tmp_path / "results")
    return Results(results.name, results.folder, results.manifest | changes, results.metrics, results.scenarios)


def test_what_was_done_on_a_host_is_told(small, tmp_path):
    conditions = {"quiet_below": 5.0, "patience": 30.0, "trace": "auto", "scratch": "None", "warm_up": 2, "dirty": True}
    place = {"engine": "host", "kernel": "6.1.0 #1 SMP", "conditions": conditions, "ignored": ["prices"], "noisy": True}
    seen = {"preflight": {"foreign_percent": 1.25, "steal_percent": 0.5, "scatter": 0.01, "visible": 0.02}}
    results = about(small, tmp_path, places={"host": place}, seen={"host": seen})
    rows = method.rows(results, results.judged())
    found = dict(rows)
    assert found["order"].startswith("random within each repeat")
    assert found["warm-up"] == "2 unmeasured runs of each cell on host"
    assert "kernel 6.1.0 #1 SMP" in found["place host"]
    assert "others used 1.2 % of the busiest processor" in found["noise on host"]
    assert "same work repeated within 1 %" in found["noise on host"]
    assert found["ignored on host"] == "prices"
    assert method.command(results) == (
        "schedlab run small.toml --on host --quiet-below 5.0 --patience 30.0 --warm-up 2 --dirty"
    )


def test_simulated_runs_have_no_order_and_no_noise(small, tmp_path):
    results = Experiment.from_toml(small).run(out=tmp_path / "results")
    found = dict(method.rows(results, results.judged()))
    assert found["order"] == "does not matter: a run is decided by its scenario and its seed"
    assert found["seeds"] == "1 to 3"
    assert not any(name.startswith("noise") for name in found)


def test_a_manifest_of_another_shape_breaks_no_page(small, tmp_path):
    results = about(
        small, tmp_path, places={"host": {"conditions": {}}}, seen={"host": {"preflight": {"scatter": "?"}}}
    )
    measured.write(results, tmp_path / "page.html")
    assert "Method" in (tmp_path / "page.html").read_text()
