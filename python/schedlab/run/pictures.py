"""Pictures of a run of an experiment: simulated, or as the kernel of a guest recorded it.

simulated    run again with a listener that draws: the same scenario and seed, the same events
in a guest   run once more, and the recording that comes back is drawn
"""

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from schedlab import _core
from schedlab.errors import UsageError, nearest
from schedlab.run.runner import placed
from schedlab.specification import Cell, Specification
from schedlab.system.writing import is_stream, pour
from schedlab.targets.names import GUEST, is_simulated
from schedlab.targets.target import Target

if TYPE_CHECKING:
    from schedlab.pictures.schedule import Stretch


def refuse_impossible(pictures: Sequence[tuple[Path, str]], target: Target) -> None:
    """Refuse pictures of runs that cannot be had again."""
    if pictures and not is_simulated(target.name) and not target.name.startswith(GUEST):
        raise UsageError(
            f"--trace, --gantt: the first run would be one on {target.name}, which cannot be run again as it was; "
            f"name another target first, as in --on sim,{target.name}"
        )


#: Kinds that show a whole run.
WHOLE = ("perfetto", "chrome", "recording")


@dataclass(frozen=True)
class Shown:
    """Which run is drawn, and what of it: if nothing is named, a long wait in the first cell."""

    cell: str | None = None
    begin: str | None = None
    end: str | None = None
    first: float | None = None

    def stretch(self) -> "Stretch | None":
        """What was asked for; None if nothing was."""
        if not (self.begin or self.end or self.first):
            return None
        from schedlab.pictures.schedule import between

        return between(self.begin, self.end, self.first)

    def of(self, cells: Sequence[Cell]) -> Cell:
        """The first cell that has the factors `KEY=VALUE[,KEY=VALUE]`."""
        if self.cell is None:
            return cells[0]
        for cell in cells:
            left = f",{self.cell},"
            for key, value in cell.factors.items():
                left = left.replace(f",{key}={value},", ",", 1)
            if left == ",":
                return cell
        spelled = [",".join(f"{key}={value}" for key, value in cell.factors.items()) for cell in cells]
        raise UsageError(f"--cell {self.cell}: no such cell; {nearest(self.cell, spelled)}")


def draw(
    experiment: Specification, targets: Sequence[Target], path: Path, kind: str, shown: Shown = Shown()
) -> "Stretch | None":
    """Draw a cell of the first target, first seed: a whole run as one of `WHOLE`, or "gantt_svg", "gantt_text".

    Returns the stretch that a Gantt chart shows.
    """
    from schedlab.pictures.schedule import between, of_recording, of_run

    target, cell, seed = targets[0], shown.of(placed(experiment, targets)), experiment.seeds[0]
    stretch = None if kind in WHOLE else shown.stretch()
    with tempfile.TemporaryDirectory(prefix="schedlab-") as folder:
        # The engine puts a new file under the name; a device, a pipe or a link keeps its own.
        drawn = Path(folder) / "drawn" if is_stream(path) else Path(os.path.realpath(path))
        if is_simulated(target.name):
            run = {"scenario": cell.scenario, "seed": seed}
            if kind not in WHOLE:
                stretch = stretch or of_run(run)
            ends = (stretch.end, stretch.begin) if stretch else (0, 0)
            _core.record(json.dumps(run), kind, str(drawn), *ends)
        elif kind == "recording":
            target.record(cell, seed, drawn)
        else:
            recording = Path(folder) / "recording"
            target.record(cell, seed, recording)
            if kind not in WHOLE:
                stretch = stretch or of_recording(recording) or between(None, None)
            ends = (stretch.end, stretch.begin) if stretch else (0, 0)
            _core.draw(str(recording), kind, f"{experiment.name} on {target.name}", str(drawn), *ends)
        if is_stream(path):
            pour(drawn, path)
    return stretch
