"""What is put into a page: an experiment, the fields that differ from its file, other experiments, stored results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from schedlab import _core
from schedlab.errors import UsageError
from schedlab.lab.lessons import Lesson
from schedlab.results import Results
from schedlab.specification import Specification
from schedlab.system import reading
from schedlab.system.escaped import escaped

#: The experiment that a page has without any other.
BUILT_IN = "desktop"
#: Cells of an experiment's sweep, characters of its text, and stored numbers that a page has at most.
MOST_CELLS, LONGEST, MOST_NUMBERS = 1000, 512 * 1024, 50_000


@dataclass(frozen=True)
class Given:
    """What a page is about. `set` has the fields that differ from the text, by their paths."""

    name: str
    file: str
    text: str
    experiment: Specification
    set: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()
    stored: dict[str, Any] | None = field(default=None)
    lessons: Sequence[Lesson] = ()
    #: What a server adds to it (`schedlab.serve`); none in a file.
    served: dict[str, Any] | None = field(default=None)

    def document(self) -> dict[str, Any]:
        """It as the page's script reads it (`web/src/types.ts`)."""
        own = {"file": self.file, "text": self.text, "set": list(self.set), "notes": list(self.notes)}
        lessons = [lesson.document() for lesson in self.lessons]
        return own | {
            "engine": _core.version(),
            "examples": list(examples()),
            "stored": self.stored,
            "lessons": lessons,
            "served": self.served,
        }


def built_in(overrides: Sequence[str] = ()) -> Given:
    """The desktop."""
    text = (files("schedlab.lab") / f"{BUILT_IN}.toml").read_text("utf-8")
    return _of_text(text, f"{BUILT_IN}.toml", Path(), overrides)


def of_file(path: Path, overrides: Sequence[str] = ()) -> Given:
    """An experiment file, as it is written; one that names other files, or a task set of rt-app, as it was read."""
    return _of_text(reading.text(path, reading.EXPERIMENT), str(path), path.parent, overrides)


def of_results(folder: Path) -> Given:
    """The experiment of some results, and the numbers that are stored of its simulated cells."""
    return of_opened(Results.open(folder))


def of_opened(results: Results, most: int = MOST_NUMBERS) -> Given:
    """The same of results that are open, with at most that many numbers."""
    whole = Specification.from_dict(results.manifest["experiment"], results.name)
    experiment = refused(whole, str(results.folder))
    text = experiment.written()
    return Given(results.name, f"{results.name}.toml", text, experiment, stored=_stored(results, most))


def of_lessons(lessons: Sequence[Lesson]) -> Given:
    """Lessons; the experiment is that of the first one, at the first value of its knob, or the built-in one."""
    first = lessons[0]
    if not first.experiment:
        return replace(built_in(), name=first.name, lessons=lessons)
    settings = list(first.settings(first.knob["values"][0]).items())
    experiment = first.checked(first.knob["values"][0])
    return Given(first.name, f"{first.name}.toml", first.experiment, experiment, settings, lessons=lessons)


def examples() -> Iterator[dict[str, str]]:
    """The experiments that every page offers: the desktop, and the loads of the matrix."""
    found = [files("schedlab.lab") / f"{BUILT_IN}.toml"]
    loads = files("schedlab") / "matrix" / "loads"
    found += sorted((file for file in loads.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    for file in found:
        text = file.read_text("utf-8")
        experiment = Specification.from_text(text, file.name)
        yield {"name": experiment.name, "title": experiment.question, "text": text}


def _of_text(text: str, label: str, folder: Path, overrides: Sequence[str]) -> Given:
    """An experiment by its text; the fields that differ stay apart from it, so that the page can take them back."""
    experiment = refused(Specification.from_text(text, escaped(label), set=overrides, folder=folder), escaped(label))
    changed = [(path, value) for path, _, value in (one.partition("=") for one in overrides)]
    notes = list(experiment.notes)
    if names := _core.files_of_experiment(text, "toml", list(overrides)):
        notes.append(f"the page has what was in {', '.join(map(escaped, names))} when it was written")
    if notes:
        text, changed = experiment.written(), []
    if len(text) > LONGEST:
        raise UsageError(f"{escaped(label)}: has {len(text)} characters; a page holds at most {LONGEST}")
    return Given(experiment.name, Path(label).name, text, experiment, changed, notes)


def refused(experiment: Specification, label: str) -> Specification:
    """The experiment, if a page can run it."""
    if experiment.is_of_host:
        raise UsageError(f'{label}: machine = "host" is the computer in front of you, which a page cannot see')
    if experiment.definition.get("recording"):
        raise UsageError(f"{label}: replays a recording, which a page cannot read; schedlab whatif does")
    cells = len(experiment.cells())
    if cells > MOST_CELLS:
        raise UsageError(
            f"{label}: sweeps {cells} cells; a page takes at most {MOST_CELLS}: set some fields with --set"
        )
    return experiment


def _stored(results: Results, most: int) -> dict[str, Any]:
    """The values of the shown metrics by seed, of the cells that were simulated as the experiment has them."""
    simulated = [cell for cell in results.manifest["cells"] if cell["on"] == "sim"]
    entries = {(entry["scenario"], entry["metric"]): entry for entry in results.entries()}
    values = results.values_of(results.shown_metrics)
    numbers = sum(len(values[key].values) for key in entries if key in values)
    share = min(1.0, most / max(1, numbers))
    cells = [_stored_cell(results, cell, entries, values, share) for cell in simulated]
    return {
        "folder": str(results.folder),
        "engine": results.manifest["versions"]["engine"],
        "cells": cells,
        "left": _left(results, simulated, share),
    }


def _stored_cell(results: Results, cell: dict, entries: dict, values: Any, share: float) -> dict[str, Any]:
    metrics = {}
    for metric in results.shown_metrics:
        key = (cell["scenario"], metric)
        if key not in entries or key not in values:
            continue
        entry, found = entries[key], values[key]
        kept = max(1, int(len(found.values) * share))
        half = None if entry["low"] is None else (entry["high"] - entry["low"]) / 2
        metrics[metric] = {
            "mean": entry["mean"], "half": half, "n": entry["n"],
            "seeds": found.seeds[:kept], "values": found.values[:kept],
        }  # fmt: skip
    # Where it ran is no field of an experiment.
    factors = {path: level for path, level in cell["factors"].items() if path != "on"}
    return {"factors": factors, "alike": cell["scenario"] in results.alike, "metrics": metrics}


def _left(results: Results, simulated: Sequence[dict], share: float) -> str:
    """What is stored and not in the page."""
    others = len(results.manifest["cells"]) - len(simulated)
    found = [f"{others} cells of other places than sim"] if others else []
    if share < 1:
        found.append("the values of later seeds: the page checks those of the first ones")
    return "; ".join(found)
