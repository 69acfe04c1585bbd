"""schedlab: a lab for operating-system performance.

Ask in an experiment file or a dictionary, run it on the simulator, and get a table with intervals::

    from schedlab import Experiment

    results = Experiment.from_toml("quantum.toml").sweep({"scheduler.slice": ["100ms", "18ms"]}).run()
    results.summary()

Names are imported when first used, so that the command line answers at once.
"""

_HOME = {
    "Experiment": "schedlab.experiment",
    "Results": "schedlab.results",
    "load": "schedlab.results",
    "Interrupted": "schedlab.errors",
    "ScenarioError": "schedlab._core",
    "UsageError": "schedlab.errors",
}

__all__ = ["Experiment", "Interrupted", "Results", "ScenarioError", "UsageError", "load"]


def __getattr__(name: str):
    """Import a public name from its home."""
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(_HOME[name]), name)
    if name == "__version__":
        from importlib.metadata import version

        return version("schedlab")
    raise AttributeError(f"module 'schedlab' has no attribute {name!r}")
