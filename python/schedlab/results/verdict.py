"""The verdict on a result in words and as a table: what is best, by how much, and what cannot be told."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from schedlab.results import compared
from schedlab.results.best import Best, Entry, Judged
from schedlab.results.compared import NAMED
from schedlab.results.tables import level_name, mean_of, short_names
from schedlab.stats.comparison import LOWER, REAL
from schedlab.tables import Column, Table
from schedlab.units import counted, digits

#: Metrics that the verdict names one by one.
MOST_LINES = 8


def lines(judged: Judged) -> list[str]:
    """The verdict in words, what matters most first."""
    cells = [cell for group in judged.groups for cell in group.cells]
    if len(cells) == 1:
        return _of_one_cell(cells[0], judged)
    found = [_of_metric(judged, name) for name in judged.metrics[:MOST_LINES]]
    left = len(judged.metrics) - MOST_LINES
    found += [f"and {counted(left, 'more metric')}: see the table"] if left > 0 else []
    found = [*_common(judged), *filter(None, found)]
    found += [_undirected(judged, name, cells) for name in judged.undirected[:NAMED]]
    if judged.kept:
        holding = len({cell["scenario"] for cell in cells} & set(judged.kept[1]))
        only = "only these may be best" if holding else "so every cell may be best"
        found.append(f"{judged.kept[0]}: holds in every run of {holding} of {counted(len(cells), 'cell')}, {only}")
    if not judged.comparable:
        found.append("one run of each cell: whether a difference is chance cannot be told; --seeds 10")
    return [*found, *_missing(judged, cells)]


def _of_one_cell(cell: Entry, judged: Judged) -> list[str]:
    """The main numbers in a sentence."""
    rows = [(name, judged.means.get((cell["scenario"], name))) for name in [*judged.metrics, *judged.undirected]]
    known = [f"{name} is {mean_of(row)}" for name, row in rows if row and row["mean"] is not None]
    more = f"; {counted(len(known) - NAMED, 'more number')} below" if len(known) > NAMED else ""
    return [*([f"{', '.join(known[:NAMED])}{more}"] if known else []), *_missing(judged, [cell])]


def _of_metric(judged: Judged, metric: str) -> str:
    """`tasks.io.real: lowest with slice=5ms, 3.1 ± 0.1 s, lower by 87 % [86, 88] than ...: real; acceptable: ...`."""
    bests = [best for best in judged.bests if best.metric == metric]
    if not bests:
        return ""
    word = "lowest" if bests[0].better == LOWER else "highest"
    named = {judged.named(best.cell): [] for best in bests}
    for best in bests:
        named[judged.named(best.cell)].append(best)
    if len(judged.groups) > 1:
        if len(named) == 1:
            said = (
                f"{next(iter(named))} under each of the {len(bests)} loads ({' and '.join(short_names(judged.given))})"
            )
        else:
            said = "; ".join(f"{name} where {_where(judged, of)}" for name, of in list(named.items())[:NAMED])
            said += f"; and {len(named) - NAMED} others" if len(named) > NAMED else ""
        return f"{metric}: {word} with {said}{_gains(judged, bests)}"
    (best,) = bests
    parts = [f"{metric}: {word} with {judged.named(best.cell)}, {mean_of(best.entry)}"]
    parts += [gained(judged, best)] if gained(judged, best) else []
    accepted = accepted_in(judged, best)
    return ", ".join(parts) + (f"; acceptable: {accepted}" if accepted else "")


def _where(judged: Judged, bests: Sequence[Best]) -> str:
    """The groups by their loads."""
    names = [judged.named(best.cell, judged.given) for best in bests]
    return " or ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _gains(judged: Judged, bests: Sequence[Best]) -> str:
    """The gains of several loads: `, lower by 85 to 95 % than slice=5ms: real in 4 of 4`."""
    found = [best.gain for best in bests if best.gain and best.gain["relative"]]
    if not found:
        return ""
    ends = [digits(100 * abs(row["relative"]), 3) for row in sorted(found, key=lambda row: abs(row["relative"]))]
    size = " to ".join(dict.fromkeys((ends[0], ends[-1])))
    real = sum(row["verdict"] == REAL for row in found)
    return f", {bests[0].better} by {size} % than {judged.base}: {REAL} in {real} of {_loads(len(found), len(bests))}"


def _loads(others: int, all_of_them: int) -> str:
    """The loads in which the base is not the best itself."""
    if others == all_of_them:
        return counted(others, "load")
    return f"the {counted(others, 'load')} in which that is not the best itself"


def _common(judged: Judged) -> list[str]:
    """Whether one setting is best, or acceptable, in everything; else which metrics are in conflict."""
    if len(judged.bests) < 2:
        return []
    everything = "all metrics" if len(judged.groups) == 1 else "all metrics and loads"
    names = {judged.named(best.cell) for best in judged.bests}
    if len(names) == 1:
        return [f"{names.pop()} is best in {everything}"]
    if any(best.acceptable is None for best in judged.bests):
        return []
    accepted = [{judged.named(cell) for cell in best.acceptable} for best in judged.bests]
    # In the order of the experiment; a setting stands for its cells of all loads.
    settings = {judged.named(cell): cell for group in reversed(judged.groups) for cell in reversed(group.cells)}
    common = [cell for name, cell in reversed(settings.items()) if all(name in one for one in accepted)]
    if common:
        factors = [cell["factors"] for cell in common]
        return [f"acceptable in {everything}: {several(judged, factors, list(settings.values()))}"]
    place = {metric: at for at, metric in enumerate(judged.metrics)}
    apart = {
        tuple(sorted((one.metric, other.metric), key=place.__getitem__)): None
        for (one, own), (other, others) in combinations(zip(judged.bests, accepted, strict=True), 2)
        if not own & others
    }
    pairs = [f"{one} and {other}" if one != other else f"the loads in {one}" for one, other in apart]
    why = f": {'; '.join(pairs[:2])} have no acceptable setting in common" if pairs else ""
    return [f"no setting is acceptable in {everything}{why}"]


def _undirected(judged: Judged, metric: str, cells: Sequence[Entry]) -> str:
    """The ends of what no direction is known of."""
    found = [(row["mean"], cell, row) for cell in cells if (row := judged.means.get((cell["scenario"], metric)))]
    found = [one for one in found if one[0] is not None]
    if not found:
        return f"{metric}: no run gave a value"
    low, high = min(found, key=lambda one: one[0]), max(found, key=lambda one: one[0])
    if low[0] == high[0]:
        return f"{metric}: {mean_of(low[2])} in every cell"
    factors = [*judged.given, *judged.settings]
    ends = [f"{mean_of(row)} ({judged.named(cell, factors)})" for _, cell, row in (low, high)]
    return f"{metric}: from {ends[0]} to {ends[1]}; name it in [goal] to have its best cell judged"


def _missing(judged: Judged, cells: Sequence[Entry]) -> list[str]:
    """What the numbers lack: runs that others spoilt, values that were cut off, cells with fewer values than runs."""
    of = counted(len(cells), "cell")
    found = [f"{counted(runs, 'run')} {word}, see the warnings" for word, runs in judged.marred.items() if runs]
    for metric in [*judged.metrics, *judged.undirected]:
        if metric in judged.cut:
            found.append(
                f"{metric}: the end of the run cut values off in {judged.cut[metric]} of {of}, see the warnings"
            )
        rows = [judged.means.get((cell["scenario"], metric)) for cell in cells]
        none = sum(row is None or row["n"] == 0 for row in rows)
        some = sum(row is not None and 0 < row["n"] < row["of"] for row in rows)
        if none:
            found.append(f"{metric}: {none} of {of} have no value, and are not judged")
        if some:
            found.append(
                f"{metric}: {some} of {of} have values of some of their runs only; cells are compared over the repeats "
                "that they share, and those with fewer than half of them are not named best"
            )
    return found


def accepted_in(judged: Judged, best: Best) -> str:
    """The acceptable cells in words; empty where that cannot be told."""
    if best.acceptable is None:
        return ""
    if len(best.acceptable) == 1:
        return "no other"
    if len(best.acceptable) == len(best.group.cells):
        return f"all {len(best.group.cells)} cells"
    return several(judged, [cell["factors"] for cell in best.acceptable], best.group.cells)


def several(judged: Judged, chosen: Sequence[Mapping[str, str]], among: Sequence[Entry]) -> str:
    """Some of the cells by their settings: `slice=18ms to 50ms, ready_at=head`; how many, where that takes too long."""
    levels = {name: dict.fromkeys(cell["factors"][name] for cell in among) for name in judged.settings}
    first = max(levels, key=lambda name: (ordered(levels[name]) is not None, len(levels[name])))
    others = [name for name in judged.settings if name != first]
    lines: dict[tuple[str, ...], list[str]] = {}
    for factors in chosen:
        lines.setdefault(tuple(factors[name] for name in others), []).append(factors[first])
    names = dict(zip(judged.settings, short_names(judged.settings), strict=True))
    found = []
    for own, accepted in lines.items():
        rest = [f", {names[name]}={level_name(level)}" for name, level in zip(others, own, strict=True)]
        there = [cell["factors"][first] for cell in among if tuple(cell["factors"][n] for n in others) == own]
        found.append(f"{names[first]}={_levels(accepted, there)}{''.join(rest)}")
    whole = " or ".join(found)
    return whole if len(found) <= NAMED else f"{len(chosen)} of {counted(len(among), 'cell')}"


def _levels(accepted: Sequence[str], among: Sequence[str]) -> str:
    """Levels next to each other as a range, others by name."""
    line = ordered(among)
    if line is not None and len(accepted) > 1:
        places = sorted(line.index(level) for level in accepted)
        if places[-1] - places[0] == len(places) - 1:
            return f"{level_name(line[places[0]])} to {level_name(line[places[-1]])}"
    if len(accepted) > NAMED:
        return f"{len(accepted)} of {counted(len(among), 'level')}"
    return " or ".join(map(level_name, accepted))


def ordered(levels: Iterable[str]) -> list[str] | None:
    """Levels that are numbers, in order; None of others."""
    from schedlab.pictures import axes

    texts = list(levels)
    read = axes.levels(texts)
    if any(level.value is None for level in read):
        return None
    return [texts[at] for at in sorted(range(len(texts)), key=lambda at: read[at].value)]


def gained(judged: Judged, best: Best) -> str:
    """The gain in words with its verdict: `lower by 87 % [86, 88] than slice=5ms: real`."""
    if best.cell is best.group.base:
        return "the base of the comparison"
    if best.gain is None:
        return ""
    verdict = compared.verdict(best.gain, judged.question.within)
    if not best.gain["mean"]:
        return f"equal to {judged.base}: {verdict}"
    words = compared.effect(best.gain, judged.question).replace(f" {best.metric}", "", 1)
    return f"{words} than {judged.base}: {verdict}"


def notes(judged: Judged) -> list[str]:
    """What the numbers of the verdict are, and at what rate it is wrong."""
    if not judged.differences:
        return []
    found = compared.notes(judged.differences, judged.question)
    if any(best.acceptable for best in judged.bests):
        within = judged.question.within
        bound = "" if within is None else f", or by less than {compared.share(within)}"
        found.append(f"acceptable: not shown to be worse than the best cell{bound}, all judged together")
    if any(best.gain for best in judged.bests) and max(len(group.cells) for group in judged.groups) > 2:
        found.append("the best of many cells owes a part of its gain to chance: fresh seeds tell what is left of it")
    return found


def table(judged: Judged) -> Table:
    """A row for each metric and group. Of a single setting the heading has the name."""
    only = short_names(judged.settings)[0] if len(judged.settings) == 1 else ""
    columns = [
        *(Column(name, key=True) for name in short_names(judged.given)),
        Column("metric", key=True, dotted=True),
        Column("better"),
        Column(f"best {only}" if only else "best", prose=True),
        Column("mean", numeric=True),
        Column(f"against {judged.base}", "%", numeric=True),
        Column("verdict"),
        Column("acceptable", prose=True),
    ]
    return Table.of_texts(columns, [_row(judged, best, f"{only}=" if only else "") for best in judged.bests])


def _row(judged: Judged, best: Best, name: str) -> list[str]:
    gain = best.gain
    size = "base" if best.cell is best.group.base else "–"
    if gain and gain["relative"] is not None:
        size = f"{100 * gain['relative']:+.1f}{_bounds(gain)}"
    return [
        *(level_name(best.cell["factors"][name]) for name in judged.given),
        best.metric,
        best.better,
        judged.named(best.cell).removeprefix(name),
        mean_of(best.entry),
        size,
        compared.verdict(gain, judged.question.within) if gain else "–",
        accepted_in(judged, best).removeprefix(name) or "–",
    ]


def _bounds(row: Mapping[str, Any]) -> str:
    """The interval of a difference in % of its base."""
    if row["low"] is None or row["low"] != row["low"] or not row["mean"]:
        return ""
    scale = 100 * row["relative"] / row["mean"]
    return f" [{digits(scale * row['low'], 3)}, {digits(scale * row['high'], 3)}]"
