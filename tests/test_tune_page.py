"""The page of a tuning, its notebook cell and its progress: they say what JSON says, and a browser shows all of it.

Long, because each kind of tuning has a page of its own.
"""

import base64
import dataclasses
import json
import os
import pty
import re
import shlex
from contextlib import suppress
from html import unescape
from pathlib import Path

import pytest
from conftest import ROOT, Command
from test_report import Checker, look, with_browser

from schedlab import Experiment
from schedlab.cli.output import progress_bar
from schedlab.pictures import front as fronts
from schedlab.report import tuned
from schedlab.system.toml import headed
from schedlab.tune import confirmed, drawn, summary
from schedlab.tune.confirm import Confirmed
from schedlab.tune.front import members
from schedlab.tune.progress import so_far
from schedlab.units import convert, digits, spread

BASE = """
question = "Which slice answers short requests soonest alongside long work?"
metrics = ["tasks.request.turnaround.p50", "tasks.request.turnaround.p99", "tasks.batch.share"]
seeds = 6
[machine]
preset = "uniform"
costs = { context_switch = "100us" }
[scheduler]
name = "round_robin"
slice = "100ms"
[workload.request]
steps = [{ compute = "3ms" }, { call = "2ms" }]
count = 40
gap = { exp = "100ms" }
[workload.batch]
load = "spin"
count = 4
passes = "forever"
[goal]
minimize = ["tasks.request.turnaround.p50"]
"""
MORE = 'maximize = ["tasks.batch.share"]\n'
SPACE = '[space]\n"scheduler.slice" = { low = "1ms", high = "200ms" }\n'
NICE = '"workload.batch.nice" = [0, 5, 10]\n'
LOADS = '[sweep]\n"workload.request.steps[0].compute" = ["3ms", "7ms"]\n'

#: By name: the experiment, and further words of the command.
KINDS = {
    "two": (BASE + MORE + 'keep = ["tasks.batch.share >= 85%"]\n' + SPACE + NICE, ["--within", "20%"]),
    "three": (BASE.replace('.p50"]\n', '.p50", "tasks.request.turnaround.p99"]\n', 1) + MORE + SPACE, []),
    "loads": (BASE + MORE + LOADS + SPACE, []),
    "one": (BASE + SPACE, []),
    "leave": (BASE.replace('"100ms"\n[workload', '"5600us"\n[workload') + SPACE, []),
    "none": (BASE + 'keep = ["tasks.batch.share >= 99.9%"]\n' + SPACE, []),
    "confirmed": (BASE + SPACE, ["--confirm", "sim:minix"]),
}
#: The narrowest phone, a tablet, a laptop, and a screen of 4K.
WIDTHS = (360, 800, 1280, 3840)


class Page(Checker):
    """As every page, but with the file of the experiment as a link that fetches nothing."""

    def handle_starttag(self, tag, attributes):
        kept = [(name, value) for name, value in attributes if not value or not value.startswith("data:")]
        assert len(attributes) - len(kept) == (("download" in dict(attributes)) and tag == "a")
        super().handle_starttag(tag, kept)


def read(page: Path) -> str:
    """The words of a page that is well-formed and fetches nothing, with single blanks."""
    checker = Page()
    text = page.read_text(encoding="utf-8")
    checker.feed(text)
    checker.close()
    assert checker.open == []
    assert not {"script", "link", "img", "iframe"} & set(checker.tags)
    assert "url(" not in text
    return " ".join("".join(checker.text).split())


def table(page: Path, heading: str) -> list[list[str]]:
    """The rows of the first table after a heading."""
    text = page.read_text()
    text = text[text.index(f'<h2 id="{heading}"') :]
    body = text[text.index("<tbody>") : text.index("</tbody>")]
    clean = lambda cell: unescape(re.sub("<.*?>", "", cell))  # noqa: E731
    return [[clean(cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row)] for row in body.split("</tr>")[:-1]]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """By kind: the page, and the JSON of the same command."""
    schedlab = Command(tmp_path_factory.mktemp("tuned"))
    found = {}
    for kind, (text, more) in KINDS.items():
        (schedlab.folder / f"{kind}.toml").write_text(text)
        document = schedlab.json("tune", f"{kind}.toml", "--budget", "150", "--html", f"{kind}.html", *more)
        found[kind] = (schedlab.folder / f"{kind}.html", document)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_says_what_json_says(made, kind):
    page, document = made[kind]
    said = read(page)
    assert document["page"] == f"{kind}.html"
    for line in document["words"]:
        assert " ".join(line.split()) in said
    for counter in document["counters"]:
        assert counter["metric"] in said
    shown = re.findall(r'<tr id="setting-\d+">', page.read_text())
    tried = json.loads((page.parent / document["folder"] / "manifest.json").read_text())["cells"]
    assert len(shown) == len(tried) / len({json.dumps(one["load"]) for one in document["counters"]})
    assert f"{document['runs']} runs" in said or document["runs"] == 1


@pytest.mark.parametrize("kind", ["two", "three", "loads", "one", "leave"])
def test_the_front_has_the_numbers_of_json(made, kind):
    page, document = made[kind]
    units = [one["unit"] for one in document["counters"]]
    head = page.read_text().split('<h2 id="front"')[1].split("</thead>")[0].split("<thead>")[1]
    heads = re.findall(r"\[(\w+|%)\]", re.sub("<.*?>", "", head))
    assert table(page, "front")
    for row, member in zip(table(page, "front"), document["front"], strict=False):
        setting, *values = row
        assert setting.removeprefix("→ ") == (
            ", ".join(f"{k} = {v}" for k, v in member["setting"].items() if document["present"][k] != v)
            or "as it is now"
        )
        for value, unit, own, counter in zip(values, heads, units, member["counters"], strict=False):
            mean = convert(counter["mean"], own, unit)
            half = None if counter["low"] is None else convert((counter["high"] - counter["low"]) / 2, own, unit)
            assert value == spread(mean, half)
        assert values[len(units)] == digits(100 * member["worst_regret"], 3)
        assert values[len(units) + 1] == str(member["repeats"])


@pytest.mark.parametrize("kind", KINDS)
def test_every_link_leads_somewhere(made, kind):
    text = made[kind][0].read_text()
    identities = re.findall(r' id="([^"]+)"', text)
    assert len(identities) == len(set(identities))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(identities)
    assert "<nav" in text


def test_the_same_command_writes_the_same_page_and_makes_no_run(made):
    page, _ = made["two"]
    before = page.read_text()
    done = Command(page.parent)("tune", "two.toml", "--budget", "150", "--html", "two.html", "--within", "20%")
    assert done.returncode == 0, done.stderr
    runs = re.search(r"tried in (\d+) runs \(\1 known before\)", done.stdout)
    assert runs, "no run was made"
    known = r"\(\d+ known before\)"
    assert re.sub(known, "", page.read_text()) == re.sub(known, "", before)
    assert "page: two.html" in done.stdout


def test_the_file_on_the_page_is_the_search_again(made, tmp_path):
    page, document = made["two"]
    data = re.search(r'href="data:application/toml;base64,([^"]+)"', page.read_text())[1]
    text = base64.b64decode(data).decode()
    assert text in unescape(page.read_text()), "it stands there as text, too"
    command = shlex.split(unescape(re.search(r"<code>(schedlab tune .*?)</code>", page.read_text())[1]))
    schedlab = Command(tmp_path)
    (tmp_path / "two.toml").write_text(text)
    again = schedlab.json(*command[1:], "--out", page.parent / "results")
    assert [again[key] for key in ("words", "front", "runs")] == [document[key] for key in ("words", "front", "runs")]
    assert Path(again["folder"]).name == Path(document["folder"]).name


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda path: path.stem)
def test_every_example_asks_the_same_after_it_was_written(path):
    experiment = Experiment.from_toml(path)
    text = headed(experiment.definition, "a head\nof two lines")
    assert text.startswith("# a head\n# of two lines\n")
    assert Experiment.from_text(text, experiment.name, folder=path.parent) == experiment


def test_one_counter_has_no_front_and_shows_the_best(made):
    text = made["one"][0].read_text()
    assert ">The best settings<" in text
    assert 'class="key"' not in text


def test_three_counters_are_drawn_in_pairs_with_common_axes(made):
    text = made["three"][0].read_text()
    panels = re.findall(r'aria-label="settings by (\S+) and (\S+)">(.*?)</svg>', text)
    assert len(panels) == 3
    across = [re.findall(r'text-anchor="middle">([\d.]+)<', inner) for name, _, inner in panels if name.endswith("p50")]
    up = [re.findall(r'text-anchor="end">([\d.]+)<', inner) for _, name, inner in panels if name.endswith("share")]
    assert len(across) == len(up) == 2
    assert across[0] == across[1]
    assert up[0] == up[1]


def test_each_load_has_a_picture_of_its_own(made):
    page, document = made["loads"]
    assert len({json.dumps(one["load"]) for one in document["counters"]}) == 2
    panels = re.findall(r'<h3>(.*?)</h3><svg class="chart" [^>]*aria-label="settings by', page.read_text())
    assert [re.sub("<.*?>", "", one) for one in panels] == ["compute 3ms", "compute 7ms"]


def test_to_leave_it_is_said_first_and_no_command_is_given(made):
    page, document = made["leave"]
    first = re.search(r'<p class="first"><b>(.*?)</b>', page.read_text())[1]
    assert re.sub("<.*?>", "", first).startswith("leave it")
    assert not document["recommended"]
    assert "schedlab run" not in read(page)


def test_conditions_that_nothing_keeps_are_said_first(made):
    text = made["none"][0].read_text()
    first = re.sub("<.*?>", "", re.search(r'<p class="first"><b>(.*?)</b>', text)[1])
    assert first.startswith("no setting that was tried keeps tasks.batch.share")
    assert 'id="front"' not in text
    assert "misses the conditions by [%] by runs" in text


def test_what_a_kernel_confirms_goes_first(made):
    page, document = made["confirmed"]
    first = re.sub("<.*?>", "", re.search(r'<p class="first"><b>(.*?)</b>', page.read_text())[1])
    assert unescape(first) == document["confirmed"]["words"][0]
    said = read(page)
    for line in document["confirmed"]["words"]:
        assert line in said
    row = table(page, "confirmed")[0]
    (change, *_) = document["confirmed"]["changes"]
    assert change["metric"] in row


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """A tuning as Python gives it."""
    folder = tmp_path_factory.mktemp("found")
    (folder / "two.toml").write_text(KINDS["two"][0])
    return Experiment.from_toml(folder / "two.toml").tune(150, out=folder / "results", within=0.2)


def test_a_kernel_that_disagrees_goes_first_and_takes_the_command_away(found, tmp_path):
    """A confirmation that finds the present setting best, and twice the share that was predicted."""
    (row,) = [row for row in found.changes if row["metric"] == "tasks.batch.share"]
    there = {**row, "predicted": -0.5}
    real = Confirmed("host", [found.chosen], found.board.present, [there], tmp_path)
    assert confirmed.settled(found, real) == found.board.present
    tuned.write(found, tmp_path / "page.html", "schedlab run two.toml", real)
    said = read(tmp_path / "page.html")
    first = said.index("host does not confirm it: the present setting is the best there; leave it")
    wrong = said.index("tasks.batch.share: predicted -50 %, on host")
    assert first < wrong < said.index("on sim alone: set scheduler.slice")
    assert "schedlab run" not in said


def test_a_page_survives_hostile_names(found, tmp_path):
    hostile = '<script>alert("1")</script> & \x1b[31m]]>'
    definition = {**found.experiment.definition, "question": hostile}
    experiment = dataclasses.replace(found.experiment, name="a\"b<c>'", definition=definition)
    bad = dataclasses.replace(found, experiment=experiment, warnings=[hostile], on='x" onload="alert(1)')
    tuned.write(bad, tmp_path / "page.html", f"schedlab run '{hostile}'")
    said = read(tmp_path / "page.html")
    assert 'alert("1")' in said
    assert "\x1b" not in (tmp_path / "page.html").read_text()


def test_a_dot_stands_to_scale_with_both_intervals():
    counters = [fronts.Counter("a", "s", True), fronts.Counter("b", "%", False)]
    near = fronts.Dot("near", fronts.MEMBER, [1.0, 10.0], [0.9, 9.0], [1.1, 11.0], True, "setting-1")
    far = fronts.Dot("far", fronts.LUCKY, [2.0, 20.0], [1.8, 18.0], [2.2, 22.0], False)
    _, panel = fronts.front(counters, [near, far])
    marks = re.findall(r'<text class="tick" x="([\d.]+)" y="[\d.]+" text-anchor="middle">([\d.]+)<', panel.inner)
    at = {float(value): float(x) for x, value in marks}
    places = dict(
        (name, float(x))
        for x, name in re.findall(r'<g transform="translate\(([\d.]+) [\d.]+\)">.*?</g><title>(near|far):', panel.inner)
    )
    assert places["near"] == pytest.approx(at[1.0], abs=0.2)
    assert places["far"] == pytest.approx(at[2.0], abs=0.2)
    assert panel.inner.count('class="bar"') == 4, "two intervals of each"
    assert 'href="#setting-1"' in panel.inner
    assert "↖ better" in panel.inner, "less is better to the right, more upwards"


def test_the_line_joins_what_is_on_the_front_and_nothing_else():
    counters = [fronts.Counter("a", "1", True), fronts.Counter("b", "1", True)]
    dot = lambda x, y, kind, on: fronts.Dot("", kind, [x, y], [x, y], [x, y], on)  # noqa: E731
    members = [dot(1, 3, fronts.MEMBER, True), dot(2, 2, fronts.MEMBER, True), dot(3, 1, fronts.MEMBER, True)]
    others = [dot(1.5, 2.5, fronts.LUCKY, False), dot(3, 3, fronts.BEHIND, False)]
    _, panel = fronts.front(counters, [*members, *others])
    (path,) = re.findall(r'<path class="join" d="(.*?)"', panel.inner)
    assert path.count("H") == path.count("V") == 2
    assert fronts.outside(counters, [*members, *others]) == 0
    assert fronts.outside(counters, [*members, dot(90, 90, fronts.BEHIND, False)]) == 1


def test_every_setting_is_drawn_with_what_it_is(found):
    kinds = [one.kind for one in drawn.dots(found)]
    assert kinds.count(fronts.PRESENT) == kinds.count(fronts.CHOSEN) == 1
    assert len(kinds) == len(found.board.measured)
    lucky = [one for one in found.front if one.lucky]
    there = {found.chosen, found.board.present}
    knee = min(found.front, key=lambda one: one.worst).setting
    assert kinds.count(fronts.LUCKY) == sum(one.setting not in there | {knee} for one in lucky)


def test_a_notebook_shows_the_verdict_the_front_and_the_ranges(found):
    cell = found._repr_html_()
    checker = Page()
    checker.feed(cell)
    checker.close()
    assert checker.open == []
    assert checker.tags.count("svg") == 2
    said = "".join(checker.text)
    for line in summary.words(found):
        assert line in said
    assert repr(found).startswith("Tuned('set scheduler.slice = 5600us (now 100ms)")
    hostile = dataclasses.replace(found, warnings=["<script>alert(1)</script>\x1b[31m"])
    assert "<script>" not in hostile._repr_html_()
    assert "\x1b" not in hostile._repr_html_()


def test_the_progress_has_the_front_so_far(found):
    """The numbers of the end, when all that was measured is on the board."""
    first, *lines = so_far(found.board, found.space, found.units).splitlines()
    there = members(found.board)
    assert first.startswith(f"{len(there)} of {len(found.board.measured)} settings on the front; its knee: ")
    assert first.endswith(found.space.text(there[0]))
    assert len(lines) == len(found.board.counters) == 2
    best = min(found.board.values(one)[0] for one in there)
    assert lines[0].startswith(f"best {digits(1000 * best)} ms, knee ")
    assert lines[1].endswith(": tasks.batch.share")
    assert "no setting keeps the conditions yet" not in first


def all_of(terminal: int) -> bytes:
    """What was written to a terminal, of which one read gives 4 KB at most."""
    os.set_blocking(terminal, False)
    parts = []
    with suppress(BlockingIOError):
        while part := os.read(terminal, 1 << 16):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("columns", [40, 80])
def test_lines_of_the_progress_fit_the_terminal(columns, monkeypatch):
    """Each line takes one row, whatever its length, and is shown below the bar."""
    master, terminal = pty.openpty()
    monkeypatch.setattr("sys.stderr", os.fdopen(terminal, "w"))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(columns))
    with progress_bar("a search") as progress:
        progress(3, 10, "best 26 ms: tasks.request.turnaround.p50\n" + "x" * 200)
    shown = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", all_of(master)).decode()
    rows = [row for row in re.split(r"[\r\n]+", shown) if row.strip()]
    assert any("best 26 ms" in row for row in rows)
    assert any(row.startswith("xxx") and row.rstrip().endswith("…") for row in rows)
    assert max(map(len, rows)) <= columns


@with_browser
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_the_page_is_wider_than_its_window_or_cut(made, kind, width):
    assert look(made[kind][0], width) == []
