"""The guests of one run: all do the same, and where their answers differ another one votes.

each guest      does the run, and leaves its answer
the last one    compares; if they differ it does the run once more, at once: before any run that waits for its turn
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from schedlab.targets.guest.machine import Report


@dataclass
class Vote:
    """The answers to one run."""

    #: Does the run.
    ask: Callable[[], Report]
    #: Guests whose answers are compared.
    times: int
    _answers: dict[int, Report] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def run_guest(self, number: int) -> None:
        """Do it as the guest of that number, from 0 on; the last one to end votes again, if need be."""
        report = self.ask()
        with self._lock:
            self._answers[number] = report
            last = len(self._answers) == self.times
        if last and len({one.digest for one in self._answers.values()}) > 1:
            self._answers[self.times] = self.ask()

    @property
    def reports(self) -> list[Report]:
        """The answers in the order of the guests, whichever ended first."""
        return [self._answers[number] for number in sorted(self._answers)]

    def outcome(self) -> tuple[Report, str | None]:
        """The answer that most guests gave, and what is to be said of it, if not all gave it."""
        reports = self.reports
        digests = [report.digest for report in reports]
        counts = {digest: digests.count(digest) for digest in digests}
        most = max(counts.values())
        chosen = next(report for report in reports if counts[report.digest] == most)
        if len(counts) == 1:
            return chosen, None
        if most > 1:
            return chosen, f"{most} of {len(reports)} guests gave this answer, and another one did not"
        return chosen, f"{len(reports)} guests gave {len(counts)} answers; this is the first one's"
