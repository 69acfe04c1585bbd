"""`schedlab lint`: what is wrong with an experiment file, and what may mislead, without running it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli.forms import Json

NAME = "lint"
EXAMPLE = "schedlab lint examples/*.toml"

#: As the Language Server Protocol numbers them.
ERROR, WARNING = 1, 2
_WORDS = {ERROR: "error", WARNING: "warning"}


@dataclass(frozen=True)
class Finding:
    """What is wrong at a line (from 1)."""

    line: int
    severity: int
    message: str


def verb(
    files: Annotated[list[Path], typer.Argument(help="Experiment files (TOML).")],
    json: Json = False,
) -> None:
    """Check experiment files without running them, and name what may mislead.

    A line is FILE:LINE: error or warning: what was found. With --json a finding is a diagnostic of the Language
    Server Protocol. The exit status is 1 if a file has errors.
    """
    from schedlab.cli.output import print_json
    from schedlab.system.status import FOUND
    from schedlab.units import counted

    found = {file: list(findings(file)) for file in files}
    totals = {severity: sum(one.severity == severity for of in found.values() for one in of) for severity in _WORDS}
    if json:
        entries = [{"file": str(file), "diagnostics": [_diagnostic(one) for one in of]} for file, of in found.items()]
        print_json({"files": entries, "errors": totals[ERROR], "warnings": totals[WARNING]})
    else:
        for file, of in found.items():
            for one in of:
                print(f"{file}:{one.line}: {_WORDS[one.severity]}: {one.message}")
        counts = [counted(totals[severity], word) for severity, word in _WORDS.items()]
        print(f"{counted(len(files), 'file')}: {', '.join(counts)}")
    if totals[ERROR]:
        raise typer.Exit(FOUND)


def findings(file: Path) -> Iterator[Finding]:
    """What is wrong with a file, and what may mislead. OSError or UsageError if it cannot be read."""
    from schedlab._core import ScenarioError
    from schedlab.errors import UsageError
    from schedlab.specification import Specification
    from schedlab.system import reading

    text = reading.text(file, reading.EXPERIMENT)
    try:
        experiment = Specification.from_text(text, "FILE", folder=file.parent)
        experiment.cells()
        seeds = len(experiment.seeds)
    except (ScenarioError, UsageError) as error:
        found = re.match(r"FILE(?::(\d+))?: (.*)", str(error), re.DOTALL)
        yield Finding(int(found[1] or 1), ERROR, found[2]) if found else Finding(1, ERROR, str(error))
        return
    if not experiment.question:
        yield Finding(1, WARNING, 'question: is missing; tables and pages begin with it: question = "..."')
    if seeds == 1:
        yield Finding(_line(text, "seeds"), WARNING, "seeds: one run of each cell has no interval; seeds = 10")
    for path, values in experiment.definition.get("sweep", {}).items():
        if len(values) == 1 and path != "zip":
            message = f'sweep."{path}": has one value, so nothing is compared; set the field itself, or add values'
            yield Finding(_line(text, path), WARNING, message)


def _line(text: str, key: str) -> int:
    """The line in which a key is set, 1 if it is nowhere."""
    spelled = re.escape(key)
    found = re.search(rf'^\s*(?:{spelled}|"{spelled}")', text, re.MULTILINE)
    return text.count("\n", 0, found.end()) + 1 if found else 1


def _diagnostic(one: Finding) -> dict:
    """A finding as the Language Server Protocol has it: lines count from 0, and the whole line is meant."""
    return {
        "range": {"start": {"line": one.line - 1, "character": 0}, "end": {"line": one.line, "character": 0}},
        "severity": one.severity,
        "source": "schedlab",
        "message": one.message,
    }
