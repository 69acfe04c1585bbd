"""What the tests of the lab's page share: pages written once, a hand on the knobs, numbers of the native engine."""

import json
import tempfile
from pathlib import Path

import pytest
from chromium import Browser
from conftest import COMMAND, Command
from test_report import CHROMIUM

from schedlab import Experiment
from schedlab.errors import UsageError
from schedlab.lab import made

#: A load with random numbers, short enough for many runs.
SHORT = """
question = "How soon does an editor get the processor next to hogs?"
machine = "uniform"
duration = "2s"
seeds = 4
metrics = ["tasks.editor.wakeup_latency.p99", "tasks.*.share", "context_switches"]
[scheduler]
name = "round_robin"
[workload]
editor = { steps = [{ sleep = { exp = "20ms" } }, { compute = { uniform = ["1ms", "4ms"] } }], passes = "forever" }
hog = { load = "spin", count = 2, passes = "forever" }
[sweep]
"scheduler.slice" = ["5ms", "20ms"]
"""
#: All seeds are in, and drawn.
DONE = """window.lab && lab.shown && lab.shown.runs.every(one => one.count ===
    (lab.shown.pictures.some(picture => picture.run.seeded) ? lab.setting.seeds : 1))"""
#: Two frames later, whatever was asked of the page is drawn.
FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
UNFOLDED = "document.querySelectorAll('details').forEach(one => one.open = true)"
#: Gives an element a value, as a hand does.
GIVEN = """(() => {
    const element = document.getElementById(%s);
    element.value = %s;
    element.dispatchEvent(new Event(%s, { bubbles: true }));
})()"""


def is_made() -> bool:
    try:
        made.made()
    except UsageError:
        return False
    return True


with_page = pytest.mark.skipif(not is_made(), reason="schedlab is installed without the lab's page (make web)")
in_browser = pytest.mark.skipif(not is_made() or CHROMIUM is None, reason="no Chromium here, or no page (make web)")


class Page:
    """A page in a browser, and a hand on it."""

    def __init__(self, browser: Browser):
        self.browser, self.value, self.until = browser, browser.value, browser.until

    def open(self, file: Path, hash: str = ""):
        """Open a page from its file, and wait until all seeds are in."""
        self.browser.window(1280)
        self.browser.open(file.as_uri() + hash)
        self.settle()

    def settle(self):
        """Wait until the page shows what is set."""
        self.value(FRAMES)
        self.until(f"window.lab && lab.session.idle && {DONE}")
        self.value(FRAMES)

    def pause(self, milliseconds: int):
        self.value(f"new Promise(done => setTimeout(done, {milliseconds}))")

    def give(self, element: str, value, event: str = "change"):
        """Choose, write or slide by hand."""
        self.value(GIVEN % (json.dumps(element), json.dumps(value), json.dumps(event)))

    def slide(self, path: str, place: float):
        """Move the slider of a field to a place between 0 and 1."""
        most = self.value(f"document.getElementById({json.dumps(f'knob-{path}')}).max")
        self.give(f"knob-{path}", round(int(most) * place), "input")

    def write(self, text: str):
        """Write a text into the editor, and rest."""
        self.give("text", text, "input")
        self.pause(400)

    def press(self, element: str):
        self.value(f"document.getElementById({json.dumps(element)}).click()")

    def text(self, element: str) -> str:
        return self.value(f"document.getElementById({json.dumps(element)}).textContent")

    def shows(self, element: str) -> bool:
        return not self.value(f"document.getElementById({json.dumps(element)}).hidden")

    def cells(self, table: str) -> list[list[str]]:
        """The texts of a table's body."""
        script = "[...document.querySelectorAll('#%s tbody tr')].map(row => [...row.cells].map(one => one.textContent))"
        return self.value(script % table)

    def fields(self, side: int = 0) -> dict[str, str]:
        """What a side sets, by path."""
        return dict(json.loads(self.value(f"JSON.stringify([...lab.setting.sides[{side}].set])")))

    def rows(self, side: int = 0) -> dict[str, float]:
        """The numbers of the first run of a side, by metric."""
        found = json.loads(self.value(f"JSON.stringify(lab.shown.pictures[{side}].run.rows)"))
        return {metric: value for metric, value, _ in found}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A browser for a whole file of tests."""
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield Page(browser)
    browser.close()


def written(folder: Path, *words) -> Path:
    """A page that the command has written."""
    done = Command(folder)("lab", *words, "-o", "lab.html")
    assert done.returncode == 0, done.stderr
    return folder / "lab.html"


@pytest.fixture(scope="module")
def desktop(tmp_path_factory):
    """The page of the desktop."""
    return written(tmp_path_factory.mktemp("desktop"))


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """The page of the short load, next to its file."""
    folder = tmp_path_factory.mktemp("short")
    (folder / "short.toml").write_text(SHORT)
    return written(folder, "short.toml")


def native(text: str, set=(), cell: int = 0, seed: int = 1) -> dict[str, float]:
    """The numbers of the native engine, by metric."""
    experiment = Experiment.from_text(text, "native.toml", set=[*set, f"seeds=[{seed}]"])
    with tempfile.TemporaryDirectory() as folder:
        results = experiment.run(Path(folder))
        series = results.values_of(results.known_metrics)
        own = {metric: one.values[0] for (of, metric), one in series.items() if of == results.scenarios[cell]}
    return {metric: value for metric, value in own.items() if value is not None}


__all__ = [
    "COMMAND",
    "SHORT",
    "UNFOLDED",
    "Page",
    "desktop",
    "in_browser",
    "native",
    "page",
    "short",
    "with_page",
    "written",
]
