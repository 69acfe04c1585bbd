"""A tuning from its first run to its last: search, settle, ranges, gain. The budget is a number of runs.

search     the larger part: settings are tried and raced (`search`)
settle     the settings of the front get the repeats that they lack, so that chance does not decide among them
simplify   fields of the best one that can go back to what they are now, since nothing is lost by it, go back
ranges     lines through the chosen setting (`ranges`)
gain       the chosen and the present setting with fresh seeds (`gain`)
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedlab.errors import Interrupted, UsageError
from schedlab.specification import Specification
from schedlab.tune import gain, ranges
from schedlab.tune.board import Board, factors
from schedlab.tune.front import FEWEST, Member, front, member
from schedlab.tune.importance import Importance, Unknown, importance
from schedlab.tune.ledger import Ledger, swept
from schedlab.tune.search import Search
from schedlab.tune.space import Setting, Space

if TYPE_CHECKING:
    from schedlab.targets.target import Target

#: Shares of the budget: what may be used when each part ends. The rest is for the gain.
SEARCHED, SETTLED, SIMPLER, RANGED = 0.5, 0.6, 0.65, 0.8
#: A field goes back if no counter gets worse by more than LITTLE of it, or what it loses has zero in its 95 % interval
#: and is not more than SOME.
LITTLE, SOME = 0.01, 0.05
#: Settings that are tried between two looks at the board: the same on every machine, whatever its processors.
BATCH = 4
#: Members of the front that get all repeats.
SETTLED_MEMBERS = 6
#: How often the ranges may begin anew, since a better setting was found on a line.
AGAIN = 3
#: Least budget: the present setting and some others, under every load.
LEAST = 10


@dataclass(frozen=True)
class Tuning:
    """What a tuning found."""

    experiment: Specification
    space: Space
    board: Board
    units: list[str]
    loads: list[dict[str, str]]
    #: Where it ran.
    on: str
    #: The setting that is recommended; the present one if none is better.
    chosen: Setting
    front: list[Member]
    ranges: list[ranges.Range]
    #: The chosen setting against the present one with fresh seeds: rows of a comparison.
    changes: list[dict[str, Any]]
    #: By counter.
    importances: list[Importance | Unknown]
    budget: int
    spent: int
    made: int
    folder: Path
    within: float | None
    #: What the settings are on a live host.
    tunables: dict[str, str] = field(default_factory=dict)
    #: Chosen fields that no host has.
    without: list[str] = field(default_factory=list)

    @property
    def keeps_conditions(self) -> bool:
        """Whether any setting does."""
        return bool(self.front)


def tune(
    experiment: Specification,
    budget: int,
    place: "Callable[[Specification], Target]",
    out: Path,
    within: float | None = None,
    seed: int = 0,
    fresh: bool = False,
    progress: Callable[[int, int, str], None] = lambda spent, budget, front: None,
    tell: Callable[[str], None] = lambda line: None,
) -> Tuning:
    """Search the experiment's space with that many runs; what was run before is not run again.

    `place` gives where an experiment runs. `progress` gets the runs so far, the budget, and the front in words.
    Raises `Interrupted` on Ctrl-C; the same call goes on from there.
    """
    space = Space.of(experiment)
    said = [""]
    ledger = Ledger(experiment, space, place, out, fresh, lambda spent: progress(spent, budget, said[0]), tell)
    least = LEAST * len(ledger.loads)
    if budget < least:
        raise UsageError(
            f"--budget {budget} is too small: {len(ledger.loads)} loads need at least {least} runs"
            if len(ledger.loads) > 1
            else f"--budget {budget} is too small: at least {least} runs are needed"
        )
    with ledger.kept(), _told_of_the_whole(ledger, budget):
        search(ledger, int(SEARCHED * budget), seed, lambda: said.__setitem__(0, _so_far(ledger)))
        settle(ledger, int(SETTLED * budget))
        chosen = simplify(ledger, _best(ledger), int(SIMPLER * budget))
        chosen = _ranges(ledger, chosen, int(RANGED * budget), within)
        found = [_range(ledger, chosen, at, within) for at in range(len(chosen))]
        changes = _gain(ledger, chosen, budget - ledger.spent, within)
    tunables, without = on_a_host(experiment, space, chosen)
    return Tuning(
        experiment,
        space,
        ledger.board,
        ledger.units,
        ledger.loads,
        place(experiment).name,
        chosen,
        _with(ledger.board, chosen, front(ledger.board, seed)),
        found,
        changes,
        importances(ledger.board, space, seed),
        budget,
        ledger.spent,
        ledger.made,
        ledger.folder,
        within,
        tunables,
        without,
    )


@contextmanager
def _told_of_the_whole(ledger: Ledger, budget: int) -> Iterator[None]:
    """Ctrl-C says how far the search is, and not the batch."""
    try:
        yield
    except (Interrupted, KeyboardInterrupt):
        raise Interrupted(ledger.spent, budget, ledger.folder) from None


def search(ledger: Ledger, budget: int, seed: int = 0, looked: Callable[[], None] = lambda: None) -> None:
    """Try and race settings until the budget is used, or nothing is left. `looked` is called after each batch."""
    race = Search(ledger.space, ledger.board, len(ledger.experiment.seeds), seed)
    ledger.measure([(ledger.space.present, 1)])
    while asked := _affordable(ledger, race.next(BATCH), budget):
        ledger.measure(asked)
        looked()


def settle(ledger: Ledger, budget: int) -> None:
    """Give the settings of the front, the knee first, the repeats that they lack."""
    most = len(ledger.experiment.seeds)
    tried: set[Setting] = set()
    while True:
        members = [one.setting for one in front(ledger.board)][:SETTLED_MEMBERS]
        asked = [(one, most) for one in members if one not in tried and ledger.cost(one, most)]
        if not (asked := _affordable(ledger, asked[:1], budget)):
            return
        tried.update(one for one, _ in asked)
        ledger.measure(asked)


def _affordable(ledger: Ledger, asked: Sequence[tuple[Setting, int]], budget: int) -> list[tuple[Setting, int]]:
    """As many of them as the budget has runs for."""
    left, found = budget - ledger.spent, []
    present = ledger.board.present
    known = ledger.board.measured.get(present)
    base = 0 if known is None else known.repeats
    for one, repeats in asked:
        cost = ledger.cost(one, repeats)
        if one != present and known is not None and not known.alike:
            cost += max(0, repeats - base) * len(ledger.loads)
        if cost > left:
            break
        left, base = left - cost, max(base, repeats)
        found.append((one, repeats))
    return found


def _best(ledger: Ledger) -> Setting:
    """The knee of the front, of settings with enough repeats if there are such; the present one if none is allowed."""
    members = front(ledger.board)
    sure = [one for one in members if one.membership is not None]
    return (sure or members)[0].setting if members else ledger.board.present


def simplify(ledger: Ledger, chosen: Setting, budget: int) -> Setting:
    """The setting with as many fields as possible at what they are now, none of which is worth its change."""
    board = ledger.board
    for at, now in enumerate(board.present):
        if chosen[at] == now:
            continue
        simpler = ranges.line(chosen, at, now)
        repeats = max(FEWEST, board.measured[chosen].repeats)
        asked = [one for one in (chosen, simpler) if ledger.cost(one, repeats) and one not in board.refused]
        affordable = _affordable(ledger, [(one, repeats) for one in asked], budget)
        if len(affordable) < len(asked):
            return chosen
        ledger.measure(affordable)
        if simpler in board.measured and not board.missed(simpler) and _as_good(board, simpler, chosen):
            chosen = simpler
    return chosen


def _as_good(board: Board, one: Setting, other: Setting) -> bool:
    """Whether a setting loses next to nothing against another in any counter."""
    apart = ranges.apart(board, one, other)
    scale = [abs(value) or 1.0 for value in board.values(other).tolist()]
    loses = zip(apart, scale, strict=True)
    return all(by.mean <= LITTLE * of or (by.low <= 0 and by.high <= SOME * of) for by, of in loses)


def _ranges(ledger: Ledger, chosen: Setting, budget: int, within: float | None) -> Setting:
    """Measure the lines through the best setting, of the fields that change; again where one has a better setting."""
    board = ledger.board
    for _ in range(AGAIN):
        changed = [at for at, now in enumerate(board.present) if chosen[at] != now]
        for number, at in enumerate(changed or range(len(chosen))):
            share = max(0, budget - ledger.spent) // (len(changed or chosen) - number)
            _line(ledger, chosen, at, ledger.spent + share, within)
        settle(ledger, budget)
        best = _best(ledger)
        if board.worst_of(chosen) - board.worst_of(best) <= LITTLE:
            break
        chosen = simplify(ledger, best, budget)
    # Levels of lines are known by now, so that this costs little.
    return simplify(ledger, chosen, budget)


def _line(ledger: Ledger, chosen: Setting, at: int, budget: int, within: float | None) -> None:
    """Measure levels of one field until the ends of its range are known, or the budget is used."""
    dimension = ledger.space.dimensions[at]
    wanted = ranges.places(dimension, chosen[at], _known(ledger, chosen, at))
    room = max(0, budget - ledger.spent) // max(1, len(wanted) * len(ledger.loads))
    repeats = max(1, min(len(ledger.experiment.seeds), room))
    while wanted:
        asked = [(ranges.line(chosen, at, place), repeats) for place in wanted]
        # The levels nearest to the chosen one first: a range is around it.
        asked.sort(key=lambda one: abs(one[0][at] - chosen[at]))
        asked = [one for one in asked if ledger.cost(*one) and one[0] not in ledger.board.refused]
        if not (asked := _affordable(ledger, asked, budget)):
            return
        ledger.measure(asked)
        wanted = ranges.refined(_range(ledger, chosen, at, within), dimension, _known(ledger, chosen, at))


def _known(ledger: Ledger, chosen: Setting, at: int) -> list[int]:
    """The levels of a line that were measured, in order."""
    return sorted(one[at] for one in ledger.board.measured if ranges.line(one, at, chosen[at]) == chosen)


def _range(ledger: Ledger, chosen: Setting, at: int, within: float | None) -> ranges.Range:
    there = _known(ledger, chosen, at)
    return ranges.of_line(ledger.board, ledger.space, chosen, at, there, within, ledger.units)


def _gain(ledger: Ledger, chosen: Setting, left: int, within: float | None) -> list[dict[str, Any]]:
    """The chosen and the present setting with seeds that the search has not seen."""
    present = ledger.board.present
    if chosen == present:
        return []
    seeds = ledger.experiment.seeds
    most = max(2, min(len(seeds), left // (2 * len(ledger.loads))))
    results = ledger.results([present, chosen], gain.fresh_seeds(seeds, most))
    return gain.changes(
        results, ["present", "chosen"], shown(ledger.experiment, ledger.space), within, factors(ledger.loads)
    )


def shown(experiment: Specification, space: Space) -> list[str]:
    """The metrics in which settings are compared: those of the goal, its conditions, and what the experiment shows."""
    goal = experiment.definition.get("goal", {})
    asked = [one for one in experiment.definition.get("metrics") or () if "*" not in one]
    kept = [one.metric for one in space.conditions]
    return list(dict.fromkeys([*goal.get("minimize", ()), *goal.get("maximize", ()), *kept, *asked]))


def importances(board: Board, space: Space, seed: int = 0) -> list[Importance | Unknown]:
    """For each counter, which fields matter."""
    import numpy as np

    settings = list(board.measured)
    values = np.array([board.values(one) for one in settings])
    levels = [len(one.levels) for one in space.dimensions]
    ordered = [one.ordered for one in space.dimensions]
    places = np.array(settings)
    return [importance(levels, places, values[:, at], seed=seed, ordered=ordered) for at in range(values.shape[1])]


def _with(board: Board, chosen: Setting, members: list[Member]) -> list[Member]:
    """The front, led by the chosen setting: it may be a simpler one that is as good as a member."""
    others = [one for one in members if one.setting != chosen]
    own = next((one for one in members if one.setting == chosen), None)
    return [own or member(board, chosen, 0.0), *others] if members else []


def on_a_host(experiment: Specification, space: Space, setting: Setting) -> tuple[dict[str, str], list[str]]:
    """What the changes of a setting are on a live host: tunables, and the paths that no host has."""
    now, then = (swept(experiment, space, [one]).cells()[0].host for one in (space.present, setting))
    tunables = {name: value for name, value in then["tunables"].items() if now["tunables"].get(name) != value}
    return tunables, [path for path in then["without"] if path in space.changed(setting)]


def _so_far(ledger: Ledger) -> str:
    """The best setting so far."""
    best = ledger.board.order(list(ledger.board.measured))[0]
    return ledger.space.text(best)
