"""The front so far in a few short lines, for the progress of a search."""

from collections.abc import Sequence

from schedlab.tune.board import Board
from schedlab.tune.front import members
from schedlab.tune.space import Space
from schedlab.units import convert, counted, digits, readable_unit

#: Counters that have a line.
SHOWN = 4


def so_far(board: Board, space: Space, units: Sequence[str]) -> str:
    """How many settings are on the front, its knee, and of each counter its best value and that of the knee.

    Numbers come first in a line, since the end of a long one is cut.
    """
    there = members(board)
    if not there:
        nearest = board.order(list(board.measured))[0]
        missed = digits(100 * board.missed(nearest), 3)
        return f"no setting keeps the conditions yet; the nearest misses by {missed} %: {space.text(nearest)}"
    tried = counted(len(board.measured), "setting")
    lines = [f"{len(there)} of {tried} on the front; its knee: {space.text(there[0])}"]
    values = [board.values(one) for one in there]
    for at, counter in enumerate(board.counters[:SHOWN]):
        best, knee = (counter.sign * float(value[at]) for value in (min(values, key=lambda one: one[at]), values[0]))
        unit = readable_unit(units[at], best)
        shown = [
            f"{digits(convert(value, units[at], unit))}{'' if unit == '1' else f' {unit}'}" for value in (best, knee)
        ]
        lines.append(f"best {shown[0]}, knee {shown[1]}: {counter.text}")
    if (left := len(board.counters) - SHOWN) > 0:
        lines.append(counted(left, "more counter"))
    return "\n".join(lines)
