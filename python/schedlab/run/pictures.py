"""Pictures of an experiment's first run: simulated, or as the kernel of a guest recorded it.

simulated    run again with a listener that draws: the same scenario and seed, the same events
in a guest   run once more, and the recording that comes back is drawn
"""

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from schedlab import _core
from schedlab.errors import UsageError
from schedlab.run.runner import placed
from schedlab.specification import Specification
from schedlab.system.writing import is_stream, pour
from schedlab.targets.names import GUEST, is_simulated
from schedlab.targets.target import Target


def refuse_impossible(pictures: Sequence[tuple[Path, str]], target: Target) -> None:
    """Refuse pictures of runs that cannot be had again."""
    if pictures and not is_simulated(target.name) and not target.name.startswith(GUEST):
        raise UsageError(
            f"--trace, --gantt: the first run would be one on {target.name}, which cannot be run again as it was; "
            f"name another target first, as in --on sim,{target.name}"
        )


def draw(experiment: Specification, targets: Sequence[Target], path: Path, kind: str, first: float | None) -> None:
    """Draw the first cell of the first target, first seed, `first` seconds: of a kind as `Experiment.record` has."""
    target, cell, seed = targets[0], placed(experiment, targets)[0], experiment.seeds[0]
    limit_ns = round((first or 0) * 1e9)
    with tempfile.TemporaryDirectory(prefix="schedlab-") as folder:
        # The engine puts a new file under the name; a device, a pipe or a link keeps its own.
        drawn = Path(folder) / "drawn" if is_stream(path) else Path(os.path.realpath(path))
        if is_simulated(target.name):
            _core.record(json.dumps({"scenario": cell.scenario, "seed": seed}), kind, str(drawn), limit_ns)
        else:
            recording = Path(folder) / "recording"
            target.record(cell, seed, recording)
            _core.draw(str(recording), kind, f"{experiment.name} on {target.name}", str(drawn), limit_ns)
        if is_stream(path):
            pour(drawn, path)
