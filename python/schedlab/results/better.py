"""Which values of a metric are better, where everybody agrees: shorter waits, fewer misses, more work done.

Nothing is said of the others: more switches or processor time of one job can be either.
"""

import re

from schedlab.stats.comparison import HIGHER, LOWER

_LOWER = (
    "elapsed|real|pass_time|overhead|wasted|longest|longest_gap|wakeup_latency|run_wait|turnaround|response|waiting|wait|queueing|"
    "slowdown|bounded_slowdown|message_latency|lock_latency|uneven|stuck|deadlocks|deadline_misses|lateness|"
    "await|await_censored|major_faults|swap_in|swap_out|pswpin|pswpout|refused|memory_refused"
)
_HIGHER = "throughput|completed|passes|jain|jain_1s|cache_hit_ratio|rcache|wcache"
#: The statistic of a distribution, after its name.
_STATISTIC = r"(\.(mean|min|max|p\d+))?"


def better(metric: str) -> str | None:
    """`lower` or `higher`; None where that is not known."""
    for direction, names in ((LOWER, _LOWER), (HIGHER, _HIGHER)):
        if re.fullmatch(rf"(.*\.)?({names}){_STATISTIC}", metric):
            return direction
    return None
