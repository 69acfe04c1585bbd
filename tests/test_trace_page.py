"""`schedlab trace --html` and `--perfetto`: page and trace say what the tables say, and a browser shows the page.

The runs of the page are read here once more, by the form that `crates/explain/src/packed.rs` states.
"""

import base64
import gzip
import json
import math
import re
from html import unescape
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import ROOT
from test_report import browse, look, with_browser
from test_trace_verb import HOG, IDLE, SERVER, Text, waits

from schedlab.errors import Stopped
from schedlab.traces import asked

PLAYER = ROOT / "examples" / "traces" / "player.txt"
WOKEN, PREEMPTED, NEW = 1, 2, 3
CUT, GOES_ON, WAITS = 1, 6, 7


class Runs:
    """The runs of a page: task, processor, begin, length, wait before (ns), after what, how it ended, by whom."""

    def __init__(self, page):
        packed = re.search(r'<script type="text/plain" id="runs">(.*?)</script>', page.read_text(), re.DOTALL)[1]
        self.bytes = gzip.decompress(base64.b64decode(packed))
        length = int.from_bytes(self.bytes[:4], "little")
        self.head = json.loads(self.bytes[4 : 4 + length])
        self.at = 4 + length
        self.all = []
        begin = 0
        for _ in range(self.head["runs"]):
            step, long, task, cpu, wait, how = (self._number() for _ in range(6))
            begin += step
            after, end, more = how & 3, how >> 2 & 7, how >> 5
            named = after == PREEMPTED or (after == WOKEN and self.head["causes"][more] in ("task", "lock", "message"))
            by = self._number() - 1 if named else -1
            self.all.append((task, cpu, begin, long, wait, after, end, more, by))
        assert self.at == len(self.bytes)

    def _number(self):
        value = shift = 0
        while True:
            byte = self.bytes[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def of(self, pid):
        places = [place for place, task in enumerate(self.head["tasks"]) if task[1] == pid]
        return [run for run in self.all if run[0] in places]


def rank(values, share):
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


@pytest.fixture
def page(schedlab):
    done = schedlab("trace", PLAYER, "--html", "page.html")
    assert done.returncode == 0, done.stderr
    return schedlab.folder / "page.html"


def test_the_runs_of_the_page_have_the_numbers_of_the_tables(schedlab, page):
    found = json.loads(schedlab("trace", PLAYER, "--json").stdout)
    runs = Runs(page)
    assert len(found["tasks"]) > 3
    for row in found["tasks"]:
        mine = runs.of(row["pid"])
        whole = [run[3] for run in mine if run[6] < GOES_ON and not (run[5] == 0 and run[7] == CUT)]
        assert sum(whole) == pytest.approx(row["run_s"] * 1e9, abs=1), row["comm"]
        woken = [run[4] for run in mine if run[5] == WOKEN and run[6] != WAITS]
        assert len(woken) == row["wakeups"], row["comm"]
        for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1)):
            known = row["wakeup_us"][name]
            assert (rank(woken, share) / 1e3 if woken else None) == (known and pytest.approx(known)), row["comm"]
        preempted = [run[4] for run in mine if run[5] == PREEMPTED and run[6] != WAITS]
        assert sum(preempted) == pytest.approx(row["preempt_wait_s"] * 1e9, abs=1)


def test_the_runs_of_a_processor_do_not_overlap_and_have_its_busy_time(schedlab, page):
    found = json.loads(schedlab("trace", PLAYER, "--json").stdout)
    runs = Runs(page)
    assert runs.head["processors"] == [one["cpu"] for one in found["processors"]]
    for one in found["processors"]:
        mine = sorted((run[2], run[2] + run[3]) for run in runs.all if run[1] == one["cpu"] and run[6] != WAITS)
        assert all(before[1] <= after[0] for before, after in pairwise(mine))
        assert sum(end - begin for begin, end in mine) == pytest.approx(one["busy_s"] * 1e9, rel=1e-6)


def test_what_came_before_a_run_and_what_waits_at_the_end_are_known(schedlab, tmp_path):
    text = waits(1000, times=4)
    text.waking(4000, 0, HOG, SERVER)
    text.switch(4100, 1, IDLE, "R", ("other", 9))
    schedlab("trace", text.write(tmp_path / "script.txt"), "--html", "page.html")
    runs = Runs(tmp_path / "page.html")
    (last,) = (run for run in runs.of(8) if run[6] == GOES_ON)
    assert (last[5], last[8]) == (PREEMPTED, runs.head["tasks"].index(["server", 7]))
    (waiting,) = (run for run in runs.of(7) if run[6] == WAITS)
    assert (waiting[2] - waiting[4], waiting[2]) == (4_000_000, 4_100_000)
    assert waiting[8] == runs.head["tasks"].index(["hog", 8])


def test_a_window_has_the_runs_that_reach_into_it(schedlab, page):
    schedlab("trace", PLAYER, "--from", "50ms", "--to", "80ms", "--html", "part.html")
    whole, part = Runs(page), Runs(schedlab.folder / "part.html")
    assert (part.head["from_ns"], part.head["span_ns"]) == (50_000_000, 30_000_000)
    into = [run for run in whole.all if run[2] + run[3] >= 50e6 and run[2] - run[4] <= 80e6 and run[6] < GOES_ON]
    assert [run[:3] for run in part.all if run[6] < GOES_ON] == [run[:3] for run in into]
    assert 0 < len(into) < len(whole.all)


def test_a_run_of_which_events_are_missing_is_not_drawn(schedlab, tmp_path):
    text = Text()
    text.switch(0, 0, IDLE, "R", HOG)
    # The switch from the hog to the server was not recorded.
    text.switch(900, 0, SERVER, "S", HOG)
    text.switch(1000, 0, HOG, "S", IDLE)
    schedlab("trace", text.write(tmp_path / "script.txt"), "--html", "page.html")
    assert [run[2:4] for run in Runs(tmp_path / "page.html").all] == [(900_000, 100_000)]


def test_the_page_names_what_was_lost_and_the_worst_waits(schedlab, page, tmp_path):
    text = unescape(page.read_text())
    found = json.loads(schedlab("trace", PLAYER, "--json").stdout)
    assert text.count('<button type="button" disabled data-pid=') == len(found["worst_waits"])
    worst = found["worst_waits"][0]
    assert f'data-from="{round(worst["from_s"] * 1e9)}" data-to="{round(worst["to_s"] * 1e9)}"' in text
    lossy = waits(1000, times=4)
    lossy.lines.insert(3, "             hog     8 [000]    10.001050: PERF_RECORD_LOST lost 5")
    done = schedlab("trace", lossy.write(tmp_path / "lossy.txt"), "--html", "lossy.html")
    assert done.returncode == 3
    assert "lost: 5 events" in (tmp_path / "lossy.html").read_text()


def test_names_of_tasks_are_no_markup(schedlab, tmp_path):
    text, evil = Text(), ("</script><b>", 9)
    text.switch(0, 0, IDLE, "R", evil)
    text.waking(300, 0, evil, HOG)
    text.switch(900, 0, evil, "S", HOG)
    text.switch(1000, 0, HOG, "S", IDLE)
    schedlab("trace", text.write(tmp_path / "script.txt"), "--html", "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "</script><b>" not in page
    assert Runs(tmp_path / "page.html").head["tasks"][0] == ["</script><b>", 9]


#: Uses the page as a person does, and puts what is seen into the page.
USE = """<script>
(function use() {
  const it = window.recording, $ = (id) => document.getElementById(id);
  if (!it || !it.view) return setTimeout(use, 20);
  const canvas = $("timeline"), seen = {};
  const key = (key) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const span = () => it.view.to - it.view.from;
  const lit = () => {
    it.draw();
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    let sum = 0;
    for (let k = 0; k < pixels.length; k += 4) sum += pixels[k] + 2 * pixels[k + 1] + 3 * pixels[k + 2];
    return sum;
  };
  seen.runs = it.runs.n;
  seen.whole = span();
  const before = lit();
  key("+");
  seen.closer = span();
  seen.changed = lit() !== before;
  const from = it.view.from;
  key("ArrowRight");
  seen.right = it.view.from > from;
  for (let k = 0; k < 60; k++) key("+");
  seen.closest = span();
  key("Home");
  seen.home = span();
  const button = document.querySelector("button[data-from]");
  button.click();
  it.draw();
  seen.wait = [it.view.from, it.view.to, Number(button.dataset.from), Number(button.dataset.to)];
  seen.words = $("at").textContent;
  seen.numbers = [...$("numbers").rows].map((row) => [...row.cells].map((cell) => cell.textContent));
  seen.task = $("task").selectedOptions[0].textContent;
  $("only").value = "player";
  $("only").dispatchEvent(new Event("input"));
  seen.left = $("left").textContent;
  seen.most = Math.max(...Array.from({ length: 1000 }, (_, k) => it.runnable(k / 1000 * seen.whole)));
  const found = document.createElement("pre");
  found.id = "found";
  found.textContent = JSON.stringify(seen);
  document.body.append(found);
})();
</script>"""


@with_browser
def test_a_browser_shows_the_timeline_and_moves_in_it(schedlab, page):
    used = schedlab.folder / "used.html"
    used.write_text(page.read_text().replace("</body>", USE + "</body>"))
    shown = browse(schedlab.folder, "--virtual-time-budget=9000", "--dump-dom", used.as_uri())
    seen = json.loads(unescape(re.search(r'<pre id="found">(.+?)</pre>', shown, re.DOTALL)[1]))
    found = json.loads(schedlab("trace", PLAYER, "--json").stdout)
    runs = Runs(page)
    assert seen["runs"] == len(runs.all)
    assert seen["whole"] == seen["home"] == runs.head["span_ns"]
    assert seen["closer"] == pytest.approx(seen["whole"] / 2)
    assert seen["changed"]
    assert seen["right"]
    assert seen["closest"] == pytest.approx(10), "ns: less than a microsecond"
    begin, end, from_, to = seen["wait"]
    assert begin <= from_ < to <= end
    assert end - begin == pytest.approx(3 * (to - from_), rel=0.01)
    worst = found["worst_waits"][0]
    assert seen["task"] == f"{worst['comm']}:{worst['pid']}"
    assert f"after a wait of {worst['wait_us'] / 1e3:.2f}"[:-1] in seen["words"]
    row = next(row for row in found["tasks"] if row["pid"] == worst["pid"])
    _, preempted, run = seen["numbers"]
    mine = runs.of(worst["pid"])
    assert int(preempted[1]) == len([run for run in mine if run[5] == PREEMPTED and run[6] != WAITS])
    assert int(run[1]) == len([run for run in mine if run[6] < GOES_ON and not (run[5] == 0 and run[7] == CUT)])
    assert float(run[5].split()[0]) == pytest.approx(row["run_length_us"]["max"] / 1e3, rel=1e-3)
    assert "more tasks" in seen["left"]
    assert seen["most"] == max(one["run_queue"]["max"] for one in found["processors"])


@with_browser
@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_cut_at_any_width(page, width):
    assert [line for line in look(page, width) if "zoom" not in line] == []


@with_browser
def test_what_a_browser_cannot_unpack_is_said_and_the_tables_are_there(schedlab, page):
    broken = schedlab.folder / "broken.html"
    broken.write_text(re.sub(r'(id="runs">)[^<]*', r"\1AAAA", page.read_text()))
    shown = browse(schedlab.folder, "--virtual-time-budget=9000", "--dump-dom", broken.as_uri())
    assert "The timeline cannot be shown here" in shown
    assert "the tables below are whole" in shown.lower()


def test_a_perfetto_trace_says_what_the_recording_says(schedlab):
    done = schedlab("trace", PLAYER, "--perfetto", "player.trace")
    assert done.returncode == 0, done.stderr
    first, second = (json.loads(schedlab("trace", file, "--json").stdout) for file in (PLAYER, "player.trace"))
    assert second["head"]["format"] == "Perfetto trace"
    # The first event of the text is none that Perfetto has: shares are of a shorter span.
    for one, other in zip(first["tasks"], second["tasks"], strict=True):
        for name in (
            "comm",
            "pid",
            "run_s",
            "wakeups",
            "wakeup_wait_s",
            "blocked_s",
            "voluntary_switches",
            "preempt_wait_s",
        ):
            assert one[name] == pytest.approx(other[name], abs=1e-9), (one["comm"], name)
    assert [one["wait_us"] for one in first["worst_waits"]] == [one["wait_us"] for one in second["worst_waits"]]


def test_a_part_of_a_recording_is_written(schedlab):
    schedlab("trace", PLAYER, "--from", "50ms", "--to", "80ms", "--perfetto", "part.trace")
    part = json.loads(schedlab("trace", "part.trace", "--json").stdout)
    assert 0.02 < part["span_s"] <= 0.03


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--perfetto", "no/such.trace"], "--perfetto no/such.trace: there is no folder"),
        (["--html", "."], "--html .: is a folder"),
        (["--html", "x.html", "--against", PLAYER], "are of one recording"),
        (["--perfetto", "x.trace", "--against", PLAYER], "are of one recording"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is_read(schedlab, words, said):
    done = schedlab("trace", PLAYER, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert not list(schedlab.folder.glob("x.*"))


def test_a_trace_that_is_stopped_leaves_the_old_file_and_no_other(tmp_path):
    (tmp_path / "x.trace").write_text("old")

    def written(text, stopped):
        with asked._drawn(tmp_path / "x.trace") as file:
            Path(file).write_text(text)
            if stopped:
                raise Stopped("stopped")

    with pytest.raises(Stopped):
        written("half", stopped=True)
    assert ([path.name for path in tmp_path.iterdir()], (tmp_path / "x.trace").read_text()) == (["x.trace"], "old")
    written("whole", stopped=False)
    assert ([path.name for path in tmp_path.iterdir()], (tmp_path / "x.trace").read_text()) == (["x.trace"], "whole")


def test_a_recording_that_cannot_be_read_leaves_no_files(schedlab, tmp_path):
    (tmp_path / "none").write_text("nothing\n" * 100)
    before = sorted(tmp_path.iterdir())
    done = schedlab("trace", "none", "--perfetto", "x.trace", "--html", "x.html")
    assert done.returncode == 2
    assert sorted(tmp_path.iterdir()) == before
