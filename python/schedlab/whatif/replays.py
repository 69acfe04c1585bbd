"""The runs: the recorded setting and the changed one, each under some seeds, measured as the recording is."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab import _core
from schedlab.errors import Stopped, UsageError
from schedlab.specification import Specification
from schedlab.whatif.asked import Asked, Changed, apply

#: What the file of the recorded work is called next to an experiment.
WORK = ".work"
#: How the engine calls recordings of runs, of the simulator and of guests: their processors are as fast in each.
OF_RUNS = "schedlab recording"
#: What real processors are taken to differ from run to run: see docs/what-if-measured.md.
SPEED_SPREAD = 0.1


@dataclass(frozen=True)
class Prepared:
    """A recording as an experiment."""

    #: What the engine found; see `crates/bridge/src/replaying.rs`.
    found: dict[str, Any]
    #: The file of its work.
    work: Path

    @property
    def recorded(self) -> dict[str, Any]:
        """What happened in the recording, as `schedlab trace` says it."""
        return self.found["recorded"]

    @property
    def document(self) -> dict[str, Any]:
        """The experiment, with its work."""
        recording = {"file": str(self.work.absolute()), "sha256": self.found["sha256"]}
        return {**self.found["document"], "recording": recording}


def measured(asked: Asked) -> dict[str, Any]:
    """What is measured of recordings and runs: tasks by name, and groups.

    A turn that the end cuts off counts: of a hog that has a processor for itself it may be all that there is.
    """
    return {"by": "comm", "groups": list(asked.groups), "unfinished": True}


@contextmanager
def prepared(recording: Path, asked: Asked, work: Path | None = None) -> Iterator[Prepared]:
    """Read a recording. Its work goes to the file `work`, or to one that is removed afterwards."""
    from schedlab.system.interrupt import ctrl_c, until_stopped

    question = {
        "measured": measured(asked),
        "treat": asked.treat,
        "remove": asked.remove,
        "copies": asked.copies,
    }
    with tempfile.TemporaryDirectory(prefix="schedlab-whatif-") as folder:
        out = work or Path(folder, f"recording{WORK}")
        try:
            with ctrl_c() as stop:
                text = until_stopped(stop, _core.prepare_replay, str(recording), json.dumps(question), str(out))
        except KeyboardInterrupt:
            raise Stopped(f"stopped while {recording} was being read; nothing was written") from None
        found = json.loads(text)
        if not found["names"]:
            raise UsageError(f"{recording}: nothing is left to replay: no task ran, or --remove takes all that did")
        yield Prepared(found, out)


@contextmanager
def prepared_again(recording: Path, asked: Asked, one: Prepared) -> Iterator[Prepared]:
    """The recording without tasks that are to be left out, and with copies; the same one if there are none of both."""
    if not asked.remove and not asked.copies:
        yield one
        return
    with prepared(recording, asked) as other:
        yield other


def scenario(definition: Mapping[str, Any], sets: list[str]) -> dict[str, Any]:
    """The scenario of an experiment without a sweep, checked."""
    text = json.dumps(definition)
    return Specification.from_text(text, "the replayed recording", format="json", set=sets).cells()[0].scenario


def changed(one: Prepared, asked: Asked) -> Changed:
    """The experiment with what is changed."""
    return apply(asked, one.document, one.found["names"])


def speed_spread(one: Prepared, asked: Asked) -> float:
    """How much faster or slower processors are taken to be in another run, as a share."""
    if asked.speed_spread is not None:
        return asked.speed_spread
    return 0.0 if one.recorded["head"]["format"] == OF_RUNS else SPEED_SPREAD


def assumed_of_speed(spread: float) -> list[str]:
    """What intervals take for granted of the speed of processors."""
    up_to = f"up to {100 * spread:.3g} % faster or slower"
    return [f"processors of another run are {up_to} (--speed-spread)"] if spread else []


def at_speeds(scenario: dict[str, Any], spread: float, seeds: int) -> list[dict[str, Any]]:
    """The scenario for each seed, at speeds from `1 / (1 + spread)` to `1 + spread` at equal ratios.

    A speed that the scenario has is the one in the middle.
    """
    speed = scenario["recording"].get("speed", 1.0)
    powers = [2 * number / max(1, seeds - 1) - 1 for number in range(seeds)]
    recordings = [scenario["recording"] | {"speed": speed * (1 + spread) ** power} for power in powers]
    return [scenario | {"recording": one} if spread else scenario for one in recordings]


def run(
    settings: list[list[dict[str, Any]]], asked: Asked, advance: Callable[[int, int], None]
) -> list[list[dict[str, Any]]]:
    """Run the scenarios of each setting, one for each seed, on all processors; gives what happened in each run."""
    from concurrent.futures import ThreadPoolExecutor

    from schedlab.system.interrupt import ctrl_c, result

    question = json.dumps({**measured(asked), "blocks": True})
    jobs = [(json.dumps(one), seed) for setting in settings for seed, one in enumerate(setting, 1)]

    def one(text: str, seed: int) -> dict[str, Any]:
        return json.loads(_core.replay(f'{{"scenario": {text}, "seed": {seed}}}', question))

    workers = ThreadPoolExecutor(os.cpu_count() or 1, "schedlab")
    try:
        with ctrl_c() as stop:
            futures = [workers.submit(one, *job) for job in jobs]
            found = []
            for future in futures:
                found.append(result(future, stop))
                advance(len(found), len(jobs))
    except KeyboardInterrupt:
        raise Stopped(f"stopped after {len(found)} of {len(jobs)} replays; nothing was written") from None
    finally:
        workers.shutdown(wait=False, cancel_futures=True)
    return [found[at : at + asked.seeds] for at in range(0, len(found), asked.seeds)]
