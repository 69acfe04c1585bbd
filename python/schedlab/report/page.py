"""One self-contained page: the frame that every report shares. No network, no script; light and dark by the reader's
choice."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from schedlab import _core
from schedlab.results import Results
from schedlab.specification import spelled
from schedlab.system.escaped import escaped
from schedlab.system.writing import replace

#: A caption names this many scenarios at most; the page's table of scenarios has all.
NAMED = 12


def write(template: str, path: Path, **values: Any) -> None:
    """Fill a template of the `templates` folder and put the page under `path`, whole or not at all."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("schedlab.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    text = environment.get_template(template).render(engine=_core.version(), **values)
    replace(Path(path), escaped(text).encode())


def origin(name: str, scenarios: list[str], seeds: str) -> str:
    """The origin of a figure: experiment, scenarios and seeds."""
    short = [scenario[:12] for scenario in dict.fromkeys(scenarios)]
    more = f" and {len(short) - NAMED} more" if len(short) > NAMED else ""
    return f"{name}: scenario {', '.join(short[:NAMED])}{more}; {seeds}"


def machine_rows(machine: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Every value of a machine as (field, value, source)."""
    return list(_leaves(machine, ""))


def _leaves(tree: Any, path: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(tree, dict) and {"value", "source"} <= tree.keys():
        yield path, spelled(tree["value"]), tree["source"]
    elif isinstance(tree, dict):
        for name, value in tree.items():
            yield from _leaves(value, f"{path}.{name}" if path else name)
    elif tree is not None and path not in ("name", "title"):
        yield path, spelled(tree), ""


def schedule(scenario: dict[str, Any], seed: int, first: float) -> str:
    """The simulator's drawing of the first seconds of a run, as SVG to be embedded in a page.

    Its style sheet is nested into a class, or it would restyle the whole page.
    """
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "schedule.svg"
        run = {"scenario": scenario, "seed": seed}
        _core.record(json.dumps(run), "gantt_svg", str(path), round(first * 1e9))
        text = path.read_text(encoding="utf-8")
    drawing = text[text.index("<svg") :]
    styled = drawing.replace("<style>", "<style>.schedule{", 1).replace("</style>", "}</style>", 1)
    return f'<div class="schedule">{styled}</div>'


def scenario_of(results: Results, cell: dict[str, Any]) -> dict[str, Any]:
    """The scenario of a manifest's cell, its machine put back."""
    return {**cell["definition"], "machine": results.manifest["machines"][cell["machine"]]}
