"""The page of lessons in a browser: every lesson opens, asks for a prediction first, and its answer is the engine's."""

# Fixtures are imported, and named by arguments.
# ruff: noqa: F401, F811

import json
from statistics import fmean

import pytest
from labpage import in_browser, native, page, with_page
from test_cli import refused
from test_lessons import computed

from schedlab.lab import lessons

EVERY = lessons.every()
DRAWN = "!document.getElementById('lesson-drawn').hidden"
#: The cells of the answer, without the headings that narrow windows show.
TABLE = (
    "[...document.querySelectorAll('#lesson-table tbody tr')].map(row => [...row.cells].map(one => one.textContent))"
)
CHOOSE = "document.querySelector('#lesson-directions input[value=%s]').click()"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A page of all lessons."""
    from schedlab.lab import given, page

    path = tmp_path_factory.mktemp("lessons") / "lessons.html"
    page.write(given.of_lessons(EVERY), path)
    return path


def answered(page, way: str = "falls"):
    """Predict, and have the answer drawn."""
    page.value(CHOOSE % way)
    page.press("lesson-answer")
    page.until(DRAWN)


@in_browser
@pytest.mark.parametrize("lesson", EVERY, ids=lambda lesson: lesson.name)
def test_a_lesson_asks_first_and_answers_with_what_the_engine_computes(page, course, lesson, tmp_path):
    page.open(course, f"#lesson={lesson.name}")
    assert page.text("lesson-title") == lesson.title
    assert page.value("document.getElementById('lesson-answer').disabled")
    assert not page.value(DRAWN)
    answered(page)
    mean = fmean(computed(lesson, lesson.knob["values"][0], tmp_path))
    rows = page.value(TABLE)
    assert len(rows) == len(lesson.knob["values"])
    # Units of time differ by powers of a thousand; what the table shows is rounded.
    shown = float(rows[0][1].split(" ±")[0])
    assert any(shown == pytest.approx(mean * scale, rel=6e-3, abs=1e-12) for scale in (1, 1e3, 1e6, 1e9))


@in_browser
def test_a_prediction_is_held_against_the_answer(page, course):
    page.open(course, "#lesson=convoy")
    answered(page, "falls")
    assert page.text("lesson-verdict").startswith("Right: ")
    page.value(CHOOSE % "rises")
    page.press("lesson-answer")
    page.until("document.getElementById('lesson-verdict').textContent.startsWith('Not so')")


@in_browser
def test_another_lesson_is_a_choice_or_an_address_away(page, course):
    page.open(course, "#lesson=fifo")
    answered(page)
    page.give("lesson-list", "starvation")
    assert page.text("lesson-title") == "Starvation"
    assert not page.value(DRAWN), "the answer of the other one is gone"
    # The address follows when hands have rested.
    page.until("location.hash === '#lesson=starvation'")
    page.value("location.hash = '#lesson=fifo'")
    page.until("document.getElementById('lesson-title').textContent === 'First come, first served'")
    page.settle()
    assert not page.shows("address-fault")
    page.value("location.hash = '#lesson=%E0%A4%A'")
    page.settle()
    assert page.text("lesson-title") == "First come, first served"
    assert page.shows("address-fault")


@in_browser
def test_the_address_of_a_lesson_stays_and_that_of_a_setting_opens_below_it(page, course):
    page.open(course, "#lesson=sstf")
    page.pause(600)
    assert page.value("location.hash") == "#lesson=sstf"
    page.give("knob-elevator", "deadline")
    page.settle()
    page.until("location.hash.startsWith('#a')")
    hash = page.value("location.hash")
    page.open(course, hash)
    assert page.value("lab.shown.pictures[0].scenario.elevator.name") == "deadline"
    page.open(course, "#lesson=%E0%A4%A")
    assert page.text("lesson-title") == EVERY[0].title


@in_browser
def test_the_schedule_below_is_that_of_the_chosen_value(page, course):
    page.open(course, "#lesson=fifo")
    answered(page)
    page.value("document.querySelectorAll('#lesson-open button')[1].click()")
    page.settle()
    assert page.value("lab.shown.pictures[0].scenario.scheduler.name") == "round_robin"


# What a reader types in.

FOUND = "!document.getElementById('typed-found').hidden && document.getElementById('typed-fault').hidden"
REFUSED = "!document.getElementById('typed-fault').hidden"


def typed(page, text: str, until: str):
    """Write a list, and wait for what comes of it."""
    page.give("typed-text", text, "input")
    page.until(until)


@in_browser
def test_a_reference_string_can_be_typed_in_and_is_served_by_the_engine(page, course):
    page.open(course, "#lesson=belady")
    assert not page.shows("typed")
    assert page.value("getComputedStyle(document.querySelector('.grid')).display") == "none", "there is no experiment"
    page.press("lesson-own")
    page.until(FOUND)
    assert page.cells("typed-table") == [
        ["1", "12", "12"],
        ["2", "12", "12"],
        ["3", "9", "10"],
        ["4", "10", "8"],
        ["5", "5", "5"],
    ]
    assert "one frame more has more faults than 3 (Belady's anomaly)" in page.text("typed-words")
    page.value("document.getElementById('typed-more').open = true")
    page.until("document.querySelectorAll('#typed-steps tbody tr').length === 12")
    assert page.cells("typed-steps")[3] == ["4", "4", "4  2  3", "fault", "4  2  3", "fault"]
    typed(
        page,
        "7 0 1 2 0 3 0 4 2 3 0 3 2 1 2 0 1 7 0 1",
        "document.getElementById('typed-words').textContent.includes('20 requests')",
    )
    page.give("typed-choice-1", "belady")
    page.until("document.getElementById('typed-words').textContent.includes('belady')")
    assert page.cells("typed-table")[2] == ["3", "15", "9"]
    typed(page, "1 " + "x" * 50, REFUSED)
    assert page.text("typed-fault").startswith('list:1: "xxx')


@in_browser
def test_a_list_of_cylinders_can_be_typed_in_and_its_link_opens_it(page, course):
    page.open(course, "#lesson=sstf")
    page.press("lesson-own")
    page.until(FOUND)
    place = {
        name: next(row for row in page.cells("typed-table") if row[0] == "190")[at]
        for name, at in [("sstf", 2), ("c_look", 5)]
    }
    assert place == {"sstf": "13", "c_look": "2"}
    page.give("typed-head", 53)
    typed(
        page,
        "98 183 37 122 14 124 65 67",
        "document.getElementById('typed-words').textContent.includes('236 cylinders')",
    )
    assert "322 cylinders" in page.text("typed-words")
    link = page.value("document.getElementById('lesson-link').getAttribute('href')")
    page.until(f"location.hash === {json.dumps(link)}")
    page.open(course, link)
    page.until(FOUND)
    assert page.value("document.getElementById('typed-text').value") == "98 183 37 122 14 124 65 67"
    assert "236 cylinders" in page.text("typed-words")
    typed(page, "98 1000", REFUSED)
    assert "is beyond the drive" in page.text("typed-fault")


@in_browser
def test_a_set_of_bursts_can_be_typed_in_and_runs_in_the_lab_below(page, course):
    page.open(course, "#lesson=fifo")
    page.press("lesson-own")
    page.until(FOUND)
    # Turnaround, waiting and response under FIFO, then in turns of 4 ms: the numbers of the textbook.
    assert page.cells("typed-table") == [
        ["P1", "0", "24", "24", "0", "0", "30", "6", "0"],
        ["P2", "0", "3", "27", "24", "24", "7", "4", "4"],
        ["P3", "0", "3", "30", "27", "27", "10", "7", "7"],
        ["mean of all", "", "", "27", "17", "17", "15.67", "5.667", "3.667"],
    ]
    typed(page, "P1 0 24\nP2 0 often", REFUSED)
    assert page.text("typed-fault").startswith('list:2: "often" is no time')
    typed(page, "P1 0 8\nP2 1 4\nP3 2 9\nP4 3 5", FOUND)
    page.give("typed-choice-0", "srtf")
    page.until("document.getElementById('typed-words').textContent.includes('mean waiting 6.5 ms')")
    page.press("typed-open")
    page.settle()
    assert page.value("lab.shown.pictures[0].scenario.scheduler.name") == "srtf"
    assert (
        page.rows()["waiting.mean"]
        == native(page.value("lab.setting.text"), ["scheduler={ name = 'srtf' }"])["waiting.mean"]
    )


@in_browser
def test_names_in_any_order_give_the_textbooks_schedule_under_the_readers_names(page, course):
    page.open(course, "#lesson=fifo&choices=round_robin:slice=3ms&text=B+0+6%0AC+3+2%0Amean+3+2")
    page.until(FOUND)
    page.value("document.getElementById('typed-more').open = true")
    page.until("document.querySelectorAll('#typed-steps tbody tr').length === 4")
    shown = [row[1:] for row in page.cells("typed-steps")]
    assert shown == [["B", "0", "3"], ["C", "3", "5"], ["mean", "5", "7"], ["B", "7", "10"]]
    typed(page, "B 0 6\nC 3 2\nA 3 2", "document.getElementById('typed-table').textContent.includes('A')")
    assert page.cells("typed-table") == [
        ["B", "0", "6", "10", "4", "0"],
        ["C", "3", "2", "2", "0", "0"],
        ["A", "3", "2", "4", "2", "2"],
        ["mean of all", "", "", "5.333", "2", "0.6667"],
    ]
    shown = [row[1:] for row in page.cells("typed-steps")]
    assert shown == [["B", "0", "3"], ["C", "3", "5"], ["A", "5", "7"], ["B", "7", "10"]]


@in_browser
def test_words_count_and_claim_only_what_was_examined(page, course):
    page.open(course, "#lesson=belady&choices=lru&frames=0&text=1+2+3")
    page.until(FOUND)
    assert page.text("typed-words") == "lru: more frames never have more faults."
    page.open(course, "#lesson=belady&choices=lru&frames=1&text=1")
    page.until(FOUND)
    assert (
        page.text("typed-words") == "lru faults 1 time in 1 request with 1 frame; more frames never have more faults."
    )
    page.open(course, "#lesson=belady&choices=lru&frames=2&text=" + "+".join(map(str, range(65))))
    page.until(FOUND)
    assert page.text("typed-words") == (
        "lru faults 65 times in 65 requests with 2 frames; with up to 64 frames, more frames never have more faults."
    )
    page.open(course, "#lesson=sstf&choices=sstf&head=53&cylinders=200&text=53")
    page.until(FOUND)
    assert "the heads move over 0 cylinders; a request is served 1 ns after it arrived" in page.text("typed-words")
    assert page.cells("typed-table") == [["53", "0", "1", "0", "0.000001"]]


@in_browser
def test_a_lesson_that_the_page_does_not_have_is_a_message(page, course, tmp_path):
    from schedlab.lab import given
    from schedlab.lab import page as pages

    page.open(course, "#lesson=nope")
    assert page.shows("address-fault")
    assert page.text("address-fault").startswith(
        f"The address names a lesson that this page does not have: nope. It has {EVERY[0].name}, "
    )
    page.value("location.hash = '#lesson=fifo'")
    page.until("document.getElementById('address-fault').hidden")
    page.settle()
    page.value("location.hash = '#lesson=nope'")
    page.until("!document.getElementById('address-fault').hidden")
    page.value("location.hash = '#lesson=fifo'")
    page.until("document.getElementById('address-fault').hidden")
    alone = tmp_path / "fifo.html"
    pages.write(given.of_lessons([one for one in EVERY if one.name == "fifo"]), alone)
    page.open(alone, "#lesson=belady")
    assert page.text("address-fault").endswith("does not have: belady. It has fifo.")
    assert page.text("lesson-title") == "First come, first served"


@in_browser
def test_a_hostile_list_in_an_address_is_a_message(page, course):
    page.open(course, "#lesson=belady&text=" + "1+" * 40_000)
    page.until(REFUSED)
    assert "at most 65536 are read" in page.text("typed-fault")
    for hash, said in [
        ("#lesson=belady&text=" + "%00" * 50, "is too long: a name has at most 40 characters"),
        ("#lesson=belady&frames=-1", "has no whole number"),
        ("#lesson=belady&choices=a,b,c", "more than two policies"),
        ("#lesson=belady&choices=%3Cb%3E", 'no eviction policy is called "<b>"'),
        ("#lesson=sstf&cylinders=999999999", "cylinders: 999999999 is not between 1 and 100000"),
        ("#lesson=sstf&choices=scan:towards=left", "scan: towards: "),
        ("#lesson=fifo&text=P1+0+1%0AP1+0+1", "list:2: "),
        ("#lesson=fifo&choices=round_robin:slice=0", "slice"),
        ("#lesson=fifo&frames=3", "is no field of this lesson"),
    ]:
        page.value(f"location.hash = {json.dumps(hash)}")
        page.until(f"document.getElementById('typed-fault').textContent.includes({json.dumps(said)})")
    assert page.browser.complaints() == []


@with_page
def test_a_page_of_lessons_is_written_by_name(schedlab):
    done = schedlab("lab", "--lesson", "fifo", "--lesson", "convoy", "-o", "two.html")
    assert done.returncode == 0, done.stderr
    assert (schedlab.folder / "two.html").stat().st_size < 2_500_000
    refused(schedlab("lab", "--lesson", "fifa"), "no such lesson", "fifo")
    refused(schedlab("lab", "x.toml", "--lesson", "fifo"), "--lesson brings its own experiment")
