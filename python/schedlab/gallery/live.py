"""The experiment that a page runs: of a scheduler the one that its page draws, of the others one of their family.

Experiments of families are in experiments/; the page sets its own policy. An address holds a setting as
`web/src/address.ts` writes and reads it.
"""

import base64
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from schedlab._core import ScenarioError
from schedlab.errors import UsageError
from schedlab.gallery.policies import FIELDS, Policy
from schedlab.specification import Specification

#: Metrics that a page of a scheduler shows, as far as its load has them.
OF_SCHEDULERS = (
    "turnaround.mean", "response.mean", "waiting.mean", "context_switches", "wakeup_latency.p99", "wakeup_latency.max",
    "longest_gap", "tasks.*.share", "tasks.*.deadline_misses", "jain",
)  # fmt: skip
#: What a page of a family is about, in a heading.
LOADS = {
    "schedulers": "The same tasks under every scheduler",
    "elevators": "The same requests under every elevator",
    "caches": "The same requests in every cache",
    "reclaims": "The same programs under every policy of reclaim",
}
#: Knobs beyond those that every lab has.
KNOBS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "caches": (
        {
            "path": "machine.files.cache_blocks",
            "label": "blocks of the cache",
            "meaning": "how many blocks of 4 KiB the cache holds",
            "domain": {"kind": "count", "low": 16, "high": 2048},
            "logarithmic": True,
        },
    )
}
#: Silberschatz's example, which most pages of elevators draw: the requests, where the heads are, how many cylinders.
SILBERSCHATZ = "98 183 37 122 14 124 65 67"
SILBERSCHATZ_HEAD, SILBERSCHATZ_CYLINDERS = 53, 200
#: What messages call an experiment.
LABEL = "experiment.toml"
#: Seeds of the means in the lab.
SEEDS = 5


@dataclass(frozen=True)
class Live:
    """An experiment and the fields that a page sets of it; why the engine refuses it, if it does."""

    policy: Policy
    text: str
    set: tuple[tuple[str, str], ...]
    metrics: tuple[str, ...]
    question: str
    refused: str
    typed: Mapping[str, Any] | None

    def document(self) -> dict[str, Any]:
        """It as the script of a page reads it (`web/src/gallery/gallery.ts`)."""
        policy = self.policy
        return {
            "family": policy.family,
            "field": FIELDS[policy.family],
            "name": policy.name,
            "text": self.text,
            "set": list(self.set),
            "metrics": list(self.metrics),
            "knobs": list(KNOBS.get(policy.family, ())),
            "seeds": SEEDS,
            "typed": self.typed,
            "runs": not self.refused,
        }


def of(policy: Policy) -> Live:
    """What its page runs."""
    if policy.family == "schedulers":
        text, set = policy.block("toml"), ()
    else:
        text = (files("schedlab.gallery") / "experiments" / f"{policy.family}.toml").read_text("utf-8")
        set = ((FIELDS[policy.family], f'{{ name = "{policy.name}" }}'),)
    if not text:
        raise UsageError(f"{policy.path}: the schedule of {policy.name} has no experiment (a toml block) to run")
    try:
        asked, refused = specified(text, set), ""
    except ScenarioError as why:
        return Live(policy, text, set, (), "", _reason(str(why), set), typed(policy))
    metrics = asked.definition.get("metrics") or OF_SCHEDULERS
    return Live(policy, text, set, tuple(metrics), asked.question or "", refused, typed(policy))


def typed(policy: Policy) -> dict[str, Any] | None:
    """The list that a page's drawn schedule serves, as a reader may type one; None if there is none for the family."""
    if policy.family == "elevators":
        numbers = {"head": SILBERSCHATZ_HEAD, "cylinders": SILBERSCHATZ_CYLINDERS}
        return {"kind": "cylinders", "text": SILBERSCHATZ, "choices": [policy.name], "numbers": numbers}
    drawn = re.match(r"slots (\d+)\nask +(.*)\n", policy.block("text"))
    if policy.family != "caches" or not drawn:
        return None
    return {"kind": "references", "text": drawn[2], "choices": [policy.name], "numbers": {"frames": int(drawn[1])}}


def _reason(message: str, set: Sequence[tuple[str, str]]) -> str:
    """What is wrong, without where it was set."""
    message = message.removeprefix(f"{LABEL}: ")
    for path, value in set:
        message = message.removeprefix(f"--set {path}={value}: ").removeprefix(f"{path}.name: ")
    return message


def specified(text: str, set: Sequence[tuple[str, str]]) -> Specification:
    """The experiment with these fields set; ScenarioError if the engine refuses it."""
    return Specification.from_text(text, LABEL, set=[f"{path}={value}" for path, value in set])


def address(text: str, set: Sequence[tuple[str, str]]) -> str:
    """The setting as the lab's page reads it from its address, with its `#`."""
    setting = {"t": text, "s": [[0, *map(list, set)]], "d": 1, "n": SEEDS}
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(json.dumps(setting, separators=(",", ":")).encode()) + packer.flush()
    return "#a" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def setting(fragment: str) -> tuple[str, list[tuple[str, str]]]:
    """The text and the fields of an address of ours, without its `#`. ValueError if it is none."""
    if not fragment.startswith("a"):
        raise ValueError("its version is not a")
    letters = fragment[1:]
    packed = base64.b64decode(letters + "=" * (-len(letters) % 4), altchars=b"-_", validate=True)
    try:
        found = json.loads(zlib.decompress(packed, -15))
        ((_, *fields),) = found["s"]
        return found["t"], [(path, value) for path, value in fields]
    except (zlib.error, KeyError, TypeError) as why:
        raise ValueError(f"it holds no setting: {why}") from None
