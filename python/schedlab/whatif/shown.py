"""A prediction as a table for people: recorded, predicted, interval."""

from schedlab.tables import Cell, Column, Table
from schedlab.units import digits
from schedlab.whatif.document import Prediction
from schedlab.whatif.judged import NUMBERS, Predicted

#: The numbers that fit a screen; --json has all.
SHOWN = (
    (("share_pct",), "share", "%"),
    (("switches_per_s",), "switches", "1/s"),
    (("wakeup_us", "p50"), "wakeup p50", "us"),
    (("wakeup_us", "p99"), "wakeup p99", "us"),
    (("run_length_us", "p50"), "run p50", "us"),
)
#: Sentences about what cannot be predicted that are printed.
MOST_SAID = 12


def table(one: Prediction, title: str) -> Table:
    """A row for each group."""
    columns = [Column("tasks", key=True)]
    for _, name, unit in SHOWN:
        columns += [Column(f"{name}: recorded", unit, numeric=True), Column("predicted", unit, numeric=True)]
    rows = []
    for group, numbers in one.groups.items():
        by = dict(zip(NUMBERS, numbers, strict=True))
        cells = [Cell(group)]
        for path, *_ in SHOWN:
            cells += [_recorded(by[path]), _predicted(by[path])]
        rows.append(cells)
    return Table(columns, rows, title)


def _recorded(number: Predicted) -> Cell:
    value = number.recorded
    return Cell("-", (None,)) if value is None else Cell(digits(value, 3), (value,))


def _predicted(number: Predicted) -> Cell:
    if number.predicted is None:
        return Cell("-" if number.recorded is None else "cannot tell", (None,))
    low, high = digits(number.low, 3), digits(number.high, 3)
    return Cell(f"{digits(number.predicted, 3)} [{low}, {high}]", (number.predicted, number.low, number.high))


def notes(one: Prediction) -> list[str]:
    """What stands below the table."""
    said = []
    if one.elapsed and one.elapsed.predicted is not None:
        number = one.elapsed
        low, high = digits(number.low, 4), digits(number.high, 4)
        said.append(
            f"the recorded command: {digits(number.recorded, 4)} s recorded, "
            f"{digits(number.predicted, 4)} [{low}, {high}] s predicted"
        )
    refused = one.cannot_tell()
    said += [f"cannot tell: {line['what']}: {line['why']}" for line in refused[:MOST_SAID]]
    if len(refused) > MOST_SAID:
        said.append(f"cannot tell: {len(refused) - MOST_SAID} more; --json names all")
    said.append(f"waits whose cause could not be determined: {one.unattributed:.1%}")
    said += [f"assumed: {line}" for line in one.assumptions]
    each = f" and each of {one.recordings} recordings" if one.recordings > 1 else ""
    replays = f"{one.asked.seeds} replays of each setting{each}"
    said.append(f"{replays}; intervals: their range, widened by the error of the recorded setting's")
    return said
