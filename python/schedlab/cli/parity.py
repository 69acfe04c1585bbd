"""`schedlab parity`: the suite of scenarios simulated and measured, side by side: on this host, or in guest kernels."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.forms import Csv, Form, Json, Markdown, chosen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schedlab.parity.comparison import Comparison
    from schedlab.parity.guests import Reference
    from schedlab.parity.processors import Judged
    from schedlab.tables import Table
    from schedlab.targets.host.conditions import Conditions

NAME = "parity"
EXAMPLE = "schedlab parity --only two_hogs --only sleeper_beside_a_hog"


#: The references with one processor.
HOST, GUEST = "host", "guest"


def verb(
    only: Annotated[list[str] | None, typer.Option("--only", help="Only this scenario; may be repeated.")] = None,
    on: Annotated[
        str,
        typer.Option(
            "--on", help="What the simulator is compared with: host, guest, guest:6.1@2 (several processors), sim:cfs."
        ),
    ] = HOST,
    processors: Annotated[
        bool, typer.Option("--processors", help="With the host: the scenarios for several processors.")
    ] = False,
    kernel: Annotated[
        list[str] | None, typer.Option("--kernel", help="Only this guest kernel; may be repeated.")
    ] = None,
    switches: Annotated[
        bool, typer.Option("--switches", help="With guests: replay recordings and compare each scheduling decision.")
    ] = False,
    repeats: Annotated[
        int | None,
        typer.Option(
            min=1, help="Runs of each scenario on each side; 7 on the host, 3 in guests, 12 with several processors."
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="The folder of results.")] = Path("results/parity"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what was run before.")] = False,
    quiet_below: Annotated[
        float, typer.Option(min=0.0, help="Processor time of other programs, %, above which a run is disturbed.")
    ] = 5.0,
    dirty: Annotated[bool, typer.Option("--dirty", help="Measure on a host that does not become quiet.")] = False,
    json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Run every scenario of the suite on the simulator and on this host, or in guests, and report where they agree."""
    from schedlab.cli.output import print_json, print_result
    from schedlab.parity import guests
    from schedlab.parity.host import REPEATS
    from schedlab.targets.host.conditions import Conditions

    form = chosen(json, csv, markdown)
    _refuse_unknown(on)
    if processors or on not in (HOST, GUEST):
        _refuse_of_guests(kernel, switches)
        conditions = Conditions(quiet_below=quiet_below, dirty=dirty)
        return _on_several(only, on, repeats, out, fresh, conditions, form)
    if on == HOST:
        _refuse_of_guests(kernel, switches)
        compared = _compare_with_host(
            only, repeats or REPEATS, out, fresh, Conditions(quiet_below=quiet_below, dirty=dirty)
        )
        tables = {"Simulated and measured": compared}
    elif switches:
        return _switch_for_switch(only, kernel, out, form)
    else:
        known = guests.references(kernel)
        tables = {one.name: list(_compare_with_guest(only, one, repeats or guests.SEEDS, out, fresh)) for one in known}
    if form is Form.JSON:
        found = [vars(one) | {"comparison": title, "holds": one.holds} for title, all in tables.items() for one in all]
        print_json({"comparisons": found})
    elif form is Form.CSV:
        print_result(form, table(tables, named=True))
    else:
        for title, compared in tables.items():
            held = sum(one.holds for one in compared)
            shown = table({title: compared}).but(title=title)
            print_result(form, shown, [f"{held} of {len(compared)} hold"], first=title == next(iter(tables)))
    return None


def _refuse_unknown(on: str) -> None:
    from schedlab.errors import UsageError, nearest
    from schedlab.parity import processors

    if on in (HOST, GUEST) or processors.is_of_several(on):
        return
    known = [HOST, GUEST, "guest:6.1@2", "guest:6.1@2-counted", "sim:cfs"]
    raise UsageError(f"--on {on}: {on!r} is nothing to compare the simulator with; {nearest(on, known)}")


def _refuse_of_guests(kernel: list[str] | None, switches: bool) -> None:
    from schedlab.errors import UsageError

    if kernel or switches:
        raise UsageError("--kernel and --switches are for guests of one processor: add --on guest")


def _compare_with_host(only: list[str] | None, repeats: int, out: Path, fresh: bool, conditions) -> "list[Comparison]":
    from schedlab.cli.output import progress_bar
    from schedlab.experiment import Experiment
    from schedlab.parity.host import compare, scenarios
    from schedlab.targets.factory import targets

    compared = []
    for path in scenarios(only):
        experiment = Experiment.from_toml(path, set=[f"seeds={repeats}"])
        with progress_bar(experiment.name) as progress:
            where = targets("sim,host", experiment, None, conditions)
            compared += compare(experiment.run(out, fresh=fresh, progress=progress, targets=where))
    return compared


def _compare_with_guest(
    only: list[str] | None, reference: "Reference", seeds: int, out: Path, fresh: bool
) -> "Iterator[Comparison]":
    from schedlab.cli.output import progress_bar
    from schedlab.experiment import Experiment
    from schedlab.parity import guests
    from schedlab.system.terminal import say
    from schedlab.targets.guest.target import Guest
    from schedlab.targets.simulator import Simulator

    guest = Guest(reference.kernel, say=say, drain_every=guests.UNDISTURBED)
    for path in guests.scenarios(only):
        experiment = Experiment.from_toml(path, set=guests.overrides(reference, seeds))
        with progress_bar(f"{experiment.name}, {reference.kernel}") as progress:
            results = experiment.run(out, fresh=fresh, progress=progress, targets=[Simulator(1), guest])
        yield from guests.compare(results, reference)


def _switch_for_switch(only: list[str] | None, kernel: list[str] | None, out: Path, form: Form) -> None:
    from schedlab.cli.output import print_json, print_result
    from schedlab.parity import guests, switches
    from schedlab.system.terminal import say
    from schedlab.tables import Cell, Column, Table
    from schedlab.targets.guest.target import Guest

    found = []
    out.mkdir(parents=True, exist_ok=True)
    for reference in guests.references(kernel):
        guest = Guest(reference.kernel, say=say, drain_every=guests.UNDISTURBED)
        for tasks in switches.task_sets(only):
            found.append((reference, tasks, switches.compare(tasks, guest, reference.scheduler, out)))
    if form is Form.JSON:
        switched = [{"reference": ref.name, "task_set": tasks.name} | vars(one) for ref, tasks, one in found]
        return print_json({"comparisons": switched}, name="parity-switches")
    columns = [Column("task set", key=True), Column("policy and kernel", key=True), Column("choices", numeric=True)]
    columns += [
        Column("switches", numeric=True),
        Column("agrees for", "s", numeric=True),
        Column("verdict", prose=True),
    ]
    rows = [
        [tasks.name, ref.name, one.choices, one.switches, Cell(f"{one.seconds:.1f}", (one.seconds,)), one.verdict]
        for ref, tasks, one in found
    ]
    agree = f"{sum(one.whole for *_, one in found)} of {len(found)} agree to the end ({switches.SECONDS} s)"
    print_result(form, Table.of_texts(columns, rows, "Switch for switch"), [agree], first=True)
    return None


def _on_several(
    only: list[str] | None,
    on: str,
    repeats: int | None,
    out: Path,
    fresh: bool,
    conditions: "Conditions",
    form: Form,
) -> None:
    """The scenarios for several processors, as distributions."""
    from schedlab.cli.output import print_json, print_result, progress_bar
    from schedlab.errors import UsageError
    from schedlab.experiment import Experiment
    from schedlab.parity import processors
    from schedlab.system.terminal import say
    from schedlab.targets.factory import targets

    if on == GUEST:
        raise UsageError("--processors --on guest: name a guest of several processors, as in --on guest:6.1@2")
    processors.refuse_one_processor(on)
    compared, notes = [], {}
    paths = processors.scenarios(only)
    given = processors.overrides(on, repeats or processors.REPEATS, say)
    for path in paths:
        experiment = Experiment.from_toml(path, set=given)
        with progress_bar(experiment.name) as progress:
            where = targets(processors.places(on), experiment, None, conditions)
            results = experiment.run(out, fresh=fresh, progress=progress, targets=where)
        compared += processors.compare(results, on)
        notes |= dict.fromkeys(results.notes)
    if form is Form.JSON:
        found = [vars(one) | {side: _interval(getattr(one, side)) for side in SIDES} for one in compared]
        return print_json({"reference": on, "notes": [*notes], "comparisons": found}, name="parity-processors")
    verdicts = [one.verdict for one in compared]
    counts = [f"{verdicts.count(verdict)} {verdict}" for verdict in processors.VERDICTS]
    summary = f"{len(compared)} numbers: {', '.join(counts)}; mean ± half of the 95 % interval"
    return print_result(form, table_of_several(compared), [summary, *notes], first=True)


#: What a comparison of distributions has intervals of.
SIDES = ("simulated", "measured", "difference")


def _interval(of) -> dict:
    """As JSON, which has no NaN."""
    return {name: None if value != value else value for name, value in of._asdict().items()}


def table_of_several(compared: "list[Judged]") -> "Table":
    """Distributions on both sides, their difference and what may be said of it."""
    from schedlab.tables import Cell, Column, Table
    from schedlab.units import convert, readable_unit, spread

    columns = [Column("scenario", key=True), Column("metric", key=True), Column("unit")]
    columns += [Column(side, numeric=True, plain=(side, f"{side}_low", f"{side}_high")) for side in SIDES]
    columns += [Column("wanted"), Column("verdict")]
    rows = []
    for one in compared:
        unit = readable_unit(one.unit, max(abs(one.measured.mean), abs(one.simulated.mean)))
        cells = []
        for side in SIDES:
            mean, low, high, _ = of = getattr(one, side)
            if one.is_factor and side == "difference":
                text = f"x {mean:.2f} ({low:.2f} to {high:.2f})"
            else:
                mean, high = (convert(value, one.unit, unit) for value in (mean, high))
                text = spread(mean, None if high != high else high - mean)
            cells.append(Cell(text, of[:3]))
        rows.append(
            [
                *(one.scenario, one.metric, Cell("" if unit == "1" else unit, (one.unit,))),
                *cells,
                *(one.words, one.verdict),
            ]
        )
    return Table.of_texts(columns, rows)


def table(compared: "dict[str, list[Comparison]]", named: bool = False) -> "Table":
    """The comparisons, with the name of what is compared in front of each if `named`."""
    from schedlab.tables import Cell, Column, Table
    from schedlab.units import convert, readable_unit

    columns = [Column("comparison", key=True)] if named else []
    columns += [Column("scenario", key=True), Column("metric", key=True), Column("unit")]
    columns += [Column("simulated", numeric=True), Column("measured", numeric=True)]
    columns += [Column("from to", plain=("low", "high")), Column("allowed"), Column("verdict")]
    rows = []
    for title, one in ((title, one) for title, found in compared.items() for one in found):
        unit = readable_unit(one.unit, max(abs(one.measured), abs(one.simulated)))
        values = (one.simulated, one.measured, one.low, one.high)
        simulated, measured, low, high = (f"{convert(value, one.unit, unit):.4g}" for value in values)
        rows.append(
            [
                *([title] if named else []),
                one.scenario,
                one.metric,
                Cell("" if unit == "1" else unit, (one.unit,)),
                Cell(simulated, (one.simulated,)),
                Cell(measured, (one.measured,)),
                Cell(f"{low} to {high}", (one.low, one.high)),
                one.words,
                "holds" if one.holds else "misses",
            ]
        )
    return Table.of_texts(columns, rows)
