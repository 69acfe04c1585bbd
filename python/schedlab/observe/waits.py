"""What tasks waited for while they slept, estimated from the agent's looks at them; and the connections, by remote end.

A look finds a task in a wait with the probability that it is in it, and stands for the time t since the look before.
Looks that stand for different times say as much as n equal ones (Kish, 1965). With k = share * n,

    share  =  sum of t in the wait / sum of t asleep,    n  =  (sum of t)² / sum of t²
    low, high  =  (k + z²/2 ± z √(k (n - k) / n + z²/4)) / (n + z²)        (Wilson, 1927)

and a wait's time is its share of the time asleep, which is known. Looks at a wait that lasts longer than the time
between them agree with each other, so the interval is wider than need be.
"""

from __future__ import annotations

from math import sqrt

from schedlab.stats import Interval

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Waits as the agent names them, and in words.
WAITS = {
    "network_ns": "for the network",
    "lock_ns": "for a lock",
    "timer_ns": "for a timer",
    "program_ns": "for another program",
    "terminal_ns": "for a terminal",
    "other_ns": "for something else",
}
#: Of the normal distribution: 95 %.
Z = 1.959964
#: What is counted of a remote end.
SUMS = ("connections", "waited_ns", "sent_bytes", "received_bytes", "retransmits", "segments")


def share(looks: dict[str, float], wait: str) -> tuple[float, float, float] | None:
    """The share of a wait in the time asleep, with its 95 % interval; None where no look found a task asleep."""
    total = sum(looks[name] for name in WAITS)
    if not total:
        return None
    part, seen = looks[wait] / total, total**2 / looks["squares"]
    middle, half = part * seen + Z**2 / 2, Z * sqrt(seen * part * (1 - part) + Z**2 / 4)
    return part, max(0.0, (middle - half) / (seen + Z**2)), min(1.0, (middle + half) / (seen + Z**2))


def waited(run: dict[str, Any], wait: str, whose: str) -> Interval | None:
    """The time of a wait in one run, ns, with its 95 % interval; `n` is the number of looks. None if none saw it."""
    looks = run["waits"][whose]
    found = share(looks, wait)
    if found is None:
        return None
    asleep = (run[whose] or {}).get("asleep_ns")
    # Where the kernel reports the time asleep of the first task only, that of all is a sum over looks, too.
    known = sum(looks[name] for name in WAITS) if asleep is None else asleep
    return Interval(*(known * one for one in found), looks["seen"])


def remotes(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The remote ends of some runs, means over these; of the round trip the longest."""
    found: dict[tuple, dict[str, Any]] = {}
    for run in runs:
        for one in run["waits"]["remotes"] or []:
            end = found.setdefault(
                (one["address"], one["port"]),
                {"address": one["address"], "port": one["port"], **dict.fromkeys(SUMS, 0.0), "rtt_us": 0},
            )
            for name in SUMS:
                end[name] += one[name] / len(runs)
            end["rtt_us"] = max(end["rtt_us"], one["rtt_us"])
    return sorted(found.values(), key=lambda end: (-end["waited_ns"], -end["sent_bytes"] - end["received_bytes"]))
