"""What it costs to make runs by the thousand: on this computer's threads, and on clusters of Dask and Ray on it.

    load        2,000 runs of the desktop of examples/desktop.toml under eevdf, a minute each
    own time    what the engine alone takes for a run: processor time, before and after each sweep
    used        processor time / (elapsed time x processors), of all processes of the command
    wanted      the same with the time that threads waited for a processor which others had: what is used where nothing
                else runs. More than all where more threads than processors are ready
    overhead    (processor time - runs x own time) / runs: whatever is not simulation. (elapsed x processors - runs x
                own time) / runs counts idle processors, too, and other programs, and is given next to it
    start       of a cluster: until its workers can take a run, with the engines compared

A cluster is started before its sweep, as one with an address is. Times are ratios or differences within one turn.

    .venv/bin/python bench/scale.py [--runs 2000] [--rounds 3] [--executors local,dask,ray]
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from schedlab import Experiment, _core
from schedlab.executors.cluster import cluster
from schedlab.executors.local import Local

EXAMPLE = Path(__file__).parent.parent / "examples" / "desktop.toml"
#: Runs by which the own time of one is measured, before and after each sweep.
ALONE = 40
#: Seconds between two looks at waiting threads.
LOOK_SECONDS = 0.2
#: What is wanted.
USED, OVERHEAD_MS = 0.90, 2.0
TICK = os.sysconf("SC_CLK_TCK")


@dataclass
class Turn:
    """A sweep and the engine alone, in seconds."""

    runs: int
    start: float
    elapsed: float
    processor: float
    waited: float
    own: float

    @property
    def used(self) -> float:
        """Of all processors."""
        return self.processor / (self.elapsed * os.cpu_count())

    @property
    def wanted(self) -> float:
        """Of all processors, used or waited for."""
        return (self.processor + self.waited) / (self.elapsed * os.cpu_count())

    @property
    def overhead(self) -> float:
        """Processor time a run that is no simulation, ms."""
        return 1000 * (self.processor / self.runs - self.own)

    @property
    def lost(self) -> float:
        """Processors' time a run that is no simulation, idle or not, ms."""
        return 1000 * (self.elapsed * os.cpu_count() / self.runs - self.own)


class Watched:
    """What this process and all below it use of processors, and wait for them, while it is open: seconds.

    What a thread has waited for is gone with it, so it is looked at now and then.
    """

    def __enter__(self) -> "Watched":
        """Begin."""
        self._waited: dict[tuple[str, str], list[float]] = {}
        self._used, self._over = self._look(os.getpid()), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self._over.set()
        self._thread.join()
        self.used = self._look(os.getpid()) - self._used
        self.waited = sum(last - first for first, last in self._waited.values())

    def _watch(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            self._look(os.getpid())

    def _look(self, pid: int) -> float:
        """Processor time of a process and all below it; those that ended count."""
        used = 0.0
        with suppress(OSError, IndexError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            used = sum(map(int, fields[11:15])) / TICK
            for task in Path(f"/proc/{pid}/task").iterdir():
                waited = int((task / "schedstat").read_text().split()[1]) / 1e9
                self._waited.setdefault((str(pid), task.name), [waited, waited])[1] = waited
                used += sum(map(self._look, map(int, (task / "children").read_text().split())))
        return used


def own_time(scenario: str) -> float:
    """Processor time of the engine alone for a run, on all processors, seconds."""
    sweep, began = _core.Sweep(os.cpu_count()), time.process_time()
    sweep.put(scenario, list(range(1, ALONE + 1)))
    while (found := sweep.wait(60))[0] < found[1]:
        pass
    return (time.process_time() - began) / ALONE


@contextmanager
def workers(name: str):
    """An executor that is ready to take runs."""
    if name == "local":
        yield Local(os.cpu_count())
        return
    with cluster(name, workers=os.cpu_count()) as there:
        with there.sweep(threading.Event()):
            pass
        yield there


def turn(experiment: Experiment, name: str) -> Turn:
    """A sweep by one executor."""
    scenario = json.dumps(experiment.cells()[0].scenario)
    before = own_time(scenario)
    began = time.monotonic()
    with workers(name) as there, tempfile.TemporaryDirectory() as folder:
        ready = time.monotonic()
        with Watched() as watched:
            experiment.run(folder, executor=there)
        elapsed = time.monotonic() - ready
    own = (before + own_time(scenario)) / 2
    return Turn(len(experiment.seeds), ready - began, elapsed, watched.used, watched.waited, own)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200 if os.environ.get("BENCH_QUICK") else 2000)
    parser.add_argument("--rounds", type=int, default=1 if os.environ.get("BENCH_QUICK") else 3)
    parser.add_argument("--executors", default="local,dask,ray")
    asked = parser.parse_args()
    experiment = Experiment.from_toml(EXAMPLE, set=["scheduler.name=eevdf", f"seeds={asked.runs}"]).replace(sweep={})
    names = asked.executors.split(",")
    turns = {name: [] for name in names}
    for _ in range(asked.rounds):
        for name in names:
            turns[name].append(turn(experiment, name))
    load = subprocess.run(["cat", "/proc/loadavg"], capture_output=True, text=True).stdout.split()[0]
    print(
        f"{asked.runs} runs, {os.cpu_count()} processors, median of {asked.rounds} (least to most); load average {load}"
    )
    titles = ["own time, ms", "used, %", "used or waited for, %", "overhead, ms", "with idle time, ms", "start, s"]
    print(f"| executor | {' | '.join(titles)} | wanted |\n|---|{'---:|' * len(titles)}---|")
    for name, found in turns.items():
        cells = [spread([getattr(one, what) * by for one in found], digits) for what, by, digits in COLUMNS]
        used, overhead = (statistics.median(getattr(one, what) for one in found) for what in ("wanted", "overhead"))
        met = "met" if used >= USED and overhead <= OVERHEAD_MS else "NOT MET"
        print(f"| {name} | {' | '.join(cells)} | {USED:.0%}, {OVERHEAD_MS:g} ms: {met} |")


#: Fields of the table, what they are multiplied with, and their digits.
COLUMNS = (("own", 1000, 1), ("used", 100, 0), ("wanted", 100, 0), ("overhead", 1, 2), ("lost", 1, 2), ("start", 1, 1))


def spread(values: list[float], digits: int) -> str:
    """Median, least and most."""
    middle = f"{statistics.median(values):.{digits}f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.{digits}f}-{max(values):.{digits}f})"


if __name__ == "__main__":
    main()
