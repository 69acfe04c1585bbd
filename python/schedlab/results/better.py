"""Which values of a metric are better: as the experiment's `[goal]` says, else where there is no doubt.

Shorter waits, fewer misses and more work done are better. Nothing is said of the others: more switches or processor
time of one job can be either.
"""

import re
from collections.abc import Mapping, Sequence

from schedlab.stats.comparison import HIGHER, LOWER

_LOWER = (
    "elapsed|real|pass_time|overhead|wasted|longest|longest_gap|wakeup_latency|run_wait|turnaround|response|waiting|wait|queueing|"
    "slowdown|bounded_slowdown|message_latency|lock_latency|uneven|stuck|deadlocks|deadline_misses|lateness|"
    "await|await_censored|major_faults|swap_in|swap_out|pswpin|pswpout|refused|memory_refused"
)
_HIGHER = "throughput|completed|passes|jain|jain_1s|cache_hit_ratio|rcache|wcache"
#: The statistic of a distribution, after its name.
_STATISTIC = r"(\.(mean|min|max|p\d+))?"


def better(metric: str, goal: Mapping[str, Sequence[str]]) -> str | None:
    """`lower` or `higher`; None where that is not known. `goal` has the metrics to `minimize` and to `maximize`."""
    for direction, field in ((LOWER, "minimize"), (HIGHER, "maximize")):
        if metric in goal.get(field, ()):
            return direction
    for direction, names in ((LOWER, _LOWER), (HIGHER, _HIGHER)):
        if re.fullmatch(rf"(.*\.)?({names}){_STATISTIC}", metric):
            return direction
    return None
