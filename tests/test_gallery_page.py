"""The pages of the gallery in a browser: their numbers, knobs, lists, addresses, and that the keyboard reaches them."""

# Fixtures are imported, and named by arguments.
# ruff: noqa: F401, F811

import json
import re
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from gallerysite import POLICIES, folder, in_browser
from labpage import native, page
from test_lab_page import CONTROLS, FAINT, FOCUSED, NAMELESS, OUTSIDE

from schedlab.gallery import live

SCHEDULERS = [name for family, name in POLICIES if family == "schedulers"]
#: The picture is there, and every other policy has run the load.
DRAWN = "window.exhibit && exhibit.shown && exhibit.session.idle"
READY = f"{DRAWN} && exhibit.others.size === exhibit.catalog[exhibit.given.family].length"
FIGURE = "document.getElementById('timeline').toDataURL()"


def opened(page, file, hash="", until=DRAWN):
    page.browser.window(1280)
    page.browser.open(file.as_uri() + hash)
    page.until(until)
    page.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def rows(page):
    return {metric: value for metric, value, _ in json.loads(page.value("JSON.stringify(exhibit.shown.run.rows)"))}


def wanted(policy, *more):
    """The numbers of the command for what a page runs."""
    shown = live.of(policy)
    return native(shown.text, [*(f"{path}={value}" for path, value in shown.set), *more])


@pytest.fixture(scope="module")
def host(folder):
    """A static host of the gallery, by its address."""
    handler = partial(SimpleHTTPRequestHandler, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@in_browser
def test_a_static_host_serves_it_as_it_is(page, host):
    policy = POLICIES["schedulers", "fifo"]
    page.browser.open(f"{host}/{policy.path}")
    page.until(DRAWN)
    assert rows(page) == wanted(policy)
    asked = {address for address in page.browser.requests() if not address.startswith("blob:")}
    assert asked - {f"{host}/favicon.ico"} == {
        f"{host}/{name}" for name in (policy.path, "style.css", "engine.js", "gallery.js")
    }


@in_browser
@pytest.mark.parametrize("name", SCHEDULERS)
def test_the_page_of_a_scheduler_gives_the_numbers_of_the_command(page, folder, name):
    policy = POLICIES["schedulers", name]
    opened(page, folder / policy.path)
    assert rows(page) == wanted(policy)
    assert page.value("exhibit.shown.run.spans.begin.length") > 0
    assert page.browser.complaints() == []
    assert {address.partition(":")[0] for address in page.browser.requests()} <= {"file", "blob"}


@in_browser
@pytest.mark.parametrize(("family", "name"), [("elevators", "sstf"), ("caches", "arc"), ("reclaims", "linux_1_0")])
def test_a_page_of_another_family_gives_the_numbers_of_the_command_for_each_of_its_policies(page, folder, family, name):
    policy = POLICIES[family, name]
    opened(page, folder / policy.path, until=READY)
    assert rows(page) == wanted(policy)
    others = json.loads(page.value("JSON.stringify([...exhibit.others])"))
    for other, found in others:
        if live.of(POLICIES[family, other]).refused:
            assert isinstance(found, str)
        elif other in (name, others[-1][0]):
            assert {metric: value for metric, value, _ in found} == wanted(POLICIES[family, other]), other
    assert len(page.cells("others")) == len(others)
    assert page.browser.complaints() == []


#: The way of the heads over a list of cylinders, and that to the ends of the drive where the original goes there.
TRAVEL = """list.session
    .ask({ do: "cylinders", text: %s, head: %d, cylinders: %d, elevators: [%s] }, list.session.turn())
    .then(found => [found.elevators[0].travel, found.elevators[0].to_the_ends])"""
#: Whether each request of a reference string hits.
HITS = """list.session.ask({ do: "references", text: %s, policies: %s, frames: %d }, list.session.turn())
    .then(found => found.policies[0].steps.map(step => step.fault ? "." : "*").join(" "))"""
LISTED = "window.list && list.drawing && list.session.idle"


@in_browser
def test_the_drawn_schedules_of_elevators_are_what_the_engine_of_the_page_computes(page, folder):
    opened(page, folder / "elevators/look.html", until=LISTED)
    assert "look: the heads move over 299 cylinders" in page.text("list-words")
    compared = 0
    for (family, name), policy in POLICIES.items():
        # A line for each value of the parameter: "53 → 65 → ...      299 cylinders (towards = up)".
        for line in policy.block("text").splitlines() if family == "elevators" else ():
            found = re.search(r"→.* (\d+) cylinders[^(]*(?:\(towards = (\w+)\))?$", line)
            if not found:
                continue
            asked = live.typed(policy)
            choice = {"name": name} | ({"towards": found[2]} if found[2] else {})
            words = TRAVEL % (json.dumps(asked["text"]), *asked["numbers"].values(), json.dumps(choice))
            travel, ends = page.value(words)
            assert int(found[1]) == (travel if ends is None else ends), line
            compared += 1
    assert compared >= 8
    # A parameter that a knob sets is that of the list, too.
    page.give("knob-elevator.towards", "down")
    page.until("document.getElementById('list-words').textContent.includes('over 208 cylinders')")


@in_browser
def test_the_drawn_schedules_of_caches_are_what_the_engine_of_the_page_computes(page, folder):
    opened(page, folder / "caches/belady.html", until=LISTED)
    assert "belady faults 7 times in 12 requests with 3 frames" in page.text("list-words")
    assert page.browser.complaints() == []
    for (family, name), policy in POLICIES.items():
        if family == "caches":
            asked = live.typed(policy)
            hits = page.value(HITS % (json.dumps(asked["text"]), json.dumps(name), asked["numbers"]["frames"]))
            assert f"hit   {hits}\n" in policy.block("text"), name


@in_browser
def test_a_list_of_the_readers_own_is_drawn_next_to_that_of_another_policy(page, folder):
    opened(page, folder / "caches/fifo.html", until=LISTED)
    figure = "document.getElementById('list-figure').toDataURL()"
    before = page.value(figure)
    page.give("list-text", "1 2 3 4 1 2 5 1 2 3 4 5", "input")
    page.until("document.getElementById('list-words').textContent.includes('in 12 requests')")
    page.give("list-other", "lru")
    page.until("document.getElementById('list-words').textContent.includes('lru faults 10 times')")
    # Belady's anomaly: nine faults with three frames, ten with four.
    words = (
        "fifo faults 9 times in 12 requests with 3 frames; one frame more has more faults than 3 (Belady's anomaly)."
    )
    assert page.text("list-words").startswith(words)
    assert [row[1] for row in page.cells("list-table")][2:4] == ["9", "10"]
    page.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.value(figure) != before
    page.give("list-text", "x" * 100, "input")
    page.until("!document.getElementById('list-fault').hidden")
    assert "at most 40 characters" in page.text("list-fault")


@in_browser
def test_a_knob_changes_the_figure_and_the_links(page, folder):
    policy = POLICIES["schedulers", "round_robin"]
    opened(page, folder / policy.path, until=READY)
    before = page.value(FIGURE)
    page.slide("scheduler.slice", 0.9)
    page.until(f"{READY} && exhibit.set.size === 1 && exhibit.times.length === 2")
    slice = page.value("exhibit.set.get('scheduler.slice')")
    assert page.value(FIGURE) != before
    assert rows(page) == wanted(policy, f"scheduler.slice={slice}")
    page.until("location.hash.startsWith('#a')")
    hash, lab = page.value("location.hash"), page.value("document.getElementById('lab').href")
    assert live.setting(lab.partition("#")[2]) == (policy.block("toml"), [("scheduler.slice", slice)])
    opened(page, folder / policy.path, hash)
    assert rows(page) == wanted(policy, f"scheduler.slice={slice}")
    page.press("reset")
    page.until(f"{DRAWN} && exhibit.set.size === 0 && exhibit.times.length === 2")
    assert rows(page) == wanted(policy)
    page.until("location.hash === ''")
    page.browser.open(lab)
    page.until("window.lab && lab.shown && lab.session.idle")
    assert page.rows() == wanted(policy, f"scheduler.slice={slice}")


@in_browser
@pytest.mark.parametrize(
    ("hash", "said"),
    [("#z1", 'its version is "z"'), ("#aAAAA", "damaged"), (live.address("machine = 5", []), "of another experiment")],
    ids=["version", "damaged", "other"],
)
def test_a_broken_address_gives_a_message_and_the_pages_own_schedule(page, folder, hash, said):
    policy = POLICIES["schedulers", "fifo"]
    opened(page, folder / policy.path, hash)
    assert said in page.text("fault")
    assert page.shows("fault")
    assert rows(page) == wanted(policy)


@in_browser
def test_an_address_that_the_engine_refuses_gives_its_message_and_can_be_taken_back(page, folder):
    policy = POLICIES["schedulers", "fifo"]
    page.browser.open((folder / policy.path).as_uri() + live.address("", [("__proto__", "1")]))
    page.until("window.exhibit && !document.getElementById('fault').hidden")
    assert "__proto__" in page.text("fault")
    page.press("reset")
    page.until(DRAWN)
    assert not page.shows("fault")
    assert rows(page) == wanted(policy)


@in_browser
def test_a_place_within_a_page_is_no_setting(page, folder):
    opened(page, folder / "schedulers/cfs.html", "#cost")
    assert not page.shows("fault")
    assert page.value("location.hash") == "#cost"


@in_browser
def test_the_keyboard_reaches_every_policy_and_every_control(page, folder):
    for path, until in (("index.html", "true"), ("schedulers/lottery.html", READY)):
        opened(page, folder / path, until=until)
        wanted = page.value(f"{CONTROLS}.length")
        assert path != "index.html" or wanted > len(POLICIES)
        met = set()
        for _ in range(wanted + 20):
            page.browser.press("Tab")
            met.add(page.value(FOCUSED))
        met.discard("")
        assert len(met) >= wanted
        assert page.value(NAMELESS) == []


@in_browser
@pytest.mark.parametrize("dark", [False, True])
def test_pages_fit_into_narrow_and_wide_windows_and_have_the_contrast_of_aa(page, folder, dark):
    for path, until in (("index.html", "true"), ("elevators/sstf.html", READY), ("caches/belady.html", LISTED)):
        opened(page, folder / path, until=until)
        for width in (360, 2560):
            page.browser.window(width, dark=dark)
            page.value("document.querySelectorAll('details').forEach(one => one.open = true)")
            page.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            assert page.value("document.documentElement.scrollWidth") <= width, (path, width)
            assert page.value(OUTSIDE) == [], (path, width)
        assert page.value(FAINT) == [], path
