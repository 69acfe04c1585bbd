"""Which unknown number moves which row of published.toml: the steps by which the machine and the jobs were fitted.

Run as `python -m schedlab.published.reproductions.linux_1994.fit`. The rows with reads first are marked `use = "fit"`, and only runs with
reads first were looked at. Nothing was searched for automatically: the swapping of twenty processes is too rough a landscape
for that (single runs of one setting differ by a tenth and more, and near the cliff where all that is in use no longer fits into
memory, a tenth more of it nearly doubles the swapping). Each round changed one number by what its row was off; this prints the rows
next to the published values, and what each number moves when it grows by a tenth, so that the next round can be made:

    machines/pc_1994.toml  calls.scan                   system time of programs that swap
                           disk.overhead                idle time per swapped page
                           files.extent_blocks          idle time per page of a file
    startx.toml            what a client goes over       swapping at 2.0 MB
                           what a client holds           swapping at 3.5 MB
                           files, libraries             page_in
                           compute                      user
    untar, compile, tex    files, programs              page_in
                           writes                       page_out
                           compute, call                user, sys
                           what cc1 holds               swapping and page_in of compile
"""

import copy
import tempfile
import tomllib

from schedlab.experiment import Experiment
from schedlab.published import reproductions
from schedlab.published.reproduction import Report

FOLDER = reproductions.folder("linux-1994")
SEEDS = 8
#: Sizes in startx.toml by what they are, as written in the file.
SIZES = {"gone over": "293KiB", "held": "440KiB", "libraries": "800KiB", "of the server": "320KiB"}


def rows(changed: dict[str, str], out: str) -> dict[str, float]:
    """The fit rows of startx, by id, with some sizes replaced."""
    file = tomllib.loads((FOLDER / "startx.toml").read_text(encoding="utf-8"))
    file["seeds"] = SEEDS
    file["sweep"]["elevator.name"] = ["reads_first"]
    file["workload"] = _replaced(file["workload"], changed)
    results = Experiment.from_dict(file).run(out)
    found = {}
    for spec in Report.load("linux-1994").fit_rows:
        if spec.experiment == "startx":
            means = [results.interval_at(name, spec.cell).mean for name in spec.metric.split(" + ")]
            found[spec.id] = sum(means) * (spec.scale or 1)
    return found


def _replaced(value, changed: dict[str, str]):
    """The same steps with other sizes."""
    if isinstance(value, dict):
        return {key: _replaced(inner, changed) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, changed) for inner in value]
    return changed.get(value, value) if isinstance(value, str) else copy.copy(value)


def _tenth_more(size: str) -> str:
    return f"{round(int(size.removesuffix('KiB')) * 1.1)}KiB"


def main() -> None:
    """Print the fit rows of startx next to the published values, and what a tenth more of each size does to them."""
    printed = {spec.id: spec.published for spec in Report.load("linux-1994").fit_rows}
    with tempfile.TemporaryDirectory() as out:
        now = rows({}, out)
        moved = {what: rows({size: _tenth_more(size)}, out) for what, size in SIZES.items()}
    print(f"{'':38}{'printed':>9}{'fitted':>9}" + "".join(f"{what:>15}" for what in SIZES))
    for row, value in now.items():
        tenths = "".join(f"{100 * (found[row] / value - 1):+14.0f}%" for found in moved.values())
        print(f"{row:38}{printed[row]:9.0f}{value:9.0f}{tenths}")


if __name__ == "__main__":
    main()
