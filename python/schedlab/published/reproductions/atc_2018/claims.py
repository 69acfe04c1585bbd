"""The claims of the abstract, each checked: a function per id, with underscores for dashes. And what rows follow from others.

The loads are built from what is said of them in words; lengths and rates are ours, and the evidence says what the numbers hang on.
"""

from collections.abc import Mapping
from math import sqrt

from schedlab import stats
from schedlab.published.reproduction import Finding, ReportRunner, set_afterwards
from schedlab.published.rows import Row
from schedlab.units import seconds

Rows = Mapping[str, Row]
LEVELS = {"cfs": '{"name":"cfs"}', "ule": '{"name":"ule","stathz":"127/s","variant":"2011"}'}
#: When release.toml releases its threads, s.
RELEASED = 10
#: Jain's index of even shares: those of a standard deviation of a fifth of their mean.
EVEN = 1 / (1 + 0.2**2)
#: A ratio this near to one is no difference.
NEAR_ONE = 0.02
SEEN = "its bound was stated after these loads had been run for the first time"


def _ratio(runner: ReportRunner, file: str, metric: str, more: Mapping[str, str]) -> tuple[float, float, float]:
    """ULE over CFS: the mean of the ratios of equal seeds, with its interval."""
    ule, cfs = (runner.each(file, metric, {"scheduler": LEVELS[name], **more}) for name in ("ule", "cfs"))
    mean, low, high, _ = stats.mean_interval([one / other for one, other in zip(ule, cfs, strict=True)])
    return mean, low, high


def apache_ratio(rows: Rows, runner: ReportRunner) -> tuple[float, float, float]:
    """Throughput where a request takes 100 us."""
    return _ratio(runner, "apache", "tasks.client.throughput", {"workload.server.steps[1].compute": '{"exp":"100us"}'})


def scimark_ratio(rows: Rows, runner: ReportRunner) -> tuple[float, float, float]:
    """Time with four system threads."""
    return _ratio(runner, "scimark", "tasks.scimark.real", {"workload.system.count": "4"})


def _balanced(runner: ReportRunner, name: str) -> tuple[float, float, float]:
    """From the release until a second in which shares are even, in each seed."""
    cells = [cell["factors"] for cell in runner.run("release").manifest["cells"]]
    found = [
        (seconds(cell["duration"]) - RELEASED, runner.each("release", "tasks.spin.jain_1s.max", cell))
        for cell in cells
        if cell["scheduler"] == LEVELS[name]
    ]
    never = float("nan")
    times = [next((time for time, best in found if best[n] >= EVEN), never) for n in range(len(found[0][1]))]
    mean, low, high, _ = stats.mean_interval(times)
    return mean, low, high


def cfs_balanced(rows: Rows, runner: ReportRunner) -> tuple[float, float, float]:
    """Time until balanced under CFS."""
    return _balanced(runner, "cfs")


def ule_balanced(rows: Rows, runner: ReportRunner) -> tuple[float, float, float]:
    """Time until balanced under ULE."""
    return _balanced(runner, "ule")


@set_afterwards(SEEN)
def ule_starves_threads(rows: Rows, runner: ReportRunner) -> Finding:
    ule, cfs = (rows[f"identical.longest_gap_s@{name}"].predicted for name in ("ule", "cfs"))
    jain = {
        name: runner.value("identical", "tasks.application.jain", "1", {"scheduler": LEVELS[name]}).mean
        for name in LEVELS
    }
    return Finding.that(
        ule > 10 > 1 > cfs,
        f"of 80 equal threads of an application that ask for 1.6 processors, one waits for up to {ule:.0f} s under ULE, which took some for "
        f"interactive when they began, and {cfs:.1f} s under CFS; Jain's index over their shares is {jain['ule']:.2f} and {jain['cfs']:.2f}",
    )


@set_afterwards(SEEN)
def starvation_may_help(rows: Rows, runner: ReportRunner) -> Finding:
    ratio = rows["apache.throughput_ule_over_cfs"]
    preempted = {name: rows[f"apache.client_preempted@{name},100us"].predicted for name in LEVELS}
    answered = {name: 20 * rows[f"apache.requests@{name},100us"].predicted for name in LEVELS}
    left = {name: 100 * preempted[name] / answered[name] for name in LEVELS}
    works = {work: rows[f"apache.requests@ule,{work}"].predicted / rows[f"apache.requests@cfs,{work}"].predicted
             for work in ("30us", "100us", "300us")}  # fmt: skip
    said = ", ".join(f"{value:.3f} with {work}" for work, value in works.items())
    return Finding.that(
        ratio.low > 1 + NEAR_ONE,
        f"a client with 100 server threads: throughput under ULE over that under CFS is {said} a request. The client is preempted at "
        f"{left['ule']:.0f} of 100 requests under ULE and {left['cfs']:.0f} under CFS: here a woken server of better priority runs as soon as "
        f"the client returns from its call, as in FreeBSD; if the port does without that, the client sends all 100 first",
    )


@set_afterwards(SEEN)
def cfs_reacts_quickly(rows: Rows, runner: ReportRunner) -> Finding:
    cfs, ule = (rows[f"release.balanced_s@{name}"] for name in ("cfs", "ule"))
    return Finding.that(
        cfs.high < ule.low,
        f"512 threads released from one processor among 32 have even shares (a standard deviation below a fifth) after {cfs.predicted:.1f} s under "
        f"CFS and {ule.predicted:.1f} s under ULE, whose balancer moves one thread at a time. Times are the lengths of the shortest runs in which that comes, "
        f"1 s apart at first and 100 s for ULE; they hang on the nodes, 8 of 4 cores",
    )


@set_afterwards(SEEN)
def ule_balances_better(rows: Rows, runner: ReportRunner) -> Finding:
    spread = {name: 100 * sqrt(1 / rows[f"release.jain@{name}"].predicted - 1) for name in LEVELS}
    return Finding.that(
        spread["ule"] < spread["cfs"],
        f"in the end the shares of the 512 threads vary by {spread['ule']:.1f} % of their mean under ULE and {spread['cfs']:.1f} % under CFS "
        f"(standard deviation in the most even second)",
    )


@set_afterwards(SEEN)
def no_overall_winner(rows: Rows, runner: ReportRunner) -> Finding:
    apache, scimark = rows["apache.throughput_ule_over_cfs"], rows["scimark.time_ule_over_cfs"]
    better = {name: low > 1 + NEAR_ONE for name, low in (("ule", apache.low), ("cfs", scimark.low))}
    times = ", ".join(
        f"{rows[f'scimark.time_s@ule,{n}'].predicted / rows[f'scimark.time_s@cfs,{n}'].predicted:.2f} with {n}"
        for n in ("2", "4", "8")
    )
    verdict = "holds in part" if all(better.values()) or not any(better.values()) else "does not hold"
    return Finding(
        verdict,
        f"two of the 37 loads are modelled. Throughput of the server, ULE over CFS: {apache.predicted:.3f} [{apache.low:.3f}, {apache.high:.3f}]; "
        f"time of the computation: {times} system threads, which hangs on what these ask for",
    )
