"""The page of lessons in a browser: every lesson opens, asks for a prediction first, and its answer is the engine's."""

# Fixtures are imported, and named by arguments.
# ruff: noqa: F401, F811

import pytest
from labpage import in_browser, page, with_page
from test_cli import refused

from schedlab.experiment import Experiment
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
    first = lesson.shows[0]["metric"]
    definition = lesson.checked(lesson.knob["values"][0]).replace(metrics=[first]).definition
    mean = Experiment.from_dict(definition, lesson.name).run(tmp_path).interval_at(first, {}).mean
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


@with_page
def test_a_page_of_lessons_is_written_by_name(schedlab):
    done = schedlab("lab", "--lesson", "fifo", "--lesson", "convoy", "-o", "two.html")
    assert done.returncode == 0, done.stderr
    assert (schedlab.folder / "two.html").stat().st_size < 2_500_000
    refused(schedlab("lab", "--lesson", "fifa"), "no such lesson", "fifo")
    refused(schedlab("lab", "x.toml", "--lesson", "fifo"), "--lesson brings its own experiment")
