"""What kernels of today make of the order of reads and writes: the live one, and those in guests."""

from schedlab.published.kernels import KernelRunner
from schedlab.published.reproduction import Finding, set_afterwards
from schedlab.stats import Interval

NONE = '{"name":"fifo"}'
BFQ = '{"name":"bfq"}'
#: mq-deadline by its writes_starved.
STARVED = {number: f'{{"name":"mq_deadline","writes_starved":{number}}}' for number in (0, 2, 16)}


def _value(
    runner: KernelRunner, metric: str, elevator: str, on: str | None = None, file: str = "elevators"
) -> Interval:
    return runner.value(file, metric, on, elevator=elevator)


def reads_share(runner: KernelRunner, elevator: str, on: str | None = None) -> float:
    """The part of all bytes that were read, percent, at a place; at the one that claims are about if none is named."""
    read, written = (_value(runner, metric, elevator, on).mean for metric in ("page_in", "page_out"))
    return 100 * read / (read + written)


def order_divides_the_drive(runner: KernelRunner) -> Finding:
    share = {number: reads_share(runner, elevator) for number, elevator in STARVED.items()}
    good = [share[0] < 25, 60 < share[2] < 75, share[16] > 85]
    text = "; ".join(f"writes_starved {number}: {part:.0f} % reads" for number, part in share.items())
    return Finding("holds" if all(good) else "holds in part" if any(good) else "does not hold", text)


def sorting_is_worth_more_than_order(runner: KernelRunner) -> Finding:
    done = {number: _value(runner, "disk_requests", elevator) for number, elevator in STARVED.items()}
    none = _value(runner, "disk_requests", NONE)
    text = "; ".join(f"writes_starved {number}: {one.mean:.0f}" for number, one in done.items())
    text = f"requests in 8 s: none {none.mean:.0f}; {text}; bfq {_value(runner, 'disk_requests', BFQ).mean:.0f}"
    return Finding.that(all(one.mean > 1.1 * none.mean for one in done.values()), text)


@set_afterwards("intervals that overlap count as 'not shown'")
def writes_first_helps_under_swap(runner: KernelRunner) -> Finding:
    names = {"none": NONE, **{f"writes_starved {n}": elevator for n, elevator in STARVED.items()}, "bfq": BFQ}
    real = {name: _value(runner, "elapsed", elevator, file="swap") for name, elevator in names.items()}
    first, usual = real["writes_starved 0"], real["writes_starved 2"]
    text = "; ".join(f"{name} {one.mean:.1f} s [{one.low:.1f} to {one.high:.1f}]" for name, one in real.items())
    # If the intervals of these few repeats overlap, the claim is neither confirmed nor refuted.
    if first.low <= usual.high and usual.low <= first.high:
        return Finding("not shown", f"the intervals overlap: {text}")
    return Finding.that(first.high < usual.low, text)
