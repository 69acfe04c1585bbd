"""Which runs go to a cluster together, and what becomes of a batch. By the rules of the engine's own queue.

a batch                 runs that follow each other in the order of `put`, about `BATCH_SECONDS` long: the cost of
                        sending it is small next to that, and so is what the death of a worker costs
draws nothing           of such a scenario the first run stands for all. Further runs of a scenario whose first one is
                        not back are sent if workers would do nothing otherwise, alone, and dropped if not needed
"""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from schedlab.executors.work import Part

#: Seconds that a batch should take.
BATCH_SECONDS = 0.5
#: Batches for each worker in what is left, so that all of them end at about the same time.
AT_LEAST = 2


@dataclass
class Scenario:
    """A scenario with runs that wait."""

    text: str
    #: Number of its first run.
    first: int
    #: Number and seed of those that are not sent.
    waiting: deque[tuple[int, int]]
    #: Whether it is the same under every seed, once that is known.
    alike: bool | None = None
    begun: bool = False
    #: How long a run takes, once that is known.
    seconds: float | None = None

    @property
    def is_needed(self) -> bool:
        """Whether its next run is needed, whatever comes back."""
        return not self.begun or self.alike is False


@dataclass(eq=False)
class Batch:
    """Runs that a worker makes. The first one has the number `first`."""

    first: int
    parts: list[tuple[Scenario, list[int]]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many runs."""
        return sum(len(seeds) for _, seeds in self.parts)

    @property
    def is_continued(self) -> bool:
        """Whether it begins in the middle of a scenario."""
        return self.first != self.parts[0][0].first

    def texts(self) -> list[Part]:
        """As it is sent."""
        return [(scenario.text, seeds) for scenario, seeds in self.parts]

    def run(self, place: int) -> tuple[str, int]:
        """Scenario and seed of its run at that place."""
        for scenario, seeds in self.parts:
            if place < len(seeds):
                return scenario.text, seeds[place]
            place -= len(seeds)
        raise IndexError(place)

    def singles(self) -> Iterator["Batch"]:
        """Its runs, each as a batch."""
        number = self.first
        for scenario, seeds in self.parts:
            for seed in seeds:
                yield Batch(number, [(scenario, [seed])])
                number += 1


class Queue:
    """The runs that are not sent yet."""

    def __init__(self) -> None:
        """Empty."""
        self.put_in = 0
        #: How long a run took of late, seconds; None before the first is back.
        self.pace: float | None = None
        self._scenarios: deque[Scenario] = deque()
        self._waiting = 0

    def put(self, text: str, seeds: list[int]) -> list[int]:
        """Add a run for each seed; give the numbers of those that need not be made."""
        numbered = list(enumerate(seeds, self.put_in))
        self.put_in += len(seeds)
        last = self._scenarios[-1] if self._scenarios else None
        if last and last.text == text:
            if last.alike:
                return [number for number, _ in numbered]
            last.waiting.extend(numbered)
        elif numbered:
            self._scenarios.append(Scenario(text, numbered[0][0], deque(numbered)))
        self._waiting += len(numbered)
        return []

    def next(self, workers: int) -> Batch | None:
        """The next batch: needed runs if there are any, otherwise those of one scenario whose first is under way."""
        while len(self._scenarios) > 1 and not self._scenarios[0].waiting:
            self._scenarios.popleft()
        there = [one for one in self._scenarios if one.waiting]
        chosen = next((place for place, one in enumerate(there) if one.is_needed), 0)
        if not there:
            return None
        is_needed = there[chosen].is_needed
        most = math.ceil(self._waiting / (AT_LEAST * workers))
        batch, left = Batch(there[chosen].waiting[0][0]), BATCH_SECONDS
        for scenario in there[chosen : None if is_needed else chosen + 1]:
            if scenario.waiting[0][0] != batch.first + batch.count or most <= batch.count:
                break
            left = self._add(batch, scenario, left, most - batch.count)
            if left <= 0 or scenario.waiting:
                break
        self._waiting -= batch.count
        return batch

    def _add(self, batch: Batch, scenario: Scenario, left: float, most: int) -> float:
        """Move runs that take `left` seconds into a batch, at least one if it is empty; give what is left then."""
        cost = scenario.seconds or self.pace or BATCH_SECONDS
        count = min(int(left / cost), most, len(scenario.waiting)) or (0 if batch.parts else 1)
        if count:
            batch.parts.append((scenario, [scenario.waiting.popleft()[1] for _ in range(count)]))
            scenario.begun = True
        return left - max(count, 1) * cost

    def learn(self, batch: Batch, alike: list[bool | None], seconds: float) -> list[int]:
        """A batch is back. Gives the numbers of the waiting runs that need not be made."""
        made = sum(1 if same else len(seeds) for same, (_, seeds) in zip(alike, batch.parts, strict=True))
        self.pace = seconds / max(made, 1)
        unneeded: list[int] = []
        for same, (scenario, _) in zip(alike, batch.parts, strict=True):
            if same is None:
                continue
            scenario.alike = same
            scenario.seconds = self.pace if len(batch.parts) == 1 else scenario.seconds
            if same:
                unneeded += [number for number, _ in scenario.waiting]
                scenario.waiting.clear()
        self._waiting -= len(unneeded)
        return unneeded
