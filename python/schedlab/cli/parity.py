"""`schedlab parity`: the suite of scenarios simulated and measured, side by side: on this host, or in guest kernels."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schedlab.parity.comparison import Comparison
    from schedlab.parity.guests import Reference

NAME = "parity"
EXAMPLE = "schedlab parity --only two_hogs --only sleeper_beside_a_hog"


class Where(StrEnum):
    """The references."""

    host = "host"
    guest = "guest"


def verb(
    only: Annotated[list[str] | None, typer.Option("--only", help="Only this scenario; may be repeated.")] = None,
    on: Annotated[Where, typer.Option("--on", help="What the simulator is compared with.")] = Where.host,
    kernel: Annotated[
        list[str] | None, typer.Option("--kernel", help="Only this guest kernel; may be repeated.")
    ] = None,
    switches: Annotated[
        bool, typer.Option("--switches", help="With guests: compare choice by choice, led by recordings.")
    ] = False,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Runs of each scenario, each way; 7 on the host, 3 in guests.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="The folder of results.")] = Path("results/parity"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what was run before.")] = False,
    quiet_below: Annotated[float, typer.Option(min=0.0, help="Most processor time of others, %.")] = 5.0,
    dirty: Annotated[bool, typer.Option("--dirty", help="Measure on a host that does not become quiet.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run every scenario of the suite on the simulator and on this host, or in guests, and say where they agree."""
    from schedlab.cli.output import print_json
    from schedlab.parity import guests
    from schedlab.parity.host import REPEATS
    from schedlab.targets.host.conditions import Conditions

    if on is Where.host:
        _refuse_of_guests(kernel, switches)
        compared = _compare_with_host(
            only, repeats or REPEATS, out, fresh, Conditions(quiet_below=quiet_below, dirty=dirty)
        )
        tables = {"Simulated and measured": compared}
    elif switches:
        return _switch_for_switch(only, kernel, out, json)
    else:
        known = guests.references(kernel)
        tables = {one.name: list(_compare_with_guest(only, one, repeats or guests.SEEDS, out, fresh)) for one in known}
    if json:
        print_json(
            [vars(one) | {"comparison": title, "holds": one.holds} for title, all in tables.items() for one in all]
        )
    else:
        for title, compared in tables.items():
            show(compared, title)
    return None


def _refuse_of_guests(kernel: list[str] | None, switches: bool) -> None:
    from schedlab.errors import UsageError

    if kernel or switches:
        raise UsageError("--kernel and --switches are for guests: add --on guest")


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


def _switch_for_switch(only: list[str] | None, kernel: list[str] | None, out: Path, json: bool) -> None:
    from schedlab.cli.output import print_json, print_table
    from schedlab.parity import guests, switches
    from schedlab.system.terminal import say
    from schedlab.targets.guest.target import Guest

    found = []
    out.mkdir(parents=True, exist_ok=True)
    for reference in guests.references(kernel):
        guest = Guest(reference.kernel, say=say, drain_every=guests.UNDISTURBED)
        for tasks in switches.task_sets(only):
            found.append((reference, tasks, switches.compare(tasks, guest, reference.scheduler, out)))
    if json:
        return print_json([{"reference": ref.name, "task_set": tasks.name} | vars(one) for ref, tasks, one in found])
    rows = [
        [tasks.name, ref.name, str(one.choices), str(one.switches), f"{one.seconds:.1f}", one.verdict]
        for ref, tasks, one in found
    ]
    header = ["task set", "", "choices", "switches", "s", "verdict"]
    print_table(header, rows, "Switch for switch", numeric=(2, 3, 4))
    print(f"{sum(one.whole for *_, one in found)} of {len(found)} agree to the end ({switches.SECONDS} s)")
    return None


def show(compared: "list[Comparison]", title: str) -> None:
    """The table, and how many hold."""
    from schedlab.cli.output import print_table
    from schedlab.units import convert, readable_unit

    rows = []
    for one in compared:
        unit = readable_unit(one.unit, max(abs(one.measured), abs(one.simulated)))
        name = unit if unit != "1" else ""
        values = (f"{convert(value, one.unit, unit):.4g}" for value in (one.simulated, one.measured, one.low, one.high))
        simulated, measured, low, high = values
        verdict = "holds" if one.holds else "misses"
        rows.append([one.scenario, one.metric, name, simulated, measured, f"{low} to {high}", one.words, verdict])
    header = ["scenario", "metric", "unit", "simulated", "measured", "from to", "allowed", "verdict"]
    print_table(header, rows, title, numeric=(3, 4))
    held = sum(one.holds for one in compared)
    print(f"{held} of {len(compared)} hold")
