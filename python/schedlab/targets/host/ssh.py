"""A connection to another host, by the system's `ssh`: its configuration, keys, known hosts and jump hosts count.

    master      one `ssh` that holds the connection; what it runs there greets, and then waits for the end of its input
    commands    further ones through the master's socket, in a folder of this process's own

Nothing is asked on a terminal (BatchMode). What is run there is a constant text in the words of a POSIX shell: names
and experiments go by standard input. If this process is killed, the inputs of all of them end, and so do they.
"""

import atexit
import os
import re
import shlex
import shutil
import tempfile
import threading
from pathlib import Path

from schedlab.errors import UsageError
from schedlab.system import leftovers
from schedlab.system.child import Child
from schedlab.targets.names import destination

#: Another command than `ssh`, with options of its own: `ssh -F file`.
ELSEWHERE = "SCHEDLAB_SSH"
#: Seconds in which a connection must be made, and those in which a lost one is noticed: three silences.
CONNECT_SECONDS, ALIVE_SECONDS, SILENCES = 10, 5, 3
#: Seconds in which the shell there must have greeted.
GREETING_SECONDS = 30
#: Seconds that ssh has to end in order.
GRACE_SECONDS = 3
#: The status with which ssh ends on faults of its own.
FAILED = 255
#: Where sockets are, and how long the path of one may be: ssh adds 17 bytes, and the kernel takes 108.
FOLDER, LONGEST = "schedlab-ssh-", 80
PLAIN = re.compile(r"[\w./-]+", re.ASCII)
#: For configurations that would make ssh another program than a pipe. Old versions do not know the last three.
OPTIONS = {
    "BatchMode": "yes",
    "ConnectTimeout": CONNECT_SECONDS,
    "ServerAliveInterval": ALIVE_SECONDS,
    "ServerAliveCountMax": SILENCES,
    "LogLevel": "ERROR",
    "Compression": "yes",
    "ControlPersist": "no",
    "ClearAllForwardings": "yes",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "PermitLocalCommand": "no",
    "RemoteCommand": "none",
    "RequestTTY": "no",
    "IgnoreUnknown": "StdinNull,ForkAfterAuthentication,SessionType",
    "StdinNull": "no",
    "ForkAfterAuthentication": "no",
    "SessionType": "default",
}
#: What ssh says, and what helps.
ADVICE = {
    "REMOTE HOST IDENTIFICATION HAS CHANGED": "find out why its key is another one before the old one is removed",
    "Host key verification failed": "log in once by hand and compare the key: {by_hand}",
    "Permission denied": "it must let this user in with a key or an agent, without a question: ssh-copy-id, ssh-add",
    "Could not resolve": "give the name that ssh takes, or put it into ~/.ssh/config",
}
BEGIN, END = "schedlab: begin", "schedlab: end"


class Connection:
    """The connection to one host; made at first use, and closed at this process's end."""

    def __init__(self, name: str, greeting: str):
        """For the host that the user calls so; `greeting` is a script whose output is what is known of it."""
        self.name = name
        self._address, self._port = destination(name)
        self._greeting = greeting
        self._lock = threading.Lock()
        self._master: Child | None = None
        self._folder: Path | None = None
        self.said: list[str] = []

    def open(self) -> list[str]:
        """Connect, unless that is done, and give the lines of the greeting."""
        with self._lock:
            if self._master is None:
                atexit.register(self.close)
                self._connect()
            return self.said

    def start(self, script: str) -> Child:
        """Start a script there, in the words of a POSIX shell, which may hold no ' and no line end."""
        self.open()
        return Child(self._words("no", script))

    def lost(self) -> str:
        """What ssh says of a connection that was lost; nothing of it stays."""
        with self._lock:
            ended = self._master is not None and self._master.wait(GRACE_SECONDS) is not None
            words = " ".join(self._master.errors().split()) if ended else ""
            self._close()
            return words

    def close(self) -> None:
        """Leave nothing of it behind."""
        with self._lock:
            self._close()

    def _connect(self) -> None:
        try:
            self._folder = _own_folder()
            script = f"echo {_quoted(BEGIN)}; {self._greeting}; echo {_quoted(END)}; exec cat >/dev/null"
            self._master = Child(self._words("yes", script))
            said = self._master.said(END, GREETING_SECONDS)
            if said is None:
                raise UsageError(self._why_not())
            if BEGIN not in said[:1]:
                noise = said[0] if said else "nothing"
                raise UsageError(
                    f"{self.name}: its shell says {noise!r} before it runs a command, so answers cannot be told from "
                    "that: keep its start files (.bashrc, .profile) silent where no terminal is"
                )
            self.said = said[1:]
        except BaseException:
            self._close()
            raise

    def _close(self) -> None:
        atexit.unregister(self.close)
        master, self._master = self._master, None
        if master:
            master.hang_up()
            master.wait(GRACE_SECONDS)
            master.close(GRACE_SECONDS)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _why_not(self) -> str:
        """What ssh says, and what helps."""
        if self._master.wait(GRACE_SECONDS) is None:
            return f"{self.name}: no greeting came within {GREETING_SECONDS} s; does `{self.by_hand} true` work?"
        words = " ".join(self._master.errors().split())
        advice = next((advice for what, advice in ADVICE.items() if what in words), "try: {by_hand} true")
        said = words or f"the command ended with status {self._master.status}"
        return f"{self.name}: no connection: {said}; {advice.format(by_hand=self.by_hand)}"

    @property
    def by_hand(self) -> str:
        """The command with which a person connects."""
        return shlex.join([*_program(), *self._to()])

    def _to(self) -> list[str]:
        return [*(["-p", self._port] if self._port else []), self._address]

    def _words(self, master: str, script: str) -> list[str]:
        options = {**OPTIONS, "ControlMaster": master, "ControlPath": self._folder / "socket"}
        given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        words = _program()
        program = shutil.which(words[0])
        if not program:
            raise UsageError(f"{self.name}: {words[0]} is not here: install the client of OpenSSH")
        *port, address = self._to()
        # The login shell there may be any: it only starts another, with one quoted word.
        return [program, *words[1:], *given, *port, "--", address, f"exec /bin/sh -c '{script}'"]


def _program() -> list[str]:
    return shlex.split(os.environ.get(ELSEWHERE) or "ssh") or ["ssh"]


def _quoted(words: str) -> str:
    return f'"{words}"'


def _own_folder() -> Path:
    """A folder for a socket; those of killed processes are removed."""
    base = tempfile.gettempdir()
    # ssh would take a blank in it, or a %, for something else.
    if len(base) + len(FOLDER) + 16 > LONGEST or not PLAIN.fullmatch(base):
        base = "/tmp"
    leftovers.remove_left(Path(base).glob(f"{FOLDER}*"))
    folder = Path(tempfile.mkdtemp(prefix=FOLDER, dir=base))
    leftovers.mark(folder)
    return folder
