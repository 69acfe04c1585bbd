"""Lessons: a question, a knob, what was published, and what the reader predicts before the answer is drawn.

A lesson is a TOML file here. The answer is in none of them: it is what the engine computes when the reader has
predicted.

    title, question, explanation     texts; paragraphs are apart by an empty line, `code` stands between backquotes
    report                           the reproduction that it is about; none, if it is from the textbook
    experiment, or reproduction      the text of an experiment file, or a file of a reproduction; a lesson about a typed
                                     reference string has neither: its metrics are eviction policies, whose faults are
                                     shown at each number of frames
    set                              paths and values, as with --set
    knob                             a path, its label, and the values that it has
    shows                            metrics with labels and units; the first one is predicted
    predict                          what is asked, and a text for each direction: falls, same, rises, from the first
                                     value of the knob to the last, or to the one that `to` names
    published                        values of the report: at which value of the knob, of which metric
    typed                            what a reader may type in: the `kind` of list (references, cylinders, bursts), the
                                     `text` that is there at first, one or two policies as `choices`, and `numbers`:
                                     `frames` of references, `head` and `cylinders` of cylinders
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from statistics import fmean
from typing import Any

from schedlab.errors import UsageError, nearest
from schedlab.published import reproductions
from schedlab.specification import Specification
from schedlab.stats import mean_interval

#: The three directions of a prediction.
FALLS, SAME, RISES = DIRECTIONS = ("falls", "same", "rises")
#: A change of less than this, as a share of the larger of the two, is none.
NOTICEABLE = 0.1


@dataclass(frozen=True)
class Lesson:
    """One lesson; fields as the head of this module has them."""

    name: str
    title: str
    question: str
    explanation: str
    knob: Mapping[str, Any]
    shows: tuple[Mapping[str, str], ...]
    predict: Mapping[str, Any]
    experiment: str = ""
    report: str | None = None
    set: Mapping[str, Any] | None = None
    published: tuple[Mapping[str, Any], ...] = ()
    typed: Mapping[str, Any] | None = None

    def settings(self, value: Any) -> dict[str, str]:
        """What is set where the knob has that value, as after --set."""
        return {path: str(given) for path, given in {**(self.set or {}), self.knob["path"]: value}.items()}

    def checked(self, value: Any) -> Specification:
        """The experiment where the knob has that value."""
        settings = [f"{path}={given}" for path, given in self.settings(value).items()]
        return Specification.from_text(self.experiment, f"{self.name}.toml", set=settings)

    def document(self) -> dict[str, Any]:
        """It as the script of a page reads it (`web/src/types.ts`)."""
        return {
            "name": self.name,
            "title": self.title,
            "question": self.question,
            "explanation": self.explanation,
            "text": self.experiment,
            "set": {path: str(value) for path, value in (self.set or {}).items()},
            "seeds": len(self.checked(self.knob["values"][0]).seeds) if self.experiment else 1,
            "knob": {"path": "", **self.knob, "values": [str(value) for value in self.knob["values"]]},
            "shows": list(self.shows),
            "predict": {**self.predict, "to": str(self.predict["to"]) if "to" in self.predict else None},
            "published": [{**row, "at": str(row["at"])} for row in self.published],
            "typed": {"numbers": {}, **self.typed, "text": self.typed["text"].strip()} if self.typed else None,
        }

    @property
    def least(self) -> float:
        """A change of less than this, as a share, is none. Faults are counted: any change is one."""
        return NOTICEABLE if self.experiment else 0

    def ends(self) -> tuple[Any, Any]:
        """The two values of the knob that the prediction is about."""
        values = self.knob["values"]
        return values[0], self.predict.get("to", values[-1])


def every() -> list[Lesson]:
    """All lessons, in their order."""
    files = [file for file in resources.files(__name__).iterdir() if file.name.endswith(".toml")]
    return [_lesson(file.name, file.read_text(encoding="utf-8")) for file in sorted(files, key=lambda file: file.name)]


def named(name: str) -> Lesson:
    """One of them; the error names the nearest."""
    known = {lesson.name: lesson for lesson in every()}
    if name not in known:
        raise UsageError(f"no such lesson: {name!r}; {nearest(name, list(known))}")
    return known[name]


def direction(first: Sequence[float], last: Sequence[float], least: float = NOTICEABLE) -> str:
    """Which way a metric went, by its values of each seed, which are pairs.

    It went nowhere if its mean changed by less than a tenth, or by less than `least` as a share; or if 0 is in the
    interval of the mean difference.
    """
    one, other = fmean(first), fmean(last)
    if abs(other - one) <= least * max(abs(one), abs(other)):
        return SAME
    change = mean_interval([late - early for early, late in zip(first, last, strict=False)])
    if change.low <= 0 <= change.high:
        return SAME
    return RISES if other > one else FALLS


def _lesson(file: str, text: str) -> Lesson:
    fields = tomllib.loads(text)
    reproduction = fields.pop("reproduction", None)
    if reproduction is not None:
        fields["experiment"] = resources.files(reproductions).joinpath(reproduction).read_text(encoding="utf-8")
    for several in ("shows", "published"):
        fields[several] = tuple(fields.get(several, ()))
    return Lesson(name=file.removesuffix(".toml").partition("-")[2], **fields)
