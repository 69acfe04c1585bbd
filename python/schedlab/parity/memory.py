"""Parity of memory: reclaim by two lists compared with the kernels whose rules it has, by what is paged and read.

Each scenario of `memory_scenarios/` has a memory size. In a guest that is the limit of a control group with all its
tasks: the kernel's own memory is no part of it, and the group reclaims as soon as it is full. The simulator has a
machine of that size and the policy `two_list` with `group`.

    holds      if |simulated - measured| <= the larger of   10 % of the measured   and   32 pages

The 10 % are those of waits in guests; 32 pages are a batch of reclaim. Both were chosen when the first numbers had been
seen, and every verdict is marked so (`†`).
"""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from schedlab.errors import UsageError, nearest
from schedlab.parity.comparison import Comparison
from schedlab.results import Results

#: For each kernel the variant of `two_list` that has its rules.
KERNELS = {"5.10": "5.9", "6.1": "5.9", "6.17": "6.17"}
#: Those that reclaim by generations (MGLRU) unless it is turned off.
GENERATIONS = ("6.17",)
SWAPPINESS = 60
#: Scenarios that are also run with these weights.
SWEPT = {
    "stream_beside_idle_memory": (0, 100, 200),
    "files_and_memory_in_use": (0, 100, 200),
    "file_loop_beside_idle_memory": (0, 100, 200),
}
#: What is compared, with its unit and what a batch of reclaim is in it.
METRICS = {"swap_out": ("1", 32), "swap_in": ("1", 32), "page_in": ("KiB", 128)}
SHARE = 0.10
#: Costs of a guest's kernel that the machine `guest` has not, read off a stream of 200 MiB and 6,144 first touches on
#: 6.1: they set how fast files go through.
COSTS = 'costs={copy_per_kib="12.7us"},calls={fault="11us"}'
#: A guest's drive in memory: 100 us for each request.
DRIVE = 'solid_state={size="4GB",read="1ns",write="1ns",page="4KiB",channels=1,queue_depth=1,overhead="100us"}'


@dataclass(frozen=True)
class Case:
    """A scenario with a weight of programs against files."""

    path: Path
    swappiness: int = SWAPPINESS

    @property
    def name(self) -> str:
        """Where the user finds it in tables."""
        return f"{self.path.stem}, swappiness {self.swappiness}"

    def _written(self) -> dict:
        return tomllib.loads(self.path.read_text())

    @property
    def _mebibytes(self) -> int:
        return int(self._written()["machine"]["memory"]["size"].removesuffix("MiB"))

    def in_guest(self, kernel: str) -> list[str]:
        """What makes it one of a guest: all jobs in a group with that limit."""
        generations = ',lru_gen="off"' if kernel in GENERATIONS else ""
        jobs = [f'workload.{job}.group="g"' for job in self._written()["workload"]]
        return [
            'machine={preset="host",processors=1,memory={size="512MiB",swap="128MiB"}}',
            f'groups={{g={{memory="{self._mebibytes}MiB"}}}}',
            # Pages come from the swap area one by one, and are small: the simulator has no others.
            f'tunables={{swappiness={self.swappiness},page_cluster=0,thp="never"{generations}}}',
            *jobs,
            "seeds=1",
        ]

    def simulated(self, kernel: str) -> list[str]:
        """What makes it one of the simulator."""
        size = self._mebibytes
        blocks = f'block="4KiB",cache_blocks={size * 256},direct_blocks=1000000,extent_blocks=4096'
        cached = f'{blocks},read_ahead_window="128KiB"'
        memory = f'size="{size}MiB",swap="128MiB",reserve=0,cache_leaves=0'
        variant = KERNELS[kernel]
        return [
            f'machine={{preset="guest",{COSTS},{DRIVE},memory={{{memory}}},files={{{cached}}}}}',
            'scheduler={name="cfs"}',
            'cache={name="two_list"}',
            f'reclaim={{name="two_list",swappiness={self.swappiness},variant="{variant}",group=true}}',
            "seeds=1",
        ]


def cases(only: Sequence[str] | None = None) -> list[Case]:
    """All of the suite, or of the scenarios named."""
    folder = Path(str(files("schedlab.parity"))) / "memory_scenarios"
    known = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    for name in only or []:
        if name not in known:
            raise UsageError(f"{name}: there is no such scenario; {nearest(name, known)}")
    chosen = [known[name] for name in only or known]
    return [Case(path, weight) for path in chosen for weight in sorted({SWAPPINESS, *SWEPT.get(path.stem, ())})]


def values(results: Results) -> dict[str, float]:
    """What a run has paged and read."""
    rows = results.frame.filter(results.frame["metric"].is_in(list(METRICS))).select("metric", "value")
    return dict(rows.iter_rows())


def compare(case: Case, simulated: dict[str, float], measured: dict[str, float]) -> Iterator[Comparison]:
    """Every metric, both ways."""
    for metric, (unit, batch) in METRICS.items():
        one, other = simulated[metric], measured[metric]
        yield Comparison(
            scenario=case.name,
            metric=metric,
            unit=unit,
            simulated=one,
            measured=other,
            low=other,
            high=other,
            allowed=max(SHARE * other, batch),
            words="10 % or a batch †",
        )
