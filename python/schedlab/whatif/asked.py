"""What is changed of a recorded machine: fields of the experiment, and how tasks are treated, by their whole names."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from schedlab.errors import UsageError, nearest

#: What `--change` and `--task` can change, with an example of each value.
FIELDS = {
    "nice": "5",
    "slice": "20ms",
    "policy": "batch",
    "cpus": "0-1",
    "weight": "512",
    "quota": "50ms/100ms",
    "group": "web",
}
POLICIES = ("other", "batch", "idle", "fifo:10", "rr:10")
#: Where eevdf and cfs have the slice that a Linux host calls base_slice_ns.
SLICES = {"eevdf": "base_slice", "cfs": "min_granularity"}
#: The nice values of Linux.
NICE = range(-20, 20)
#: The path of the number of processors, which `--processors` changes with all that hangs on it.
PROCESSORS = ("processors", "machine.processors")
#: Processors of a simulated machine.
MOST_PROCESSORS = 1024
#: What a group weighs that is made for `group=`: as a task of nice 0.
USUAL_WEIGHT = 1024
#: That grows with the processors as a kernel starts: by 1 + log2 of at most this many (kernel/sched/fair.c).
MOST_SCALED = 8


@dataclass(frozen=True)
class Change:
    """How tasks are treated whose whole name matches."""

    text: str
    pattern: re.Pattern[str]
    fields: Mapping[str, str]

    @classmethod
    def read(cls, text: str) -> "Change":
        """Read `REGEX: nice=5, slice=20ms`."""
        found = re.fullmatch(r"(.+?):\s*([a-z]+\s*=.*)", text)
        if not found:
            raise UsageError(f"--change {text!r}: write 'REGEX: FIELD=VALUE', as 'nginx.*: nice=5'")
        pattern, fields = found.groups()
        return cls._of("--change", text, pattern.strip(), fields)

    @classmethod
    def of_task(cls, text: str) -> "Change":
        """Read `NAME.nice=5`."""
        left, separator, value = text.partition("=")
        name, dot, changed = left.rpartition(".")
        if not separator or not dot or not name:
            raise UsageError(f"--task {text!r}: write NAME.FIELD=VALUE, as nginx.nice=5")
        return cls._of("--task", text, re.escape(name), f"{changed}={value}")

    @classmethod
    def _of(cls, option: str, text: str, pattern: str, fields: str) -> "Change":
        try:
            whole = re.compile(pattern)
        except re.error as why:
            raise UsageError(f"{option} {text!r}: {pattern!r} is no regular expression: {why}") from None
        found = {}
        for one in fields.split(","):
            name, separator, value = (part.strip() for part in one.partition("="))
            if not separator or not value:
                raise UsageError(f"{option} {text!r}: {one.strip()!r} is not FIELD=VALUE, as nice=5")
            if name not in FIELDS:
                raise UsageError(f"{option} {text!r}: {name!r} cannot be changed; {nearest(name, FIELDS)}")
            if name in found:
                raise UsageError(f"{option} {text!r}: {name} is there twice; write it once")
            found[name] = value
        if "group" in found and {"weight", "quota"} & found.keys():
            raise UsageError(f"{option} {text!r}: weight and quota make a group of their own; leave out group")
        return cls(text, whole, found)

    def matches(self, name: str) -> bool:
        """Whether tasks of that name are treated so."""
        return self.pattern.fullmatch(name) is not None


@dataclass(frozen=True)
class Asked:
    """All that is changed, and how the recording is taken."""

    changes: tuple[Change, ...] = ()
    #: Fields of the experiment, as PATH=VALUE.
    sets: tuple[str, ...] = ()
    processors: int | None = None
    #: Whole names, as regular expressions.
    remove: tuple[str, ...] = ()
    copies: tuple[tuple[str, int], ...] = ()
    treat: tuple[tuple[str, str], ...] = ()
    #: NAME=REGEX.
    groups: tuple[str, ...] = ()
    seeds: int = 10
    #: How much faster or slower processors may be in another run, as a share; None: as the recording's kind suggests.
    speed_spread: float | None = None

    def having(self, text: str) -> "Asked":
        """The same with a field of the experiment, as PATH=VALUE."""
        path, separator, value = (part.strip() for part in text.partition("="))
        if path not in PROCESSORS or not separator:
            return replace(self, sets=(*self.sets, text))
        if not value.isdigit() or not 1 <= int(value) <= MOST_PROCESSORS:
            raise UsageError(f"{text!r}: is no number of processors, from 1 to {MOST_PROCESSORS}")
        return replace(self, processors=int(value))

    def words(self) -> list[str]:
        """What is changed, in the words of the user."""
        processors = [f"processors={self.processors}"] if self.processors else []
        removed = [f"remove {name}" for name in self.remove]
        copied = [f"{number} copies of {name}" for name, number in self.copies]
        return [*(change.text for change in self.changes), *self.sets, *processors, *removed, *copied]


@dataclass
class Changed:
    """An experiment with the changes, and what could not be kept of the recorded one."""

    definition: dict[str, Any]
    sets: list[str]
    notes: list[str] = field(default_factory=list)


def apply(asked: Asked, document: Mapping[str, Any], names: Mapping[str, str]) -> Changed:
    """The experiment of a recording with what is changed. `names` has the name of the tasks of each job."""
    import copy

    changed = Changed(copy.deepcopy(dict(document)), [])
    for number, change in enumerate(asked.changes, 1):
        jobs = [job for job, name in names.items() if change.matches(name)]
        if not jobs:
            raise UsageError(f"{change.text!r}: no task of the recording has such a name; {_some(names)}")
        for job in jobs:
            _treat(changed.definition["workload"][job], change)
        _group(changed.definition, change, jobs, f"changed-{number}")
    _processors(changed, asked.processors)
    for one in asked.sets:
        _set(changed, one)
    return changed


def _some(names: Mapping[str, str]) -> str:
    known = sorted(set(names.values()))
    return f"there are {', '.join(known[:8])}{' ...' if len(known) > 8 else ''}"


def _treat(job: dict[str, Any], change: Change) -> None:
    for name, value in change.fields.items():
        if name == "nice":
            job["nice"] = _whole(change, name, value)
            if job["nice"] not in NICE:
                raise UsageError(f"{change.text!r}: nice={value} is none; Linux has {NICE[0]} to {NICE[-1]}")
        elif name == "slice":
            job["slice"] = value
        elif name == "cpus":
            job["cpus"] = _cpus(change, value)
        elif name == "policy":
            policy, _, priority = value.partition(":")
            if policy not in {one.partition(":")[0] for one in POLICIES} or (policy in ("fifo", "rr")) != bool(
                priority
            ):
                raise UsageError(f"{change.text!r}: policy={value} is none of {', '.join(POLICIES)}")
            job.pop("priority", None)
            job["policy"] = policy
            if priority:
                job["priority"] = _whole(change, name, priority)


def _group(definition: dict[str, Any], change: Change, jobs: list[str], name: str) -> None:
    """A quota or a weight makes a control group of the tasks; a name puts them into one, which may be new."""
    if "group" in change.fields:
        into = change.fields["group"]
        definition.setdefault("groups", {}).setdefault(into, {"weight": USUAL_WEIGHT})
        for job in jobs:
            definition["workload"][job]["group"] = into
    if not {"weight", "quota"} & change.fields.keys():
        return
    group: dict[str, Any] = {}
    if "weight" in change.fields:
        group["weight"] = _whole(change, "weight", change.fields["weight"])
    if "quota" in change.fields:
        quota, separator, period = change.fields["quota"].partition("/")
        if not separator:
            raise UsageError(f"{change.text!r}: quota={quota} is no quota; write it as 50ms/100ms")
        group |= {"quota": quota, "period": period}
    definition.setdefault("groups", {})[name] = group
    for job in jobs:
        definition["workload"][job]["group"] = name


def _whole(change: Change, name: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise UsageError(f"{change.text!r}: {name}={value} is not a whole number") from None


def _cpus(change: Change, value: str) -> list[int]:
    """Processors as `0-1` or `0;2`."""
    found: list[int] = []
    for part in value.replace(";", " ").split():
        first, _, last = part.partition("-")
        if not first.isdigit() or not (last or first).isdigit():
            raise UsageError(f"{change.text!r}: cpus={value} are no processors; write 1, 0-3 or 0;2")
        found += range(int(first), int(last or first) + 1)
    return found


def _processors(changed: Changed, processors: int | None) -> None:
    """Another number of processors; tasks that were bound to one that is not there may use all."""
    if processors is None:
        return
    scheduler, machine = changed.definition["scheduler"], changed.definition["machine"]
    if "base_slice" in scheduler:
        scheduler["base_slice"] = _scaled(scheduler["base_slice"], machine["processors"], processors)
    machine["processors"] = processors
    for name, job in changed.definition["workload"].items():
        kept = [cpu for cpu in job.get("cpus", []) if cpu < processors]
        if job.get("cpus") and not kept:
            changed.notes.append(f"{name} was bound to processor {job['cpus'][0]}, which is not there: it may use all")
        if "cpus" in job:
            job["cpus"] = kept
            if not kept:
                del job["cpus"]


def _set(changed: Changed, text: str) -> None:
    """A field of the experiment; another policy does not have the parameters of the recorded one."""
    from schedlab.units import seconds

    path, separator, value = text.partition("=")
    path, value = path.strip(), value.strip()
    scheduler = changed.definition["scheduler"]
    if path == "scheduler.name" and value != scheduler["name"]:
        changed.definition["scheduler"] = {"name": value}
        return
    if path == "scheduler.slice" and separator and scheduler["name"] in SLICES:
        if seconds(value) is None:
            raise UsageError(f"--set scheduler.slice={value}: is no duration; write 1ms")
        path = f"scheduler.{SLICES[scheduler['name']]}"
    changed.sets.append(f"{path}={value}" if separator else text)


def _scaled(slice: str, before: int, after: int) -> str:
    """The recorded slice of all tasks, as a kernel has it with another number of processors."""
    length = int(slice.removesuffix("ns"))
    return f"{length * min(after, MOST_SCALED).bit_length() // min(before, MOST_SCALED).bit_length()}ns"
