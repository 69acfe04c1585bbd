"""The order of reads and writes, asked of the live kernel, and the simulator alongside it."""

from schedlab.published.kernels import KernelRunner
from schedlab.published.reproduction import Finding
from schedlab.published.reproductions.linux_1994.kernel_claims import (
    STARVED,
    order_divides_the_drive,
    reads_share,
    sorting_is_worth_more_than_order,
    writes_first_helps_under_swap,
)

__all__ = [
    "order_divides_the_drive",
    "simulated_as_measured",
    "sorting_is_worth_more_than_order",
    "writes_first_helps_under_swap",
]


def simulated_as_measured(runner: KernelRunner) -> Finding:
    if "on" not in runner.run("elevators").factors:
        return Finding("not checked", f"it was run on {runner.on} only")
    pairs = {
        n: (reads_share(runner, elevator, "sim"), reads_share(runner, elevator)) for n, elevator in STARVED.items()
    }
    near = [abs(sim - host) < 10 for sim, host in pairs.values()]
    text = "; ".join(
        f"writes_starved {n}: {sim:.0f} % reads simulated, {host:.0f} % measured" for n, (sim, host) in pairs.items()
    )
    return Finding("holds" if all(near) else "holds in part" if any(near) else "does not hold", text)
