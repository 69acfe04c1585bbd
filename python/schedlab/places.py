"""The places that a user can name: `--on sim,host`."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from schedlab.errors import UsageError, nearest

if TYPE_CHECKING:
    from schedlab.experiment import Experiment
    from schedlab.live.runs import Conditions
    from schedlab.runner import Place


def places(
    on: str | None,
    experiment: "Experiment",
    threads: int | None,
    conditions: "Conditions",
    blind: Path | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> "list[Place]":
    """The places that `on` names, separated by commas; where the experiment's machine is, if it names none.

    With `blind`, the folder of results, the host's settings are hidden under letters. `tell` hears what is seen before
    the first run.
    """
    from schedlab.live.blind import Blind
    from schedlab.live.runs import LiveHost
    from schedlab.simulator import Simulator

    known = {"sim": lambda: Simulator(threads or os.cpu_count() or 1), "host": lambda: LiveHost(conditions, tell=tell)}
    names = (on or ("host" if experiment.is_of_host else "sim")).split(",")
    for name in names:
        if name not in known:
            raise UsageError(f"--on {on}: {name!r} is no place to run; {nearest(name, known)}")
    if len(set(names)) < len(names):
        raise UsageError(f"--on {on}: a place is named twice")
    if blind is None:
        return [known[name]() for name in names]
    if names != ["host"]:
        raise UsageError(f"--blind is for --on host alone, not {','.join(names)}: a simulated run needs no hiding")
    return [Blind(LiveHost(conditions, tell=tell), experiment, blind)]
