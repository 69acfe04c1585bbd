"""One prediction from several recordings of a load: how far its runs differ is measured then, not assumed.

Each recording is replayed by itself. A number is predicted if it is for more than half of the recordings that have it:
as the median of those, with an interval that spans theirs.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from schedlab.whatif.document import Prediction
from schedlab.whatif.judged import NUMBERS, Predicted


def together(several: Sequence[Prediction]) -> Prediction:
    """Predictions of the same change from recordings of the same load, as one."""
    if len(several) == 1:
        return several[0]
    names = dict.fromkeys(name for one in several for name in one.groups)
    of_group = {name: [one.groups[name] for one in several if name in one.groups] for name in names}
    times = [one.elapsed for one in several if one.elapsed]
    return Prediction(
        several[0].asked,
        {name: _numbers(found) for name, found in of_group.items()},
        combined(times) if times else None,
        _causes(several),
        tuple(name for name in several[0].nameless if all(name in one.nameless for one in several)),
        sum(one.lost for one in several),
        _assumed(several),
        len(several),
    )


def _numbers(groups: Sequence[Sequence[Predicted]]) -> list[Predicted]:
    return [combined([group[at] for group in groups]) for at in range(len(NUMBERS))]


def combined(several: Sequence[Predicted]) -> Predicted:
    """A number from those of each recording."""
    recorded = [one.recorded for one in several if one.recorded is not None]
    if not recorded:
        return several[0]
    known = [one for one in several if one.predicted is not None]
    refused = [one.why_not for one in several if one.why_not and one.recorded is not None]
    if 2 * len(known) <= len(recorded):
        why = f"in {len(refused)} of {len(recorded)} recordings: {refused[0]}"
        return Predicted(median(recorded), why_not=why)
    low, high = min(one.low for one in known), max(one.high for one in known)
    return Predicted(median(recorded), median(one.predicted for one in known), low, high)


def _causes(several: Iterable[Prediction]) -> dict[str, dict[str, int]]:
    found: dict[str, Counter[str]] = {}
    for one in several:
        for name, ended in one.causes.items():
            found.setdefault(name, Counter()).update(ended)
    return {name: dict(ended) for name, ended in found.items()}


def _assumed(several: Sequence[Prediction]) -> list[str]:
    """What is assumed of all recordings, and of how many of them if not of all."""
    counted = Counter(line for one in several for line in one.assumptions)
    every = len(several)
    return [line if of == every else f"in {of} of {every} recordings: {line}" for line, of in counted.items()]
