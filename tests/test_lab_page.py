"""The page of the lab in use: wrong texts, addresses of others, narrow and dark windows, the keyboard, many drags."""

# Fixtures are imported, and named by arguments.
# ruff: noqa: F401, F811

import base64
import json
import os
import statistics
import zlib

import pytest
from labpage import SHORT, UNFOLDED, desktop, in_browser, native, page, short

from schedlab._core import ScenarioError
from schedlab.specification import Specification


@in_browser
def test_a_wrong_text_has_the_engines_message_at_its_line(page, short):
    page.open(short)
    wrong = SHORT.replace('"round_robin"', '"round_robbin"')
    page.write(wrong)
    page.until("!document.getElementById('fault').hidden")
    with pytest.raises(ScenarioError) as native_fault:
        Specification.from_text(wrong, "short.toml")
    assert page.text("text-fault") == page.text("fault") == str(native_fault.value)
    line = 1 + wrong[: wrong.index("round_robbin")].count("\n")
    assert page.value("[...document.querySelectorAll('#lines .wrong')].map(one => one.textContent)") == [str(line)]
    assert page.value("document.getElementById('text').getAttribute('aria-invalid')") == "true"
    right = SHORT.replace('"20ms" } }, { compute', '"40ms" } }, { compute')
    page.write(right)
    page.settle()
    assert not page.shows("fault")
    assert page.rows() == native(right)


@in_browser
def test_a_wrong_value_of_a_field_has_the_engines_message_and_can_be_taken_back(page, short):
    page.open(short)
    page.give("knob-scheduler.slice-text", "banana")
    page.until("!document.getElementById('fault').hidden")
    assert '"banana" is not a duration' in page.text("fault")
    page.value("document.querySelector('#changed button').click()")
    page.settle()
    assert not page.shows("fault")
    assert page.rows() == native(SHORT)


@in_browser
@pytest.mark.parametrize("pause", [0, 8, 16, 24, 40])
def test_back_at_a_setting_at_once_shows_that_one_and_no_later_answer_of_another(page, short, pause):
    page.open(short)
    set = "document.getElementById('knob-scheduler.slice-text')"
    turn = f"(value => {{ {set}.value = value; {set}.dispatchEvent(new Event('change', {{ bubbles: true }})); }})"
    rest = f"new Promise(done => setTimeout(done, {pause}))"
    page.value(
        f"(async () => {{ {turn}('7ms'); {turn}('5ms'); await {rest}; {turn}('7ms'); await {rest}; {turn}('5ms') }})()"
    )
    page.settle()
    assert page.rows() == native(SHORT, ["scheduler.slice=5ms"])
    assert page.value("lab.shown.runs[0].count") == 4
    seeds = [native(SHORT, ["scheduler.slice=5ms"], seed=seed)["context_switches"] for seed in (1, 2, 3, 4)]
    assert page.value("lab.shown.runs[0].values('context_switches')") == seeds


@in_browser
def test_what_was_typed_last_counts_and_so_do_its_seeds(page, short):
    page.open(short)
    page.give("text", SHORT.replace("seeds = 4", "seeds = [7, 3, 9]"), "input")
    page.press("compare")
    page.settle()
    assert "seeds = [7, 3, 9]" in page.value("document.getElementById('text').value")
    assert page.value("lab.setting.seed") == 7
    page.press("copy-command")
    assert "--set 'seeds=[7,3,9]'" in page.value("document.getElementById('copied').value")


@in_browser
def test_an_address_holds_the_whole_setting(page, short, desktop):
    page.open(short)
    page.slide("scheduler.slice", 0.6)
    page.settle()
    page.press("compare")
    page.settle()
    page.slide("workload.hog.count", 0.2)
    page.settle()
    page.pause(600)
    hash = page.value("location.hash")
    assert hash.startswith("#a")
    wanted = [page.rows(side) for side in (0, 1)]
    assert wanted[0] != wanted[1]
    # Another page, of another experiment, shows the same.
    page.open(desktop, hash)
    assert [page.rows(side) for side in (0, 1)] == wanted
    assert page.text("title").startswith("How soon does an editor")
    assert page.value("lab.asCommand()").startswith("schedlab run experiment.toml --set")
    assert page.value("location.hash") == hash


PLAIN = {"t": SHORT, "s": [[0]], "d": 1, "n": 4}


def packed(text: str) -> str:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return "#a" + base64.urlsafe_b64encode(packer.compress(text.encode()) + packer.flush()).decode().rstrip("=")


@in_browser
@pytest.mark.parametrize(
    ("hash", "said"),
    [
        ("#z123", 'its version is "z"'),
        ("#a!!!", "not base64url"),
        ("#aAAAA", "damaged"),
        ("#a" + "A" * 70_000, "at most 65536"),
        (packed(" " * 30_000_000), "unpacks to more than"),
        (packed("[" * 1000), "it has no setting"),
        (packed(json.dumps(PLAIN | {"t": 5})), "it has no experiment"),
        (packed(json.dumps(PLAIN | {"n": 1e9})), "its seeds are none"),
        (packed(json.dumps(PLAIN | {"s": [[0], [0], [0]]})), "more than two"),
        (packed(json.dumps(PLAIN | {"s": [[0, ["__proto__", {"a": 1}]]]})), "a field that it sets is none"),
    ],
    ids=["version", "letters", "damaged", "long", "bomb", "broken", "text", "seeds", "sides", "field"],
)
def test_a_hostile_address_gives_a_message(page, short, hash, said):
    page.open(short, hash)
    page.until("!document.getElementById('address-fault').hidden")
    assert said in page.text("address-fault")
    assert page.rows() == native(SHORT), "the experiment of the page is shown"


@in_browser
def test_an_address_that_names_no_field_gives_the_engines_message(page, short):
    page.browser.open(short.as_uri() + packed(json.dumps(PLAIN | {"s": [[0, ["__proto__", "1"]]]})))
    page.until("window.lab && !document.getElementById('fault').hidden")
    assert "__proto__" in page.text("fault")
    assert page.value("({}).a === undefined")


#: Elements that reach out of the window; what lies in a box of its own may be wider than that.
OUTSIDE = """[...document.querySelectorAll(
    "td, th, h1, h2, p, figure, label, button, input, select, canvas, summary")].filter(one => {
        const place = one.getBoundingClientRect(), outside = place.right > innerWidth + 1 || place.left < -1;
        return outside && place.width > 1 && !one.closest("thead, .scroll");
    }).map(one => one.tagName + " " + one.id + " " + one.textContent.slice(0, 40))"""


@in_browser
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 768, 1280, 2560])
def test_nothing_is_wider_than_the_window(page, desktop, width, dark):
    page.open(desktop)
    page.browser.window(width, dark=dark)
    page.press("compare")
    page.value(UNFOLDED)
    page.settle()
    assert page.value("document.documentElement.scrollWidth") <= width
    assert page.value(OUTSIDE) == []


#: Texts whose contrast with what is behind them is below that of WCAG's level AA.
FAINT = """(() => {
    const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const bytes = colour => {
        pen.clearRect(0, 0, 1, 1);
        pen.fillStyle = colour;
        pen.fillRect(0, 0, 1, 1);
        return [...pen.getImageData(0, 0, 1, 1).data];
    };
    const linear = value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    const light = colour => [0.2126, 0.7152, 0.0722].reduce((sum, part, k) => sum + part * linear(colour[k] / 255), 0);
    const behind = element => {
        for (; element; element = element.parentElement) {
            const colour = bytes(getComputedStyle(element).backgroundColor);
            if (colour[3] === 255) return colour;
        }
        return [255, 255, 255, 255];
    };
    const hasText = one => [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    return [...document.querySelectorAll("body *")].filter(one => one.checkVisibility() && hasText(one)).filter(one => {
        const [dark, bright] = [light(bytes(getComputedStyle(one).color)), light(behind(one))].sort((a, b) => a - b);
        return (bright + 0.05) / (dark + 0.05) < 4.5;
    }).map(one => one.tagName + " " + one.textContent.slice(0, 30));
})()"""


@in_browser
@pytest.mark.parametrize("dark", [False, True])
def test_texts_have_the_contrast_of_aa(page, short, dark):
    page.open(short)
    page.browser.window(1280, dark=dark)
    page.value(UNFOLDED)
    page.settle()
    assert page.value(FAINT) == []


#: How many controls there are, and those without a name.
CONTROLS = """[...document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, canvas[tabindex]")].filter(
        one => one.checkVisibility() && !one.disabled)"""
NAMELESS = """[...document.querySelectorAll("button, input, select, textarea, canvas")].filter(one =>
    one.checkVisibility() && !one.labels?.length && !one.textContent.trim()
    && !one.getAttribute("aria-label") && !one.getAttribute("aria-labelledby")).map(one => one.id)"""
#: The place of what has the focus, marked where it is not seen.
FOCUSED = """(() => {
    const one = document.activeElement, place = [...document.querySelectorAll("*")].indexOf(one);
    return one === document.body ? "" : (getComputedStyle(one).outlineStyle === "none" ? "unseen " : "") + place;
})()"""


@in_browser
def test_the_keyboard_reaches_every_control(page, short):
    page.open(short)
    page.value(UNFOLDED)
    page.settle()
    wanted = page.value(f"{CONTROLS}.length")
    page.value("document.activeElement.blur()")
    met = set()
    for _ in range(wanted + 20):
        page.browser.press("Tab")
        met.add(page.value(FOCUSED))
    met.discard("")
    assert [one for one in met if one.startswith("unseen")] == []
    assert len(met) >= wanted
    assert page.value(NAMELESS) == []


@in_browser
def test_the_keyboard_moves_picture_and_slider(page, short):
    page.open(short)
    page.value("document.getElementById('timeline-a').focus()")
    seen = []
    for key in ("Home", "+", "ArrowRight", "-"):
        page.browser.press(key)
        page.settle()
        seen.append(page.text("window"))
    assert seen[0] == "0 s to 2 s of 2 s"
    assert len(set(seen[:3])) == 3
    before = page.rows()
    page.value("document.getElementById('knob-scheduler.slice').focus()")
    for _ in range(5):
        page.browser.press("ArrowRight")
    page.settle()
    assert page.value("document.activeElement.id") == "knob-scheduler.slice"
    assert page.rows() != before
    assert page.rows() == native(SHORT, ["sweep={}", f"scheduler.slice={page.fields()['scheduler.slice']}"])


@in_browser
def test_a_drag_of_the_mouse_moves_the_picture(page, short):
    page.open(short)
    page.press("whole")
    page.press("closer")
    page.settle()
    before = page.text("window")
    place = page.value(
        "(() => { const r = document.getElementById('timeline-a').getBoundingClientRect(); return [r.x, r.y]; })()"
    )
    x, y = place[0] + 400, place[1] + 60
    page.browser.mouse("mousePressed", x, y)
    page.browser.mouse("mouseMoved", x - 100, y)
    page.browser.mouse("mouseReleased", x - 100, y)
    page.settle()
    assert page.text("window") != before


def spelled(times: list[float]) -> str:
    return f"median {statistics.median(times):.0f} ms, p95 {sorted(times)[int(len(times) * 0.95)]:.0f} ms"


@in_browser
def test_many_drags_leave_memory_bounded(page, desktop):
    """The picture follows the slider; how soon is printed, of a hand that waits for no picture and of one that does."""
    page.open(desktop)
    page.give("knob-scheduler", "eevdf")
    page.give("knob-duration-text", "10s")
    page.settle()

    def after(drags: int) -> float:
        for turn in range(drags):
            page.slide("scheduler.base_slice", turn % 10 / 10)
            page.value("new Promise(done => requestAnimationFrame(done))")
        page.settle()
        page.browser.ask("HeapProfiler.collectGarbage")
        return page.browser.ask("Runtime.getHeapUsage")["usedSize"]

    first = after(20)
    assert after(100) < 1.2 * first + 10e6
    print(f"\nfrom a change in each frame to its picture: {spelled(page.value('lab.times'))}")
    page.value("lab.times.length = 0")
    for turn in range(20):
        page.slide("scheduler.base_slice", turn % 10 / 10)
        page.settle()
    print(f"from a change after the last picture to its own: {spelled(page.value('lab.times'))}")


@in_browser
def test_with_a_second_worker_the_last_setting_is_shown(page, short):
    """Where the machine has few processors, the page is made to believe in more."""
    page.browser.ask("Emulation.setHardwareConcurrencyOverride", hardwareConcurrency=8)
    page.open(short)
    page.give("knob-duration-text", "60s")
    for turn in range(40):
        page.slide("scheduler.slice", turn % 7 / 7)
    page.settle()
    assert page.value("lab.session.slots.length") == 2
    slice_ = page.fields()["scheduler.slice"]
    assert page.rows() == native(SHORT, ["sweep={}", "duration=60s", f"scheduler.slice={slice_}"])
    page.browser.ask("Emulation.setHardwareConcurrencyOverride", hardwareConcurrency=os.cpu_count())


@in_browser
def test_a_run_that_takes_long_is_replaced_by_a_newer_one(page, short):
    page.open(short)
    page.give("knob-duration-text", "900h")
    page.until("document.getElementById('state').textContent.startsWith('The engine is at work')")
    page.give("knob-duration-text", "1s")
    page.until("lab.shown.pictures[0].run.elapsed === 1e9")
    page.settle()
    assert page.value("lab.session.ended") >= 1
    assert page.rows() == native(SHORT, ["sweep={}", "duration=1s", "scheduler.slice=5ms"])


@in_browser
def test_a_browser_without_what_is_needed_says_so(page, short, tmp_path):
    other = tmp_path / "other.html"
    other.write_text(short.read_text().replace("<script>", "<script>delete globalThis.DecompressionStream;", 1))
    page.browser.open(other.as_uri())
    page.until("!document.getElementById('fault').hidden")
    assert "this browser has no DecompressionStream" in page.text("fault")


@in_browser
def test_a_text_that_was_there_before_keeps_its_own_outline(page, short):
    """The outline of the text between them comes when the first is shown again."""
    page.open(short)
    command = "lab.asCommand()"
    before = page.value(command)
    other = SHORT.replace("seeds = 4", "seeds = 9").replace(
        '"scheduler.slice" = ["5ms", "20ms"]', '"workload.hog.count" = [1, 3]'
    )
    for text in (other, SHORT):
        page.give("text", text, "input")
        page.value("lab.editor.flush()")
    page.settle()
    assert page.value(command) == before
    assert page.value("lab.setting.seeds") == 4
