"""Records peaks: the agent's lines, through a recorder, into a database."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from schedlab.memory import store
from schedlab.memory.classes import rules
from schedlab.memory.recorder import Recorder
from schedlab.system.interrupt import instead_of_ending
from schedlab.targets.agent import Running, read


class Recorded(NamedTuple):
    """What was recorded."""

    database: Path
    how: str
    processes: int
    unknown: int
    #: How often messages of the kernel were lost, and of these how often those about programs that begin.
    gaps: int
    program_gaps: int
    own_ns: int | None
    missing: Sequence[str]


def record(path: Path, options: Sequence[str], rules_file: Path | None = None) -> Recorded:
    """Record until the agent ends, or Ctrl-C, which is its usual end: what has come by then is stored."""
    sorting = rules(rules_file)
    with store.locked(path) as connection:
        recorder = Recorder(connection, sorting)
        with Running(["peaks", *options]) as agent, instead_of_ending(agent.stop):
            for text in agent.texts():
                recorder.take(read(text))
        recorder.finish()
    begun: dict[str, Any] = recorder.begun
    counts = recorder.processes, recorder.unknown, recorder.gaps, recorder.program_gaps, recorder.own_ns
    return Recorded(path, begun.get("how", ""), *counts, begun.get("missing", ()))
