"""A tuning as JSON, as schema/output/tune.json says."""

from collections.abc import Mapping
from typing import Any

from schedlab.tune.confirm import Confirmed
from schedlab.tune.confirmed import confirmed_words
from schedlab.tune.front import Member
from schedlab.tune.importance import Importance, Unknown
from schedlab.tune.ranges import Range
from schedlab.tune.space import said
from schedlab.tune.summary import recommended, words
from schedlab.tune.tuning import Tuning


def document(found: Tuning, real: Confirmed | None = None) -> dict[str, Any]:
    """What --json prints."""
    text = lambda one: {path: said(value) for path, value in found.space.fields(one).items()}  # noqa: E731
    return {
        "on": found.on,
        "budget": found.budget,
        "runs": found.spent,
        "folder": str(found.folder),
        "words": words(found),
        "keeps_conditions": found.keeps_conditions,
        "broken": {"runs": found.broken[0], "of": found.broken[1]},
        "warnings": found.warnings,
        "present": text(found.board.present),
        "chosen": text(found.chosen),
        "recommended": recommended(found),
        "tunables": found.tunables,
        "counters": [
            {
                "metric": one.metric,
                "load": dict(one.load),
                "better": "lower" if one.sign > 0 else "higher",
                "unit": unit,
            }
            for one, unit in zip(found.board.counters, found.units, strict=True)
        ],
        "front": [_member(found, one, text(one.setting)) for one in found.front],
        "ranges": [_range(one) for one in found.ranges],
        "importance": [_importance(found, one) for one in found.importances],
        "changes": found.changes,
        "progress": [{"runs": runs, "best": text(best)} for runs, best in found.history],
        "refused": [{"setting": text(one), "reason": why} for one, why in found.board.refused.items()],
        "confirmed": real
        and {
            "on": real.on,
            "chosen": text(real.chosen),
            "words": confirmed_words(found, real),
            "changes": real.changes,
            "folder": str(real.folder),
        },
    }


def _member(found: Tuning, one: Member, setting: Mapping[str, str]) -> dict[str, Any]:
    intervals = [{"mean": i.mean, "low": _known(i.low), "high": _known(i.high), "n": i.n} for i in one.intervals]
    shares = {"worst_regret": one.worst, "membership": one.membership, "by_luck": one.lucky, "repeats": one.repeats}
    return {"setting": setting, "counters": intervals, "regrets": one.regrets, **shares}


def _range(one: Range) -> dict[str, Any]:
    ends = one.ends
    return {
        "field": one.path,
        "levels": [said(level) for level in one.levels],
        "chosen": said(one.levels[one.chosen]),
        "acceptable": one.common,
        "low": said(one.levels[ends[0]]) if ends and one.positions else None,
        "high": said(one.levels[ends[1]]) if ends and one.positions else None,
        "costs": one.costs,
        "conflicts": [list(pair) for pair in one.conflicts],
        "curves": [
            {
                "counter": curve.counter,
                "means": curve.means,
                "low": [_known(low) for low in curve.lows],
                "high": [_known(high) for high in curve.highs],
                "limit": curve.limit,
                "acceptable": curve.acceptable,
            }
            for curve in one.curves
        ],
    }


def _importance(found: Tuning, one: Importance | Unknown) -> dict[str, Any]:
    if isinstance(one, Unknown):
        return {"why": one.why}
    paths = [each.path for each in found.space.dimensions]
    share = lambda each: {"share": each.share, "low": each.low, "high": each.high}  # noqa: E731
    return {
        "explained": one.explained,
        "fields": {path: share(each) for path, each in zip(paths, one.fields, strict=True)},
        "pairs": [{"fields": [paths[each.i], paths[each.j]], **share(each)} for each in one.pairs],
        "nothing": [paths[at] for at in one.nothing],
    }


def _known(value: float) -> float | None:
    return None if value != value else value
