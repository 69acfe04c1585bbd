"""`schedlab parity`: the suite of scenarios simulated and measured, side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from schedlab.parity import Comparison

NAME = "parity"
EXAMPLE = "schedlab parity --only two_hogs --only sleeper_beside_a_hog"


def verb(
    only: Annotated[list[str] | None, typer.Option("--only", help="Only this scenario; may be repeated.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each scenario, each way.")] = 7,
    out: Annotated[Path, typer.Option("--out", help="The folder of results.")] = Path("results/parity"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what was run before.")] = False,
    quiet_below: Annotated[float, typer.Option(min=0.0, help="Most processor time of others, %.")] = 5.0,
    dirty: Annotated[bool, typer.Option("--dirty", help="Measure on a host that does not become quiet.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run every scenario of the suite on the simulator and on this host, and say where they agree."""
    from schedlab.cli.output import print_json, progress_bar
    from schedlab.experiment import Experiment
    from schedlab.live.runs import Conditions
    from schedlab.parity import compare, scenarios
    from schedlab.places import places

    compared = []
    conditions = Conditions(quiet_below=quiet_below, dirty=dirty)
    for path in scenarios(only):
        experiment = Experiment.from_toml(path, set=[f"seeds={repeats}"])
        with progress_bar(experiment.name) as progress:
            where = places("sim,host", experiment, None, conditions)
            compared += compare(experiment.run(out, fresh=fresh, progress=progress, places=where))
    if json:
        print_json([vars(one) | {"holds": one.holds} for one in compared])
    else:
        show(compared, repeats)


def show(compared: "list[Comparison]", repeats: int) -> None:
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
    print_table(header, rows, "Simulated beside measured", numeric=(3, 4))
    held = sum(one.holds for one in compared)
    print(f"{held} of {len(compared)} hold; medians of {repeats} runs each way")
