"""Another host, over ssh: the agent is brought there, asked there, and ends there what is no longer waited for.

its program   ~/.cache/schedlab/agents/schedlab-agent-SHA-256 there (or below $XDG_CACHE_HOME), checked, mode 0700
a request     `schedlab-agent serve` reads it from its standard input, with a byte every few seconds after it
the end       of that input, or of the bytes: the connection or this process is gone. The agent ends the run and puts
              everything back, by the same journal as of a run on this computer
"""

import hashlib
import os
import platform
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from json import dumps
from pathlib import Path
from typing import Any

from schedlab.errors import UsageError
from schedlab.system.child import Child
from schedlab.system.interrupt import HEARD_SECONDS
from schedlab.system.terminal import say
from schedlab.targets import agent
from schedlab.targets.host import ssh
from schedlab.targets.host.place import BOOT, DROP_CACHES, RT_PERIOD, Facts, boot
from schedlab.targets.host.ssh import Connection
from schedlab.targets.target import HERE

#: Seconds between the bytes that say that we are there; after SILENCE of them the agent there takes us for gone.
BEAT_SECONDS, SILENCE_SECONDS = 3, 15
#: Where the agents of this user are, there.
AGENTS = '"${XDG_CACHE_HOME:-$HOME/.cache}/schedlab/agents"'
#: What the name of an agent there begins with; its digest follows.
AGENT = "schedlab-agent-"
#: Days after which an agent that was not used is removed when another comes.
UNUSED_DAYS = 30
#: What is known of a host: a name and its value a line.
GREETING = "; ".join(
    [
        "echo system $(uname -s)",
        "echo architecture $(uname -m)",
        "echo node $(uname -n)",
        "echo release $(uname -r)",
        "echo version $(uname -v)",
        f"echo boot $(cat {BOOT})",
        "echo processors $(grep Cpus_allowed_list /proc/self/status)",
        "echo loops $(ls /sys/block)",
        f"echo rt_period $(cat {RT_PERIOD} 2>/dev/null)",
        f"test -w {DROP_CACHES} && echo drops_caches yes",
        f"echo folder {AGENTS}",
    ]
)
#: Said of a lost connection where ssh says nothing.
KILLED = "ssh, or the agent there, was killed"
#: What would be restored.
LEFTOVERS = ("restore", "--dry-run")
#: No Linux has more processors (NR_CPUS in arch/x86/Kconfig).
MOST_PROCESSORS = 8192
#: Statuses of a shell that could not start a program, and the first that says that a signal ended one.
NOT_STARTED, NOT_FOUND, SIGNALLED = 126, 127, 128

_known: dict[str, "There"] = {}


def there(name: str) -> "There":
    """The host that the user calls so. All that this process does there shares one connection."""
    return _known.setdefault(name, There(name))


class There:
    """A host that ssh reaches."""

    def __init__(self, name: str):
        """Nothing is connected yet."""
        self.name = self.title = name
        self.calibration = f"calibration-{name}.json"
        self._connection = Connection(name, GREETING)
        self._bringing = threading.Lock()
        self._is_brought = False

    @cached_property
    def _greeted(self) -> dict[str, str]:
        lines = (line.partition(" ") for line in self._connection.open())
        found = {name: value.strip() for name, _, value in lines}
        if found.get("system") != "Linux" or not found.get("boot"):
            system = found.get("system") or "no system that says what it is"
            raise UsageError(f"{self.name}: is {system}, and runs are made on Linux with /proc")
        return found

    @cached_property
    def facts(self) -> Facts:
        """What it is."""
        found = self._greeted
        period = found.get("rt_period", "")
        try:
            return Facts(
                node=found["node"],
                release=found["release"],
                version=found["version"],
                boot=found["boot"],
                processors=_numbers(found["processors"].rpartition(":")[2]),
                loops=tuple(sorted(name for name in found["loops"].split() if name.startswith("loop"))),
                rt_period_us=int(period) if period.isdecimal() else None,
                drops_caches="drops_caches" in found,
            )
        except (KeyError, ValueError) as why:
            raise UsageError(f"{self.name}: what it says of itself cannot be read ({why}); is /proc mounted?") from None

    @property
    def machine(self) -> str:
        """The kernel there; HERE if it is the one of this computer."""
        return HERE if self.facts.boot == boot() else self.facts.boot

    @cached_property
    def _program(self) -> Path:
        """The agent for its processors."""
        theirs, ours = self._greeted["architecture"], platform.machine()
        if theirs == ours:
            return agent.program()
        named = f"{agent.ELSEWHERE}_{theirs}"
        if not (path := os.environ.get(named)):
            raise UsageError(
                f"{self.name}: its processors are {theirs}, and the agent that is installed here is for {ours}; build "
                f"one for {theirs} (cargo build --release -p schedlab-agent --target {theirs}-unknown-linux-gnu, with "
                f"-C target-feature=+crt-static) and name it: {named}=FILE"
            )
        return Path(path)

    @cached_property
    def agent_digest(self) -> str:
        """The SHA-256 of its agent's program."""
        return hashlib.sha256(self._program.read_bytes()).hexdigest()

    @property
    def _agent(self) -> str:
        # By a name that begins so an agent knows that it is one: then it has a restorer.
        return f"{AGENTS}/{AGENT}{self.agent_digest}"

    def ask(self, arguments: Sequence[str], given: Any = None, stop: threading.Event | None = None) -> Any:
        """Have the agent there do this; see `agent.ask`. A lost connection is a UsageError that says what is known."""
        return self._noticing(stop, lambda: self._asked(arguments, given, stop))

    def run(self, plan: dict, stop: threading.Event | None) -> dict:
        """Have it run a plan."""
        return self.ask(["run"], plan, stop)

    def scratch(self, folder: Path, wanted: Path | None) -> str:
        """The wanted folder, or the one in which the agents are: a run's own folder in it is removed at its end."""
        return str(wanted) if wanted else self._greeted["folder"]

    def drop_caches(self) -> None:
        """Have the kernel there forget its clean caches."""
        status, _, errors = self._noticing(None, lambda: self._done(f"sync; echo 3 >{DROP_CACHES}", None))
        if status:
            raise UsageError(f"{self.name}: --drop-caches: {errors.strip()}; it needs root there")

    def _noticing(self, stop: threading.Event | None, work: Callable[[], Any]) -> Any:
        """What comes of some work there, or what is known once the connection is lost."""
        try:
            return work()
        except _Lost as why:
            words = self._connection.lost() or str(why)
            raise UsageError(
                f"{self.name}: the connection broke ({words}); {self._state(stop)}; {agent.GO_ON}"
            ) from None

    def _asked(self, arguments: Sequence[str], given: Any, stop: threading.Event | None) -> Any:
        self._bring(stop)
        request = {"words": list(arguments), "given": "" if given is None else dumps(given)}
        child = self._connection.start(f"exec {self._agent} serve --silence {SILENCE_SECONDS}s")
        with _Served(child, f"{dumps(request)}\n".encode()):
            answer, errors = child.all(stop, HEARD_SECONDS)
            status = child.wait()
        if status == 0:
            try:
                return agent.read(answer) if answer.strip() else None
            except ValueError as why:
                raise UsageError(f"{self.name}: the answer of the agent there cannot be read ({why})") from None
        words = " ".join(errors.split())
        if status in (NOT_STARTED, NOT_FOUND):
            raise UsageError(f"{self.name}: the agent there cannot be started any more ({words}); start again")
        if status < 0 or status == ssh.FAILED:
            raise _Lost(words or KILLED)
        said = f"{self.name}: {words.removeprefix('error: ') or 'the agent said nothing'}"
        if status == 2:
            raise UsageError(said)
        verb = arguments[0]
        if status < SIGNALLED:
            raise UsageError(f"{said} (schedlab-agent {verb} ended with status {status})")
        left = agent.left_behind(lambda: self._asked(LEFTOVERS, None, stop), self._restore)
        raise UsageError(
            f"{said} (schedlab-agent {verb} was ended by signal {status - SIGNALLED}); {left}; {agent.GO_ON}"
        )

    @property
    def _restore(self) -> str:
        return f"schedlab host restore --on {self.name}"

    def _state(self, stop: threading.Event | None) -> str:
        """What is known of it after a connection was lost, once the agent there has had time to notice."""
        self._is_brought = False
        try:
            return agent.left_behind(lambda: self._asked(LEFTOVERS, None, stop), self._restore, SILENCE_SECONDS)
        except (UsageError, _Lost) as why:
            gone = str(why).removeprefix(f"{self.name}: ")
            return (
                f"it cannot be asked what it has left ({gone}); within {SILENCE_SECONDS} s the agent there ends the "
                f"run and puts back what was set; to make sure, once it can be reached: {self._restore}"
            )

    def _bring(self, stop: threading.Event | None) -> None:
        """Have the agent there, and make sure that it is this one."""
        with self._bringing:
            if self._is_brought:
                return
            digest, folder = self.agent_digest, self._greeted["folder"]
            if self._found(stop) != digest:
                self._send(digest, stop)
            status, _, errors = self._done(f"exec {self._agent} --version", stop)
            if status:
                words = " ".join(errors.split()) or f"status {status}"
                raise UsageError(
                    f"{self.name}: the agent was brought to {folder} and cannot be started there ({words}); if that is "
                    "a file system without programs (noexec), name another folder there by XDG_CACHE_HOME"
                )
            self._is_brought = True

    def _found(self, stop: threading.Event | None) -> str:
        """The digest of what is there under the agent's name."""
        looks = f"f={self._agent}; test -f $f || exit 0; chmod 700 {AGENTS} $f && touch $f && sha256sum <$f"
        status, said, errors = self._done(looks.replace("$f", '"$f"'), stop)
        if status:
            raise UsageError(f"{self.name}: {' '.join(errors.split())}; sha256sum and a folder of one's own are needed")
        return said.split()[0] if said.strip() else ""

    def _send(self, digest: str, stop: threading.Event | None) -> None:
        """Write it under another name, and rename it if it has come whole."""
        steps = [
            f"umask 077; d={AGENTS}; mkdir -p $d && chmod 700 $d && t=$d/.new.$$ || exit 2",
            f"find $d -type f -mtime +{UNUSED_DAYS} -exec rm -f {{}} +",
            "cat >$t && chmod 700 $t && s=$(sha256sum <$t) || { rm -f $t; exit 2; }",
            f'test "${{s%% *}}" = {digest} && mv -f $t $d/{AGENT}{digest} && exit 0',
            "rm -f $t; echo it has not come whole >&2; exit 2",
        ]
        script = "; ".join(steps).replace("$d", '"$d"').replace("$t", '"$t"')
        program = self._program.read_bytes()
        say(f"{self.name}: the agent is copied there ({len(program) >> 20} MiB)")
        status, _, errors = self._done(script, stop, program)
        if status:
            words = " ".join(errors.split()) or f"status {status}"
            raise UsageError(f"{self.name}: the agent cannot be put into {self._greeted['folder']} there: {words}")

    def _done(self, script: str, stop: threading.Event | None, given: bytes = b"") -> tuple[int, str, str]:
        """Status, output and standard error of a script there."""
        child = self._connection.start(script)
        try:
            writer = threading.Thread(target=_give_all, args=(child, given), daemon=True)
            writer.start()
            answer, errors = child.all(stop, HEARD_SECONDS)
            status = child.wait()
        finally:
            # What the thread writes to is closed after it: another file may have the same number by then.
            child.end(ssh.GRACE_SECONDS)
            writer.join(ssh.GRACE_SECONDS)
            child.close(ssh.GRACE_SECONDS)
        if status == ssh.FAILED or status < 0:
            raise _Lost(" ".join(errors.split()) or KILLED)
        return status, answer, errors


class _Lost(Exception):
    """The connection broke; the message has ssh's words."""


class _Served:
    """An agent at work there. Its standard input stays open, and says all the time that we are here."""

    def __init__(self, child: Child, request: bytes):
        self._child, self._request = child, request
        self._over, self._lock = threading.Event(), threading.Lock()

    def __enter__(self) -> None:
        try:
            self._child.send(self._request)
        except BaseException:
            self.__exit__()
            raise
        threading.Thread(target=self._beat, name="beat", daemon=True).start()

    def __exit__(self, *_: object) -> None:
        """The end of its input is what it ends by; it has time to put everything back."""
        self._over.set()
        with self._lock:
            self._child.hang_up()
        self._child.wait(agent.GRACE_SECONDS)
        self._child.close(ssh.GRACE_SECONDS)

    def _beat(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            with self._lock:
                if not self._over.is_set():
                    self._child.send(b"\n")


def _give_all(child: Child, given: bytes) -> None:
    # Closed, if the child ended before it had read all.
    with suppress(ValueError, OSError):
        child.send(given)
        child.hang_up()


def _numbers(ranges: str) -> tuple[int, ...]:
    """0, 1, 2, 5 of "0-2,5", as the kernel lists processors."""
    found: list[int] = []
    for each in ranges.strip().split(","):
        first, _, last = each.partition("-")
        if int(last or first) >= MOST_PROCESSORS:
            raise ValueError(f"processors {each}")
        found += range(int(first), int(last or first) + 1)
    return tuple(found)
