"""Cells compared with others: their repeats paired, judged together, and said in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from schedlab.errors import UsageError
from schedlab.results.better import better
from schedlab.results.series import Series
from schedlab.stats.comparison import (
    CERTAIN,
    E_PROCESS,
    NO_WORSE,
    NOT_SHOWN,
    PERMUTATION,
    REAL,
    SAME,
    STUDENT,
    TOO_FEW,
    VERDICTS,
    Compared,
    Difference,
    Question,
    families,
    fewest,
)
from schedlab.units import counted, digits

if TYPE_CHECKING:
    import polars as pl

    from schedlab.pictures.chart import Drawing
    from schedlab.pictures.effects import Effect
    from schedlab.pictures.picture import Picture

#: Metrics that a line names, and lines of words.
NAMED, LINES = 4, 12
#: Parts of an experiment that decide what is done: cells in which these differ are of other work.
WORK = ("workload", "machine", "duration", "warm_up")


@dataclass(frozen=True)
class Both:
    """A cell and that with which it is compared: entries of manifests, and the values of both."""

    cell: Mapping[str, Any]
    base: Mapping[str, Any]
    values: Series
    base_values: Series
    #: Which of them is the same under every seed: its one run stands for all.
    alike: tuple[bool, bool] = (False, False)


def rows(
    both: Sequence[Both], metrics: Sequence[str], question: Question, goal: Mapping[str, Sequence[str]]
) -> list[dict[str, Any]]:
    """A row for each pair of cells and metric that both have: what differs, and whether it is chance.

    `goal` is that of the experiment: which metrics should be less, and which more.
    """
    return rows_of([(one, metrics) for one in both], question, goal)


def rows_of(
    both: Sequence[tuple[Both, Sequence[str]]], question: Question, goal: Mapping[str, Sequence[str]]
) -> list[dict[str, Any]]:
    """The same, where each pair of cells has metrics of its own."""
    asked = [(one, _common(one, metrics)) for one, metrics in both]
    asked = [(one, names) for one, names in asked if names]
    found = families([_aligned(one, names, goal) for one, names in asked], question)
    return [
        _row(one, name, question, difference)
        for (one, names), differences in zip(asked, found, strict=True)
        for name, difference in zip(names, differences, strict=True)
    ]


def frame(found: Sequence[Mapping[str, Any]], factors: Sequence[str]) -> "pl.DataFrame":
    """Rows as a frame; what is not known is null."""
    import polars as pl

    texts = dict.fromkeys([*factors, "scenario", "baseline", "metric", "unit"], pl.String)
    numbers = dict.fromkeys(["mean", "low", "high", "relative", "p", "adjusted"], pl.Float64)
    said = {"verdict": pl.String, "of": pl.String, "bounded": pl.String, "more": pl.Int64, "test": pl.String}
    return pl.DataFrame(found, schema=texts | {"n": pl.Int64} | numbers | said).fill_nan(None)


def _row(one: Both, name: str, question: Question, found: Difference) -> dict[str, Any]:
    return {
        **one.cell["factors"],
        "scenario": one.cell["scenario"],
        "baseline": one.base["scenario"],
        "metric": name,
        "unit": one.values[one.cell["scenario"], name].unit if found.of.n else None,
        "n": found.of.n,
        "mean": found.of.mean,
        "low": found.of.low,
        "high": found.of.high,
        "relative": found.relative,
        "p": found.p,
        "adjusted": found.adjusted,
        "verdict": found.verdict,
        "of": question.of,
        "bounded": found.bounded,
        "more": found.more,
        "test": found.test,
    }


def _common(one: Both, metrics: Sequence[str]) -> list[str]:
    has = lambda found, cell, name: (cell["scenario"], name) in found  # noqa: E731
    return [name for name in metrics if has(one.values, one.cell, name) and has(one.base_values, one.base, name)]


def _aligned(one: Both, names: Sequence[str], goal: Mapping[str, Sequence[str]]) -> list[Compared]:
    """The values of these metrics by repeat. Two cells that are the same under every seed make a single pair."""
    sides = []
    for found, cell in ((one.values, one.cell), (one.base_values, one.base)):
        of = [found[cell["scenario"], name] for name in names]
        sides.append([dict(zip(values.seeds, values.values, strict=True)) for values in of])
    certain = all(one.alike)
    if certain:
        sides = [[dict(enumerate(list(by_seed.values())[:1])) for by_seed in side] for side in sides]
    drawn = [
        {seed for by_seed in side for seed in by_seed} for side, same in zip(sides, one.alike, strict=True) if not same
    ]
    seeds = sorted(set.intersection(*drawn)) if drawn else [0]
    for place, same in enumerate(one.alike):
        if same and not certain:
            sides[place] = [dict.fromkeys(seeds, *list(by_seed.values())[:1]) for by_seed in sides[place]]
    return [
        Compared([value.get(seed) for seed in seeds], [base.get(seed) for seed in seeds], certain, better(name, goal))
        for name, value, base in zip(names, *sides, strict=True)
    ]


def picture(found: Sequence[Mapping[str, Any]], factors: Sequence[str], question: Question, base: str) -> "Picture":
    """The effects as a picture of their own."""
    from schedlab.pictures.picture import Picture

    return Picture(drawing(found, factors, question, base).document())


def drawing(
    found: Sequence[Mapping[str, Any]],
    factors: Sequence[str],
    question: Question,
    base: str,
    width: float = 480,
) -> "Drawing":
    """The effects with their intervals, the largest first; those from zero have no share, and are left out."""
    from schedlab.pictures import effects

    drawn = [effect_of(row, " ".join([row["metric"], *(row[name] for name in factors)])) for row in found]
    within = None if question.within is None else 100 * question.within
    return effects.effects(list(filter(None, drawn)), base, within, width)


def effect_of(row: Mapping[str, Any], label: str) -> "Effect | None":
    """A difference as a picture shows it; None of one from zero."""
    from schedlab.pictures import effects

    if row["relative"] is None:
        return None
    kinds = {REAL: effects.REAL, SAME: effects.SAME, NO_WORSE: effects.SAME}
    scale = 100 * row["relative"] / row["mean"] if row["mean"] else 0.0
    low, high = (float("nan") if row[end] is None else scale * row[end] for end in ("low", "high"))
    return effects.Effect(label, 100 * row["relative"], low, high, kinds.get(row["verdict"], effects.OPEN))


def share(within: float) -> str:
    """A share of `--within` as a person writes it."""
    return f"{digits(100 * within)} %"


def read_within(text: str) -> float:
    """Read the bound of `--within`: `2%` or `0.02`."""
    number, percent, rest = text.strip().partition("%")
    try:
        found = float(number) / (100 if percent else 1)
    except ValueError:
        found = -1.0
    if rest or not 0 < found < 1:
        raise UsageError(f"--within {text}: a share of the base between 0 and 1, as 2% or 0.02")
    return found


def read_levels(text: str) -> list[Any]:
    """Read the values of `--over`: between commas, numbers and switches as such."""
    import json

    def value(part: str) -> Any:
        try:
            found = json.loads(part)
        except ValueError:
            return part
        return found if isinstance(found, int | float) else part

    return [value(part) for part in filter(None, map(str.strip, text.split(",")))]


def read_statistic(text: str) -> str:
    """Read what `--of` names: a statistic of repeats."""
    from schedlab.stats import statistic

    try:
        statistic.quantile(text)
    except ValueError as why:
        raise UsageError(f"--of {text}: {why}") from None
    return text


def known(found: Sequence[Mapping[str, Any]]) -> bool:
    """Whether each row has an answer: a real difference, or one that is within the bound, or no chance is in it."""
    return all(row["verdict"] in (REAL, SAME, NO_WORSE) or row["test"] == CERTAIN for row in found)


def verdict(row: Mapping[str, Any], within: float | None) -> str:
    """The verdict of a row with its bound."""
    if within is None or row["verdict"] not in (REAL, SAME, NO_WORSE):
        return row["verdict"]
    if row["verdict"] == REAL:
        return f"{REAL}, within {share(within)}" if row["bounded"] == SAME else REAL
    return f"{row['verdict']} within {share(within)}" if row["verdict"] == SAME else f"{NO_WORSE} by {share(within)}"


def words(found: Sequence[Mapping[str, Any]], factors: Sequence[str], question: Question, base: str) -> list[str]:
    """What differs, a line for each pair of cells, the largest first."""
    lines = []
    for _, group in groupby(found, key=lambda row: (row["scenario"], row["baseline"])):
        of = list(group)
        label = ", ".join(f"{name}={of[0][name]}" for name in factors)
        lines.append(f"{label or 'this'} against {base}: {'; '.join(_said(of, question))}")
    left = len(lines) - LINES
    return lines if left <= 0 else [*lines[:LINES], f"and {counted(left, 'more pair')} of cells"]


def _said(of: Sequence[Mapping[str, Any]], question: Question) -> list[str]:
    parts = []
    real = sorted((row for row in of if row["verdict"] == REAL), key=lambda row: -abs(row["relative"] or 0.0))
    parts += [effect(row, question) for row in real[:NAMED]]
    parts += [f"{counted(len(real) - NAMED, 'more real difference')}"] if len(real) > NAMED else []
    bound = "" if question.within is None else share(question.within)
    equal = [row for row in of if row["test"] == CERTAIN and not row["mean"]]
    others = [row for row in of if row not in equal]
    for name, said in ((SAME, f"the same within {bound}"), (NO_WORSE, f"no worse by {bound}")):
        parts += [f"{said}: {_named(rows)}"] if (rows := [row for row in others if row["verdict"] == name]) else []
    parts += [f"equal {_named(equal)}"] if equal else []
    if undecided := [row for row in others if row["verdict"] == NOT_SHOWN]:
        parts.append(f"nothing shown for {_named(undecided)}{_more(undecided)}")
    if few := [row for row in of if row["verdict"] == TOO_FEW]:
        parts.append(f"too few pairs for {_named(few)}")
    return parts


def effect(row: Mapping[str, Any], question: Question) -> str:
    """`lower tasks.io.real by 53 % [50, 56]`: bounds as shares of the base, too."""
    direction = "higher" if row["mean"] > 0 else "lower"
    of = "" if question.of == "mean" else f"{question.of} of "
    if row["relative"] is None:
        return f"{direction} {of}{row['metric']}, from zero"
    scale = 100 * row["relative"] / row["mean"]
    size = f"{digits(100 * abs(row['relative']), 3)} %"
    if row["low"] is None or row["low"] != row["low"]:
        return f"{direction} {of}{row['metric']} by {size}"
    low, high = sorted(scale * row[end] * (1 if row["mean"] > 0 else -1) for end in ("low", "high"))
    return f"{direction} {of}{row['metric']} by {size} [{digits(low, 3)}, {digits(high, 3)}]"


def _named(found: Sequence[Mapping[str, Any]]) -> str:
    names = [row["metric"] for row in found]
    return ", ".join(names) if len(names) <= NAMED else counted(len(names), "metric")


def _more(found: Sequence[Mapping[str, Any]]) -> str:
    """How many more repeats would about decide."""
    known = sorted(row["more"] for row in found if row["more"] is not None)
    if not known:
        return ""
    many = counted(known[-1], "more repeat")
    span = many if known[0] == known[-1] else f"{known[0]} to {many}"
    return f" (about {span} would give a verdict)"


def notes(found: Sequence[Mapping[str, Any]], question: Question) -> list[str]:
    """What the numbers of the table are, and at what rate its verdicts are wrong."""
    from schedlab.stats import bootstrap

    tests = {row["test"] for row in found}
    judged = sum(row["adjusted"] is not None for row in found)
    bound = None if question.within is None else share(question.within)
    what = "mean" if question.of == "mean" else f"{question.of} over the repeats"
    most = max((row["n"] for row in found), default=0)
    means = "BCa bootstrap" if most >= bootstrap.FEWEST or question.of != "mean" else "Student's t"
    if question.sequence:
        lines = ["difference: mean of the pairs with its 95 % confidence sequence, which holds whenever one stops"]
    else:
        lines = [f"difference: of the {what}, over pairs of the same repeat, with its 95 % interval by {means}"]
    how = {
        PERMUTATION: "permutation within the pairs",
        STUDENT: "Student's t",
        E_PROCESS: "an e-process, which may be looked at after each pair",
    }
    by = " and ".join(how[one] for one in how if one in tests)
    if by:
        together = "1 difference is judged" if judged == 1 else f"{judged} differences are judged together"
        others = f", and of any false '{SAME}' or '{NO_WORSE}'" if bound else ""
        lines.append(f"verdict: {together} by {by}, at most a 5 % chance of any false 'real'{others}")
    if STUDENT in tests:
        cells = len({(row["scenario"], row["baseline"]) for row in found})
        lines.append(
            f"Student's t assumes that differences are about normal; {fewest(cells)} repeats or more assume nothing"
        )
    lines += [
        f"{name}: {VERDICTS[name].format(bound)}"
        for name in (SAME, NO_WORSE)
        if bound and any(row["verdict"] == name for row in found)
    ]
    if any(row["verdict"] == TOO_FEW for row in found):
        lines.append("too few: so few repeats cannot tell chance from effect: --seeds 10")
    if any(row["n"] and (row["low"] is None or row["low"] != row["low"]) and row["test"] != CERTAIN for row in found):
        from schedlab.stats import statistic

        if question.of != "mean":
            lines.append(f"no interval: the {question.of} needs {statistic.fewest(question.of)} repeats")
    return lines
