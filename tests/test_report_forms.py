"""A result in a pull request and in a notebook: the verdict first, the rest folded or below, nothing left open."""

import re
import tomllib
from html.parser import HTMLParser

import pytest
from test_report import look, with_browser

from schedlab import Experiment, UsageError
from schedlab.report import text
from schedlab.results import verdict

VOID = {"br", "wbr"}


class Whole(HTMLParser):
    """Fails unless every tag is closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.tags = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def results(small, tmp_path):
    return Experiment.from_toml(small, set=["seeds=6"]).run(out=tmp_path / "results")


def test_a_text_for_a_pull_request_begins_with_the_verdict_and_folds_the_rest(results):
    judged = results.judged()
    found = text.markdown(results, judged)
    first = found.index("<details>")
    assert found.startswith("**Which slice keeps a reader quick alongside a hog?**\n\n- ")
    said = found[:first].replace("\\", "")
    assert all(line.replace("*", "") in said for line in verdict.lines(judged))
    assert "| tasks.io.real | lower |" in found[:first]
    assert "| 100ms |" not in found[:first]
    assert "| 100ms |" in found[first:]
    assert found.count("<details>") == found.count("</details>") >= 2


def test_markdown_within_the_folds_has_empty_lines_around_it(results):
    found = text.markdown(results, results.judged())
    assert all(after.startswith("\n\n") for after in found.split("</summary>")[1:])
    assert all(before.endswith("\n\n") for before in found.split("</details>")[:-1])


def test_the_file_of_such_a_text_is_the_experiment_whatever_it_has_in_it(small, tmp_path):
    small.write_text(small.read_text().replace("Which slice", "```toml ` Which"))
    results = Experiment.from_toml(small).run(out=tmp_path / "results")
    found = text.markdown(results, results.judged())
    (fence, inner) = re.search(r"^(`{3,})toml\n(.*?)^\1$", found, re.DOTALL | re.MULTILINE).groups()
    assert tomllib.loads(inner)["question"].startswith("```toml ` Which")
    assert len(fence) > 3


def test_report_prints_that_text_and_takes_a_baseline_and_a_bound(schedlab, small):
    schedlab("run", small)
    done = schedlab("report", "small", "--markdown", "--baseline", "scheduler.slice=18ms", "--within", "2%")
    assert done.returncode == 0, done.stderr
    assert "against slice=18ms [%]" in done.stdout
    wrong = schedlab("report", "small", "--markdown", "--baseline", "scheduler.slice=1ms")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "no cell has scheduler.slice = '1ms'" in wrong.stderr


def test_options_of_the_verdict_are_refused_where_none_is_printed(schedlab, small):
    schedlab("run", small)
    for option in (("--baseline", "scheduler.slice=18ms"), ("--within", "2%")):
        done = schedlab("report", "small", "--csv", *option)
        assert (done.returncode, done.stdout) == (2, "")
        assert "which --csv does not print: add -o, or --markdown" in done.stderr
        assert schedlab("report", "small", "--csv", "-o", "page.html", *option).returncode == 0


def test_sealed_results_have_no_text(results):
    (results.folder / "seal").write_text("")
    with pytest.raises(UsageError, match="is sealed"):
        text.markdown(results, results.judged())


def test_a_notebook_shows_the_verdict_its_table_and_charts(results):
    found = results._repr_html_()
    whole = Whole()
    whole.feed(found)
    assert whole.open == []
    assert "script" not in whole.tags
    assert (
        found.index("tasks.io.real: lowest") < found.index("<table") < found.index("<svg") < found.index("100ms</td>")
    )
    assert "prefers-color-scheme: dark" in found
    assert whole.tags.count("svg") == 4, "three charts, and the tail of the latency"


def test_a_notebook_of_a_large_sweep_shows_some_charts_and_says_how_many_are_left(small, tmp_path):
    sweep = "sweep={'scheduler.slice'=['100ms','50ms','18ms'],'workload.io.files'=[1,2]}"
    found = Experiment.from_toml(small, set=[sweep, "duration=3s"]).run(out=tmp_path / "results")._repr_html_()
    assert found.count("<svg") == 6
    assert re.search(r"note: \d+ more pictures: plot\(METRIC\)", found)


@with_browser
@pytest.mark.parametrize("width", [360, 800])
def test_a_browser_shows_what_a_notebook_shows(results, tmp_path, width):
    page = tmp_path / "notebook.html"
    page.write_text(f"<!doctype html><body>{results._repr_html_()}</body>")
    assert [one for one in look(page, width) if " on " in one or "out of its drawing" in one] == []
