"""What `schedlab record` does: the kernel's events as a trace.dat, for a while or while a command runs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

#: The file that is written unless another is named.
OUTPUT = "trace.dat"


def run(
    command: list[str] | None = None,
    output: Path | None = None,
    lasting: str | None = None,
    events: str | None = None,
    size: str = "1GiB",
    buffer: str | None = None,
    plain: bool = False,
    allow_loss: bool = False,
    json: bool = False,
) -> int:
    """Carry the verb out; gives the exit status."""
    from schedlab.system.printing import refuse_unwritable

    file = OUTPUT if output is None else output
    if output is not None:
        refuse_unwritable(output=output)
    values = {"--output": file, "--for": lasting, "--events": events, "--size": size, "--buffer": buffer}
    options = [f"{name}={value}" for name, value in values.items() if value is not None]
    status, answer = _ask([*options, *(["--plain"] if plain else []), "--", *(command or [])], aside=json)
    if answer is None:
        return status
    found = answer["recorded"]
    if json:
        from schedlab.system.printing import print_json

        print_json(answer | {"command": command or None, "bytes_per_event": _per_event(found)})
    _say(found, allow_loss)
    return status if status else _lost(found, allow_loss)


def _ask(arguments: list[str], aside: bool) -> tuple[int, dict | None]:
    """The agent's exit status and answer; no answer if it has said itself why there is none."""
    import os

    from schedlab.targets import agent

    # In memory, and no descriptor of the command's: the agent opens it by the name that it has in this process.
    file = os.memfd_create("answer")
    try:
        status = agent.through(["capture", f"--answer=/proc/{os.getpid()}/fd/{file}", *arguments], aside)
        text = os.pread(file, os.fstat(file).st_size, 0).decode()
    finally:
        os.close(file)
    return (status if status >= 0 else 128 - status), agent.read(text) if text.strip() else None


def _lost(found: dict, allow_loss: bool) -> int:
    from schedlab.system.status import DONE, LOST

    return LOST if found["lost"] and not allow_loss else DONE


def _per_event(found: dict) -> float | None:
    return found["bytes"] / found["events"] if found["events"] else None


def _say(found: dict, allow_loss: bool) -> None:
    """A line on what was recorded; and what makes it worth less."""
    from schedlab.system.terminal import insist, say

    each = _per_event(found)
    size = f"{found['bytes'] / 1e6:,.1f} MB" + ("" if each is None else f", {each:.1f} bytes an event")
    say(f"{found['file']}: {found['events']:,} events in {found['length_ns'] / 1e9:.2f} s, {size}")
    if found["missing"]:
        say(f"not offered by this kernel: {', '.join(found['missing'])}")
    if found["ended_early"]:
        insist(f"the recording ended early: {found['ended_early']}")
    if found["lost"]:
        share = found["lost"] / (found["lost"] + found["events"])
        remedy = "" if allow_loss else "; record fewer sets (--events), or with a larger --buffer"
        insist(f"lost: {found['lost']:,} events, {share:.1%} of all{remedy}")
