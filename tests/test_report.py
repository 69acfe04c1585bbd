"""The pages: complete, self-contained, and shown by a real browser."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from schedlab.report import method
from schedlab.report import page as pages
from schedlab.results import Results

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
VOID = {"meta", "br", "link", "img", "input", "hr", "wbr"}


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
            # What is saved from the page is in it.
            own = value.startswith("#" if name == "src" or tag != "a" else ("#", "data:"))
            assert name not in ("src", "href") or own, f"{tag} fetches {value}"

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
    assert page.tags.count("svg") == 8, "a chart for each metric, its effects, the tail of the latency, a schedule"
    text = " ".join(page.text)
    assert "Which slice" in text
    assert "18ms" in text
    assert "Minix 1.5 HZ" in text, "values of the machine stand there with their source"


def test_effects_are_drawn_the_largest_first_with_their_intervals(schedlab, small):
    schedlab("run", small, "--set", "seeds=6", "--set", "sweep={'scheduler.slice'=['100ms','50ms','18ms']}")
    schedlab("report", "results/small", "-o", "page.html", "--baseline", "scheduler.slice=50ms", "--within", "1%")
    page = (schedlab.folder / "page.html").read_text()
    figure = re.search(r'<figure id="effects-tasks-io-real">.*?</figure>', page, re.DOTALL)[0]
    tips = re.findall(r"<title>(.*?): (-?[\d.]+) % \[.*?\], (.*?)</title>", figure)
    assert [label for label, *_ in tips] == ["slice 100 ms", "slice 18 ms"]
    assert abs(float(tips[0][1])) > abs(float(tips[1][1]))
    assert "difference from slice=50ms, %" in figure
    assert "lines: ±1 %" in figure


def test_every_figure_names_its_scenarios_and_seeds(schedlab, result):
    schedlab("report", result, "-o", "page.html")
    page = (schedlab.folder / "page.html").read_text()
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", page)
    assert len(captions) == page.count("<figure")
    assert all(re.search(r"scenario [0-9a-f]{12}.*(3 seeds|seed 1)", caption) for caption in captions)


def test_a_report_as_json_says_what_was_written(schedlab, result):
    said = schedlab.json("report", result, "-o", "page.html")
    verdict = said.pop("verdict")
    assert said == {"schema": "schedlab/report/1", "result": str(result), "page": "page.html"}
    assert verdict
    shown = unescape(re.sub(r"<wbr>|<[^>]*>", "", (schedlab.folder / "page.html").read_text()))
    assert all(line in shown for line in verdict)


def test_a_folder_without_runs_is_refused_and_lacking_ones_are_counted(schedlab, small):
    schedlab("run", small, "--seeds", "4")
    (folder,) = (schedlab.folder / "results").glob("small-*")
    results = Results.open(folder)
    assert (results.runs, results.lacking) == (8, 0)
    half = replace(results, manifest=results.manifest | {"experiment": results.manifest["experiment"] | {"seeds": 6}})
    assert (half.runs, half.lacking) == (8, 4)
    assert method.seeds_each(half) == "up to 6 seeds each"
    for file in folder.glob("*.parquet"):
        file.unlink()
    done = schedlab("report", "small", "-o", "page.html")
    assert (done.returncode, done.stdout) == (2, "")
    assert "has no runs" in done.stderr
    assert not (schedlab.folder / "page.html").exists()


def test_the_beginning_of_several_names_is_refused(schedlab, small, result):
    schedlab("run", small, "--set", "scheduler.slice=36ms")
    done = schedlab("report", "smal")
    assert done.returncode == 2
    assert "may mean small-" in done.stderr


def test_a_page_that_cannot_be_written_leaves_nothing(schedlab, result):
    done = schedlab("report", result, "-o", "no/page.html")
    assert done.returncode == 2
    assert "no/" in done.stderr


def test_the_contents_name_every_part_and_lead_to_it(schedlab, result):
    schedlab("report", result, "-o", "page.html")
    text = (schedlab.folder / "page.html").read_text()
    targets = re.findall(r'<a href="#([^"]+)">', text)
    identities = re.findall(r' id="([^"]+)"', text)
    assert len(identities) == len(set(identities))
    assert set(targets) <= set(identities)
    titles = re.findall(r"<h3>(.*?)</h3>", text)
    nav = text[text.index("<nav") : text.index("</nav>")]
    entries = re.findall(r'">(.*?)</a>', nav)
    assert all(any(title.startswith(entry) for entry in entries) for title in titles)
    assert "A schedule" in entries, "its caption is too long for a list"


def test_a_page_says_steps_that_were_swept_in_words(schedlab, small):
    steps = '[{ compute = "5ms" }, { sleep = "1s" }]'
    text = 'machine = "uniform"\nduration = "3s"\n[scheduler]\nname = "fifo"\n[workload.terminal]\n'
    swept = f'steps = [{{ sleep = "2s" }}]\n[sweep]\n"workload.terminal.steps" = [{steps}]\n'
    (schedlab.folder / "steps.toml").write_text(text + swept)
    done = schedlab("run", "steps.toml")
    assert done.returncode == 0, done.stderr
    schedlab("report", "results/steps", "-o", "page.html")
    text = " ".join(read(schedlab.folder / "page.html").text)
    assert text.count("compute 5 ms, sleep 1 s") == 3, "in the table, above the schedule, in the list of scenarios"
    assert '{"compute"' not in text


@pytest.mark.parametrize(
    ("seeds", "said"), [(1, "there is no interval"), (3, "means over 3 seeds; intervals are 95 % by")]
)
def test_the_footer_says_what_the_numbers_are(schedlab, small, seeds, said):
    schedlab("run", small, "--seeds", seeds)
    schedlab("report", "results/small", "-o", "page.html")
    text = (schedlab.folder / "page.html").read_text()
    footer = text[text.index("<footer>") :]
    assert said in footer
    assert ("Student" in footer) == (seeds > 1)


def test_a_table_becomes_blocks_before_it_is_cut():
    short = pages.grid([pages.Column("name", key=True), pages.Column("n", numeric=True)], [["a", 1]])
    long = pages.grid(
        [pages.Column(f"tasks.job{i}.wakeup_latency.p99 [ms]", numeric=True) for i in range(20)], [["1"] * 20]
    )
    assert short.rem == pages.BREAKS[0]
    assert long.rem == pages.BREAKS[-1]
    between = pages.grid([pages.Column("name", key=True)], [["x" * 60]])
    assert between.rem >= 60 * pages.CHARACTER


def test_each_cell_of_a_page_brings_its_heading_along(schedlab, result):
    schedlab("report", result, "-o", "page.html")
    text = (schedlab.folder / "page.html").read_text()
    cells = re.findall(r"<td[^>]*>", text)
    assert cells
    assert all(' data-h="' in cell for cell in cells)


QUIET = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
with_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; the pages are parsed in any case")

#: In a frame of a width: what sticks out of the page, out of its drawing, or touches another label.
LOOK = """<script>
addEventListener("load", () => {
  const found = [], wide = document.documentElement.clientWidth, seen = e => e.getClientRects().length;
  const within = (r, s) => r.left < s.right - 1 && r.top < s.bottom - 4;
  if (document.documentElement.scrollWidth > wide) found.push("the page is wider than its window");
  for (const e of document.querySelectorAll("td, th, h1, h2, h3, p, figure, figcaption, li, summary")) {
    const r = e.getBoundingClientRect(), out = r.right > wide + 1 || r.left < -1;
    if (seen(e) && !e.closest("thead") && out) found.push(e.tagName + ": " + e.textContent.slice(0, 40));
    const hides = getComputedStyle(e).overflowX != "visible" && e.scrollWidth > e.clientWidth + 1;
    if (seen(e) && hides) found.push("cut: " + e.textContent.slice(0, 40));
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    // The names of scenarios are no words.
    if (text.parentElement.closest("svg, script, style, pre, .id")) continue;
    for (const word of text.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
      const range = document.createRange();
      range.setStart(text, word.index), range.setEnd(text, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].filter(r => r.width > 0).map(r => Math.round(r.top)));
      if (lines.size > 1) found.push("broken: " + word[0]);
    }
  }
  for (const drawing of document.querySelectorAll("svg")) {
    const frame = drawing.getBoundingClientRect();
    if (!seen(drawing)) continue;
    const words = [...drawing.querySelectorAll("text")].map(e => [e.firstChild.textContent, e.getBoundingClientRect()]);
    words.forEach(([text, r], i) => {
      if (r.width && (r.left < frame.left - 1 || r.right > frame.right + 1)) found.push("out of its drawing: " + text);
      for (const [other, s] of words.slice(0, i))
        if (r.width && s.width && within(r, s) && within(s, r)) found.push(text + " on " + other);
    });
    if (words.some(([, r]) => r.width && r.height < 9)) found.push("too small to read");
  }
  parent.postMessage(JSON.stringify(found), "*");
});
</script>"""


def browse(folder: Path, *arguments: str) -> str:
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", *QUIET, f"--user-data-dir={folder / 'profile'}"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True).stdout


def look(page: Path, width: int) -> list[str]:
    """What a browser window of this width shows badly."""
    folder = page.parent
    (folder / "looked.html").write_text(page.read_text().replace("</body>", LOOK + "</body>"))
    (folder / "frame.html").write_text(
        f'<body><iframe src="looked.html" style="border:0;height:900px;width:{width}px"></iframe><pre id="found"></pre>'
        '<script>addEventListener("message", e => document.getElementById("found").textContent = e.data)</script>'
    )
    shown = browse(folder, "--virtual-time-budget=4000", "--dump-dom", (folder / "frame.html").as_uri())
    return json.loads(unescape(re.search(r'<pre id="found">(.+?)</pre>', shown, re.DOTALL)[1]))


@with_browser
def test_a_browser_shows_the_page(schedlab, result):
    schedlab("report", result, "-o", "page.html")
    page = schedlab.folder / "page.html"
    shown = browse(schedlab.folder, "--dump-dom", page.as_uri())
    assert shown.count("<svg") == page.read_text().count("<svg")
    assert "Where the numbers come from" in shown
    picture = schedlab.folder / "page.png"
    browse(schedlab.folder, f"--screenshot={picture}", "--window-size=1000,2000", page.as_uri())
    assert picture.stat().st_size > 20_000, "more than an empty page"


@with_browser
@pytest.mark.parametrize("width", [360, 600, 1280, 1920])
def test_nothing_is_cut_and_no_label_touches_another_at_any_width(schedlab, result, width):
    schedlab("report", result, "-o", "page.html")
    assert look(schedlab.folder / "page.html", width) == []
