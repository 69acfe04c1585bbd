"""What guests cannot answer, and why: it is refused before anything boots."""

from schedlab.errors import UsageError
from schedlab.specification import Cell, plain
from schedlab.targets.guest.qemu import Processors


def refuse_impossible(cell: Cell, of_host: bool, processors: Processors) -> None:
    """Refuse what an emulated machine with these processors cannot answer. One `of_host` has as many as there are."""
    asked = plain(cell.scenario["machine"]["processors"])
    if asked > processors.count and not of_host:
        raise UsageError(
            f"{_what(processors)}, and the experiment's machine has {asked}: set "
            f"machine.processors={processors.count}, or name a guest of more, as in guest:6.1@{asked}, which is noisy, "
            f"or guest:6.1@{asked}-counted, whose processors take turns"
        )
    for name, job in cell.scenario["workload"].items():
        if any(cpu >= processors.count for cpu in job.get("cpus") or []):
            raise UsageError(f"workload.{name}.cpus: {_what(processors)}, counted from 0")
        if job.get("footprint"):
            raise UsageError(
                f"workload.{name}.footprint: an emulated processor has no caches, so a guest cannot show what a switch "
                "costs in them; run it on the host, or on the simulator"
            )
        if _runs_commands(job.get("steps")) or job.get("load") == "command":
            raise UsageError(f"workload.{name}: it runs a command, and a guest has no programs but the agent")


def _what(processors: Processors) -> str:
    if processors.count == 1 and processors.counted:
        return "a guest that counts instructions has processor 0 only"
    return f"a guest of {processors.count} processors has no more"


def _runs_commands(steps: object) -> bool:
    """Whether a command is among the steps, or among those inside them."""
    if isinstance(steps, dict):
        return "run" in steps or any(map(_runs_commands, steps.values()))
    return isinstance(steps, list) and any(map(_runs_commands, steps))
