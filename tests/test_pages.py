"""Every kind of page in a real browser: nothing is wider than its window or cut, and the demo is short on paper."""

import json
import re
import runpy
import shutil
import subprocess
from html import unescape

import pytest
from conftest import ROOT
from test_report import look, with_browser

from schedlab import Experiment
from schedlab.published import reproductions
from schedlab.report import measured, page

SHOTS = runpy.run_path(str(ROOT / "scripts" / "screenshots.py"))
#: Sheets of A4 or Letter.
SHEETS = 15

pytestmark = with_browser

LONG_NAMES = """
machine = "at_286"
question = "How long do the tasks wait?"
seeds = 2
duration = "20s"
metrics = ["tasks.NAME.wakeup_latency.p99", "tasks.NAME.share", "wakeup_latency.p99"]
[scheduler]
name = "minix"
[workload]
NAME = { load = "read_files", files = 3, size = "4KiB", passes = "forever" }
hog = { load = "spin", compute = "1s", passes = "forever" }
[sweep]
"workload.NAME.nice" = [0, 5]
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page of each kind; the published reports are rebuilt with two seeds, which changes no form."""
    return SHOTS["write"](tmp_path_factory.mktemp("pages"), fast=True)


@pytest.mark.parametrize("width", SHOTS["WIDTHS"])
@pytest.mark.parametrize("name", SHOTS["PAGES"])
def test_nothing_of_a_page_is_wider_than_its_window_or_cut(pages, name, width):
    assert look(pages[name], width) == []


def test_the_demo_prints_on_few_sheets(pages):
    folder = pages["demo"].parent
    SHOTS["browse"](folder, "--no-pdf-header-footer", f"--print-to-pdf={folder / 'demo.pdf'}", pages["demo"].as_uri())
    sheets = len(re.findall(rb"/Type\s*/Page\b", (folder / "demo.pdf").read_bytes()))
    assert 5 <= sheets <= SHEETS
    if shutil.which("pdfinfo"):
        info = subprocess.run(["pdfinfo", folder / "demo.pdf"], capture_output=True, text=True).stdout
        assert re.search(rf"^Pages: +{sheets}$", info, re.MULTILINE)


#: In a frame: where the rows of the demo's first table and its picture end, px, and how its rows are laid out.
FIRST = """<script>
addEventListener("load", () => {
  const rows = [...document.querySelectorAll(".scores tbody tr")];
  const ends = [...rows, document.querySelector(".first figure")];
  parent.postMessage(JSON.stringify({
    ends: ends.map(e => e.getBoundingClientRect().bottom), layout: getComputedStyle(rows[0]).display,
  }), "*");
});
</script>"""


def first_screen(page, width):
    """What `FIRST` says of the demo in a frame of a width."""
    page.with_name("first.html").write_text(page.read_text().replace("</body>", FIRST + "</body>"))
    frame = page.with_name("first-frame.html")
    frame.write_text(
        f'<body><iframe src="first.html" style="border:0;height:800px;width:{width}px"></iframe><pre id="found"></pre>'
        '<script>addEventListener("message", e => document.getElementById("found").textContent = e.data)</script>'
    )
    shown = SHOTS["browse"](page.parent, "--virtual-time-budget=4000", "--dump-dom", frame.as_uri())
    return json.loads(unescape(re.search(r'<pre id="found">(.+?)</pre>', shown, re.DOTALL)[1]))


def test_the_demo_opens_with_one_screen_of_all_reports(pages):
    found = first_screen(pages["demo"], 1280)
    assert len(found["ends"]) == len(reproductions.names()) + 2, "each report, all of them, and the picture"
    assert max(found["ends"]) <= 800
    assert found["layout"] == "table-row"
    assert first_screen(pages["demo"], 360)["layout"] == "block"


def test_a_picture_has_the_theme_and_the_width_that_are_asked_for(pages):
    seen = {}
    for theme in SHOTS["THEMES"]:
        for width in (360, 1280):
            picture = pages["cache"].parent / f"{theme}-{width}.png"
            SHOTS["shoot"](pages["cache"], width, theme, picture)
            seen[theme, width] = picture.read_bytes()
            assert int.from_bytes(seen[theme, width][16:20]) == max(width, 500)
    assert len(set(seen.values())) == len(seen)


def test_names_of_metrics_are_broken_after_dots_and_underscores_only(tmp_path):
    name = "tasks.reader_of_the_database.wakeup_latency_of_its_tasks.p99.9"
    parts = ["tasks.", "reader_", "of_", "the_", "database.", "wakeup_", "latency_", "of_", "its_", "tasks.", "p99.9"]
    assert str(page.breakable(name)) == "<wbr>".join(parts)
    assert page.breakable_heading(name) == "\u200b".join(parts)
    assert str(page.breakable("<b> 1.5 s.")) == "&lt;b&gt; 1.5 s."
    assert str(page.breakable("with --quiet-below")) == 'with <span class="whole">--quiet-below</span>'
    (tmp_path / "results").mkdir()
    text = LONG_NAMES.replace("NAME", "reader_of_the_database_with_a_long_name")
    found = Experiment.from_text(text, "long").run(tmp_path / "results")
    measured.write(found, tmp_path / "page.html")
    assert look(tmp_path / "page.html", 360) == []


def test_a_word_that_is_broken_is_found(pages):
    page = pages["cache"].with_name("broken.html")
    page.write_text('<body style="overflow-wrap:anywhere"><p style="width:4em">averylongwordthatisnot</p></body>')
    assert look(page, 360) == ["broken: averylongwordthatisnot"]


def test_what_is_cut_is_found(pages):
    page = pages["cache"].with_name("cut.html")
    page.write_text(
        '<body><p>whole</p><p style="width:3em;overflow:hidden;white-space:nowrap">longer than its place</p></body>'
    )
    assert look(page, 360) == ["cut: longer than its place"]
