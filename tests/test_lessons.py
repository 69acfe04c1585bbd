"""Lessons: each can be run at every value of its knob, and what it explains is what the engine computes."""

import pytest

from schedlab.experiment import Experiment
from schedlab.lab import lessons
from schedlab.published import reproductions

EVERY = {lesson.name: lesson for lesson in lessons.every()}
#: What the explanations say of the first metric, from the first value of the knob to the last or to the one named.
EXPLAINED = {
    "ladder": "rises",
    "quantum": "falls",
    "buffers": "rises",
    "writes": "same",
    "rotation": "falls",
    "fifo": "falls",
    "convoy": "falls",
    "starvation": "rises",
    "inversion": "falls",
    "sstf": "rises",
    "thrashing": "falls",
}


def computed(lesson, value, folder) -> list[float]:
    """The values of the predicted metric, by seed."""
    metric = lesson.shows[0]["metric"]
    definition = lesson.checked(value).replace(metrics=[metric]).definition
    results = Experiment.from_dict(definition, lesson.name).run(folder)
    ((_, found),) = results.values_of([metric]).items()
    return found.values


@pytest.mark.parametrize("name", EVERY)
def test_a_lesson_says_all_that_a_reader_needs(name):
    lesson = EVERY[name]
    assert set(lesson.predict) - {"to"} == {"asks", *lessons.DIRECTIONS}
    assert all({"metric", "label"} <= set(shown) <= {"metric", "label", "unit"} for shown in lesson.shows)
    assert all(row["at"] in lesson.knob["values"] for row in lesson.published)
    assert {row["metric"] for row in lesson.published} <= {shown["metric"] for shown in lesson.shows}
    assert lesson.ends()[1] in lesson.knob["values"]
    assert lesson.report is None or lesson.report in [name.replace("-", "_") for name in reproductions.names()]
    assert lesson.question.strip()
    assert lesson.explanation.strip()


@pytest.mark.parametrize("name", EVERY)
def test_what_a_lesson_explains_is_what_the_engine_computes(name, tmp_path):
    lesson = EVERY[name]
    first, last = (computed(lesson, value, tmp_path) for value in lesson.ends())
    assert lessons.direction(first, last) == EXPLAINED[name]


def test_a_change_is_noticed_from_a_tenth_on_and_beyond_the_scatter_of_the_seeds():
    assert [lessons.direction([10], [value]) for value in (8, 9.5, 10.5, 12)] == ["falls", "same", "same", "rises"]
    assert lessons.direction([0], [0]) == "same"
    assert lessons.direction([10, 20, 30], [12, 24, 36]) == "same", "4 ± 5"
    assert lessons.direction([10, 20, 30], [15, 25, 36]) == "rises"
