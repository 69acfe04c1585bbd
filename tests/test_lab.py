"""`schedlab lab`: the page runs experiments in a real browser, and its numbers are those of the native engine."""

# Fixtures are imported, and named by arguments.
# ruff: noqa: F401, F811

import json
import random
import shlex

import pytest
from conftest import ROOT
from labpage import SHORT, desktop, in_browser, native, page, short, with_page, written

from schedlab import Results
from schedlab.errors import UsageError
from schedlab.lab import given, made
from schedlab.lab import page as pages
from schedlab.specification import Specification
from schedlab.stats import mean_interval

P99 = "tasks.editor.wakeup_latency.p99"


@pytest.fixture
def file(schedlab):
    """The short load, in the folder of the command."""
    path = schedlab.folder / "short.toml"
    path.write_text(SHORT)
    return path


# The command.


def test_an_experiment_that_no_page_can_run_is_refused(schedlab, file):
    file.write_text(SHORT.replace('machine = "uniform"', 'machine = "host"'))
    done = schedlab("lab", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert "which a page cannot see" in done.stderr
    many = ", ".join(f'"{n}ms"' for n in range(1, given.MOST_CELLS + 2))
    file.write_text(SHORT.replace('"5ms", "20ms"', many))
    done = schedlab("lab", file)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert f"at most {given.MOST_CELLS}" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["short.toml"], "short.toml:8: scheduler.name"),
        (["none"], "no result 'none'"),
        (["no.toml"], "no.toml: No such file"),
        (["--set", "frob=1"], "frob: unknown field"),
        (["-o", "no/lab.html"], "there is no folder"),
    ],
)
def test_what_is_wrong_is_refused_in_one_line(schedlab, file, words, said):
    file.write_text(SHORT.replace("round_robin", "round_robbin"))
    done = schedlab("lab", *words)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert said in done.stderr
    assert not (schedlab.folder / "lab.html").exists()


def test_results_are_shown_as_they_are(schedlab, file):
    schedlab("run", file)
    done = schedlab("lab", "results/short", "--set", "duration=1s")
    assert done.returncode == 2
    assert "stored results are shown as they are" in done.stderr


def test_what_is_missing_is_named_with_its_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(made, "files", lambda package: tmp_path)
    with pytest.raises(UsageError, match=r"without engine\.wasm and page\.js and worker\.js: .*rustup target add"):
        made.made()
    (tmp_path / "engine.wasm").write_bytes(b"\0asm")
    with pytest.raises(UsageError, match=r"without page\.js and worker\.js: it needs node"):
        made.made()


def test_files_that_an_experiment_names_are_in_its_text(tmp_path):
    (tmp_path / "times.txt").write_text("0.1\n0.2\n0.3\n")
    pool = 'pool = { arrivals = { recorded = { file = "times.txt" } }, steps = [{ compute = "1ms" }] }'
    (tmp_path / "named.toml").write_text(SHORT.replace("hog = {", f"{pool}\nhog = {{"))
    found = given.of_file(tmp_path / "named.toml", ["duration=3s"])
    assert "times.txt" in found.notes[0]
    assert found.set == []
    again = Specification.from_text(found.text, "again.toml")
    assert [cell.hash for cell in again.cells()] == [cell.hash for cell in found.experiment.cells()]


def test_texts_of_others_are_no_markup():
    text = pages._safe({"text": "</script><script>alert(1)</script><!--"})
    assert "<" not in text
    assert json.loads(text)["text"].startswith("</script>")


@with_page
def test_the_page_is_one_file_of_the_promised_size(schedlab, file):
    said = schedlab.json("lab", file, "--set", "duration=1s")
    text = (schedlab.folder / "lab.html").read_text()
    assert said["bytes"] == len(text.encode()) <= 2_500_000
    assert (said["experiment"], said["cells"], said["result"]) == ("short", 2, None)
    assert "default-src 'none'" in text
    assert not any(f' {name}="http' in text for name in ("src", "href"))


# The numbers.


@in_browser
def test_the_page_shows_the_desktop_from_a_file_and_asks_for_nothing(page, desktop):
    page.open(desktop)
    schemes = {url.partition(":")[0] for url in page.browser.requests()}
    assert schemes <= {"file", "blob", "data"}
    assert page.browser.complaints() == []
    assert page.rows() == native((ROOT / "examples" / "desktop.toml").read_text())
    assert "Forty tasks" in page.text("title")
    colours = """(() => {
        const canvas = document.getElementById("timeline-a");
        const image = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(image.data.buffer)).size;
    })()"""
    assert page.value(colours) > 6, "jobs are drawn"


#: Whether a request can be made: by the page, and by a worker of it.
REQUESTS = """(async () => {
    const ask = "fetch('data:,x').then(() => true, () => false).then(postMessage)";
    const program = new Blob([ask], { type: "text/javascript" });
    const worker = new Worker(URL.createObjectURL(program));
    const heard = new Promise(done => worker.onmessage = event => done(event.data));
    return [await fetch("data:,x").then(() => true, () => false), await heard];
})()"""


@in_browser
def test_neither_the_page_nor_its_worker_can_make_a_request(page, short):
    page.open(short)
    assert page.value(REQUESTS) == [False, False]


@in_browser
def test_sliders_change_the_picture_and_its_numbers_are_the_native_ones(page, short):
    page.open(short)
    assert page.rows() == native(SHORT)
    before = page.value("document.getElementById('timeline-a').toDataURL()")
    for path in ("scheduler.slice", "machine.processors", "workload.hog.count", "workload.editor.nice"):
        page.slide(path, 0.3)
    page.settle()
    assert len(page.fields()) == 4
    changed = ["sweep={}", *(f"{path}={value}" for path, value in page.fields().items())]
    assert page.rows() == native(SHORT, changed)
    assert page.value("document.getElementById('timeline-a').toDataURL()") != before
    assert any(row[0] == P99 for row in page.cells("means"))
    # What was changed can be taken back.
    for _ in range(4):
        page.value("document.querySelector('#changed button').click()")
        page.settle()
    assert page.rows() == native(SHORT)


@in_browser
def test_another_cell_scheduler_and_machine_have_the_native_numbers(page, short):
    page.open(short)
    page.give("cell", 1)
    page.settle()
    assert page.rows() == native(SHORT, cell=1)
    page.give("knob-scheduler", "eevdf")
    page.settle()
    page.give("knob-machine", "at_386")
    page.settle()
    assert page.rows() == native(SHORT, ["sweep={}", "scheduler={name='eevdf'}", "machine=at_386"])


@in_browser
def test_policies_of_storage_and_the_size_of_memory_have_the_native_numbers(page, tmp_path):
    text = (ROOT / "examples" / "memory.toml").read_text()
    (tmp_path / "memory.toml").write_text(text)
    page.open(written(tmp_path, "memory.toml"))
    assert page.rows() == native(text)
    for policy, name in (("elevator", "deadline"), ("cache", "arc"), ("reclaim", "linux_1_0")):
        page.give(f"knob-{policy}", name)
        page.settle()
    page.give("knob-machine.memory.size-text", "20MiB")
    page.settle()
    assert not page.shows("fault"), page.text("fault")
    changed = [f"{path}={value}" for path, value in page.fields().items()]
    assert len(changed) == 4
    assert page.rows() == native(text, ["sweep={}", *changed])


@in_browser
@pytest.mark.parametrize("example", list(given.examples()), ids=lambda example: example["name"])
def test_an_example_of_the_page_has_the_native_numbers_under_another_scheduler(page, short, example):
    page.open(short)
    page.give("example", example["name"])
    page.settle()
    assert page.text("title") == example["title"]
    names = page.value("[...document.getElementById('knob-scheduler').options].map(one => one.value)")
    scheduler = random.Random(example["name"]).choice(names)
    page.give("knob-scheduler", scheduler)
    page.settle()
    assert not page.shows("fault"), page.text("fault")
    assert page.value("lab.asCommand()").startswith(f"schedlab run {example['name']}.toml ")
    assert page.rows() == native(example["text"], ["sweep={}", f"scheduler={{name='{scheduler}'}}"])


@in_browser
def test_two_settings_are_compared_by_pairs_with_the_intervals_of_the_library(page, short):
    page.open(short)
    page.press("compare")
    page.settle()
    page.slide("scheduler.slice", 0.5)
    page.settle()
    other = ["sweep={}", f"scheduler.slice={page.fields(1)['scheduler.slice']}"]
    sides = [json.loads(page.value(f"JSON.stringify(lab.shown.runs[{side}].values('{P99}'))")) for side in (0, 1)]
    for seed in (1, 4):
        assert sides[0][seed - 1] == native(SHORT, seed=seed)[P99]
        assert sides[1][seed - 1] == native(SHORT, other, seed=seed)[P99]
    assert "n = 4 of 4" in page.text("basis")
    assert [row[0] for row in page.cells("means")][:1] == [P99]
    headings = page.value("[...document.querySelectorAll('#means th')].map(one => one.textContent)")
    assert headings == ["metric", "A", "B", "B - A", "B - A, %", "unit"]
    differences = mean_interval([b - a for a, b in zip(*sides, strict=True)])
    shown = next(row for row in page.cells("means") if row[0] == P99)
    scale = {"s": 1, "ms": 1e3, "us": 1e6}[shown[5]]
    mean, half = (float(part) / scale for part in shown[3].split(" ± "))
    assert mean == pytest.approx(differences.mean, rel=0.05)
    assert half == pytest.approx(differences.high - differences.mean, rel=0.1)


@in_browser
@pytest.mark.parametrize("n", [2, 3, 7, 30, 200])
def test_the_interval_of_the_page_is_that_of_the_library(page, short, n):
    if not page.value("typeof interval === 'function'"):
        page.open(short)
    values = [random.Random(n).gauss(5, 2) for _ in range(n)]
    known, found = mean_interval(values), page.value(f"interval({json.dumps(values)})")
    assert found["mean"] == pytest.approx(known.mean, rel=1e-12)
    assert found["half"] == pytest.approx(known.high - known.mean, rel=1e-9)


@in_browser
def test_what_is_copied_gives_the_same_numbers_on_the_command_line(page, short, schedlab, file):
    page.open(short)
    known = "schedlab run short.toml --set 'sweep={}' --set scheduler.slice=5ms --seeds 4"
    assert page.value("lab.asCommand()") == known
    page.give("knob-machine", "xeon_6226r")
    page.settle()
    page.slide("scheduler.slice", 0.8)
    page.settle()
    wanted = page.rows()
    assert native(page.value("lab.asFile()")) == wanted
    words = shlex.split(page.value("lab.asCommand()"))[1:]
    assert schedlab(*words).returncode == 0
    (folder,) = (schedlab.folder / "results").iterdir()
    results = Results.open(folder)
    series = results.values_of(results.known_metrics)
    found = {metric: one.values[one.seeds.index(1)] for (_, metric), one in series.items() if 1 in one.seeds}
    assert {metric: value for metric, value in found.items() if value is not None} == wanted


@in_browser
def test_stored_results_are_checked_to_the_last_bit(page, schedlab, file):
    schedlab("run", file)
    page.open(written(schedlab.folder, "results/short"))
    assert page.text("stored-check").startswith("Checked: all 16 numbers of these seeds are those stored")
    stored = page.cells("stored-means")
    assert [row[1] for row in stored] == [row[3] for row in stored]
    page.give("cell", 1)
    page.settle()
    assert page.text("stored-check").startswith("Checked: all 16 numbers")
    page.slide("scheduler.slice", 0.9)
    page.settle()
    assert "none of the stored cells" in page.text("stored-check")


@in_browser
def test_a_stored_number_that_differs_is_said(page, schedlab, file):
    schedlab("run", file)
    path = written(schedlab.folder, "results/short")
    known = native(SHORT)["context_switches"]
    changed = path.read_text().replace(f'"values": [{known}', f'"values": [{known + 1}', 1)
    assert changed != path.read_text()
    path.write_text(changed)
    page.open(path)
    assert page.text("stored-check").startswith("1 of 16 numbers computed here differ")
    assert f"stored {known + 1:.0f}, computed {known:.0f}" in page.text("stored-differing")
