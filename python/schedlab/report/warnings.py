"""The warnings of a sweep, gathered: those that differ in numbers only are one line, with the range of each number.

"... 3 switches ..."  in 2 runs,  "... 17 switches ..."  in 1 run     ->     "... 3 to 17 switches ..."  in 3 runs
"""

import re
from collections.abc import Iterable, Mapping

#: A number on its own: digits inside a name (`loop0`, `m20`) are part of the name.
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*[A-Za-z_])")


def gathered(warnings: Iterable[Mapping]) -> dict[str, int]:
    """The texts, and in how many runs each was said. A warning has its `warning` and its `seeds`."""
    numbers: dict[tuple[str, ...], list[list[str]]] = {}
    runs: dict[tuple[str, ...], int] = {}
    for one in warnings:
        words = tuple(NUMBER.split(one["warning"]))
        numbers.setdefault(words, []).append(NUMBER.findall(one["warning"]))
        runs[words] = runs.get(words, 0) + len(one["seeds"])
    return {_text(words, said): runs[words] for words, said in numbers.items()}


def _text(words: tuple[str, ...], said: list[list[str]]) -> str:
    """Words and numbers by turns; a range where the numbers differ."""
    ranges = [_range(column) for column in zip(*said, strict=True)]
    return "".join(word + number for word, number in zip(words, [*ranges, ""], strict=True))


def _range(column: tuple[str, ...]) -> str:
    low, high = min(column, key=float), max(column, key=float)
    return low if float(low) == float(high) else f"{low} to {high}"
