"""The claim of the report about `slice_size`, checked, and the rule by which a slice_size is recommended.

The rule: a slice_size is favourable for a number of copies if it costs no more than 2 % of user time over the least that
any slice_size reaches with them, and if no copy waits longer than a second for its turn. It is recommended if it is
favourable for every number of copies at once: the best for one counter, or for one number, is not the best.

Two per cent is what a switch may cost before a user of such a machine, who is never its only one, could distinguish it from noise;
after a second of silence a user at a terminal loses the thread (R. B. Miller, Response time in man-computer
conversational transactions, AFIPS 1968).
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from schedlab.published.reproduction import Finding, ReportRunner, set_afterwards
from schedlab.published.rows import Row

SIZES = [1, 3, 5, 7, 10, 20, 30, 50, 70, 100]
COPIES = [1, 2, 5, 10, 15, 20]
MOST_USER_TIME = 1.02
LONGEST_WAIT_S = 1.0

Rows = Mapping[str, Row]


@set_afterwards(
    "the rule's two bounds and the assumed footprint of 16 KiB were chosen by people who knew the published range"
)
def recommended_slice_size(rows: Rows, runner: ReportRunner) -> tuple[float, float, float]:
    """The middle of the favourable sizes (the lower of two), the least and the greatest; none, if there is none."""
    found = _recommended(runner)
    if not found:
        return (float("nan"),) * 3
    return found[(len(found) - 1) // 2], found[0], found[-1]


def slice_user_time_falls(rows: Rows, runner: ReportRunner) -> Finding:
    user = {(size, n): rows[f"user_time@slice_size={size},copies={n}"].predicted for size in SIZES for n in COPIES}
    falls = {n: 100 * (user[1, n] / user[100, n] - 1) for n in COPIES}
    early = [100 * (user[1, n] - user[5, n]) / (user[1, n] - user[100, n]) for n in COPIES[1:]]
    late = [100 * (user[5, n] / user[100, n] - 1) for n in COPIES]
    steep_then_flat = min(early) >= 75 and max(late) <= 1
    total = [n * (user[1, n] - user[5, n]) for n in COPIES]
    steeper_in_all = all(more > less for less, more in pairwise(total))
    steeper_each = all(falls[more] > falls[less] + 0.1 for less, more in pairwise(COPIES))
    parts = (steep_then_flat, steeper_in_all, steeper_each)
    by_footprint = "; ".join(
        f"{size}: {_spell(_recommended(runner, [f'workload.copies.footprint={size}']))}" for size in ("8KiB", "32KiB")
    )
    return Finding(
        "holds" if all(parts) else "holds in part" if any(parts) else "does not hold",
        f"from 1 to 100 a copy's user time falls by {', '.join(f'{falls[n]:.1f} % ({n})' for n in COPIES)} (copies); at "
        f"least {min(early):.0f} % of the fall comes before 5, and from 5 on it is at most {max(late):.1f} %; the user time "
        f"of all copies together falls more the more they are, that of one copy "
        f"{'too' if steeper_each else 'only until the others fill the cache between two of its turns'}. Recommended by the "
        f"rule for every number of copies: {_spell(_recommended(runner))} with the footprint assumed; with {by_footprint}",
    )


def _recommended(runner: ReportRunner, set: Sequence[str] = ()) -> list[int]:
    """The sizes that are favourable for every number of copies."""
    measure = {
        (size, n, metric): runner.value(
            "slice_size",
            f"tasks.copies.{metric}",
            cell={"scheduler.slice_size": str(size), "workload.copies.count": str(n)},
            set=set,
        ).mean
        for size in SIZES
        for n in COPIES
        for metric in ("user", "longest_gap")
    }
    least = {n: min(measure[size, n, "user"] for size in SIZES) for n in COPIES}

    def favourable(size: int, n: int) -> bool:
        cheap = measure[size, n, "user"] <= MOST_USER_TIME * least[n]
        return cheap and measure[size, n, "longest_gap"] <= LONGEST_WAIT_S

    return [size for size in SIZES if all(favourable(size, n) for n in COPIES)]


def _spell(sizes: Sequence[int]) -> str:
    return f"{sizes[0]} to {sizes[-1]}" if sizes else "none"
