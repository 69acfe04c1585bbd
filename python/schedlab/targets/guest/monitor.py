"""The emulator's own language (QMP): a JSON document a line, over its standard input and output.

we       {"execute": "cont"}
it       {"return": {}}, or {"error": {"desc": "..."}}, and in between, whenever it likes, {"event": "STOP"}
"""

import json
import os
import select
import subprocess
from collections.abc import Callable
from typing import Any

from schedlab.system.interrupt import HEARD_SECONDS

#: So much is read at once, bytes.
PIECE = 1 << 16


class Gone(Exception):
    """The emulator has ended."""


class Refused(Exception):
    """The emulator will not do that; the message is its reason."""


class Monitor:
    """Sends commands to an emulator, and reads its answers and events."""

    def __init__(self, guest: subprocess.Popen, look: Callable[[], None]):
        """`look` is called while nothing arrives; it raises what ends the waiting."""
        self._guest, self._look = guest, look
        self._read = b""
        self._unheard: list[dict] = []
        self._next()
        self.ask("qmp_capabilities")

    def ask(self, command: str, **arguments: Any) -> Any:
        """Have it do something, and give its answer."""
        words = {"execute": command, "arguments": {key.replace("_", "-"): value for key, value in arguments.items()}}
        try:
            self._guest.stdin.write(json.dumps(words).encode() + b"\n")
            self._guest.stdin.flush()
        except BrokenPipeError:
            raise Gone from None
        while "return" not in (heard := self._next()):
            if "error" in heard:
                raise Refused(heard["error"]["desc"])
            self._unheard.append(heard)
        return heard["return"]

    def wait(self, event: str, *states: str) -> str:
        """Wait for an event, in one of these states if there are any; gives the state."""
        while True:
            heard = self._unheard.pop(0) if self._unheard else self._next()
            state = heard.get("data", {}).get("status", "")
            if heard.get("event") == event and (not states or state in states):
                return state

    def _next(self) -> dict:
        while b"\n" not in self._read:
            if not select.select([self._guest.stdout], [], [], HEARD_SECONDS)[0]:
                self._look()
            elif piece := os.read(self._guest.stdout.fileno(), PIECE):
                self._read += piece
            else:
                raise Gone
        line, _, self._read = self._read.partition(b"\n")
        return json.loads(line)
