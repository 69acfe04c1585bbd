"""A prediction as JSON: groups, the time of fixed work, and what cannot be predicted."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import Any

from schedlab.traces.sums import Side
from schedlab.whatif.asked import Asked
from schedlab.whatif.judged import NUMBERS, SHARE_POINTS, Predicted, elapsed, judge, of_row
from schedlab.whatif.replays import Prepared
from schedlab.whatif.scatter import scatter

#: Tasks with less of a processor are left out of the groups by name, unless they wake as often a second.
LEAST_SHARE_PCT, LEAST_WAKEUPS = 0.1, 1.0
#: A task with so large a share of waits of unknown cause is named.
MANY_UNKNOWN = 0.2
#: A task that misses so large a share of its periods is named: what it does when it is on time is not recorded.
MANY_MISSED = 0.1
#: Where the share of any task is off by more points than this, nothing of any task is predicted.
COMPETING_POINTS = 5.0
#: Counts in `causes` that are parts of others.
PARTS = ("missed_periods", "irregular_timers")
#: Waits of a task that are too few to say so.
FEW_WAITS = 20
#: A task whose waits are ended by other tasks in so large a share waits for them.
MANY_FOR_TASKS = 0.05


@dataclass(frozen=True)
class Prediction:
    """What one change would have done."""

    asked: Asked
    #: By group, the numbers in the order of `NUMBERS`.
    groups: dict[str, list[Predicted]]
    elapsed: Predicted | None
    #: By name of tasks, what ended their waits.
    causes: dict[str, dict[str, int]]
    #: Groups that are asked for, as NAME=REGEX, and of which the recording has no task.
    nameless: tuple[str, ...]
    #: Events that the recording is known to lack.
    lost: int
    #: What the recording does not show and is taken for granted.
    assumptions: list[str] = field(default_factory=list)
    #: How many recordings it is made from.
    recordings: int = 1

    @property
    def unattributed(self) -> float:
        """Of all waits, the share whose cause could not be determined."""
        every = sum(_waits(one) for one in self.causes.values())
        return sum(one["unknown"] for one in self.causes.values()) / every if every else 0.0

    def cannot_tell(self) -> list[dict[str, str]]:
        """What is not predicted, and why."""
        refused = [
            {"what": f"{group}: {'.'.join(path)}", "why": number.why_not}
            for group, numbers in self.groups.items()
            for path, number in zip(NUMBERS, numbers, strict=True)
            if number.why_not and number.recorded is not None
        ]
        late = [{"what": "elapsed", "why": self.elapsed.why_not}] if self.elapsed and self.elapsed.why_not else []
        return [*late, *self._nameless(), *_whole(refused, self.groups), *self._unknown(), *self._missed()]

    def _nameless(self) -> Iterator[dict[str, str]]:
        for name, _, pattern in (group.partition("=") for group in self.nameless):
            yield {"what": name, "why": f"no task of the recording has a name that matches {pattern} as a whole"}

    def _unknown(self) -> Iterator[dict[str, str]]:
        for name, ended in self.causes.items():
            waits = _waits(ended)
            if waits >= FEW_WAITS and ended["unknown"] > MANY_UNKNOWN * waits:
                share = f"{ended['unknown'] / waits:.0%} of {waits} waits have no cause that the recording shows"
                yield {"what": f"when {name} wakes", "why": f"{share}: they keep the recorded times"}

    def _missed(self) -> Iterator[dict[str, str]]:
        for name, ended in self.causes.items():
            periods, missed = ended["absolute_timers"], ended["missed_periods"]
            if periods >= FEW_WAITS and missed > MANY_MISSED * periods:
                late = f"it missed periods before {missed / periods:.0%} of its wakeups"
                yield {
                    "what": f"what {name} does when it is on time",
                    "why": f"{late}; work that it left out is not recorded",
                }

    def as_dict(self) -> dict[str, Any]:
        """The prediction for programs."""
        return {
            "change": self.asked.words(),
            "lost": self.lost,
            "groups": {group: _numbers(numbers) for group, numbers in self.groups.items()},
            "elapsed_s": _one(self.elapsed) if self.elapsed else None,
            "unattributed_share": self.unattributed,
            "cannot_tell": self.cannot_tell(),
            "replays": self.asked.seeds,
            "assumptions": self.assumptions,
            "causes": self.causes,
        }


def _waits(ended: dict[str, int]) -> int:
    return sum(number for cause, number in ended.items() if cause not in PARTS)


def _whole(refused: list[dict[str, str]], groups: dict[str, list[Predicted]]) -> list[dict[str, str]]:
    """Of a group of which nothing is predicted, one line."""
    lines = []
    for group, numbers in groups.items():
        own = [one for one in refused if one["what"].rpartition(": ")[0] == group]
        nothing = own and all(one.predicted is None for one in numbers)
        lines += [{"what": group, "why": own[0]["why"]}] if nothing else own
    return lines


def _one(number: Predicted) -> dict[str, float | None]:
    return {
        "recorded": number.recorded,
        "predicted": number.predicted,
        "low": number.low,
        "high": number.high,
    }


def _numbers(numbers: list[Predicted]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path, number in zip(NUMBERS, numbers, strict=True):
        place = found
        for name in path[:-1]:
            place = place.setdefault(name, {})
        place[path[-1]] = _one(number)
    return found


def predict(
    one: Prepared, asked: Asked, assumed: list[str], base: list[dict], new: list[dict], limit: float
) -> Prediction:
    """The prediction from replays of the recorded setting and of the changed one."""
    groups = {}
    for group in _groups(one, asked):
        recorded, *of_base = (_row(found, group, asked) for found in (one.recorded, *base))
        of_new = [(row, found) for found in new if (row := _row(found, group, asked))]
        groups[group] = _judged(recorded, of_base, of_new)
    time = elapsed(one.found["fixed_work"], base, new, limit)
    if why := _irregular(one, new) or _copied(one, asked) or _competing(one, base):
        groups = {group: [Predicted(it.recorded, why_not=why) for it in numbers] for group, numbers in groups.items()}
        time = time and Predicted(time.recorded, why_not=why)
    of_groups = one.recorded["groups"]
    nameless = tuple(text for text in asked.groups if not of_groups[text.partition("=")[0]]["tasks"])
    return Prediction(asked, groups, time, one.found["causes"], nameless, one.recorded["lost"], assumed)


def _irregular(one: Prepared, new: list[dict]) -> str | None:
    """Why nothing is predicted: a task whose timers may be of either kind would run more, and others that much less."""
    for name, ended in one.found["causes"].items():
        if ended["irregular_timers"] < FEW_WAITS:
            continue
        recorded, *shares = (_share(found, name) for found in (one.recorded, *new))
        if median(shares) > recorded + SHARE_POINTS:
            why = "would run more, and when is not known: its timers keep neither a period nor a length"
            return f"{name} {why}"
    return None


def _copied(one: Prepared, asked: Asked) -> str | None:
    """Why nothing is predicted: copies that wait for other tasks, and ask no server, would not wait as long."""
    if not asked.copies:
        return None
    clients = {name for server in one.found["servers"] for name in server["names"]}
    for name, ended in one.found["causes"].items():
        is_copied = any(number > 1 and _is_whole(pattern, name) for pattern, number in asked.copies)
        if is_copied and name not in clients and ended["tasks"] > MANY_FOR_TASKS * _waits(ended):
            return f"copies of {name} would wait for other tasks, and how long is not known"
    return None


def _is_whole(pattern: str, name: str) -> bool:
    """Whether a pattern is that of a name; of one that only the engine can read, it may be."""
    try:
        return re.fullmatch(pattern, name) is not None
    except re.error:
        return True


def _competing(one: Prepared, base: list[dict]) -> str | None:
    """Why nothing is predicted: what a task gets depends on what the others do, and one is far off as recorded."""
    for name in dict.fromkeys(row["comm"] for row in one.recorded["tasks"]):
        recorded, replayed = _share(one.recorded, name), median(_share(found, name) for found in base)
        if abs(replayed - recorded) > COMPETING_POINTS:
            has = f"the replay of the recorded setting gives {replayed:.4g}, the recording has {recorded:.4g}"
            return f"the share of {name}, which competes for the processors: {has}"
    return None


def _share(found: dict[str, Any], name: str) -> float:
    return sum(row["share_pct"] for row in found["tasks"] if row["comm"] == name)


def _judged(recorded: dict | None, base: list[dict | None], new: list[Side]) -> list[Predicted]:
    numbers = []
    for path in NUMBERS:
        wanted = [(value, side) for side in new if (value := of_row(side[0], path)) is not None]
        of_base, of_new = [of_row(row, path) for row in base], [value for value, _ in wanted]
        numbers.append(judge(path, of_row(recorded, path), of_base, of_new, partial(scatter, path, wanted)))
    share = numbers[0]
    if share.why_not and share.recorded is not None:
        return [Predicted(number.recorded, why_not=f"its share: {share.why_not}") for number in numbers]
    return numbers


def _groups(one: Prepared, asked: Asked) -> list[str]:
    """Those that are asked for; else the names of tasks that matter."""
    if asked.groups:
        return [group.partition("=")[0] for group in asked.groups]
    rows = one.recorded["tasks"]
    span = one.recorded["span_s"] or 1.0
    matter = [
        row for row in rows if row["share_pct"] >= LEAST_SHARE_PCT or (row["wakeups"] or 0) / span >= LEAST_WAKEUPS
    ]
    return list(dict.fromkeys(row["comm"] for row in matter))


def _row(found: dict[str, Any], group: str, asked: Asked) -> dict[str, Any] | None:
    if asked.groups:
        return found["groups"].get(group)
    return next((row for row in found["tasks"] if row["comm"] == group), None)
