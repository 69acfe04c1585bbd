"""What a worker of a cluster does. It knows nothing of the cluster, and takes and gives plain values.

A worker has an engine of its own. What another engine computes is another result, so it computes nothing for us.
"""

import time
from typing import Any

from schedlab import _core

#: A scenario as JSON, and seeds.
Part = tuple[str, list[int]]
#: Seconds between two looks at a sweep whose end is waited for.
LOOK_SECONDS = 60.0


def engine() -> str:
    """The engine that this worker has."""
    return _core.version()


def make(wanted: str, parts: list[Part]) -> dict[str, Any]:
    """Make the runs of a batch, one after the other, if this worker has the `wanted` engine.

    `runs` counts those from the first on that were made or need not be; `rows` is their Arrow stream. Where one failed,
    `refused` or `fault` says why. `seconds` is the time that all took.
    """
    if engine() != wanted:
        return {"engine": engine()}
    began = time.monotonic()
    sweep = _core.Sweep(1)
    for scenario, seeds in parts:
        sweep.put(scenario, seeds)
    ready, total = sweep.wait(LOOK_SECONDS)
    while ready < total:
        ready, total = sweep.wait(LOOK_SECONDS)
    done: dict[str, Any] = {"engine": wanted, "runs": 0, "rows": b"", "seconds": 0.0}
    try:
        done["runs"], done["rows"] = sweep.take()
        if done["runs"] < total:
            sweep.take()
    except _core.ScenarioError as why:
        done["refused"] = str(why)
    except RuntimeError as why:
        done["fault"] = str(why)
    return done | {"seconds": time.monotonic() - began}
