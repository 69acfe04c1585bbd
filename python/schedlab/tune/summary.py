"""A tuning in words and tables: what to set, what it is worth and costs, and how far it may move."""

from collections.abc import Sequence
from shlex import quote
from typing import Any

from schedlab.results import compared
from schedlab.stats.comparison import Question
from schedlab.tables import Cell, Column, Table
from schedlab.tune.board import LOAD, factors
from schedlab.tune.front import Member, all_of
from schedlab.tune.gain import is_better
from schedlab.tune.importance import Unknown
from schedlab.tune.ranges import Range
from schedlab.tune.space import OUTSIDE, Setting, said
from schedlab.tune.tuning import LITTLE, Tuning, on_a_host
from schedlab.units import convert, counted, digits, readable_unit, spread

#: Members of the front that a table shows, and fields and pairs that a line names.
SHOWN, NAMED = 12, 4
#: More counters than this take more than the width of a terminal.
WIDE = 3
#: Warnings that are printed.
WARNED = 3
#: A smaller share of the variance is not named.
SMALL = 0.01
#: A prediction that is off by less than this share of the present value is none to speak of.
OFF = 0.05


def words(found: Tuning) -> list[str]:
    """The verdict, then the price, the ranges, and what matters."""
    return [*verdict(found), *reasons(found)]


def reasons(found: Tuning) -> list[str]:
    """The gain and the price, the ranges, and what matters."""
    return [*gain_words(found), *ranges_words(found), *importance_words(found)]


def verdict(found: Tuning) -> list[str]:
    """What to set, or to leave it; what it breaks, and whether it is a trade."""
    board, space = found.board, found.space
    kept = " and ".join(one.text for one in space.conditions)
    if not found.keeps_conditions:
        nearest = board.order(list(board.measured))[0]
        return [
            f"no setting that was tried keeps {kept} in every run; the nearest, {space.text(nearest)}, misses by "
            f"{digits(100 * board.missed(nearest), 3)} %"
        ]
    broken = (
        [f"the present setting misses {kept} by {digits(100 * now, 3)} %"]
        if (now := board.missed(board.present))
        else []
    )
    if found.chosen == board.present:
        now = ", ".join(f"{path} = {said(value)}" for path, value in space.fields(found.chosen).items())
        return [f"leave it: no setting that was tried is better than the present one by more than {LITTLE:.0%}, {now}"]
    if not recommended(found):
        return [f"leave it: {_changed(found)} looked best, but fresh seeds show no goal to be better with it"]
    return [f"set {_changed(found)}", *broken, *_missing(found), *_free(found), *_unsure(found)]


def recommended(found: Tuning) -> bool:
    """Whether to set the chosen one: fresh seeds show a goal to be better, or the present one misses a condition."""
    if found.chosen == found.board.present or found.board.missed(found.board.present):
        return found.chosen != found.board.present
    goal = found.experiment.definition.get("goal", {})
    of_goal = {*goal.get("minimize", ()), *goal.get("maximize", ())}
    return any(row["metric"] in of_goal and is_better(row, goal) for row in found.changes)


def _missing(found: Tuning) -> list[str]:
    """Whether fresh runs break what the runs of the search kept, and what may be left to simplify."""
    number, runs = found.broken
    kept = " and ".join(one.text for one in found.space.conditions)
    lines = [f"beware: with fresh seeds it misses {kept} in {number} of {counted(runs, 'run')}"] if number else []
    if found.cut_short and len(found.space.changed(found.chosen)) > 1:
        lines.append("the budget ended before each of these fields was tried at what it is now: some may do nothing")
    return lines


def _unsure(found: Tuning) -> list[str]:
    """Settings that look far better, and have too few repeats to be recommended."""
    own = found.board.worst_of(found.chosen)
    others = [one for one in found.front if one.membership is None and one.worst < own - OFF]
    if not others:
        return []
    return [f"{found.space.text(others[0].setting)} looks better, by too few repeats; a larger budget would tell"]


def _free(found: Tuning) -> list[str]:
    """Where the chosen setting is a trade: the best one with which no goal gets worse."""
    now = found.board.values(found.board.present)
    if (found.board.values(found.chosen) <= now).all():
        return []
    others = [one.setting for one in found.front if one.setting != found.board.present and one.membership is not None]
    free = next((one for one in others if (found.board.values(one) <= now).all()), None)
    if free is None:
        return [
            "it is a trade: none that is known well is better than the present one in a goal and no worse in the others"
        ]
    return [f"it is a trade: no goal gets worse with {found.space.text(free)}"]


def _changed(found: Tuning) -> str:
    """The fields that change, each with what it is now."""
    now = found.space.fields(found.board.present)
    changed = found.space.changed(found.chosen)
    return ", ".join(f"{path} = {said(value)} (now {said(now[path])})" for path, value in changed.items())


def gain_words(found: Tuning) -> list[str]:
    """The gain and the price of the chosen setting."""
    if not found.changes:
        return []
    goal = found.experiment.definition.get("goal", {})
    worse = [row for row in found.changes if is_better(row, goal) is False]
    question = Question(within=found.within)
    distinct = list(factors(found.loads)[0])
    lines = compared.words(found.changes, distinct, question, "the present setting")
    price = list(dict.fromkeys(row["metric"] for row in worse))
    return [*lines, f"the price: {', '.join(price)} gets worse"] if price else lines


def ranges_words(found: Tuning) -> list[str]:
    """The ranges of fields of which more than one level was measured."""
    measured = [one for one in found.ranges if len(one.levels) > 1]
    return [line for one in measured for line in range_words(one)]


def range_words(one: Range) -> list[str]:
    """The range of a field, with the cost at its ends; where there is none, the least regret and the conflict."""
    if not all(one.allowed) and not any(one.allowed):
        return [f"{one.path}: no level of it keeps the conditions"]
    if one.ends is None:
        level = said(one.levels[one.least])
        lines = [
            f"{one.path}: no level is acceptable for every counter; least regret at {level}, "
            f"{digits(100 * one.costs[one.least], 3)} % worse than the best of {_costly(one, one.least)}"
        ]
        return lines + _conflicts(one)
    if one.positions is None:
        return [f"{one.path}: {one.text} acceptable for every counter"]
    ends = [f"at {said(one.levels[at])} {cost(one, at)}" for at in dict.fromkeys(one.ends)]
    if all(one.common):
        return [f"{one.path}: any of {one.text} is acceptable for every counter; {'; '.join(ends)}"]
    gap = "" if one.whole else ", between levels that were measured"
    return [f"{one.path}: {one.text} acceptable for every counter{gap}; {'; '.join(ends)}"]


def _conflicts(one: Range) -> list[str]:
    """Which counters accept no level in common; of the same two metrics under several loads one line."""
    found: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for pair in one.conflicts:
        found.setdefault(tuple(sorted(name.partition(" (")[0] for name in pair)), []).append(pair)
    lines = []
    for metrics, pairs in list(found.items())[:NAMED]:
        both = " and ".join(pairs[0] if len(pairs) == 1 else metrics)
        loads = "" if len(pairs) == 1 else f", under {counted(len(pairs), 'pair')} of loads"
        lines.append(f"{one.path}: {both} accept no level in common{loads}")
    return lines


def cost(one: Range, at: int) -> str:
    """What a level costs: the counter that suffers most, and how much."""
    if one.costs[at] < 5e-4:
        return "nothing is lost"
    return f"{digits(100 * one.costs[at], 3)} % of {_costly(one, at)} is lost"


def _costly(one: Range, at: int) -> str:
    return max(one.curves, key=lambda curve: curve.regrets[at]).counter


def importance_words(found: Tuning) -> list[str]:
    """What each counter varies by; nothing where there is only one field."""
    lines = []
    paths = [one.path for one in found.space.dimensions]
    if len(paths) < 2:
        return []
    for counter, one in zip(found.board.counters, found.importances, strict=True):
        if isinstance(one, Unknown):
            lines.append(f"what matters to {counter.text} is not known: {one.why}")
            continue
        if not one.conclusive:
            tried = counted(len(found.board.measured), "setting")
            lines.append(f"what matters to {counter.text} cannot be inferred from {tried}")
            continue
        shares = sorted(zip(one.fields, paths, strict=True), key=lambda each: -each[0].share)
        parts = [f"{path} {_percent(share)}" for share, path in shares[:NAMED] if share.share >= SMALL]
        pairs = sorted((pair for pair in one.pairs if pair.low > SMALL), key=lambda pair: -pair.share)
        parts += [f"{paths[pair.i]} with {paths[pair.j]} {_percent(pair)}" for pair in pairs[:NAMED]]
        parts += [f"{', '.join(paths[at] for at in one.nothing)} nothing"] if one.nothing else []
        lines.append(f"share in what {counter.text} varies by: {'; '.join(parts)}")
    return lines


def _percent(share: Any) -> str:
    low, high = (digits(100 * max(0.0, end), 2) for end in (share.low, share.high))
    return f"{digits(100 * max(0.0, share.share), 2)} % [{low}, {high}]"


def front_table(found: Tuning) -> Table:
    """The front, the knee first; the settings that are nearest to the conditions, where none keeps them."""
    if not found.front:
        nearest = found.board.order(list(found.board.measured))[: shown(found)]
        return settings_table(
            found, all_of(found.board, nearest, {}), "the settings that are nearest to the conditions"
        )
    title = "the front: no setting that was tried is better in one counter and as good in the others"
    return settings_table(found, found.front[: shown(found)], title)


def settings_table(found: Tuning, members: Sequence[Member], title: str = "") -> Table:
    """Settings with their values; by how much they miss the conditions, where one of them does."""
    units = [_unit(found, at, found.front or members) for at in range(len(found.board.counters))]
    columns = [Column("setting", key=True, prose=True)]
    for counter, (unit, _) in zip(found.board.counters, units, strict=True):
        columns.append(
            Column(counter.text, "" if unit == "1" else unit, numeric=True, dotted=True, plain=_plain(counter))
        )
    columns += [
        Column("weighted regret" if found.board.weighted else "worst regret", "%", numeric=True),
        Column("repeats", numeric=True),
        Column("on the front", "%", numeric=True),
    ]
    there = {one.setting for one in found.front}
    rows = [_row(found, member, units, member.setting in there) for member in members]
    missed = [100 * found.board.missed(one.setting) for one in members]
    if any(missed):
        columns.append(Column("misses conditions by", "%", numeric=True))
        for row, by in zip(rows, missed, strict=True):
            row.append(Cell(digits(by, 3) if by else "", (by,)))
    return Table(columns, rows, title)


def shown(found: Tuning) -> int:
    """Rows of the front that are shown: fewer, where each takes many lines."""
    return SHOWN if len(found.board.counters) <= WIDE else SHOWN // 3


def _plain(counter: Any) -> tuple[str, ...]:
    return counter.text, f"{counter.text} low", f"{counter.text} high"


def _row(found: Tuning, member: Member, units: Sequence[tuple[str, str]], on_front: bool) -> list[Cell]:
    cells = [Cell(("→ " if member.setting == found.chosen else "") + found.space.text(member.setting))]
    for interval, (unit, own) in zip(member.intervals, units, strict=True):
        mean, half = (convert(value, own, unit) for value in (interval.mean, (interval.high - interval.low) / 2))
        text = spread(mean, half if half == half else None)
        cells.append(Cell(text, (interval.mean, interval.low, interval.high)))
    worst = 100 * member.worst
    cells.append(Cell(digits(worst, 3), (worst,)))
    cells.append(Cell(str(member.repeats)))
    if not on_front:
        return [*cells, Cell("", (None,))]
    if member.membership is None:
        return [*cells, Cell("?", (None,))]
    share = 100 * member.membership
    return [*cells, Cell(digits(share, 3) + (" ?" if member.lucky else ""), (share,))]


def _unit(found: Tuning, at: int, among: Sequence[Member]) -> tuple[str, str]:
    """The unit in which a counter is read most easily, and its own."""
    own = found.units[at]
    largest = max((abs(one.intervals[at].mean) for one in among), default=0.0)
    return readable_unit(own, largest), own


def notes(found: Tuning) -> list[str]:
    """What the numbers are, and what is not printed."""
    more = []
    if (left := len(found.front) - shown(found)) > 0:
        more.append(f"{counted(left, 'more setting')} on the front: --json prints all of them")
    warned = [f"warning: {text}" for text in found.warnings[:WARNED]]
    if (left := len(found.warnings) - WARNED) > 0:
        warned.append(f"{counted(left, 'more warning')}: --json prints all of them")
    return [*load_words(found), *run_words(found), *more, *mark_words(found), *fresh_words(found), *warned]


def load_words(found: Tuning) -> list[str]:
    """What the loads are that tables number."""
    numbered = [(of[LOAD], load) for of, load in zip(factors(found.loads), found.loads, strict=True) if LOAD in of]
    return [f"load {name}: {', '.join(f'{path} = {value}' for path, value in load.items())}" for name, load in numbered]


def run_words(found: Tuning) -> list[str]:
    """How many settings were tried in how many runs, and what was refused."""
    tried, known = len(found.board.measured), found.spent - found.made
    # The present setting need not be one of the space.
    there = found.space.size + (OUTSIDE in found.board.present)
    lines = [
        f"{counted(tried, 'setting')} of {there} tried in {counted(found.spent, 'run')} "
        f"({known} known before) on {found.on}; {found.folder}"
    ]
    if found.board.refused:
        why = next(iter(found.board.refused.values()))
        lines.append(f"{counted(len(found.board.refused), 'setting')} refused, as: {why}")
    return lines


def mark_words(found: Tuning) -> list[str]:
    """What a question mark in the table of the front means, where there is one."""
    if not any(one.lucky for one in found.front):
        return []
    return ["?: in fewer than 80 % of bootstrap samples of the repeats, or too few repeats: perhaps by luck"]


def fresh_words(found: Tuning) -> list[str]:
    """What gain and price are of."""
    if not found.changes:
        return []
    pairs = max(row["n"] for row in found.changes)
    return [f"gain and price: {counted(pairs, 'pair')} of runs with seeds that the search has not seen"]


def commands(found: Tuning, run: str, setting: Setting) -> list[str]:
    """The commands that set a setting in place of the present one."""
    changed = found.space.changed(setting)
    set = " ".join(f"--set {quote(f'{path}={said(value)}')}" for path, value in changed.items())
    tunables, without = on_a_host(found.experiment, found.space, setting)
    lines = [f"to run it: {run} {set}"] if run else []
    if tunables:
        lines.append("on a host: schedlab host apply " + " ".join(f"{k}={v}" for k, v in tunables.items()))
    if without:
        lines.append(f"no Linux kernel has {', '.join(without)}")
    return lines
