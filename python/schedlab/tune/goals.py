"""Goals that many people have, for files that name none."""

from schedlab.errors import UsageError, nearest

#: By name: what is to be less and more, and what it weighs up.
GOALS = {
    "interactive": (
        {"minimize": ["wakeup_latency.p99", "overhead"]},
        "interactive against batch: the wait after a wakeup, and the processor time that switching takes from the work",
    ),
    "throughput": (
        {"maximize": ["throughput"], "minimize": ["longest_gap"]},
        "throughput against the worst delay: passes a second, and the longest time that a ready task had no processor",
    ),
    "cache": (
        {"maximize": ["cache_hit_ratio"], "minimize": ["memory_cached"]},
        "hit ratio against memory: blocks that the cache had, and the memory that it takes",
    ),
}


def goal(name: str) -> dict[str, list[str]]:
    """The goal of that name, as in a file."""
    if name not in GOALS:
        raise UsageError(f"--goal {name}: no built-in goal; {nearest(name, GOALS)}")
    return GOALS[name][0]
