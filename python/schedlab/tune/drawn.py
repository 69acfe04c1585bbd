"""The picture of a tuning: how far each field may move, one below the other."""

from schedlab.pictures import ranges as pictures
from schedlab.pictures.chart import stacked
from schedlab.pictures.picture import Picture
from schedlab.tune import summary
from schedlab.tune.ranges import Range
from schedlab.tune.space import said
from schedlab.tune.tuning import Tuning


def picture(found: Tuning) -> Picture:
    """The acceptable ranges of all fields of which several levels were measured."""
    drawn = [pictures.ranges(_field(one)) for one in found.ranges if len(one.levels) > 1]
    return Picture(stacked(drawn).document())


def _field(one: Range) -> pictures.Field:
    curves = [
        pictures.Curve(
            curve.counter, curve.unit, curve.means, curve.lows, curve.highs, curve.best, curve.limit, curve.acceptable
        )
        for curve in one.curves
    ]
    labels = [said(level) for level in one.levels]
    notes = [line.removeprefix(f"{one.path}: ") for line in summary.range_words(one)]
    return pictures.Field(
        one.path, labels, one.positions, one.logarithmic, one.chosen, one.least, curves, one.common, notes
    )
