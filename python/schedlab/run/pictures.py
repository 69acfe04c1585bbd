"""Pictures of an experiment's first run: simulated, or as the kernel of a guest recorded it.

simulated    run again with a listener that draws: the same scenario and seed, the same events
in a guest   run once more, and the recording that comes back is drawn
"""

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from schedlab import _core
from schedlab.errors import UsageError
from schedlab.results.store import is_stream, pour
from schedlab.targets.factory import GUEST, POLICY

if TYPE_CHECKING:
    from schedlab.experiment import Experiment
    from schedlab.run.runner import Place


def refuse_impossible(pictures: Sequence[tuple[Path, str]], place: "Place") -> None:
    """Refuse pictures of runs that cannot be had again."""
    if pictures and not _is_simulated(place) and not place.name.startswith(GUEST):
        raise UsageError(
            f"--trace, --gantt: the first run would be one on {place.name}, which cannot be run again as it was; "
            f"name another place first, as in --on sim,{place.name}"
        )


def draw(experiment: "Experiment", places: Sequence["Place"], path: Path, kind: str, first: float | None) -> None:
    """Draw the first cell of the first place, first seed: "perfetto", "gantt_svg" or "gantt_text", `first` seconds."""
    from schedlab.run.runner import placed

    place, cell, seed = places[0], placed(experiment, places)[0], experiment.seeds[0]
    limit_ns = round((first or 0) * 1e9)
    with tempfile.TemporaryDirectory(prefix="schedlab-") as folder:
        # The engine puts a new file under the name; a device, a pipe or a link keeps its own.
        drawn = Path(folder) / "drawn" if is_stream(path) else Path(os.path.realpath(path))
        if _is_simulated(place):
            _core.record(json.dumps({"scenario": cell.scenario, "seed": seed}), kind, str(drawn), limit_ns)
        else:
            recording = Path(folder) / "recording"
            place.record(cell, seed, recording)
            _core.draw(str(recording), kind, f"{experiment.name} on {place.name}", str(drawn), limit_ns)
        if is_stream(path):
            pour(drawn, path)


def _is_simulated(place: "Place") -> bool:
    return place.name == "sim" or place.name.startswith(POLICY)
