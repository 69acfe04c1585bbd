"""What `schedlab attend` does: the daemon of attention levels, and the commands to it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

#: The layout that serves until another is named, below the examples of the sources.
NEEDS_LAYOUT = "name a layout: --layout FILE; examples/attention has two"


def run(
    words: list[str] | None = None,
    layout: Path | None = None,
    lasting: str | None = None,
    every: str | None = None,
    pid_file: Path | None = None,
    socket: Path | None = None,
    dry_run: bool = False,
    json: bool = False,
) -> int:
    """Carry the verb out; gives the exit status."""
    from schedlab.errors import UsageError

    words = words or []
    place = [] if socket is None else [f"--socket={socket}"]
    if words == ["status"]:
        return _status(place, json)
    if len(words) == 2 and words[0] == "focus" and words[1].isdecimal():
        return _focus(words[1], place, json)
    if words:
        raise UsageError(f"{' '.join(words)}: there is status, and focus PID (0 for none)")
    if layout is None:
        raise UsageError(NEEDS_LAYOUT)
    given = [f"--layout={layout}", *([] if pid_file is None else [f"--pid-file={pid_file}"])]
    if dry_run:
        return _preview(given, json)
    length = [] if lasting is None else [f"--for={lasting}"]
    period = [] if every is None else [f"--every={every}"]
    return _keep([*given, *place, *period, *length], json)


def _keep(arguments: list[str], json: bool) -> int:
    """Keep levels to the end, and say what was done."""
    import os

    from schedlab.targets import agent

    # In memory; the agent opens it by the name that it has in this process.
    file = os.memfd_create("answer")
    try:
        status = agent.through(["attend", "run", f"--answer=/proc/{os.getpid()}/fd/{file}", *arguments])
        text = os.pread(file, os.fstat(file).st_size, 0).decode()
    finally:
        os.close(file)
    if text.strip():
        _ended(agent.read(text), json)
    return status if status >= 0 else 128 - status


def _ended(answer: dict, json: bool) -> None:
    if json:
        _print("ended", answer)
        return
    from schedlab.system.terminal import insist, say

    state, undone = answer["ended"], answer["undone"]
    say(
        f"{state['up_s']:.0f} s, {state['moves']} moves of programs; own use {state['own_share']:.3%} of a processor; "
        f"put back: {len(undone['back'])} programs"
    )
    for one in undone["foreign"]:
        insist(f"left alone, another process has changed it: {one['setting']} ({one['path']}) is {one['actual']}")


def _focus(pid: str, place: list[str], json: bool) -> int:
    from schedlab.targets import agent

    answer = agent.ask(["attend", "focus", pid, *place])
    if json:
        _print("focus", answer)
    elif answer["focus"] is None:
        print("no program has the focus")
    else:
        print(f"the focus is at program {answer['focus']}, {answer['name']}")
    return 0


def _status(place: list[str], json: bool) -> int:
    from schedlab.targets import agent

    state = agent.ask(["attend", "status", *place])
    if json:
        _print("status", state)
        return 0
    print(
        f"{state['layout'] or 'no title'}; {state['up_s']:.0f} s, looks every {state['period_s']:.1f} s; "
        f"own use {state['own_share']:.3%} of a processor"
    )
    print(f"the focus comes from: {', '.join(state['sources'])}")
    _programs(state["programs"], state["focus"])
    for note in (*state["cannot"], *state["without"], *(f"refused: {why}" for why in state["refused"])):
        print(f"note: {note}")
    return 0


def _preview(given: list[str], json: bool) -> int:
    from schedlab.targets import agent

    found = agent.ask(["attend", "preview", *given])
    if json:
        _print("preview", found)
        return 0
    for level in found["levels"]:
        more = [f"{name} {level[name]}" for name in ("slice", "policy", "weight", "io") if name in level]
        print(f"{level['name']:12} nice {level['nice']:+d}{''.join(f', {one}' for one in more)}")
    _programs(found["programs"], None)
    for note in (*found["cannot"], *found["without"]):
        print(f"note: {note}")
    return 0


def _programs(programs: list[dict], focus: int | None) -> None:
    """A line a program, the most favoured first."""
    print(f"{'program':>7}   {'name':16} {'level':12} {'why':10} {'attention':>9} {'processors':>10} {'processes':>9}")
    for one in programs:
        down = f" -{one['lowered']}" if one["lowered"] else ""
        mark = "*" if one["program"] == focus else " "
        print(
            f"{one['program']:7d} {mark} {one['name']:16} {one['level']:12} {one['standing'] + down:10} "
            f"{one['attention']:9.2f} {one['used']:10.2f} {len(one['processes']):9d}"
        )


def _print(kind: str, found: dict) -> None:
    from schedlab.system.printing import print_json

    print_json({kind: found})
