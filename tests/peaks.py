"""Lines as the agent's `peaks` prints them, and databases of them."""

import json

from schedlab.memory import store
from schedlab.memory.classes import rules
from schedlab.memory.recorder import Recorder

MIB = 1 << 20
SECOND = 10**9
BEGIN = {"kind": "begin", "time_ns": 1, "how": "taskstats", "programs": "events", "every_ns": None, "missing": []}


def ended(peak, time_ns=2, path="/usr/bin/git", arguments=("git", "status"), version=1, **more):
    """A process that ended."""
    file = {"device": 1, "inode": version, "size": 10, "modified_ns": 0}
    known = {"path": path, "file": file if path else None, "arguments": list(arguments) if arguments else None}
    rest = {"pid": 7, "user": 0, "name": "git", "folder": "/", "forked": False, "parent": "sh", "group": "/"}
    rest |= {"peak_virtual_bytes": 2 * peak, "elapsed_ns": SECOND, "status": 0, "how": "taskstats"}
    return {"kind": "process", "time_ns": time_ns, "peak_bytes": peak} | known | rest | more


def until(time_ns=3):
    return {"kind": "until", "time_ns": time_ns}


def database(path, lines, sorting=None):
    """A database into which these lines were recorded."""
    with store.locked(path) as connection:
        recorder = Recorder(connection, sorting or rules())
        for line in [BEGIN, *lines, until()]:
            recorder.take(line)
    return path


def fake_agent(folder, lines, after="true"):
    """A program that prints these lines and then runs a line of shell."""
    (folder / "lines").write_text("".join(json.dumps(line) + "\n" for line in lines))
    program = folder / "agent"
    program.write_text(f'#!/bin/sh\ncat "{folder}/lines"\n{after}\n')
    program.chmod(0o755)
    return {"SCHEDLAB_AGENT": str(program)}
