"""`schedlab report --live`: the report's page computes points beyond what was run, and checks what is stored.
Long, because all figures are tested on the same pages, which take seconds to be made.
"""

import base64
import gzip
import json
import random
import re
from pathlib import Path

import pytest
from chromium import Browser
from labpage import FRAMES, SHORT, UNFOLDED, in_browser, with_page
from test_lab_page import FAINT, OUTSIDE
from test_report import read

from schedlab import Experiment
from schedlab.errors import UsageError
from schedlab.lab import made
from schedlab.pictures import schedule
from schedlab.results import Results
from schedlab.stats import mean_interval
from schedlab.units import digits, seconds

P99 = "tasks.editor.wakeup_latency.p99"
#: The short load, over four slices and two numbers of hogs; and over schedulers.
SWEPT = SHORT.replace('["5ms", "20ms"]', '["2ms", "5ms", "20ms", "50ms"]\n"workload.hog.count" = [1, 2]')
ALONE = SHORT.replace('[sweep]\n"scheduler.slice" = ["5ms", "20ms"]\n', "")
NAMES = SHORT.replace('"scheduler.slice" = ["5ms", "20ms"]', '"scheduler.name" = ["round_robin", "eevdf"]')
CHECKED = "window.live && live.isChecked && live.session.idle && !live.atWork"


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Results, and the pages about them, by name."""
    from conftest import Command

    run = Command(tmp_path_factory.mktemp("live"))
    for name, text in (("swept", SWEPT), ("names", NAMES), ("alone", ALONE)):
        (run.folder / f"{name}.toml").write_text(text)
        assert run("run", f"{name}.toml").returncode == 0
        done = run("report", name, "--live", "-o", f"{name}.html")
        assert done.returncode == 0, done.stderr
    return run.folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = Browser(tmp_path_factory.mktemp("browser"))
    yield found
    found.close()


def opened(browser: Browser, page: Path, width: int = 1280, dark: bool = False) -> Browser:
    browser.window(width, dark=dark)
    browser.open(page.as_uri())
    browser.until(CHECKED)
    return browser


def settle(browser: Browser):
    browser.until(CHECKED)
    browser.value(FRAMES)


def unpacked(text: str) -> dict:
    """What is packed in a page."""
    return json.loads(gzip.decompress(base64.b85decode(text.translate({to: own for own, to in made.PLAIN.items()}))))


def give(browser: Browser, element: str, value: str, event: str):
    """Choose, write or slide by hand."""
    words = (json.dumps(one) for one in (element, value, event))
    browser.value(
        """((element, value, event) => {
            const found = document.querySelector(element);
            found.value = value;
            found.dispatchEvent(new Event(event));
        })(%s)"""  # noqa: UP031
        % ", ".join(words)
    )


def computed(browser: Browser, metric: str = P99) -> list[dict]:
    return json.loads(browser.value(f"JSON.stringify(live.numbers({metric!r}))"))


def made_natively(text: str, sets: list[str], tmp_path: Path) -> Results:
    """The runs of a point by the library, over the seeds of the file."""
    return Experiment.from_text(text, "native.toml", set=["sweep={}", *sets]).run(tmp_path / "native")


def values(results: Results, metric: str = P99, cell: int = 0) -> list[float]:
    return results.values_of([metric])[results.scenarios[cell], metric].values


def native(text: str, sets: list[str], tmp_path: Path, metric: str = P99):
    """The interval of a metric, as the library has it."""
    return mean_interval(values(made_natively(text, sets, tmp_path), metric))


def rows_of(browser: Browser, figure: str) -> list[list[str]]:
    """The table behind a figure."""
    script = (
        "[...document.querySelectorAll('#%s .live tbody tr')].map(row => [...row.cells].map(one => one.textContent))"
    )
    return browser.value(script % figure)


def said_at(browser: Browser, figure: str) -> str:
    return browser.value(f"document.querySelector('#{figure} .live').textContent")


# The command.


@with_page
def test_without_the_option_a_report_has_no_script(schedlab, small):
    schedlab("run", small)
    schedlab("report", "small", "-o", "page.html")
    read(schedlab.folder / "page.html")


@with_page
def test_a_live_report_is_the_same_page_and_some_more(reports):
    text = (reports / "swept.html").read_text()
    assert len(text.encode()) <= 2_500_000
    assert "default-src 'none'" in text
    assert not re.search(r' (src|href)="http', text)
    visible = re.sub(r"<script.*?</script>|<style>.*?</style>|<meta http-equiv.*?>", "", text, flags=re.DOTALL)
    assert "computed in this page" not in visible


def test_what_has_no_page_cannot_be_live(schedlab, small):
    schedlab("run", small)
    done = schedlab("report", "small", "--live", "--markdown")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--live is of the page" in done.stderr


def of_places(folder: Path, places: list[str]):
    """Makes results look as if their cells had run at these places, one after the other."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    for cell, place in zip(manifest["cells"], places, strict=True):
        cell["on"] = place
        cell["factors"] = {"on": place, **cell["factors"]}
    path.write_text(json.dumps(manifest))


def test_results_of_which_nothing_was_simulated_are_refused(schedlab, small):
    schedlab("run", small)
    (folder,) = (schedlab.folder / "results").iterdir()
    of_places(folder, ["host"] * len(Results.open(folder).manifest["cells"]))
    done = schedlab("report", folder, "--live", "-o", "page.html")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "no cell of" in done.stderr
    assert "was simulated" in done.stderr
    assert not (schedlab.folder / "page.html").exists()


@with_page
def test_a_page_that_would_be_too_large_is_refused(reports, tmp_path, monkeypatch):
    from schedlab.lab import page
    from schedlab.report import live, measured

    assert live.LARGEST == page.LARGEST
    monkeypatch.setattr(live, "LARGEST", 2_000_000)
    with pytest.raises(UsageError, match=r"at most 2,000,000 are allowed: leave out --live"):
        measured.write(Results.open(reports / "results" / "swept"), tmp_path / "page.html", is_live=True)
    assert not (tmp_path / "page.html").exists()


@with_page
def test_cells_of_other_places_stay_as_they_are_stored(reports, tmp_path):
    from schedlab.report import live, measured

    results = Results.open(reports / "results" / "swept")
    cells = [
        {**cell, "on": place, "factors": {"on": place, **cell["factors"]}}
        for cell, place in zip(results.manifest["cells"], ["sim", "host"] * 4, strict=True)
    ]
    mixed = Results(
        results.name, results.folder, results.manifest | {"cells": cells}, results.metrics, results.scenarios
    )
    held = live.put_in(mixed, measured._figures(mixed, mixed.judged())).given
    found = unpacked(held)
    assert len(found["stored"]["cells"]) == 4
    assert all("on" not in cell["factors"] for cell in found["stored"]["cells"])
    assert "4 cells of other places than sim" in found["stored"]["left"]


# The page.


@in_browser
def test_stored_numbers_are_checked_and_a_point_beyond_them_is_the_libraries(browser, reports, tmp_path):
    opened(browser, reports / "swept.html")
    assert {url.partition(":")[0] for url in browser.requests()} <= {"file", "blob", "data"}
    assert browser.complaints() == []
    said = browser.value("document.getElementById('live-check').textContent")
    # Eight cells, four seeds, four metrics of each.
    assert said.startswith("128 of 128 stored numbers come out the same, to the last bit: 32 of 32 stored runs"), said
    assert not browser.value("!document.getElementById('live-list').hidden")

    figure = browser.value("document.querySelector('figure:has(.live input[type=range])').id")
    before = browser.value(f"document.querySelector('#{figure} svg').innerHTML")
    assert browser.value("live.panels.every(one => one.redrawn().every((text, place) => text.length > 500))")
    alike_to_pythons(browser)
    # By keyboard, until the slice is longer than all that were run.
    browser.value(f"document.querySelector('#{figure} input[type=range]').focus()")
    text = f"document.querySelector('#{figure} .live input[type=text]').value"
    while seconds(browser.value(text)) <= 0.05:
        browser.press("ArrowRight")
    settle(browser)
    (point,) = [one for one in computed(browser) if one["n"] == 4]
    assert point["factors"] == {"workload.hog.count": "1"}
    wanted = native(SWEPT, [f"scheduler.slice={point['value']}", "workload.hog.count=1"], tmp_path)
    assert (point["mean"], point["n"]) == (wanted.mean, wanted.n)
    assert point["half"] == pytest.approx(wanted.high - wanted.mean, rel=1e-9)
    # It is drawn in every chart that has its level, with another mark, on axes that have room for it.
    assert browser.value(f"document.querySelector('#{figure} svg').innerHTML") != before
    assert browser.value("document.querySelectorAll('svg .computed').length") > len(
        browser.value("live.panels.map(p => 1)")
    )
    assert browser.value(
        "[...document.querySelectorAll('svg .computed')].every(one => inside(one))".replace("inside(one)", INSIDE)
    )
    legend = browser.value(f"document.querySelector('#{figure} svg').textContent")
    assert "stored" in legend
    assert "computed in this page" in legend
    browser.value(UNFOLDED)
    settle(browser)
    rows = rows_of(browser, figure)
    kinds = [row[2] for row in rows]
    assert (kinds.count("stored"), kinds.count("computed in this page")) == (8, 1)
    (own,) = [row for row in rows if row[2] != "stored"]
    assert own[4] == "4 of 4"
    # The other factors are held at another cell.
    give(browser, f"#{figure} [id^=live-held]", "1", "change")
    settle(browser)
    again = computed(browser)[-1]
    assert again["factors"] == {"workload.hog.count": "2"}
    assert (
        again["mean"]
        == native(SWEPT, [f"scheduler.slice={again['value']}", "workload.hog.count=2"], tmp_path / "two").mean
    )
    # So can another factor be turned, and the slice be held; no curve has that number of hogs.
    give(browser, f"#{figure} [id^=live-factor]", "1", "change")
    give(browser, f"#{figure} .live input[type=text]", "5", "change")
    settle(browser)
    last = computed(browser)[-1]
    assert (last["path"], last["value"], last["factors"]) == ("workload.hog.count", "5", {"scheduler.slice": "2ms"})
    wanted = native(SWEPT, ["scheduler.slice=2ms", "workload.hog.count=5"], tmp_path / "three")
    assert last["mean"] == wanted.mean
    assert browser.value(f"document.querySelectorAll('#{figure} svg > g > .computed').length") == 1
    # The tail has the curve of the last point; each statistic is that of the runs.
    tips = "document.querySelector('[id$=all-percentiles] svg').querySelectorAll(':scope > g > .computed + title')"
    names = browser.value(f"[...{tips}].map(one => one.textContent)")
    assert any("count 5" in one and ", p99: " in one for one in names), names
    # What was computed can be removed; the report is then as it was.
    browser.value(f"document.querySelector('#{figure} .live button').click()")
    settle(browser)
    assert browser.value(f"document.querySelector('#{figure} svg').innerHTML") == before


MAP = "tasks-editor-wakeup-latency-p99-by-slice-and-count"
EFFECTS = "effects-tasks-editor-wakeup-latency-p99"


@in_browser
def test_a_computed_cell_of_a_heat_map_has_the_number_of_the_library(browser, reports, tmp_path):
    opened(browser, reports / "swept.html")
    tiles = f"[...document.querySelectorAll('#{MAP} svg > g:has(.framed)')]"
    best = f"document.querySelectorAll('#{MAP} svg > g > .best').length"
    assert browser.value(f"{tiles}.length") == 0
    marked = browser.value(best)
    # A level between those that were run gets a column of its own, which has no other cell.
    give(browser, f"#{MAP} .live input[type=text]", "7ms", "change")
    settle(browser)
    (point,) = computed(browser)
    results = made_natively(SWEPT, ["scheduler.slice=7ms", "workload.hog.count=1"], tmp_path)
    wanted = mean_interval(values(results))
    assert point["mean"] == wanted.mean
    (tip,) = browser.value(f"{tiles}.map(one => one.querySelector('title').textContent)")
    assert tip.startswith(f"computed in this page, slice 7ms, count 1: {digits(1e3 * wanted.mean)} [")
    (number,) = browser.value(f"{tiles}.map(one => one.querySelector('text').textContent)")
    assert number == digits(1e3 * wanted.mean, 3)
    labels = browser.value(f"[...document.querySelectorAll('#{MAP} svg > .tick')].map(one => one.textContent)")
    assert labels[-5:] == ["2 ms", "5 ms", "7 ms", "20 ms", "50 ms"]
    assert "computed in this page; others stored" in browser.value(f"document.querySelector('#{MAP} svg').textContent")
    browser.value(UNFOLDED)
    settle(browser)
    kinds = [row[2] for row in rows_of(browser, MAP)]
    assert (kinds.count("stored"), kinds.count("computed in this page")) == (8, 1)
    # At levels that were run it lies on the stored cell, has its number, and hides no mark.
    for count in ("1", "2"):
        give(browser, f"#{MAP} [id^=live-held]", str(int(count) - 1), "change")
        settle(browser)
        for slice in ("2ms", "5ms", "20ms", "50ms"):
            give(browser, f"#{MAP} .live input[type=text]", slice, "change")
            settle(browser)
    # One more on each of the two best cells.
    assert browser.value(best) == marked + 2
    found = [row for row in rows_of(browser, MAP) if row[0] != "7 ms"]
    assert len(found) == 16
    by_cell = {}
    for slice, count, kind, mean, _ in found:
        by_cell.setdefault((slice, count), {})[kind] = mean
    assert len(by_cell) == 8
    assert all(cell["stored"] == cell["computed in this page"] for cell in by_cell.values())


@in_browser
def test_the_schedule_of_a_computed_point_is_drawn_as_the_command_draws_it(browser, reports, tmp_path):
    opened(browser, reports / "swept.html")
    stored = Results.open(reports / "results" / "swept")
    first = stored.manifest["cells"][0]
    stretch = schedule.of_run({"scenario": stored.scenario(first), "seed": 1})
    own = "document.querySelector('#schedule .live .schedule')"
    assert browser.value(own) is None
    plain = "(found => (found.querySelector('style')?.remove(), found.innerHTML.trim()))"
    # The first cell's own level: the stored drawing.
    give(browser, "#schedule .live input[type=text]", first["factors"]["scheduler.slice"], "change")
    settle(browser)
    drawn = browser.value(f"{plain}({own})")
    assert drawn == browser.value(f"{plain}(document.querySelector('#schedule .schedule').cloneNode(true))")
    # A level that was not run: the drawing of the command.
    give(browser, "#schedule .live input[type=text]", "7ms", "change")
    settle(browser)
    results = made_natively(SWEPT, ["scheduler.slice=7ms", "workload.hog.count=1"], tmp_path)
    run = {"scenario": results.scenario(results.manifest["cells"][0]), "seed": 1}
    wanted = re.sub(r".*?(<svg.*)", r"\1", schedule.drawn(run, stretch), flags=re.DOTALL)
    parsed = browser.value(
        f"(text => {{ const one = document.createElement('div'); one.innerHTML = text; return {plain}(one); }})"
        f"({json.dumps(wanted)})"
    )
    assert browser.value(f"{plain}({own})") == parsed != drawn
    assert "Computed in this page: slice 7ms, count 1" in said_at(browser, "schedule")
    browser.value(UNFOLDED)
    settle(browser)
    rows = rows_of(browser, "schedule")
    kinds = [row[2] for row in rows]
    parts = [
        browser.value(f"{of}.querySelectorAll('rect > title').length")
        for of in ("document.querySelector('#schedule .schedule')", own)
    ]
    assert [kinds.count("stored"), kinds.count("computed in this page")] == parts
    assert {row[3] for row in rows} >= {"running", "ready", "waiting"}
    browser.value("document.querySelector('#schedule .live button').click()")
    settle(browser)
    assert browser.value(own) is None
    # A run that ends before the stretch begins.
    browser.value("Object.assign(live.given.schedules[0], { from: 3e9, to: 4e9 })")
    give(browser, "#schedule .live input[type=text]", "9ms", "change")
    settle(browser)
    words = "Nothing is drawn of slice 9ms, count 1: nothing to draw from 3s on: the run ends at 2s."
    assert words in said_at(browser, "schedule")
    assert browser.value(own) is None


@in_browser
def test_a_computed_difference_is_of_pairs_of_one_seed_and_one_without_a_base_says_so(browser, reports, tmp_path):
    opened(browser, reports / "swept.html")
    give(browser, f"#{EFFECTS} .live input[type=text]", "7ms", "change")
    settle(browser)
    found = browser.value(
        f"live.panels.filter(one => one.element.id === '{EFFECTS}').flatMap(one => one.figure.computed(live.points))"
    )
    stored = Results.open(reports / "results" / "swept")
    assert stored.manifest["cells"][0]["factors"] == {"scheduler.slice": "2ms", "workload.hog.count": "1"}
    base = values(stored)
    own = values(made_natively(SWEPT, ["scheduler.slice=7ms", "workload.hog.count=1"], tmp_path))
    wanted = mean_interval([one - other for one, other in zip(own, base, strict=True)])
    share = 100 / abs(mean_interval(base).mean)
    assert [(one["label"], one["n"]) for one in found] == [("count 1, slice 7ms", 4)]
    assert (found[0]["mean"], found[0]["low"]) == pytest.approx((share * wanted.mean, share * wanted.low), rel=1e-12)
    assert "It has no verdict" in said_at(browser, EFFECTS)
    assert browser.value(f"document.querySelectorAll('#{EFFECTS} svg > g > .computed').length") == 1
    # Bases have the same number of hogs as what is compared with them.
    give(browser, f"#{EFFECTS} [id^=live-factor]", "1", "change")
    give(browser, f"#{EFFECTS} .live input[type=text]", "5", "change")
    settle(browser)
    words = said_at(browser, EFFECTS)
    assert "Nothing is drawn of count 5, slice 2ms: no base was run at its level of workload.hog.count." in words
    assert browser.value(f"document.querySelectorAll('#{EFFECTS} svg > g > .computed').length") == 1


@with_page
def test_a_figure_that_cannot_go_on_says_why(reports):
    from schedlab.report import live, measured

    results = Results.open(reports / "results" / "swept")
    figures = [{"id": "predicted", "still": measured.MEASURED}, {"id": "other"}]
    assert unpacked(live.put_in(results, figures).given)["still"] == {
        "predicted": measured.MEASURED,
        "other": live.STILL,
    }
    assert "a page cannot measure" in measured.MEASURED


@in_browser
def test_where_nothing_was_swept_the_fields_of_the_scenario_are_turned(browser, reports, tmp_path):
    opened(browser, reports / "alone.html")
    fields = browser.value(
        "[...document.querySelector('#schedule [id^=live-factor]').options].map(one => one.textContent)"
    )
    assert {"machine.processors", "scheduler.slice", "workload.hog.count", "scheduler"} <= set(fields)
    give(browser, "#schedule [id^=live-factor]", str(fields.index("scheduler.slice")), "change")
    give(browser, "#schedule .live input[type=text]", "7ms", "change")
    settle(browser)
    (point,) = computed(browser)
    assert point["mean"] == native(ALONE, ["scheduler.slice=7ms"], tmp_path).mean
    assert browser.value("document.querySelectorAll('#schedule .live .schedule rect').length") > 10
    give(browser, "#schedule [id^=live-factor]", str(fields.index("scheduler")), "change")
    give(browser, "#schedule [id^=live-names]", '{ name = "cfs" }', "change")
    settle(browser)
    assert computed(browser)[-1]["mean"] == native(ALONE, ["scheduler={ name = 'cfs' }"], tmp_path / "cfs").mean


#: Whether a mark lies in its picture.
INSIDE = """(() => {
    const mark = one.getBoundingClientRect(), all = one.closest("svg").getBoundingClientRect();
    const isBetween = mark.left > all.left - 1 && mark.right < all.right + 1;
    return isBetween && mark.top > all.top - 1 && mark.bottom < all.bottom + 1;
})()"""
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def alike_to_pythons(browser: Browser):
    """Charts that the page draws without computed points are those that Python has drawn, but for rounding."""
    pairs = browser.value(
        "live.panels.flatMap(one => one.redrawn().map((text, place) => [text, one.written[place].inner]))"
    )
    parsed = browser.value(
        """live.panels.flatMap(one => one.redrawn().map(text => {
            const holder = document.createElementNS("http://www.w3.org/2000/svg", "svg");
            holder.innerHTML = text;
            return holder.innerHTML;
        }))"""
    )
    assert parsed
    for text, (_, known) in zip(parsed, pairs, strict=True):
        assert NUMBER.sub("0", text) == NUMBER.sub("0", known)
        numbers = [list(map(float, NUMBER.findall(one))) for one in (text, known)]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.11)


@in_browser
def test_what_the_engine_refuses_is_said_at_the_figure_and_any_value_can_be_written(browser, reports, tmp_path):
    opened(browser, reports / "swept.html")
    give(browser, ".live input[type=text]", "banana", "change")
    settle(browser)
    assert '"banana" is not a duration' in browser.value("document.querySelector('.live .warning').textContent")
    give(browser, ".live input[type=text]", "123us", "change")
    settle(browser)
    (point,) = computed(browser)
    assert point["mean"] == native(SWEPT, ["scheduler.slice=123us", "workload.hog.count=1"], tmp_path).mean


@in_browser
def test_a_point_on_which_a_hand_has_rested_stays_when_it_is_passed_again(browser, reports):
    opened(browser, reports / "swept.html")
    for value in ("123us", "456us"):
        give(browser, ".live input[type=text]", value, "change")
        settle(browser)
    for value in ("789us", "123us", "321us"):
        give(browser, ".live input[type=text]", value, "change")
        browser.value("new Promise(done => setTimeout(done, 60))")
    settle(browser)
    found = {point["value"]: point["n"] for point in computed(browser)}
    assert {"123us": 4, "456us": 4, "321us": 4}.items() <= found.items()


@in_browser
def test_what_was_removed_is_not_spoken_of_again(browser, reports):
    opened(browser, reports / "swept.html")
    give(browser, ".live input[type=text]", "123us", "change")
    browser.value("live.clear()")
    settle(browser)
    browser.value("new Promise(done => setTimeout(done, 500))")
    assert computed(browser) == []
    assert "Computed in this page at" not in browser.value("document.querySelector('.live [role=status]').textContent")


@in_browser
def test_means_are_summed_as_the_library_sums_them(browser, reports):
    """Exactly, so that the order does not count and the mean is the same to the last bit."""
    opened(browser, reports / "names.html")
    for seed in range(20):
        rng = random.Random(seed)
        values = [rng.uniform(-1, 1) * 10 ** rng.randint(-12, 12) for _ in range(rng.randint(1, 40))]
        values += [-value for value in values[::2]] + [2.0**53, 1.0, 2.0**-53]
        assert browser.value(f"interval({json.dumps(values)}).mean") == mean_interval(values).mean


@in_browser
def test_names_have_a_list_of_what_else_there_is(browser, reports, tmp_path):
    opened(browser, reports / "names.html")
    names = browser.value("[...document.querySelector('[id^=live-names]').options].map(one => one.value)")
    assert "cfs" in names
    assert not {"round_robin", "eevdf"} & set(names)
    give(browser, "[id^=live-names]", "cfs", "change")
    settle(browser)
    (point,) = computed(browser)
    wanted = native(NAMES, ["scheduler.name=cfs"], tmp_path)
    assert (point["value"], point["mean"], point["n"]) == ("cfs", wanted.mean, 4)
    assert browser.value("[...document.querySelectorAll('svg .level')].some(one => one.textContent === 'cfs')")
    alike_to_pythons(browser)


@in_browser
def test_a_stored_number_that_was_changed_is_reported(browser, reports, tmp_path):
    text = (reports / "swept.html").read_text()
    held = re.search(r'id="given">([^<]*)<', text)
    given = unpacked(held[1])
    values = given["stored"]["cells"][0]["metrics"]["context_switches"]["values"]
    known = int(values[0])
    values[0] += 1
    changed = made.packed(json.dumps(given).encode())
    (tmp_path / "changed.html").write_text(text.replace(held[1], changed))
    opened(browser, tmp_path / "changed.html")
    said = browser.value("document.getElementById('live-check').textContent")
    assert said.startswith("127 of 128 stored numbers come out the same, to the last bit; 1 differ"), said
    assert "They may have been changed" in said
    listed = browser.value("document.getElementById('live-list').textContent")
    wanted = f"slice 2ms, count 1: context_switches of seed 1: stored {known + 1}, computed {known}"
    assert listed == wanted


@in_browser
@pytest.mark.parametrize(("width", "dark"), [(360, False), (360, True), (1280, True), (2560, False)])
def test_it_fits_and_is_read_in_every_window(browser, reports, width, dark, request):
    opened(browser, reports / "swept.html", width, dark)
    give(browser, ".live input[type=range]", "1000", "input")
    browser.value(UNFOLDED)
    settle(browser)
    if keep := request.config.getoption("--basetemp"):
        browser.picture(Path(keep) / f"live-{width}-{dark}.png")
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value(OUTSIDE) == []
    assert browser.value(FAINT) == []
