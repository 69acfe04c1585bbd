"""Lessons: each can be run at every value of its knob, and what it explains is what the engine computes."""

import pytest

from schedlab import caches
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
    "belady": "rises",
    "thrashing": "falls",
}


def computed(lesson, value, folder) -> list[float]:
    """The values of the predicted metric, by seed."""
    metric = lesson.shows[0]["metric"]
    if not lesson.experiment:
        return faults(lesson, metric, value, folder)
    definition = lesson.checked(value).replace(metrics=[metric]).definition
    results = Experiment.from_dict(definition, lesson.name).run(folder)
    ((_, found),) = results.values_of([metric]).items()
    return found.values


def faults(lesson, policy, frames, folder) -> list[float]:
    """Those of the lesson's reference string, as `schedlab cache` counts them."""
    trace = folder / "references.txt"
    trace.write_text("".join(f"{name}\n" for name in lesson.typed["text"].split()))
    return caches.curves(caches.read(trace), policy, str(frames)).runs["misses"].to_list()


def test_the_numbers_that_the_lesson_on_beladys_anomaly_explains(tmp_path):
    lesson = EVERY["belady"]
    found = {policy: [faults(lesson, policy, frames, tmp_path)[0] for frames in (3, 4)] for policy in ("fifo", "lru")}
    assert found == {"fifo": [9, 10], "lru": [10, 8]}
    assert "With 3 frames there are 9 faults, with 4 there are 10." in lesson.explanation


@pytest.mark.parametrize("name", EVERY)
def test_a_lesson_says_all_that_a_reader_needs(name):
    lesson = EVERY[name]
    assert set(lesson.predict) - {"to"} == {"asks", *lessons.DIRECTIONS}
    assert all({"metric", "label"} <= set(shown) <= {"metric", "label", "unit"} for shown in lesson.shows)
    assert all(row["at"] in lesson.knob["values"] for row in lesson.published)
    assert {row["metric"] for row in lesson.published} <= {shown["metric"] for shown in lesson.shows}
    assert lesson.ends()[1] in lesson.knob["values"]
    assert lesson.report is None or lesson.report in [name.replace("-", "_") for name in reproductions.names()]
    assert lesson.experiment or lesson.typed["kind"] == "references"
    if lesson.typed:
        assert set(lesson.typed) - {"numbers"} == {"kind", "text", "choices"}
        numbers = {"references": {"frames"}, "cylinders": {"head", "cylinders"}, "bursts": set()}
        assert set(lesson.document()["typed"]["numbers"]) == numbers[lesson.typed["kind"]]
        assert 1 <= len(lesson.typed["choices"]) <= 2
    assert lesson.question.strip()
    assert lesson.explanation.strip()


@pytest.mark.parametrize("name", EVERY)
def test_what_a_lesson_explains_is_what_the_engine_computes(name, tmp_path):
    lesson = EVERY[name]
    first, last = (computed(lesson, value, tmp_path) for value in lesson.ends())
    assert lessons.direction(first, last, lesson.least) == EXPLAINED[name]


def test_a_change_is_noticed_from_a_tenth_on_and_beyond_the_scatter_of_the_seeds():
    assert [lessons.direction([10], [value]) for value in (8, 9.5, 10.5, 12)] == ["falls", "same", "same", "rises"]
    assert lessons.direction([0], [0]) == "same"
    assert lessons.direction([10, 20, 30], [12, 24, 36]) == "same", "4 ± 5"
    assert lessons.direction([10, 20, 30], [15, 25, 36]) == "rises"
