"""The pages: complete, self-contained, and shown by a real browser."""

import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from schedlab.report import svg

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
VOID = {"meta", "br", "link", "img", "input", "hr"}


class Checker(HTMLParser):
    """Reads a page strictly: every tag is closed in order, and nothing is fetched."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.text, self.tags = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attributes:
            assert name not in ("src", "href") or value.startswith("#"), f"{tag} fetches {value}"

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(page) -> Checker:
    checker = Checker()
    checker.feed(page.read_text(encoding="utf-8"))
    checker.close()
    assert checker.open == []
    assert not {"script", "link", "img", "iframe"} & set(checker.tags)
    assert "url(" not in page.read_text(encoding="utf-8")
    return checker


@pytest.fixture
def result(schedlab, small):
    schedlab("run", small)
    (folder,) = (schedlab.folder / "results").iterdir()
    return folder


def test_a_report_is_one_page_with_tables_and_pictures(schedlab, result):
    done = schedlab("report", result.name[:6], "-o", "page.html")
    assert done.returncode == 0, done.stderr
    page = read(schedlab.folder / "page.html")
    assert page.tags.count("svg") == 4, "a chart for each metric, and the schedule"
    text = " ".join(page.text)
    assert "Which slice" in text
    assert "18ms" in text
    assert "Minix 1.5 HZ" in text, "values of the machine stand there with their source"


def test_every_figure_names_its_scenarios_and_seeds(schedlab, result):
    schedlab("report", result, "-o", "page.html")
    page = (schedlab.folder / "page.html").read_text()
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", page)
    assert len(captions) == page.count("<figure")
    assert all(re.search(r"scenario [0-9a-f]{12}.*(3 seeds|seed 1)", caption) for caption in captions)


def test_a_report_as_json_says_what_was_written(schedlab, result):
    said = schedlab.json("report", result, "-o", "page.html")
    assert said == {"result": str(result), "page": "page.html"}


def test_the_beginning_of_several_names_is_refused(schedlab, small, result):
    schedlab("run", small, "--set", "scheduler.slice=36ms")
    done = schedlab("report", "smal")
    assert done.returncode == 2
    assert "may mean small-" in done.stderr


def test_a_page_that_cannot_be_written_leaves_nothing(schedlab, result):
    done = schedlab("report", result, "-o", "no/page.html")
    assert done.returncode == 2
    assert "no/" in done.stderr


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; the page is parsed in any case")
def test_a_browser_shows_the_page(schedlab, result):
    schedlab("report", result, "-o", "page.html")
    page = schedlab.folder / "page.html"
    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", *quiet]
    where = [f"--user-data-dir={schedlab.folder / 'profile'}", page.as_uri()]
    shown = subprocess.run([*command, "--dump-dom", *where], capture_output=True, text=True).stdout
    assert shown.count("<svg") == page.read_text().count("<svg")
    assert "Where the numbers come from" in shown
    picture = schedlab.folder / "page.png"
    subprocess.run([*command, f"--screenshot={picture}", "--window-size=1000,2000", *where], capture_output=True)
    assert picture.stat().st_size > 20_000, "more than an empty page"


@pytest.mark.parametrize("largest", [1e-9, 0.03, 1, 85, 99.999, 100, 1e9])
def test_ticks_are_round_and_reach_the_largest(largest):
    steps = svg.ticks(largest)
    assert steps[0] == 0
    assert steps[-1] >= largest * 0.998
    assert 3 <= len(steps) <= 6


def test_a_chart_of_nothing_and_of_one_seed_can_be_drawn():
    assert "<svg" in svg.chart([], [], "", "y")
    nan = float("nan")
    assert "nan" not in svg.chart(["a"], [svg.Series("s", [svg.Point(0, 1.0, nan, nan)])], "x", "y")
