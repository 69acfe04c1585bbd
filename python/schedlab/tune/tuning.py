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
from schedlab.results import Results
from schedlab.specification import Specification
from schedlab.tune import gain, ranges
from schedlab.tune.board import Board, factors
from schedlab.tune.front import FEWEST, Member, front, known, member, members
from schedlab.tune.importance import Importance, Unknown, importance
from schedlab.tune.ledger import Ledger, swept
from schedlab.tune.progress import so_far
from schedlab.tune.search import Search
from schedlab.tune.space import Setting, Space

if TYPE_CHECKING:
    from schedlab.targets.target import Target

#: Shares of the budget: what may be used when each part ends. The rest is for the gain.
SEARCHED, SETTLED, SIMPLER = 0.5, 0.6, 0.7
#: Settings of lines that can be given all repeats.
SURE_OF = 2
#: Pairs of fresh runs, at least.
FEWEST_PAIRS = 2
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
    #: In how many of the fresh runs the chosen setting misses a condition, and of how many.
    broken: tuple[int, int] = (0, 0)
    #: Whether the budget ended before every changed field was tried at what it is now.
    cut_short: bool = False
    #: What may mislead in the runs of the chosen setting.
    warnings: list[str] = field(default_factory=list)
    #: What the settings are on a live host.
    tunables: dict[str, str] = field(default_factory=dict)
    #: After how many runs which setting looked best: an entry for each change.
    history: list[tuple[int, Setting]] = field(default_factory=list)
    #: Which search of the space it was.
    start: int = 0

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

    `place` gives where an experiment runs. `progress` gets the runs so far, the budget, and lines on the front.
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
    # The gain has its runs, whatever the search has found.
    most = budget - max(2 * FEWEST_PAIRS, min(2 * len(experiment.seeds), budget // (5 * len(ledger.loads)))) * len(
        ledger.loads
    )
    with ledger.kept(), _told_of_the_whole(ledger, budget):
        search(
            ledger,
            int(SEARCHED * budget),
            seed,
            lambda: said.__setitem__(0, so_far(ledger.board, ledger.space, ledger.units)),
        )
        settle(ledger, int(SETTLED * budget))
        chosen, whole = simplify(ledger, leading(ledger), int(SIMPLER * budget))
        chosen, whole = _ranges(ledger, chosen, whole, most, within)
        found = [_range(ledger, chosen, at, within) for at in range(len(chosen))]
        fresh_runs = _fresh(ledger, chosen, budget - ledger.spent)
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
        _changes(ledger, fresh_runs, within),
        importances(ledger.board, space, seed),
        budget,
        ledger.spent,
        ledger.made,
        ledger.folder,
        within,
        _broken(ledger, fresh_runs),
        not whole,
        list(dict.fromkeys(one["warning"] for one in fresh_runs.warnings)) if fresh_runs else [],
        on_a_host(experiment, space, chosen)[0],
        ledger.history,
        seed,
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
        there = members(ledger.board)[:SETTLED_MEMBERS]
        asked = [(one, most) for one in there if one not in tried and ledger.cost(one, most)]
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


def leading(ledger: Ledger) -> Setting:
    """The knee of the front, of settings with enough repeats if there are such; the present one if none is allowed."""
    there = members(ledger.board)
    sure = [one for one in there if known(ledger.board, one)]
    return (sure or there or [ledger.board.present])[0]


def simplify(ledger: Ledger, best: Setting, budget: int) -> tuple[Setting, bool]:
    """The setting with as many fields as possible at what they are now, none of which is worth its change.

    Fields go back by halves, since most often few of many matter. Gives also whether the budget was enough.
    """
    changed = [at for at, now in enumerate(ledger.board.present) if best[at] != now]
    half = len(changed) // 2
    pending = [changed[:half], changed[half:]] if half else [changed]
    chosen = best
    while pending:
        fields = pending.pop(0)
        simpler = tuple(ledger.board.present[at] if at in fields else place for at, place in enumerate(chosen))
        if not fields or simpler == chosen:
            continue
        if not _measured(ledger, [best, simpler], budget):
            return chosen, False
        if simpler in ledger.board.measured and _as_good(ledger.board, simpler, best):
            chosen = simpler
        elif len(fields) > 1:
            pending += [fields[: len(fields) // 2], fields[len(fields) // 2 :]]
    return chosen, True


def _measured(ledger: Ledger, settings: Sequence[Setting], budget: int) -> bool:
    """Give settings the repeats by which they can be compared, if the budget has the runs."""
    repeats = max(FEWEST, *(one.repeats for at, one in ledger.board.measured.items() if at == settings[0]))
    repeats = min(repeats, len(ledger.experiment.seeds))
    asked = [(one, repeats) for one in settings if ledger.cost(one, repeats) and one not in ledger.board.refused]
    affordable = _affordable(ledger, asked, budget)
    if len(affordable) < len(asked):
        return False
    ledger.measure(affordable)
    return True


def _as_good(board: Board, one: Setting, other: Setting) -> bool:
    """Whether a setting keeps the conditions, and loses next to nothing against another in any counter."""
    loses = zip(ranges.apart(board, one, other), board.scales(board.values(other)).tolist(), strict=True)
    little = all(by.mean <= LITTLE * of or (by.low <= 0 and by.high <= SOME * of) for by, of in loses)
    return little and not board.missed(one)


def _ranges(ledger: Ledger, chosen: Setting, whole: bool, budget: int, within: float | None) -> tuple[Setting, bool]:
    """Measure the lines through the best setting, of the fields that change; again where one has a better setting."""
    board = ledger.board
    # What is left makes sure of the best that the lines have.
    lines = budget - SURE_OF * len(ledger.loads) * len(ledger.experiment.seeds)
    for _ in range(AGAIN):
        changed = [at for at, now in enumerate(board.present) if chosen[at] != now]
        for number, at in enumerate(changed or range(len(chosen))):
            share = max(0, lines - ledger.spent) // (len(changed or chosen) - number)
            _line(ledger, chosen, at, ledger.spent + share, within)
        settle(ledger, budget)
        best = leading(ledger)
        if board.worst_of(chosen) - board.worst_of(best) <= LITTLE:
            break
        chosen, whole = simplify(ledger, best, budget)
    return chosen, whole


def _line(ledger: Ledger, chosen: Setting, at: int, budget: int, within: float | None) -> None:
    """Measure levels of one field until the ends of its range are known, or the budget is used."""
    dimension = ledger.space.dimensions[at]
    wanted = ranges.places(dimension, chosen[at], _places(ledger, chosen, at))
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
        wanted = ranges.refined(_range(ledger, chosen, at, within), dimension, _places(ledger, chosen, at))


def _places(ledger: Ledger, chosen: Setting, at: int) -> list[int]:
    """The levels of a line that were measured, in order."""
    return sorted(one[at] for one in ledger.board.measured if ranges.line(one, at, chosen[at]) == chosen)


def _range(ledger: Ledger, chosen: Setting, at: int, within: float | None) -> ranges.Range:
    there = _places(ledger, chosen, at)
    return ranges.of_line(ledger.board, ledger.space, chosen, at, there, within, ledger.units)


def _fresh(ledger: Ledger, chosen: Setting, left: int) -> Results | None:
    """Runs of the present and the chosen setting with seeds that the search has not seen; None if they are one."""
    if chosen == ledger.board.present:
        return None
    seeds = ledger.experiment.seeds
    most = max(FEWEST_PAIRS, min(len(seeds), left // (2 * len(ledger.loads))))
    return ledger.results([ledger.board.present, chosen], gain.fresh_seeds(seeds, most))


def _changes(ledger: Ledger, runs: Results | None, within: float | None) -> list[dict[str, Any]]:
    if runs is None:
        return []
    metrics = shown(ledger.experiment, ledger.space)
    return gain.changes(runs, ["present", "chosen"], metrics, within, factors(ledger.loads))


def _broken(ledger: Ledger, runs: Results | None) -> tuple[int, int]:
    """In how many of the fresh runs the chosen setting misses a condition, and of how many."""
    if runs is None or not ledger.space.conditions:
        return 0, 0
    found = runs.values_of(dict.fromkeys(one.metric for one in ledger.space.conditions))
    own = [cell["scenario"] for cell in runs.manifest["cells"]][1::2]
    alike = all(scenario in runs.alike for scenario in own)
    missed = ledger.missed(found, own, runs.seeds[:1] if alike else runs.seeds, alike)
    return int((missed > 0).sum()), len(missed)


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


def _with(board: Board, chosen: Setting, there: list[Member]) -> list[Member]:
    """The front, led by the chosen setting: it may be a simpler one that is as good as a member."""
    others = [one for one in there if one.setting != chosen]
    own = next((one for one in there if one.setting == chosen), None)
    return [own or member(board, chosen, 0.0), *others] if there else []


#: What each task of an experiment asks for by itself on a host, and the tunable for tasks that ask for nothing.
FOR_ALL = {"slice": "base_slice"}


def on_a_host(experiment: Specification, space: Space, setting: Setting) -> tuple[dict[str, str], list[str]]:
    """What the changes of a setting are on a live host: tunables, and the paths that no host has."""
    now, then = (swept(experiment, space, [one]).cells()[0].host for one in (space.present, setting))
    changed = {name: value for name, value in then["tunables"].items() if now["tunables"].get(name) != value}
    tunables = {FOR_ALL.get(name, name): value for name, value in changed.items()}
    return tunables, [path for path in then["without"] if path in space.changed(setting)]
