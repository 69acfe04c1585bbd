"""How the numbers of a result came about, and how to get them again: a row of a table for each part."""

import shlex
from collections.abc import Mapping
from typing import Any

from schedlab.errors import UsageError
from schedlab.report.page import over_seeds
from schedlab.results import Results, verdict
from schedlab.results.best import Judged
from schedlab.system import toml
from schedlab.units import counted, digits

#: Seeds that are listed one by one.
LISTED = 12
#: Conditions of a run on the host, and the options that set them: with their value, or by being there.
OPTIONS = {
    "quiet_below": "--quiet-below",
    "patience": "--patience",
    "warm_up": "--warm-up",
    "scratch": "--scratch",
    "drop_caches": "--drop-caches",
    "dirty": "--dirty",
}


def rows(results: Results, judged: Judged) -> list[tuple[str, str]]:
    """What was done, a part and its description each."""
    places = results.manifest.get("places", {})
    found = [("runs", _runs(results)), ("seeds", _seeds(results.seeds)), ("order", _order(results))]
    found += _warm_up(results)
    for name, about in places.items():
        found.append((f"place {name}", _place(about)))
        found += [(f"noise on {name}", noise) for noise in [_noise(results, name)] if noise]
        found += [(f"ignored on {name}", what) for what in about.get("ignored", ())]
    found.append(("intervals", over_seeds(results.repeats)))
    found += [_split(note) for note in verdict.notes(judged)]
    versions = results.manifest["versions"]
    found.append(("versions", ", ".join(f"{name} {version}" for name, version in versions.items())))
    return [*found, ("computed", results.manifest["created"])]


def _split(note: str) -> tuple[str, str]:
    """A note by what it is about, where it begins so."""
    head, colon, rest = note.partition(": ")
    return (head, rest) if colon and len(head) < 20 else ("note", note)


def _runs(results: Results) -> str:
    cells, seeds = len(results.manifest["cells"]), len(results.seeds)
    words = f"{counted(cells, 'cell')}, {seeds_each(results)}"
    if results.lacking:
        words += f"; {results.lacking} of {cells * seeds} runs are not there"
    if results.skipped:
        words += f"; {cells * seeds - results.skipped} of {cells * seeds} runs, since the others would be the same"
    return words


def seeds_each(results: Results) -> str:
    """How many seeds each cell has."""
    words = f"{counted(len(results.seeds), 'seed')} each"
    return f"up to {words}" if results.lacking else words


def _seeds(seeds: list[int]) -> str:
    if len(seeds) > 1 and seeds == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]} to {seeds[-1]}"
    more = f" and {len(seeds) - LISTED} more" if len(seeds) > LISTED else ""
    return ", ".join(map(str, seeds[:LISTED])) + more


def _order(results: Results) -> str:
    """The order of the runs, where it can matter."""
    if all(_is_repeatable(name, results) for name in results.manifest.get("places", {})):
        return "does not matter: a run is decided by its scenario and its seed"
    return "random within each repeat, all cells and places in turns: what drifts meets all of them alike"


def _is_repeatable(place: str, results: Results) -> bool:
    return place.partition(":")[0] != "host" and place not in results.noisy


def _warm_up(results: Results) -> list[tuple[str, str]]:
    warm_up = results.manifest["experiment"].get("warm_up")
    found = [("warm-up", f"the first {warm_up} of each run are not measured")] if warm_up else []
    for name, about in results.manifest.get("places", {}).items():
        if count := about.get("conditions", {}).get("warm_up"):
            found.append(("warm-up", f"{counted(count, 'unmeasured run')} of each cell on {name}"))
    return found


def _place(about: Mapping[str, Any]) -> str:
    """Engine, kernel and conditions of a place."""
    parts = [f"{name} {about[name]}" for name in ("kernel", "package", "engine") if about.get(name)]
    conditions = {k: v for k, v in about.get("conditions", {}).items() if v not in (None, False, "None")}
    parts += [f"{name.replace('_', ' ')} {value}" for name, value in conditions.items()]
    return "; ".join([*parts, *filter(None, [about.get("note")])])


def _noise(results: Results, place: str) -> str:
    """What was seen of a place before its runs."""
    seen = results.manifest.get("seen", {}).get(place, {}).get("preflight", {})
    parts = []
    if (share := _number(seen.get("foreign_percent"))) is not None:
        parts.append(f"others used {digits(share, 2)} % of the busiest processor before the runs")
    if (share := _number(seen.get("steal_percent"))) is not None:
        parts.append(f"{digits(share, 2)} % were stolen by the hypervisor")
    if (scatter := _number(seen.get("scatter"))) is not None:
        parts.append(f"the same work repeated within {digits(100 * scatter, 2)} %")
    if (visible := _number(seen.get("visible"))) is not None:
        parts.append(f"differences of about {digits(100 * visible, 2)} % or more could be seen")
    return "; ".join(parts)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def file(results: Results) -> tuple[str, str]:
    """The name of an experiment file that asks the same, and its text.

    Raises `UsageError` for sealed results: it shows settings.
    """
    if (results.folder / "seal").exists():
        raise UsageError(f"{results.folder} is sealed; conclude first, then: schedlab unseal {results.folder}")
    return f"{results.name}.toml", toml.text(results.manifest["experiment"])


def command(results: Results) -> str:
    """The command that runs the file again in the same places."""
    words = ["schedlab", "run", file(results)[0]]
    places = results.manifest.get("places", {})
    if list(places) not in ([], ["sim"]):
        words += ["--on", ",".join(places)]
    conditions = places.get("host", {}).get("conditions", {})
    for name, option in OPTIONS.items():
        value = conditions.get(name)
        if value is True:
            words.append(option)
        elif value not in (None, False, "None", 0):
            words += [option, str(value)]
    words += ["--no-record"] if conditions.get("trace") == "off" else []
    return shlex.join(words)
