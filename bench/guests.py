"""How long guests take: from the command to the table of one run, and the table of 1990 over kernels and quanta.

    python bench/guests.py [--kernels 5.10,6.1,6.17,7.2]

Kernels are fetched and their machines kept before anything is timed, as they are from the second use on; what that
takes is told beside it. Processor seconds are those of all processes, and hardly depend on what else the computer does;
seconds of the clock do. Each run is a full one: two guests, whose answers are compared.
"""

import argparse
import os
import resource
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from schedlab.published import reproductions
from schedlab.experiment import Experiment
from schedlab.targets.guest.target import Guest
from schedlab.targets.translate import on_a_guests_machine, with_policy
from schedlab.targets.simulator import Simulator

KERNELS = "5.10,6.1,6.17,7.2"
QUANTA = ["100ms", "50ms", "36ms", "18ms", "4ms", "1ms"]
POLICIES = ("cfs", "eevdf")
#: What is wanted, s: beyond the guest seconds asked for; and of the whole table on two processors.
ONE_RUN, TABLE = 8.0, 90.0
WORDS = {True: "met", False: "NOT MET"}


@contextmanager
def timed():
    """Seconds of the clock and of all processes, from here to the end."""
    took = SimpleNamespace(clock=-time.monotonic(), work=-worked())
    yield took
    took.clock += time.monotonic()
    took.work += worked()


def worked():
    """Processor seconds of this process, and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def tell(what, took, limit=None, beyond=0.0):
    """A line: how long, and beside what is wanted, if anything is."""
    line = f"{what:54} {took.clock:6.1f} s, of processors {took.work:6.1f} s"
    if limit:
        ratio = (took.clock - beyond) / limit
        line += f"; {ratio:.2f} of the {limit:.0f} s wanted: {WORDS[ratio <= 1]}"
    print(line, flush=True)


def quantum(values):
    """The experiment of 1990 without wakeup preemption, at these quanta."""
    whole = Experiment.from_toml(reproductions.folder("minix-1990") / "guest" / "quantum.toml")
    scheduler = {**whole.definition["scheduler"], "wakeup_preemption": False}
    return whole.replace(scheduler=scheduler, sweep={"scheduler.base_slice": values}, seeds=1)


def starts(guest):
    """How long one order takes with a boot and without."""
    with timed() as took:
        guest.machine.ask(["machine"], settle_ns=0, plain=True)
    tell(f"{guest.name}: booted for one order", took)
    with timed() as took:
        guest.machine.keep()
        guest.machine.calibration()
    tell(f"{guest.name}: kept and calibrated, if it was not yet", took)
    with timed() as took:
        guest.machine.ask(["machine"], plain=True)
    tell(f"{guest.name}: one order to the kept machine", took)


def tables(guests, folder):
    """One run on each kernel, and all kernels beside two simulated schedulers."""
    for guest in guests:
        with timed() as took:
            results = quantum(["100ms"]).run(folder / guest.name, targets=[guest])
        asked = results.interval_at("elapsed", {"scheduler.base_slice": "100ms"}).mean
        tell(f"{guest.name}: a run of {asked:.1f} guest seconds, to its table", took, ONE_RUN, asked)
    experiment = quantum(QUANTA)
    machine = on_a_guests_machine(experiment)
    beside = [Simulator(os.cpu_count(), f"sim:{name}", with_policy(machine, name)) for name in POLICIES]
    with timed() as took:
        experiment.run(folder / "table", targets=[*guests, *beside])
    tell(f"{len(guests)} kernels and {len(QUANTA)} quanta, beside two simulated", took, TABLE)


def main():
    """Keep, time one run, time the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", default=KERNELS, help=f"versions, separated by commas ({KERNELS})")
    guests = [Guest(kernel, of_host=True) for kernel in parser.parse_args().kernels.split(",")]
    print(f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.2f} at the beginning")
    for guest in guests:
        starts(guest)
    with tempfile.TemporaryDirectory() as folder:
        tables(guests, Path(folder))


if __name__ == "__main__":
    main()
