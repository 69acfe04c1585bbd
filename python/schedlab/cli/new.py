"""`schedlab new`: a first experiment file, commented, from five answers."""

import json as json_text
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from schedlab.cli.forms import Json

NAME = "new"
EXAMPLE = "schedlab new mine.toml --scheduler cfs --load spin,sleeper --vary scheduler.latency=3ms,6ms,12ms"


def verb(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    question: Annotated[str | None, typer.Option("--question", help="What the experiment asks.")] = None,
    machine: Annotated[str | None, typer.Option("--machine", help="One of: schedlab list machines.")] = None,
    scheduler: Annotated[str | None, typer.Option("--scheduler", help="One of: schedlab list schedulers.")] = None,
    load: Annotated[
        str | None, typer.Option("--load", help="One or more of: schedlab list workloads; NAME,NAME.")
    ] = None,
    vary: Annotated[
        str | None, typer.Option("--vary", help="FIELD=VALUE,VALUE to compare; scheduler=NAME,NAME; none: nothing.")
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Runs of each cell.")] = 10,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    json: Json = False,
) -> None:
    """Write a commented experiment file: by five questions, or by options.

    What no option answers is asked on the terminal; without one, a default is taken.
    """
    from schedlab.cli.output import print_json, refuse_unwritable
    from schedlab.errors import UsageError
    from schedlab.specification import Specification
    from schedlab.system.writing import replace

    refuse_unwritable(file=file)
    if file.exists() and not force:
        raise UsageError(f"{file}: is there already; name another file, or add --force")
    given = {"question": question, "machine": machine, "scheduler": scheduler, "load": load, "vary": vary}
    answers = _answers(given, asks=sys.stdin is not None and sys.stdin.isatty() and not json)
    text = _text(file, answers, seeds)
    experiment = Specification.from_text(text, str(file))
    cells = len(experiment.cells())
    replace(file, text.encode())
    if json:
        print_json({"file": str(file), "cells": cells, "seeds": seeds})
    else:
        print(f"{file}: {cells} cells, {seeds} runs each. Next: schedlab run {file}")


def _answers(given: dict[str, str | None], asks: bool) -> dict[str, str]:
    """The five answers: given, asked for, or the defaults."""
    from schedlab._core import catalogue

    known = json_text.loads(catalogue())
    lists = {
        "machine": [one["name"] for one in known["machines"]],
        "scheduler": [one["name"] for one in known["schedulers"]],
        "load": [one["name"] for one in known["workloads"] if one["name"] != "command"],
    }
    words = {
        "question": "1/5 What do you want to know?",
        "machine": "2/5 On which machine?",
        "scheduler": "3/5 Under which scheduler?",
        "load": "4/5 Which loads run side by side (NAME,NAME)?",
        "vary": "5/5 What is varied (FIELD=VALUE,VALUE; scheduler=NAME,NAME; none)?",
    }
    answers = {}
    for key, default in _DEFAULTS.items():
        answer = given[key]
        if answer is None and asks:
            if key in lists:
                typer.echo(f"  {', '.join(lists[key])}", err=True)
            answer = typer.prompt(words[key], default=default, err=True)
        answers[key] = default if answer is None else answer
        if key in lists:
            _refuse_unknown(key, answers[key].split(","), lists[key])
    return answers


_DEFAULTS = {
    "question": "Which scheduler keeps a task that often sleeps quick, next to one that computes?",
    "machine": "uniform",
    "scheduler": "cfs",
    "load": "spin,sleeper",
    "vary": "scheduler=cfs,eevdf,fifo",
}


def _refuse_unknown(key: str, names: list[str], known: list[str]) -> None:
    from schedlab.errors import UsageError, nearest

    for name in names:
        if name not in known:
            raise UsageError(f"{key}: no such name: {name!r}; {nearest(name, known)}")


def _text(file: Path, answers: dict[str, str], seeds: int) -> str:
    """The file. Names were checked; the rest is quoted."""
    loads = answers["load"].split(",")
    names = [load if loads.count(load) == 1 else f"{load}_{place}" for place, load in enumerate(loads, 1)]
    field, values = _varied(answers["vary"])
    metrics = ["context_switches", "wakeup_latency.p99", *(f"tasks.{name}.share" for name in names)]
    jobs = [
        f'{name} = {{ load = {_quoted(load)}, passes = "forever" }}  # schedlab describe {load}'
        for name, load in zip(names, loads, strict=True)
    ]
    lines = [
        f"# Written by: schedlab new {file.name}",
        "# What a field means: schedlab describe NAME, and docs/experiment-files.md. To check the file: schedlab lint.",
        f"question = {_quoted(answers['question'])}",
        f"machine = {_quoted(answers['machine'])}  # others: schedlab list machines",
        f"seeds = {seeds}  # runs of each cell; more make the intervals narrower",
        'duration = "10s"  # of each run, in simulated time',
        "# Numbers to show; without this line a useful few. All: schedlab list metrics",
        f"metrics = {json_text.dumps(metrics)}",
        "",
        "[scheduler]",
        f"name = {_quoted(answers['scheduler'])}  # its parameters: schedlab describe {answers['scheduler']}",
        "",
        "[workload]",
        "# NAME = { load, parameters of the load, passes = how often, count = how many tasks }",
        *jobs,
    ]
    if values:
        lines += [
            "",
            "[sweep]",
            "# Every combination of the values of all fields here is a cell of the table",
            f"{field} = {values}",
        ]
    return "\n".join(lines) + "\n"


def _varied(vary: str) -> tuple[str, str]:
    """The field and its values as TOML; none if nothing is varied."""
    from schedlab.errors import UsageError

    if vary in ("", "none"):
        return "", ""
    field, equals, values = vary.partition("=")
    if not equals or not values:
        raise UsageError(f"vary: {vary!r} is not FIELD=VALUE,VALUE")
    if field == "scheduler":
        field = "scheduler.name"
    return _quoted(field), f"[{', '.join(_value(value) for value in values.split(','))}]"


def _value(text: str) -> str:
    """A number or truth value as it is, all else as text."""
    try:
        value: Any = json_text.loads(text)
    except ValueError:
        value = text
    return text if isinstance(value, int | float) else _quoted(text)


def _quoted(text: str) -> str:
    # A JSON text is a TOML text, but for DEL.
    return json_text.dumps(text).replace("\x7f", "\\u007f")
