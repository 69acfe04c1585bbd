#!/usr/bin/env python3
"""Renew the tables of docs/parity-guest.md from what the program measured.

.venv/bin/schedlab parity --on guest --repeats 1 --json > parity.json    # some fifteen minutes
.venv/bin/python scripts/parity_guests.py parity.json
"""

import json
import re
import sys
from pathlib import Path

from schedlab.units import convert, readable_unit

PAGE = Path(__file__).parent.parent / "docs/parity-guest.md"
VALIDITY = PAGE.with_name("validity.md")
#: The lines of the first table, by the words of an allowance and of the metrics it speaks of.
KINDS = {
    "shares": ".share",
    "context switches": "context_switches",
    "mean waits": ".mean",
    "median waits": ".p50",
    "p99 of waits": ".p99",
}


def of(numbers: list[dict]) -> str:
    """How many hold of how many."""
    return f"{sum(one['holds'] for one in numbers)} of {len(numbers)}"


def table(header: list[str], rows: list[list[str]], left: int) -> str:
    """A table whose first columns are words."""
    bars = "---|" * left + "---:|" * (len(header) - left)
    lines = [f"| {' | '.join(header)} |", f"|{bars}", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines)


def by_kind(kernels: dict[str, list[dict]]) -> str:
    """Counts for each kind of metric."""
    rows = []
    for words, ending in KINDS.items():
        found = [[one for one in numbers if one["metric"].endswith(ending)] for numbers in kernels.values()]
        rows.append([f"{words}, {found[0][0]['words']}", *map(of, found)])
    return table(["allowed", *kernels], [*rows, ["all", *map(of, kernels.values())]], 1)


def by_scenario(kernels: dict[str, list[dict]]) -> str:
    """Counts for each scenario, bold where a number misses."""
    rows = []
    for name in sorted({one["scenario"] for numbers in kernels.values() for one in numbers}):
        cells = []
        for numbers in kernels.values():
            mine = [one for one in numbers if one["scenario"] == name]
            held = sum(one["holds"] for one in mine)
            cells.append(f"{held if held == len(mine) else f'**{held}**'} of {len(mine)}")
        rows.append([name, *cells])
    return table(["scenario", *kernels], rows, 1)


def misses(kernels: dict[str, list[dict]]) -> str:
    """Every number that misses."""
    found = [(one, kernel) for kernel, numbers in kernels.items() for one in numbers if not one["holds"]]
    rows = []
    for one, kernel in sorted(
        found, key=lambda pair: (pair[0]["scenario"], list(kernels).index(pair[1]), pair[0]["metric"])
    ):
        values = [value(one["simulated"], one["unit"]), value(one["measured"], one["unit"])]
        rows.append([one["scenario"], kernel, f"`{one['metric']}`", *values, one["words"]])
    header = ["scenario", "kernel", "metric", "simulated", "guest", "allowed"]
    return re.sub(r"\|---:\|\n", "|---|\n", table(header, rows, 3), count=1)


def value(number: float, unit: str) -> str:
    """A number with four digits and its unit."""
    best = readable_unit(unit, abs(number))
    return f"{convert(number, unit, best):.4g} {best}".removesuffix(" 1").replace(" us", " µs")


def main() -> None:
    """Read the measurement, and put its tables and counts into the pages."""
    numbers = json.loads(Path(sys.argv[1]).read_text())["comparisons"]
    kernels: dict[str, list[dict]] = {}
    for one in numbers:
        kernels.setdefault(one["comparison"].rpartition(" ")[2], []).append(one)
    held, all = sum(one["holds"] for one in numbers), len(numbers)
    text = PAGE.read_text()
    text = re.sub(r"\d+ of \d+ numbers hold\.", f"{held} of {all} numbers hold.", text)
    for made in (by_kind(kernels), by_scenario(kernels), misses(kernels)):
        header = re.escape(made.partition("\n")[0])
        text, count = re.subn(rf"{header}\n(?:\|.*\n?)+", lambda _, made=made: made + "\n", text)
        assert count == 1, header
    PAGE.write_text(text)
    validity = VALIDITY.read_text()
    VALIDITY.write_text(
        re.sub(
            r"of \d+ numbers of (\d+) whole scenarios \d+ hold",
            rf"of {all} numbers of \1 whole scenarios {held} hold",
            validity,
        )
    )


if __name__ == "__main__":
    main()
