"""`schedlab tune`: a space and a goal in, the best settings out, with what they are worth and what they cost.
Long, because the verb declares every option.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.executing import Address, Executor
from schedlab.cli.forms import Csv, Form, Json, Markdown, chosen

if TYPE_CHECKING:
    from schedlab.experiment import Experiment
    from schedlab.specification import Specification
    from schedlab.targets.target import Target
    from schedlab.tune.confirm import Confirmed
    from schedlab.tune.tuning import Tuning

NAME = "tune"
EXAMPLE = "schedlab tune examples/response.toml --budget 400 --html tuned.html"
#: Of the verdict, the signs that a profile repeats.
LONGEST_ABOUT = 600


def verb(
    file: Annotated[Path, typer.Argument(help="The experiment file (TOML), with [goal] and perhaps [space].")],
    budget: Annotated[int, typer.Option(min=1, help="Runs that may be made in all.")] = 200,
    set: Annotated[
        list[str] | None, typer.Option("--set", help="Override a field: --set scheduler.slice=36ms; may be repeated.")
    ] = None,
    goal: Annotated[
        str | None, typer.Option(help="A built-in goal, in place of the file's: interactive, throughput, cache.")
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            help="Accept levels within this share of the best: 2%. By default what repeats cannot tell apart."
        ),
    ] = None,
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, help="Repeats of a good setting.")] = None,
    on: Annotated[
        str | None, typer.Option(help="Where to search: sim, sim:SCHEDULER, host, host@NAME, guest:KERNEL.")
    ] = None,
    confirm: Annotated[
        str | None,
        typer.Option(
            help="Ask a kernel as well: host, host@NAME, or guest:KERNEL. Its answer goes before the search's."
        ),
    ] = None,
    start: Annotated[int, typer.Option(min=0, help="Begins another search of the same space.")] = 0,
    out: Annotated[Path, typer.Option("--out", help="The folder of results.")] = Path("results"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what was run before.")] = False,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Processors to use; all by default.")] = None,
    executor: Executor = None,
    address: Address = None,
    svg: Annotated[Path | None, typer.Option("--svg", help="Draw the acceptable ranges.")] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write one page: the verdict, the front, the ranges, all settings.")
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option("--profile", help="Write what to set on a host to this file: schedlab host install NAME.toml."),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Agree to what the file runs and changes on this host; remembered.")
    ] = False,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Search for the best settings: what to set, what it is worth and costs, how far each field may move.

    The file says what is better in [goal], what has to hold in keep, and what may be changed in [space]; without a
    space, the parameters of its policies are. What it sweeps are loads, under all of which a setting is tried. Runs
    that are known are not made again, so the same command resumes a search that was stopped.
    """
    from schedlab.cli import executing
    from schedlab.cli.output import print_json, refuse_unwritable
    from schedlab.experiment import Experiment
    from schedlab.results import compared
    from schedlab.system.escaped import escaped
    from schedlab.system.terminal import say
    from schedlab.targets.names import named
    from schedlab.tune.document import document

    form = chosen(json, csv, markdown)
    refuse_unwritable(svg=svg, html=html, profile=profile)
    bound = compared.read_within(within) if within else None
    experiment = Experiment.from_toml(file, set=[*(set or []), *([f"seeds={seeds}"] if seeds else [])])
    for note in experiment.notes:
        say(f"{escaped(str(file))}: {note}")
    if goal:
        from schedlab.tune import goals

        kept = {k: v for k, v in experiment.definition.get("goal", {}).items() if k == "keep"}
        experiment = experiment.replace(goal={**goals.goal(goal), **kept})
    cluster = executing.cluster(executor, address, threads, named(on, experiment))
    somewhere = _place(on, "--on", experiment, file, threads, trust)
    place = lambda part: executing.on(cluster, [somewhere(part)])[0]  # noqa: E731
    reality = _place(confirm, "--confirm", experiment, file, threads, trust) if confirm else None
    with executing.connected(cluster):
        found = _tuned(experiment, budget, place, out, bound, start, fresh)
    real = None
    if reality and found.chosen != found.board.present:
        from schedlab.tune.confirm import confirm as ask

        real = ask(found, reality, out, say)
    command = _command(file, set)
    if svg:
        _draw(found, svg)
    if html:
        from schedlab.report.tuned import write

        write(found, html, command, real)
    kept = _keep(found, real, profile) if profile else None
    if form is Form.JSON:
        written = {"picture": str(svg) if svg else None, "page": str(html) if html else None}
        written["profile"] = str(kept) if kept else None
        print_json({**document(found, real), **written})
        return
    files = [f"{what}: {path}" for what, path in (("picture", svg), ("page", html), ("profile", kept)) if path]
    _show(found, form, command, real, files)


def _place(
    on: str | None, option: str, experiment: "Experiment", file: Path, threads: int | None, trust: bool
) -> "Callable[[Specification], Target]":
    """Where an experiment runs, by the name of the place."""
    from schedlab.errors import UsageError
    from schedlab.run import effects
    from schedlab.run.trust import permit
    from schedlab.system.escaped import escaped
    from schedlab.system.terminal import insist, say
    from schedlab.targets.factory import targets
    from schedlab.targets.host.conditions import Conditions
    from schedlab.targets.names import is_live, named

    names = named(on, experiment)
    if len(names) > 1:
        raise UsageError(f"{option} {on}: one place at a time")
    for name in filter(is_live, names):
        permit(escaped(str(file)), effects.of(experiment.cells(), name), trust, insist, name)
    return lambda part: targets(names[0], part, threads, Conditions(), None, say)[0]


def _tuned(
    experiment: "Experiment",
    budget: int,
    place: "Callable[[Specification], Target]",
    out: Path,
    within: float | None,
    start: int,
    fresh: bool,
) -> "Tuning":
    from schedlab.cli.output import progress_bar
    from schedlab.system.terminal import say
    from schedlab.tune.tuning import tune

    with progress_bar(experiment.name) as progress:
        return tune(experiment, budget, place, out, within, start, fresh, progress, say)


def _command(file: Path, set: list[str] | None) -> str:
    """The command that runs the experiment as it is, in the words of a shell."""
    from shlex import join

    from schedlab.system.escaped import escaped

    return escaped(join(["schedlab", "run", str(file), *(word for one in set or () for word in ("--set", one))]))


def _show(found: "Tuning", form: Form, run: str, real: "Confirmed | None", files: list[str]) -> None:
    """Print what was found; what a kernel says of it goes first."""
    from schedlab.cli.output import print_compared, print_result
    from schedlab.tune import confirmed, summary

    words = [*confirmed.verdict(found, real), *summary.reasons(found)]
    setting = confirmed.settled(found, real)
    commands = summary.commands(found, run, setting) if setting != found.board.present else []
    notes = [*summary.notes(found), *commands, *files]
    table = summary.front_table(found)
    title = found.experiment.question or f"settings of {found.experiment.name}"
    print_compared(form, table.but(title=title), words, notes, first=True)
    if real:
        table = confirmed.confirmed_table(found, real)
        print_result(form, table, [str(real.folder)])


def _keep(found: "Tuning", real: "Confirmed | None", path: Path) -> Path | None:
    """Write the settings of a host to a profile; None where there is nothing to set."""
    from schedlab.system import writing
    from schedlab.system.terminal import say
    from schedlab.targets.host import profiles
    from schedlab.tune import confirmed
    from schedlab.tune.tuning import on_a_host

    name = profiles.named(path)
    tunables, _ = on_a_host(found.experiment, found.space, confirmed.settled(found, real))
    if not tunables:
        say(f"{path}: not written: of the settings that were found, a host has none to change")
        return None
    about = " ".join([f"{found.experiment.name}:", *confirmed.verdict(found, real)])
    made = profiles.new(name, [f"{key}={value}" for key, value in tunables.items()], about[:LONGEST_ABOUT])
    writing.replace(path, made["text"].encode())
    return path


def _draw(found: "Tuning", path: Path) -> None:
    from schedlab.tune.drawn import picture

    picture(found).write(path)
