"""The summary of a sweep in pandas, as one writes it there: `pandas_peer.py FOLDER METRIC...`

Prints CSV: for each value of what was swept and each metric the mean, the standard error and the number of runs.
"""

import sys
from pathlib import Path

import pandas as pd


def main() -> None:
    """Read, group, print."""
    folder, *metrics = sys.argv[1:]
    columns = ["metric", "value", "scheduler.slice"]
    # A folder has the manifest in it, too, which pandas would take for one of the files.
    files = sorted(Path(folder).glob("*.parquet"))
    runs = pd.read_parquet(files, columns=columns, filters=[("metric", "in", metrics)])
    found = runs.groupby(["scheduler.slice", "metric"], sort=False)["value"].agg(["mean", "sem", "count"])
    found.to_csv(sys.stdout)


if __name__ == "__main__":
    main()
