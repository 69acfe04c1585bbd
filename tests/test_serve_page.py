"""`schedlab serve` in a real browser: its panel lists, runs, counts, cancels and opens, and can do without."""

# Fixtures are imported, and named by arguments.
# ruff: noqa: F401, F811

import json
import re
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from conftest import ROOT, Command, agent_or_skip
from labpage import SHORT, in_browser, native, page
from serving import ENDLESS, TINY, Serving, lives, soon

from schedlab import Results

pytestmark = in_browser

#: A name and a question that would be markup.
MARKUP = "<img src=x onerror=document.title='bad'>"


@pytest.fixture(scope="module")
def serving(tmp_path_factory):
    """A server with the short load, results of a name that would be markup, and a recording."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "short.toml").write_text(SHORT)
    (folder / "tiny.toml").write_text(TINY.format(seeds=2).replace("What does a hog leave?", MARKUP))
    assert Command(folder)("run", "tiny.toml").returncode == 0
    (results,) = (folder / "results").iterdir()
    results.rename(results.with_name(f"{MARKUP}-01234567"))
    (folder / "recordings").mkdir()
    shutil.copy(ROOT / "examples" / "traces" / "player.txt", folder / "recordings")
    found = Serving(folder, "short.toml", "--traces", "recordings")
    yield found
    found.close()


@pytest.fixture
def served(page, serving):
    """Its page, opened anew by the printed address."""
    page.browser.window(1280)
    page.browser.open(serving.about["address"])
    page.settle()
    page.until("document.querySelectorAll('#served-results tbody tr').length > 0")
    return page


def newest(serving) -> int:
    """The number of the job that was asked for last; 0 if none was."""
    return max((job["number"] for job in serving.state()["jobs"]), default=0)


def row_of(page, number: int, *states: str) -> list[str]:
    """The first row of the jobs, once it is of that number and in one of these states."""
    rows = soon(lambda: (rows := page.cells("served-jobs")) and begins(rows[0], number, states) and rows)
    return rows[0]


def begins(row: list[str], number: int, states: tuple[str, ...]) -> bool:
    return row[0].startswith(f"{number}: ") and row[2].startswith(states)


def opened(page, kind: str) -> str:
    """The address behind a link of the newest job."""
    return page.value(f"document.querySelector('#served-jobs a[href^=\"/{kind}/\"]').href")


def test_the_page_lists_what_there_is_and_the_token_has_left_the_address(served, serving):
    assert served.value("location.href.replace(/#.*/, '')") == f"http://{serving.host}/"
    assert serving.token not in served.value("document.cookie + document.documentElement.outerHTML")
    (row,) = served.cells("served-results")
    assert (row[0], row[1], row[3], row[4], row[5]) == (f"{MARKUP}-01234567", MARKUP, "1", "sim", "report lab")
    assert [row[0] for row in served.cells("served-traces")] == ["player.txt"]
    assert served.value("document.querySelectorAll('#served img').length") == 0
    assert served.rows() == native(SHORT)
    assert served.browser.complaints() == []
    asked = [url for url in served.browser.requests() if not url.startswith(("blob:", "data:"))]
    assert {url.partition("//")[2].partition("/")[0] for url in asked} == {serving.host}


@pytest.mark.parametrize(("kind", "begins"), [("results", MARKUP), ("reports", MARKUP), ("traces", "What happened in")])
def test_the_pages_that_it_links_open_without_a_complaint(served, serving, kind, begins):
    table = "traces" if kind == "traces" else "results"
    served.browser.open(served.value(f"document.querySelector('#served-{table} a[href^=\"/{kind}/\"]').href"))
    served.until(f"document.querySelector('h1').textContent.startsWith({json.dumps(begins)})")
    if kind == "results":
        served.settle()
        served.until("/^Checked: all [1-9]/.test(document.getElementById('stored-check').textContent)")
    if kind == "traces":
        served.until("document.getElementById('window').textContent")
    assert served.browser.complaints() == []


def test_what_is_on_the_page_is_run_and_counted_and_its_results_open(served, serving):
    served.give("knob-scheduler.slice-text", "7ms")
    served.settle()
    before = newest(serving)
    served.press("served-run")
    row = row_of(served, before + 1, "done", "failed")
    assert (row[1], row[2], row[3]) == ("sim", "done, 4 of 4 runs", "report lab")
    served.until("document.getElementById('served-said').textContent.includes('short on sim: done')")
    name = opened(served, "reports").rpartition("/")[2]
    assert name in [row[0] for row in served.cells("served-results")]
    results = Results.open(serving.folder / "results" / name)
    values = results.values_of(["context_switches"])[results.scenarios[0], "context_switches"].values
    assert values[0] == native(SHORT, set=["scheduler.slice=7ms"])["context_switches"]
    assert len(results.scenarios) == 1
    served.browser.open(opened(served, "results"))
    served.settle()
    assert served.value("lab.shown.pictures[0].scenario.scheduler.slice") == "7ms"
    assert re.match("Checked: all [1-9]", served.text("stored-check"))


def test_a_setting_that_cannot_be_run_is_not_sent(served, serving):
    before = newest(serving)
    served.write(SHORT.replace("round_robin", "round_robbin"))
    served.press("served-run")
    served.until("document.getElementById('served-said').textContent.includes('cannot be run')")
    assert newest(serving) == before


def test_a_run_is_cancelled_by_the_keyboard_and_the_progress_is_shown(served, serving):
    text = TINY.format(seeds=ENDLESS)
    number = serving.begin(text, "long")
    served.until("document.querySelector('#served-jobs progress')?.value > 0")
    assert re.match(rf"running, \d+ of {ENDLESS} runs", row_of(served, number, "running")[2])
    served.value("document.querySelector('#served-jobs button').focus()")
    served.pause(1000)
    label = f"cancel run {number} of long on sim"
    assert served.value("document.activeElement.getAttribute('aria-label')") == label, "it keeps the focus"
    served.browser.press("Enter", text="\r")
    assert "are kept in" in row_of(served, number, "cancelled")[2]
    served.until(
        f"document.getElementById('served-said').textContent.includes('Run {number} of long on sim: cancelled')"
    )


def test_on_this_computer_it_runs_only_after_its_plan_is_agreed_to(served, serving):
    agent_or_skip()
    before = newest(serving)
    served.write(TINY.format(seeds=1))
    served.settle()
    served.give("served-on", "host")
    assert "Real tasks on this computer" in served.text("served-about")
    served.press("served-run")
    served.until("!document.getElementById('served-plan').hidden")
    assert served.value("document.activeElement.id") == "served-plan"
    assert "runs: 1 (1 cell x 1 repeat on 1 target)" in served.text("served-lines")
    assert newest(serving) == before
    served.press("served-leave")
    assert not served.shows("served-plan")
    served.press("served-run")
    served.until("!document.getElementById('served-plan').hidden")
    served.value("document.getElementById('served-dirty').checked = true")
    served.press("served-agree")
    row = row_of(served, before + 1, "done", "failed", "cancelled")
    assert (row[1], row[2][:16]) == ("host", "done, 1 of 1 run")
    results = Results.open(serving.folder / "results" / opened(served, "reports").rpartition("/")[2])
    assert {cell["on"] for cell in results.manifest["cells"]} == {"host"}
    served.browser.open(opened(served, "reports"))
    served.until("document.querySelector('h1').textContent === 'What does a hog leave?'")


@pytest.mark.parametrize(
    "change",
    [
        lambda page: page.give("knob-scheduler.slice-text", "7ms"),
        lambda page: page.write(TINY.format(seeds=3)),
        lambda page: page.give("seeds", "2"),
        lambda page: page.give("example", "desktop"),
    ],
)
def test_a_plan_is_shown_as_long_as_its_setting_is(served, serving, change):
    agent_or_skip()
    before = newest(serving)
    served.give("served-on", "host")
    said = "document.getElementById('served-said').textContent"
    served.press("served-run")
    served.until("!document.getElementById('served-plan').hidden")
    change(served)
    assert not served.shows("served-plan")
    served.until(f"{said}.includes('The setting has changed')")
    served.press("served-agree")
    served.settle()
    # While the plan is made, too.
    served.value("(window.fetched = fetch, window.fetch = async (...all) => (await window.held, fetched(...all)), 0)")
    served.value("(window.held = new Promise((go) => (window.go = go)), 0)")
    served.press("served-run")
    served.until(f"{said} === 'The plan is being made.'")
    served.give("knob-scheduler.slice-text", "9ms")
    served.value("(go(), 0)")
    served.until(f"{said}.includes('The setting has changed')")
    assert not served.shows("served-plan")
    assert newest(serving) == before


#: What a page from another port of this computer may try; the browser sends it the cookie's site, which knows no port.
TRIES = """(async () => {
    const server = %s, text = %s;
    const seen = (promise) => promise.then((answer) => answer.type + answer.status, () => "refused");
    const frame = document.createElement("iframe");
    frame.src = server + "/";
    document.body.append(frame);
    await new Promise((loaded) => (frame.onload = loaded));
    const all = { credentials: "include" }, body = { ...all, method: "POST", body: text };
    return [
        await seen(fetch(server + "/api/state", all)),
        await seen(fetch(server + "/api/state", { ...all, mode: "no-cors" })),
        await seen(fetch(server + "/api/jobs?on=sim", body)),
        await seen(fetch(server + "/api/jobs?on=sim", { ...body, headers: { "Content-Type": "application/toml" } })),
        await seen(fetch(server + "/api/jobs?on=sim", { ...body, mode: "no-cors" })),
        frame.contentDocument === null ? "closed" : "open",
    ];
})()"""


class _Other(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>other</title><body>")

    def log_message(self, *_):
        pass


def test_a_page_from_another_port_of_this_computer_gets_nothing(served, serving):
    before = newest(serving)
    other = ThreadingHTTPServer(("127.0.0.1", 0), _Other)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    try:
        served.browser.open(f"http://127.0.0.1:{other.server_port}/")
        tries = TRIES % (json.dumps(f"http://{serving.host}"), json.dumps(TINY.format(seeds=1)))
        found = served.value(tries)
    finally:
        other.shutdown()
        other.server_close()
    assert found[:1] + found[2:4] == ["refused"] * 3
    assert {found[1], found[4]} <= {"opaque0", "refused"}
    assert found[5] == "closed"
    assert newest(serving) == before


@pytest.mark.parametrize("width", [360, 1280, 3840])
def test_the_panel_fits_and_is_named(served, width):
    served.browser.window(width, dark=width == 1280)
    served.value("document.getElementById('served-plan').hidden = false")
    assert served.value("document.documentElement.scrollWidth") <= width
    bare = "[...document.querySelectorAll('#served button, #served a, #served select, #served input')]"
    named = f"{bare}.filter(one => !(one.ariaLabel || one.textContent.trim() || one.labels?.length)).length"
    assert served.value(named) == 0


def test_a_page_whose_server_has_ended_says_so_and_goes_on(page, tmp_path):
    serving = Serving(tmp_path)
    page.browser.window(1280)
    page.browser.open(serving.about["address"])
    page.settle()
    page.until("document.getElementById('served-out').textContent")
    assert serving.close() == 0
    page.until("!document.getElementById('served-lost').hidden")
    assert "does not answer any more" in page.text("served-lost")
    page.press("served-run")
    page.until("!document.getElementById('served-run').disabled")
    page.slide("machine.processors", 0.3)
    page.settle()
    assert not page.shows("fault")
