"""What a search found on the simulator, asked again where it counts: a real kernel, on this host or in a guest.

The candidates and the present setting run there in turns, one repeat of each after the other. The kernel's answer goes
before the simulator's: if another candidate, or the present setting, is the best there, that is what is recommended.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedlab.errors import UsageError
from schedlab.specification import Specification
from schedlab.targets.names import is_simulated
from schedlab.tune import gain
from schedlab.tune.board import factors
from schedlab.tune.ledger import Ledger
from schedlab.tune.space import Setting
from schedlab.tune.tuning import Tuning, on_a_host, shown

if TYPE_CHECKING:
    from schedlab.targets.target import Target

#: Settings that are tried besides the present one: the chosen one, and the next of the front.
CANDIDATES = 3


@dataclass(frozen=True)
class Confirmed:
    """What a kernel says of the candidates."""

    on: str
    candidates: list[Setting]
    #: The best of them and the present one there.
    chosen: Setting
    #: Each candidate against the present setting: rows of a comparison, each with `predicted`, the relative difference
    #: on the simulator (None where it is not known).
    changes: list[dict[str, Any]]
    folder: Path


def confirm(
    found: Tuning,
    place: "Callable[[Specification], Target]",
    out: Path,
    tell: Callable[[str], None] = lambda line: None,
) -> Confirmed:
    """Run the candidates and the present setting, each with all repeats; what was run before is not run again."""
    present = found.board.present
    others = [one.setting for one in found.front if one.setting not in (found.chosen, present)]
    candidates = [one for one in (found.chosen, *others) if one != present][:CANDIDATES]
    if not candidates:
        raise UsageError("nothing to confirm: no setting is better than the present one")
    target = place(found.experiment)
    if not is_simulated(target.name):
        _refuse_unknown(found, candidates, target.name)
    ledger = Ledger(found.experiment, found.space, place, out, tell=tell)
    settings = [present, *candidates]
    repeats = len(found.experiment.seeds)
    with ledger.kept():
        ledger.measure([(one, repeats) for one in settings])
    results = ledger.results(settings, found.experiment.seeds)
    names = [found.space.text(one) for one in settings]
    metrics = shown(found.experiment, found.space)
    rows = gain.changes(results, names, metrics, found.within, factors(found.loads))
    chosen = ledger.board.order([one for one in settings if one in ledger.board.measured])[0]
    return Confirmed(target.name, candidates, chosen, _predicted(found, candidates, rows), ledger.folder)


def _refuse_unknown(found: Tuning, candidates: list[Setting], on: str) -> None:
    """A kernel that lacks what was tuned cannot confirm it."""
    for one in candidates:
        _, without = on_a_host(found.experiment, found.space, one)
        if without:
            raise UsageError(f"--confirm {on}: no Linux kernel has {', '.join(without)}, so it can say nothing of it")


def _predicted(found: Tuning, candidates: list[Setting], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put next to each row what the simulator says of it, where it is a goal's."""
    said: dict[tuple[str, ...], float] = {}
    loads = factors(found.loads)
    now = found.board.values(found.board.present)
    for one in candidates:
        for at, counter in enumerate(found.board.counters):
            load = loads[found.loads.index(dict(counter.load))]
            relative = counter.sign * (found.board.values(one)[at] - now[at]) / abs(now[at]) if now[at] else None
            said[(found.space.text(one), counter.metric, *load.values())] = relative
    several = len(candidates) > 1
    only = found.space.text(candidates[0])
    key = lambda row: (row[gain.SETTING] if several else only, row["metric"], *(row[name] for name in loads[0]))  # noqa: E731
    return [{**row, "predicted": said.get(key(row))} for row in rows]
