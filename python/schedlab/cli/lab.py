"""`schedlab lab`: one page that runs experiments in a browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.forms import Json

if TYPE_CHECKING:
    from schedlab.lab.given import Given

NAME = "lab"
EXAMPLE = "schedlab lab examples/response.toml -o lab.html"
#: What a page is about, for `lab` and `serve`.
What = Annotated[
    str | None,
    typer.Argument(
        metavar="[FILE|RESULT]",
        help="An experiment file; or results: results/NAME, a folder, NAME under --out. By default the desktop.",
    ),
]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", help="Override a field: --set scheduler.slice=36ms; may be repeated.")
]


def verb(
    what: What = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")] = Path("lab.html"),
    set: Overrides = None,
    lesson: Annotated[
        list[str] | None,
        typer.Option("--lesson", help='Make a page of this lesson, or of "all"; may be repeated.', metavar="NAME"),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="The folder of results.")] = Path("results"),
    json: Json = False,
) -> None:
    """Write one HTML page that holds the simulator and runs an experiment in the browser; no network needed.

    Sliders and lists change machine, scheduler and load; schedule, waits and counters follow. Of results, the page
    checks that the same seed gives the same number as stored. A lesson asks for a prediction before its answer is
    drawn.
    """
    from schedlab.cli.output import print_json, refuse_unwritable
    from schedlab.errors import UsageError
    from schedlab.lab import page

    refuse_unwritable(output=output)
    if what and Path(what).resolve() == output.resolve():
        raise UsageError(f"-o {output}: that is the experiment file itself; name another page")
    given = _lessons(what, lesson, set) if lesson else about(what, set or [], out)
    size = page.write(given, output)
    if json:
        folder = given.stored["folder"] if given.stored else None
        cells = len(given.experiment.cells())
        print_json({"page": str(output), "bytes": size, "experiment": given.name, "cells": cells, "result": folder})
    else:
        print(f"wrote {output}, {size / 1e6:.1f} MB, the lab of {given.name}")


def about(what: str | None, overrides: list[str], out: Path) -> "Given":
    """What a page is about: a file, results, or the desktop."""
    from schedlab.cli.report import find
    from schedlab.errors import UsageError
    from schedlab.lab import given

    if what is None:
        return given.built_in(overrides)
    if Path(what).is_file() or what.endswith((".toml", ".json")):
        return given.of_file(Path(what), overrides)
    if overrides:
        raise UsageError("--set overrides fields of an experiment file; stored results are shown as they are")
    return given.of_results(find(what, out))


def _lessons(what: str | None, names: list[str], overrides: list[str] | None):
    from schedlab.errors import UsageError
    from schedlab.lab import given, lessons

    if what or overrides:
        raise UsageError("--lesson brings its own experiment: leave out the file and --set")
    return given.of_lessons(lessons.every() if names == ["all"] else [lessons.named(name) for name in names])
