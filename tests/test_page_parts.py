"""The page of a rich result in a real browser: at every width, by keyboard, with an address for each row, on paper."""

import json
import re
from html import unescape

import pytest
from test_report import browse, look, read, with_browser

from schedlab import Experiment
from schedlab.report import measured, page
from schedlab.report.page import Column

RICH = """
machine = "uniform"
question = "Which scheduler and slice keep the editor's waits short, and under which load?"
seeds = 3
duration = "2s"
metrics = ["tasks.*.wakeup_latency.p99", "tasks.hog.share", "context_switches"]
[scheduler]
name = "round_robin"
[workload]
editor = { count = 2, steps = [{ compute = { exp = "4ms" } }, { sleep = { exp = "20ms" } }], passes = "forever" }
mailer = { steps = [{ compute = { exp = "1ms" } }, { sleep = { exp = "30ms" } }], passes = "forever" }
hog = { count = 2, load = "spin", compute = "1s", passes = "forever" }
[goal]
minimize = ["tasks.editor.wakeup_latency.p99", "context_switches"]
[sweep]
"scheduler.slice" = ["5ms", "20ms", "100ms"]
"workload.hog.count" = [1, 2, 8]
"workload.editor.count" = [1, 3]
"""

#: What the keyboard meets, one by one: in which order, whether it is seen with the focus, and what it cannot reach.
KEYS = """<script>
addEventListener("load", () => {
  const found = [], seen = e => e.checkVisibility(), said = (why, e) => found.push(why + ": " + e.textContent.trim());
  const stops = [...document.querySelectorAll("a[href], summary, button, input, [tabindex]")].filter(seen);
  if (!stops.length || !stops[0].matches(".skip")) found.push("the first stop is not the link over the contents");
  for (const e of stops) {
    if (e.tabIndex !== 0) said("out of the order of the page", e);
    e.focus();
    if (document.activeElement !== e) { said("takes no focus", e); continue; }
    const style = getComputedStyle(e), r = e.getBoundingClientRect();
    if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 1) said("focus is not seen", e);
    if (parseFloat(style.opacity) < 1 || r.right < 0 || r.width < 1) said("is not seen with the focus", e);
    const to = e.getAttribute("href");
    if (to && to.startsWith("#") && !document.getElementById(to.slice(1))) found.push("leads nowhere: " + to);
    if (e.matches("a") && !(e.getAttribute("aria-label") || e.textContent.trim())) found.push("has no name: " + to);
  }
  for (const e of document.querySelectorAll("body *")) {
    const scrolls = /auto|scroll/.test(getComputedStyle(e).overflowX + getComputedStyle(e).overflowY);
    const more = e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1;
    if (scrolls && more && e.tabIndex < 0) found.push("scrolls, and no key reaches it: " + e.tagName);
  }
  for (const e of document.querySelectorAll("svg[role=img]"))
    if (!e.getAttribute("aria-label") && !e.querySelector(":scope > title")) found.push("a picture has no name");
  document.body.innerHTML = "<pre id=found></pre>";
  document.getElementById("found").textContent = JSON.stringify([stops.length, found]);
});
</script>"""


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    """The page, once."""
    folder = tmp_path_factory.mktemp("rich")
    results = Experiment.from_text(RICH, "rich").run(folder / "results")
    measured.write(results, folder / "page.html")
    return folder / "page.html"


def test_the_page_is_whole_and_its_parts_come_in_their_order(rich):
    text = rich.read_text()
    read(rich)
    parts = ["verdict", "best", "numbers", "pictures", "effects", "schedule", "method", "again", "sources"]
    places = [re.search(rf' id="{part}"', text).start() for part in parts]
    assert places == sorted(places)
    assert text.index("<h1>") < places[0] < text.index("<nav")


def test_every_row_of_a_table_has_an_address_and_a_link_to_it(rich):
    text = rich.read_text()
    rows = re.findall(r'<tr id="([^"]+)">', text)
    assert len(rows) == len(set(rows))
    assert rows == re.findall(r'class="here" href="#([^"]+)"', text)
    assert "row-5ms-1-1" in rows
    assert "row-100ms-3-8" in rows
    of_results = text[text.index('id="numbers"') : text.index('id="pictures"')]
    assert of_results.count("<tr>") == 1, "only the headings have none"


def test_rows_of_the_same_name_have_addresses_of_their_own():
    rows = [["a b", 1], ["a-b", 2], ["a b", 3], ["c", 4]]
    found = page.grid([Column("name", key=True), Column("n", numeric=True)], rows, name="row").addresses
    assert found == ["row-a-b", "row-a-b_2", "row-a-b_3", "row-c"]
    assert page.grid([Column("name", key=True)], [["a"]]).addresses == ()


@with_browser
@pytest.mark.parametrize("width", [360, 500, 800, 1280])
def test_nothing_is_cut_and_no_label_touches_another(rich, width):
    assert look(rich, width) == []


def keys(rich, text):
    """How many stops the keyboard has on that page, and what is wrong with them."""
    file = rich.with_name("keys.html")
    file.write_text(text.replace("</body>", KEYS + "</body>"))
    shown = browse(rich.parent, "--virtual-time-budget=4000", "--dump-dom", file.as_uri())
    return json.loads(unescape(re.search(r'<pre id="found">(.+?)</pre>', shown, re.DOTALL)[1]))


@with_browser
def test_the_keyboard_reaches_everything_and_is_seen(rich):
    stops, found = keys(rich, rich.read_text())
    assert found == []
    assert stops > 40, "contents, rows, the file, what is folded"


@with_browser
def test_what_the_keyboard_cannot_reach_is_found(rich):
    text = rich.read_text()
    hidden = text.replace("tr:hover .here, .here:focus { opacity: 1; }", "").replace('class="skip"', 'class="other"')
    found = keys(rich, hidden)[1]
    assert "the first stop is not the link over the contents" in found
    assert any(one.startswith("is not seen with the focus") for one in found)
    scrolls = text.replace("<pre>", '<pre style="height: 2em; overflow: auto">')
    assert keys(rich, scrolls)[1] == ["scrolls, and no key reaches it: PRE"]


@with_browser
def test_the_page_prints_whole(rich):
    paper = rich.with_name("page.pdf")
    browse(rich.parent, "--no-pdf-header-footer", f"--print-to-pdf={paper}", rich.as_uri())
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", paper.read_bytes())) <= 12
