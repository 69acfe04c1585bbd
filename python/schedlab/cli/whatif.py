"""`schedlab whatif`: what another scheduler or setting would have done to the tasks of a recording.
Long, because the verb declares every option.
"""

from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from schedlab.cli.forms import Csv, Form, Json, Markdown, chosen

if TYPE_CHECKING:
    from schedlab.whatif.asked import Asked
    from schedlab.whatif.document import Prediction
    from schedlab.whatif.replays import Prepared

NAME = "whatif"
#: Percent.
MOST_SPREAD = 100
EXAMPLE = "schedlab whatif perf.data --change 'make|cc1: slice=20ms' --group server=nginx.*"


def verb(
    recordings: Annotated[
        list[Path],
        typer.Argument(
            metavar="RECORDING...",
            help="The recording; its format is recognised by its content. Of several of one load, intervals span all.",
            show_default=False,
        ),
    ],
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--change",
            help="How tasks are treated whose whole name matches: 'REGEX: nice=5'; also slice=20ms, "
            "policy=batch|idle|other|fifo:10|rr:10, cpus=0-1, weight=512, quota=50ms/100ms, group=web.",
        ),
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option("--task", help="The same for tasks of one name: NAME.nice=5.")
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", help="A field of the experiment: scheduler.slice=1ms, scheduler.name=ule."),
    ] = None,
    processors: Annotated[int | None, typer.Option("--processors", min=1, max=1024, help="Processors.")] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", help="Leave out these tasks: REGEX.")] = None,
    copies: Annotated[list[str] | None, typer.Option("--copies", help="Run several of these tasks: REGEX=2.")] = None,
    sweep: Annotated[
        str | None, typer.Option("--sweep", help="A field and its values: scheduler.slice=0.5ms,1ms,3ms.")
    ] = None,
    treat: Annotated[
        list[str] | None,
        typer.Option("--treat", help="How these tasks are woken, whatever the recording shows: REGEX=open or =closed."),
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option("--group", help="Report tasks whose whole name matches together: NAME=REGEX.")
    ] = None,
    allow_loss: Annotated[
        bool, typer.Option("--allow-loss", help="Exit with 0 though the recording lacks events.")
    ] = False,
    seeds: Annotated[int, typer.Option("--seeds", min=2, max=1000, help="Replays of each setting.")] = 10,
    speed_spread: Annotated[
        str | None,
        typer.Option(
            "--speed-spread",
            metavar="PERCENT",
            help="How much faster or slower processors may be in another run: 10%, and 0% for recordings of runs.",
        ),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option("--write", help="Write the changed workload as an experiment file and predict nothing."),
    ] = None,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Predict what other settings would have done to the tasks of a recording, with intervals.

    Without a change it says how well the replay of the recorded setting gives the recording. What the replay does not
    reproduce is not predicted: "cannot tell".
    """
    from schedlab.system.printing import refuse_unwritable
    from schedlab.system.reading import refuse_unusual_but_pipes
    from schedlab.system.status import LOST
    from schedlab.traces.asked import lacks
    from schedlab.whatif.asked import Asked, Change

    form = chosen(json, csv, markdown)
    numbered = tuple((name, _number(name, number)) for name, number in _pairs("--copies", copies, "nginx=2"))
    asked = Asked(
        (*map(Change.read, change or ()), *map(Change.of_task, task or ())),
        (),
        processors,
        tuple(remove or ()),
        numbered,
        tuple(_pairs("--treat", treat, "nginx=open")),
        tuple(group or ()),
        seeds,
        _spread(speed_spread),
    )
    asked = reduce(Asked.having, set or (), asked)
    for recording in recordings:
        refuse_unusual_but_pipes(recording, folders=True)
    refuse_unwritable(write=write)
    if write:
        lost = _write(_only(recordings), asked, write)
    else:
        several = [_one_of(recordings, recording, asked, sweep) for recording in recordings]
        lost = any(lacks(recorded) for recorded, _ in several)
        _print(several, form, recordings, sweep)
    if lost and not allow_loss:
        raise typer.Exit(LOST)


def _pairs(option: str, given: list[str] | None, example: str) -> list[tuple[str, str]]:
    from schedlab.errors import UsageError

    found = []
    for text in given or ():
        name, separator, value = text.rpartition("=")
        if not separator or not name or not value:
            raise UsageError(f"{option} {text!r}: write it as {example}")
        found.append((name, value))
    return found


def _spread(text: str | None) -> float | None:
    from schedlab.errors import UsageError

    if text is None:
        return None
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= MOST_SPREAD:
        raise UsageError(f"--speed-spread {text!r}: is no number of percent from 0% to {MOST_SPREAD}%")
    return percent / 100


def _number(name: str, text: str) -> int:
    from schedlab.errors import UsageError

    if not text.isdigit() or not 1 <= int(text) <= 1000:
        raise UsageError(f"--copies {name}={text}: is no number from 1 to 1000")
    return int(text)


def _only(recordings: list[Path]) -> Path:
    from schedlab.errors import UsageError

    if len(recordings) > 1:
        raise UsageError("--write makes an experiment of one recording: give one")
    return recordings[0]


def _one_of(
    recordings: list[Path], recording: Path, asked: "Asked", sweep: str | None
) -> tuple[dict[str, Any], list["Prediction"]]:
    """The predictions from one of the recordings; what is wrong with it says with which, if there are several."""
    from schedlab.errors import UsageError

    try:
        return _predictions(recording, asked, sweep)
    except UsageError as why:
        if len(recordings) == 1 or str(recording) in str(why):
            raise
        raise UsageError(f"{recording}: {why}") from None


def _predictions(recording: Path, asked: "Asked", sweep: str | None) -> tuple[dict[str, Any], list["Prediction"]]:
    """What happened in a recording, and one prediction, or one for each swept value."""
    import dataclasses

    from schedlab.cli.output import progress_bar
    from schedlab.whatif import replays
    from schedlab.whatif.assumed import assumptions
    from schedlab.whatif.document import predict

    as_recorded = dataclasses.replace(asked, remove=(), copies=())
    with replays.prepared(recording, as_recorded) as one, replays.prepared_again(recording, asked, one) as other:
        every = [asked.having(field) for field in _swept(sweep)] or [asked]
        settings = [replays.changed(other, each) for each in every]
        scenarios = [replays.scenario(setting.definition, setting.sets) for setting in settings]
        spread = replays.speed_spread(one, asked)
        as_fast = replays.at_speeds(replays.scenario(one.document, []), 0.0, asked.seeds)
        speeds = [replays.at_speeds(scenario, spread, asked.seeds) for scenario in scenarios]
        with progress_bar(recording.name) as advance:
            base, *new = replays.run([as_fast, *speeds], asked, advance)
        limit = _limit(one)
        of_speed = replays.assumed_of_speed(spread)
        assumed = [assumptions(one, [*of_speed, *setting.notes]) for setting in settings]
        changed = zip(every, assumed, new, strict=True)
        return one.recorded, [predict(one, each, lines, base, runs, limit) for each, lines, runs in changed]


def _limit(one: "Prepared") -> float:
    from schedlab.units import seconds

    return (seconds(str(one.document["duration"])) or 0.0) * 0.999


def _swept(sweep: str | None) -> list[str]:
    from schedlab.errors import UsageError

    if sweep is None:
        return []
    path, separator, values = sweep.partition("=")
    if not separator or not path or not values:
        raise UsageError(f"--sweep {sweep!r}: write PATH=VALUE,VALUE, as scheduler.slice=0.5ms,1ms")
    return [f"{path}={value}" for value in values.split(",")]


def _print(
    several: list[tuple[dict[str, Any], list["Prediction"]]], form: Form, recordings: list[Path], sweep: str | None
) -> None:
    from schedlab.cli.output import print_json, print_notes, print_result
    from schedlab.traces.shown import losses
    from schedlab.whatif import shown
    from schedlab.whatif.several import together

    found = [together(one) for one in zip(*(predictions for _, predictions in several), strict=True)]
    names = [str(recording) for recording in recordings]
    if form is Form.JSON:
        documents: list[Any] = [one.as_dict() for one in found]
        named = {"recording": names[0]} | ({"recordings": names} if len(names) > 1 else {})
        if sweep is None:
            print_json(named | documents[0])
        else:
            print_json(named | {"sweep": sweep, "points": documents}, "whatif-sweep")
        return
    for name, (recorded, _) in zip(names, several, strict=True):
        print_notes([f"{name}: {line}" if len(names) > 1 else line for line in losses(recorded)])
    for one in found:
        words = ", ".join(one.asked.words()) or "the recorded setting"
        print_result(form, shown.table(one, f"{', '.join(names)}: {words}"), shown.notes(one))


def _write(recording: Path, asked: "Asked", out: Path) -> bool:
    """The experiment, and its work next to it. Gives whether the recording lacks events."""
    from schedlab.cli.output import print_notes
    from schedlab.system import toml, writing
    from schedlab.system.terminal import say
    from schedlab.traces.asked import lacks
    from schedlab.traces.shown import losses
    from schedlab.whatif import replays

    work = out.with_suffix(replays.WORK)
    with replays.prepared(recording, asked, work) as one:
        setting = replays.changed(one, asked)
        replays.scenario(setting.definition, setting.sets)
        definition = setting.definition
        definition["recording"]["file"] = work.name
        for text in setting.sets:
            path, _, value = text.partition("=")
            _place(definition, path.split("."), value)
    head = (
        f"The tasks of {recording.name} as a workload, written by schedlab whatif --write.\nIts work is in {work.name}."
    )
    writing.replace(out, toml.headed(definition, head).encode())
    print_notes(losses(one.recorded))
    say(f"wrote {out} and {work}; schedlab run {out}")
    return lacks(one.recorded)


def _place(definition: dict[str, Any], path: list[str], value: str) -> None:
    for name in path[:-1]:
        definition = definition.setdefault(name, {})
    definition[path[-1]] = int(value) if value.isdigit() else value
