"""Results: what experiments have measured, in folders that anything can read, and how to load and compare it.

::

    schedlab.results.load("results")                       # a polars frame of every experiment
    schedlab.results.query("select metric, avg(value) from results group by metric")

    results.py    load, query, and the results of one experiment
    store.py      a folder of results on disk; manifest.py, its manifest, which may be damaged
    series.py     values that were read, as columns
    folders.py    the newest folder of an experiment, by its name
    tables.py     results as tables; censored.py, which numbers the ends of runs cut off; summary.py, means and pairs
    frames.py     results as polars frames

Names are imported when first used, so that the command line answers at once.
"""

from importlib import import_module

_HOME = dict.fromkeys(["Results", "load", "query", "read_baseline"], "schedlab.results.results")

__all__ = ["Results", "load", "query", "read_baseline"]


def __getattr__(name: str):
    """Import a public name from its home."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'schedlab.results' has no attribute {name!r}")
