"""A number simulated and measured, and how far the two may be apart."""

from dataclasses import dataclass

from schedlab.targets.linux import HZ

#: A tick of the kernels' clocks, s.
TICK = 1 / HZ


@dataclass(frozen=True)
class Allowance:
    """How far a simulated median may be from the measured one: so much of it, and so much whatever it is."""

    of: str
    share: float
    least: float
    unit: str
    words: str
    #: In place of both, of counts: the larger over the smaller.
    factor: float | None = None


@dataclass(frozen=True)
class Comparison:
    """One metric of one scenario, both ways. Values in base units."""

    scenario: str
    metric: str
    unit: str
    simulated: float
    measured: float
    low: float
    high: float
    allowed: float
    words: str

    @property
    def deviation(self) -> float:
        """Simulated less measured."""
        return self.simulated - self.measured

    @property
    def holds(self) -> bool:
        """Whether the deviation is allowed."""
        return abs(self.deviation) <= self.allowed
