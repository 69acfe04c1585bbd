"""The page about a tuning: the verdict first, then the front, the ranges, what matters, and all that was measured."""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import join
from typing import Any

from schedlab.pictures import front as fronts
from schedlab.pictures.axes import Level
from schedlab.pictures.chart import Drawing, Point, Series, chart
from schedlab.report import page
from schedlab.report.page import Column
from schedlab.report.warnings import gathered
from schedlab.results import compared, tables
from schedlab.stats.comparison import Question
from schedlab.system.toml import headed
from schedlab.tables import Table
from schedlab.tune import confirmed, drawn, summary
from schedlab.tune.board import factors
from schedlab.tune.confirm import Confirmed
from schedlab.tune.space import Setting
from schedlab.tune.tuning import BATCH, Tuning
from schedlab.units import convert, counted, digits, readable_unit

#: Of a picture: it can be read on a narrow screen.
WIDTH = 330.0
#: Settings of a picture with one counter.
BEST = 12
#: Settings that the page has; the folder of results has all.
MOST_SETTINGS = 1000


def write(found: Tuning, path: Path, run: str = "", real: Confirmed | None = None) -> None:
    """Write the page. `run` is the command that runs the experiment as it is; `real` what a kernel said."""
    question = found.experiment.question or f"settings of {found.experiment.name}"
    numbers = {setting: number for number, setting in enumerate(found.board.measured, 1)}
    parts = {
        "verdict": _verdict(found, run, real),
        "confirmed": _confirmed(found, real),
        "front": _front(found, numbers),
        "ranges": _ranges(found),
        "matters": _matters(found),
        "search": _search(found),
        "settings": _settings(found, numbers),
        "method": _method(found),
    }
    titles = {name: part["title"] for name, part in parts.items() if part}
    page.write(
        "tuned.html",
        path,
        title=question,
        asked=_asked(found),
        basis=_basis(found),
        contents=list(titles.items()),
        part=parts,
    )


def _basis(found: Tuning) -> str:
    most = counted(len(found.experiment.seeds), "repeat")
    over = f"Numbers are means over the repeats that a setting was given, at most {most}"
    return f"{over}; intervals are 95 % by Student's t."


def _asked(found: Tuning) -> list[str]:
    """The goal, its conditions, what may be changed and under which loads."""
    goal = found.experiment.definition.get("goal", {})
    lines = [f"{verb} {', '.join(goal[field])}" for field, verb in _GOALS.items() if goal.get(field)]
    if goal.get("weights"):
        lines.append("weights: " + ", ".join(f"{name} {weight:g}" for name, weight in goal["weights"].items()))
    if found.space.conditions:
        lines.append("keep " + " and ".join(one.text for one in found.space.conditions) + " in every run")
    fields = ", ".join(one.path for one in found.space.dimensions)
    lines.append(f"may be changed: {fields}; {counted(found.space.size, 'setting')}")
    if len(found.loads) > 1:
        lines.append(f"under {counted(len(found.loads), 'load')}")
    return [*lines, *summary.load_words(found)]


_GOALS = {"minimize": "less is better:", "maximize": "more is better:"}


def _verdict(found: Tuning, run: str, real: Confirmed | None) -> dict[str, Any]:
    """What to set and what it is worth: what a kernel says goes before what the search says."""
    lines = confirmed.verdict(found, real)
    setting = confirmed.settled(found, real)
    leave = setting == found.board.present
    return {
        "title": "The verdict",
        "first": lines[0],
        "lines": lines[1:],
        "leave": leave,
        "gain": summary.gain_words(found),
        "commands": [] if leave else _commands(found, run, setting),
        "changes": _changes(found) if found.changes else None,
        "warnings": list(gathered({"warning": text, "seeds": ()} for text in found.warnings)),
    }


def _commands(found: Tuning, run: str, setting: Setting) -> list[str]:
    """The commands that set it and take it back."""
    commands = summary.commands(found, run, setting)
    on_host = any(line.startswith("on a host: ") for line in commands)
    return [*commands, *(["schedlab host confirm keeps it, schedlab host restore takes it back"] if on_host else [])]


def _changes(found: Tuning) -> dict[str, Any]:
    """The gain and the price as a table and as a picture."""
    distinct, question = list(factors(found.loads)[0]), Question(within=found.within)
    known = [{key: None if value != value else value for key, value in row.items()} for row in found.changes]
    pairs = max(row["n"] for row in found.changes)
    return {
        "table": _grid(tables.differences(distinct, known, pairs, within=found.within)),
        "picture": compared.drawing(found.changes, distinct, question, "the present setting", WIDTH).embedded(),
        "notes": compared.notes(found.changes, question),
    }


def _grid(table: Table) -> page.Grid:
    shown, left = table.shortened()
    columns = [Column(one.heading, one.numeric, one.key, one.prose) for one in shown.columns]
    return page.grid(columns, [[cell.text for cell in row] for row in shown.rows], left)


def _front(found: Tuning, numbers: Mapping[Setting, int]) -> dict[str, Any] | None:
    """The front as pictures and as a table; of a single counter the best settings."""
    if not found.front:
        return None
    counters, dots = drawn.counters(found), drawn.dots(found, lambda one: _anchor(numbers[one]))
    several = len(counters) > 1
    key, *panels = fronts.front(counters, dots) if several else [None, _best(dots, counters[0])]
    pairs = fronts.pairs(counters) if several else [(0, 0)]
    shown = found.front[: summary.shown(found)]
    table = summary.front_table(found)
    left = len(found.front) - len(shown)
    return {
        "title": "The front" if several else "The best settings",
        "key": key.embedded() if key else "",
        "panels": [(_load(counters, *pair), one.embedded()) for pair, one in zip(pairs, panels, strict=False)],
        "caption": "; ".join(_front_words(counters, dots, len(pairs) - len(panels))) if several else "",
        "note": "Values of settings with fewer repeats than the present one are corrected by what that one has in the "
        "same repeats; conditions are judged by the runs as they are.",
        "table": _linked(table, [numbers[one.setting] for one in shown]),
        "left": f"{counted(left, 'more setting')} on the front: they are among all settings" if left else "",
        "words": [table.title, *summary.mark_words(found)],
    }


def _front_words(counters: Sequence[fronts.Counter], dots: Sequence[fronts.Dot], undrawn: int) -> list[str]:
    """What the pictures of the front show, and what they leave out."""
    words = ["a mark leads to the row of its setting"]
    if len(counters) == 2:
        words.append("the line joins settings that are on the front; between them nothing was measured")
    if out := fronts.outside(counters, dots):
        words.append(
            f"{counted(out, 'setting')} so far behind that a picture has no room for {'it' if out == 1 else 'them'}"
        )
    if undrawn:
        words.append(f"{counted(undrawn, 'more pair')} of counters: --json prints all of them")
    return words


def _load(counters: Sequence[fronts.Counter], i: int, j: int) -> str:
    """The load of a picture, where both of its counters have the same."""
    return counters[i].load if counters[i].load == counters[j].load else ""


def _best(dots: Sequence[fronts.Dot], counter: fronts.Counter) -> Drawing:
    """The best settings and the present one, by the only counter."""
    allowed = [one for one in dots if one.kind != fronts.MISSING]
    rows = [*allowed[:BEST], *(one for one in allowed[BEST:] if one.kind == fronts.PRESENT)]
    unit = readable_unit(counter.unit, max(abs(one.means[0]) for one in rows))
    points = [
        Point(at, *(convert(of[0], counter.unit, unit) for of in (one.means, one.lows, one.highs)))
        for at, one in enumerate(rows)
    ]
    names = [Level(f"→ {one.label}" if one.kind == fronts.CHOSEN else one.label) for one in rows]
    of = "" if unit in ("", "1") else f" [{unit}]"
    better = "less" if counter.less else "more"
    return chart(names, [Series("", points)], "", f"{counter.text}{of}, {better} is better")


def _anchor(number: int) -> str:
    return f"setting-{number}"


def _linked(table: Table, numbers: Sequence[int]) -> dict[str, Any]:
    """A table with the address of the row of each setting."""
    columns = [Column(one.heading, one.numeric, one.key, one.prose) for one in table.columns]
    grid = page.grid(columns, [[cell.text for cell in row] for row in table.rows])
    return {"grid": grid, "rows": [(_anchor(number), row) for number, row in zip(numbers, grid.rows, strict=True)]}


def _ranges(found: Tuning) -> dict[str, Any] | None:
    figures = [
        {
            "id": page.anchor(f"range {one.path}"),
            "title": one.path,
            "picture": drawn.range_of(one, WIDTH).embedded(),
            "words": summary.range_words(one),
        }
        for one in drawn.measured(found)
    ]
    note = (
        "Each curve has the value of its best level, and at every other level that value with their difference added, "
        "over the repeats that both have."
    )
    return {"title": "Acceptable ranges", "note": note, "figures": figures} if figures else None


def _matters(found: Tuning) -> dict[str, Any] | None:
    lines = summary.importance_words(found)
    pictures = [one.embedded() for one in drawn.matters(found)]
    return {"title": "What matters", "words": lines, "pictures": pictures} if lines else None


def _confirmed(found: Tuning, real: Confirmed | None) -> dict[str, Any] | None:
    if real is None:
        return None
    return {
        "title": f"Confirmation by {real.on}",
        "words": confirmed.confirmed_words(found, real),
        "table": _grid(confirmed.confirmed_table(found, real)),
        "caption": f"{confirmed.confirmed_table(found, real).title}; {real.folder}",
    }


def _search(found: Tuning) -> dict[str, Any] | None:
    return {"title": "How the search went", "picture": drawn.search(found).embedded()} if found.history else None


def _settings(found: Tuning, numbers: Mapping[Setting, int]) -> dict[str, Any]:
    """Every setting that was measured, the best first."""
    members = drawn.settings(found)
    shown = members[:MOST_SETTINGS]
    table = summary.settings_table(found, shown)
    left = len(members) - len(shown)
    return {
        "title": "All settings",
        "summary": f"{counted(len(found.board.measured), 'setting')} in the order of their worth",
        "note": "Values of settings with fewer repeats than the present one are corrected by what that one has in the "
        "same repeats; conditions are judged by the runs as they are.",
        "table": _linked(table, [numbers[one.setting] for one in shown]),
        "left": f"{counted(left, 'more setting')}: the folder of results has all of them" if left else "",
        "refused": [f"{found.space.text(one)}: {why}" for one, why in list(found.board.refused.items())[:BEST]],
        "folder": str(found.folder),
    }


def _method(found: Tuning) -> dict[str, Any]:
    text = headed(
        found.experiment.definition, f"{_again(found)}\nThe experiment as it was searched, with all overrides."
    )
    name = f"{found.experiment.name}.toml"
    return {
        "title": "Method, and how to run it again",
        "words": [*summary.run_words(found), *summary.fresh_words(found), *_how(found)],
        "file": text,
        "name": name,
        "again": _again(found),
        "data": "data:application/toml;base64," + base64.b64encode(text.encode()).decode(),
    }


def _again(found: Tuning) -> str:
    words = ["schedlab", "tune", f"{found.experiment.name}.toml", "--budget", str(found.budget)]
    words += ["--within", f"{digits(100 * found.within, 6)}%"] if found.within is not None else []
    words += ["--on", found.on] if found.on != "sim" else []
    return join([*words, *(["--start", str(found.start)] if found.start else [])])


def _how(found: Tuning) -> list[str]:
    """How it searched."""
    seeds = found.experiment.seeds
    repeats = counted(len(seeds), "repeat")
    lines = [
        f"budget: {counted(found.budget, 'run')}, of which {found.spent} were used; half of it is for the search, the "
        "rest makes the front sure, simplifies the chosen setting, measures its ranges, and judges it with fresh seeds",
        f"search: {BATCH} settings at a time, first of a Sobol sequence, then in turns what Optuna's TPE expects most "
        "of and neighbours of the best",
        f"race: each setting has one repeat; the best third goes on to 3, 9 and so on, up to {repeats}",
        f"seeds: {seeds[0]} to {seeds[-1]} for the search" if len(seeds) > 1 else f"seed: {seeds[0]} for the search",
        f"--start {found.start}: another number begins another search of the same space",
    ]
    if found.space.conditions:
        lines.append("conditions: a setting that misses one in any run of the search is never recommended")
    return lines
