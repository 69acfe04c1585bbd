"""The pictures of a tuning: the front, how far each field may move, what matters, and how the search went."""

from collections.abc import Callable

from schedlab.pictures import front as fronts
from schedlab.pictures import ranges as pictures
from schedlab.pictures.chart import Drawing, stacked
from schedlab.pictures.picture import Picture
from schedlab.pictures.progress import progress
from schedlab.pictures.shares import Share, shares
from schedlab.tune.front import Member, all_of
from schedlab.tune.importance import Importance
from schedlab.tune.ranges import Range
from schedlab.tune.space import Setting, said
from schedlab.tune.summary import SMALL, range_words
from schedlab.tune.tuning import Tuning

#: Rows of a picture of what matters.
MOST_SHARES = 12


def picture(found: Tuning) -> Picture:
    """The acceptable ranges of all fields of which several levels were measured."""
    return Picture(stacked([pictures.ranges(_field(one, range_words(one))) for one in measured(found)]).document())


def measured(found: Tuning) -> list[Range]:
    """The ranges of fields of which several levels were measured."""
    return [one for one in found.ranges if len(one.levels) > 1]


def range_of(one: Range, width: float) -> Drawing:
    """The acceptable range of a field, without the words on it."""
    return pictures.ranges(_field(one, []), width)


def _field(one: Range, words: list[str]) -> pictures.Field:
    curves = [
        pictures.Curve(
            curve.counter, curve.unit, curve.means, curve.lows, curve.highs, curve.best, curve.limit, curve.acceptable
        )
        for curve in one.curves
    ]
    labels = [said(level) for level in one.levels]
    notes = [line.removeprefix(f"{one.path}: ") for line in words]
    return pictures.Field(
        one.path, labels, one.positions, one.logarithmic, one.chosen, one.least, curves, one.common, notes
    )


def settings(found: Tuning) -> list[Member]:
    """All settings that were measured, the best first; of those of the front how sure they are on it."""
    shares = {one.setting: one.membership for one in found.front}
    return all_of(found.board, found.board.order(list(found.board.measured)), shares)


def counters(found: Tuning) -> list[fronts.Counter]:
    """The axes of the front."""
    return [
        fronts.Counter(one.metric, unit, one.sign > 0, one.called)
        for one, unit in zip(found.board.counters, found.units, strict=True)
    ]


def dots(found: Tuning, link: Callable[[Setting], str] = lambda setting: "") -> list[fronts.Dot]:
    """Each setting that was measured; `link` gives where it is described."""
    there = {one.setting: one for one in found.front}
    knee = min(found.front, key=lambda one: one.worst).setting if found.front else None
    return [
        fronts.Dot(
            found.space.text(one.setting),
            _kind(found, one.setting, there, knee),
            [interval.mean for interval in one.intervals],
            [interval.low for interval in one.intervals],
            [interval.high for interval in one.intervals],
            one.setting in there and not there[one.setting].lucky,
            link(one.setting),
        )
        for one in settings(found)
    ]


def _kind(found: Tuning, setting: Setting, there: dict[Setting, Member], knee: Setting | None) -> int:
    if setting == found.board.present:
        return fronts.PRESENT
    if setting == found.chosen:
        return fronts.CHOSEN
    if setting in there:
        lucky = fronts.LUCKY if there[setting].lucky else fronts.MEMBER
        return fronts.KNEE if setting == knee else lucky
    return fronts.MISSING if found.board.missed(setting) else fronts.BEHIND


def matters(found: Tuning) -> list[Drawing]:
    """Of each counter of which it is known: the fields and the pairs that it varies by, the largest first."""
    paths = [one.path for one in found.space.dimensions]
    if len(paths) < 2:
        return []
    return [
        shares(_shares(one, paths), f"share in what {counter.text} varies by")
        for counter, one in zip(found.board.counters, found.importances, strict=True)
        if isinstance(one, Importance) and one.conclusive
    ]


def _shares(one: Importance, paths: list[str]) -> list[Share]:
    fields = [Share(path, each.share, each.low, each.high) for path, each in zip(paths, one.fields, strict=True)]
    pairs = [
        Share(f"{paths[pair.i]} with {paths[pair.j]}", pair.share, pair.low, pair.high, True)
        for pair in one.pairs
        if pair.low > SMALL
    ]
    return sorted([*fields, *pairs], key=lambda share: -share.share)[:MOST_SHARES]


def search(found: Tuning) -> Drawing:
    """How the search went: what is lost, by all that is known in the end, with what looked best after n runs; where no
    setting keeps the conditions, by how much it misses them.
    """
    texts = [(runs, found.space.text(one)) for runs, one in found.history]
    if not found.keeps_conditions:
        missed = [100 * found.board.missed(one) for _, one in found.history]
        return progress(_until_end(found, texts, missed), "misses the conditions by [%]")
    regrets = found.board.regrets([one for _, one in found.history])
    worst = (100 * found.board.worst(regrets)).tolist()
    what = "weighted" if found.board.weighted else "worst"
    return progress(_until_end(found, texts, worst), f"{what} regret [%]")


def _until_end(found: Tuning, texts: list[tuple[int, str]], values: list[float]) -> list[tuple[int, float, str]]:
    """The steps of a picture, the last of which stands until the last run."""
    steps = [(runs, value, text) for (runs, text), value in zip(texts, values, strict=True)]
    return [*steps, *((found.spent, *one[1:]) for one in steps[-1:])]
