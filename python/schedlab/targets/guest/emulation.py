"""A running guest: booted, saved at a moment of its own choosing, and continued.

    boot      from the kernel's first instruction until the guest powers off
    keep      the same until the watchdog that the guest has set: then memory and state of all devices are files
    resume    from these files until the guest powers off; the memory is mapped, so only what the guest touches is read

The watchdog finds the guest idle, and its time is the guest's own, if it is counted. So what is kept does not depend on
the host's time, and whatever goes on from it does the same each time, too.
"""

import os
import re
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from schedlab.errors import UsageError
from schedlab.system import leftovers
from schedlab.system.interrupt import HEARD_SECONDS
from schedlab.targets.guest import cache, qemu
from schedlab.targets.guest.apt import Say
from schedlab.targets.guest.kernels import Kernel
from schedlab.targets.guest.monitor import Gone, Monitor, Refused
from schedlab.targets.guest.qemu import Emulator, Processors
from schedlab.targets.guest.setup import MEMORY_MIB

#: What the folder of a running guest is called, before the number of its process.
FOLDER = "schedlab-guest-"
#: A guest that takes longer, s of real time, is ended.
LONGEST = 600.0
#: A boot takes 4 to 7 s of a processor. A kernel that takes longer than this, s of real time, is taken to hang.
BOOT_LIMIT = 180.0
#: While a boot lasts, its state is reported this often, s.
REPORTED_EVERY = 20.0
#: Behind the kernel's command line, for a console that says everything from the first instruction on.
VERBOSE = ("ignore_loglevel", "earlyprintk=ttyS0")
#: No guest writes more than this to a port, bytes.
LARGEST_OUTPUT = 64 << 20
#: So much of a console's end is shown, lines.
SHOWN_LINES = 12
#: Sequences that control a terminal, and other characters that are no text.
ESCAPED, CONTROL = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|.)"), re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
#: What a kernel says when it gives up, before it lists where.
GAVE_UP = "Kernel panic"
#: What a kept machine consists of: its memory, the state of its devices, and what its kernel had said.
MEMORY, STATE, CONSOLE = "memory", "state", "console"
#: Writes the state of all devices and no memory, at once. It was made for another emulator, and serves any; moving a
#: machine as is usual takes a thread of its own, which is at odds with taking turns (qemu.COUNTING).
SAVE = "xen-save-devices-state"
#: What was written so begins without a description of the machine.
SAVED_ALONE = "migration.send-configuration=off"
#: Among the registers of a processor, while it is idle.
IDLE = "HLT=1"
#: What a guest can be handed. Every machine has both, be they empty: a kept one goes on only in an equal one.
ORDER, GIVEN = "opt/schedlab/order", "opt/schedlab/given"


@dataclass(frozen=True)
class Ended:
    """What a guest left."""

    console: str
    port: str
    seconds: float


@dataclass(frozen=True)
class Emulation:
    """A machine: an emulator and what it emulates."""

    emulator: Emulator
    kernel: Kernel
    #: Behind the kernel's command line.
    words: str = ""
    memory_mib: int = MEMORY_MIB
    processors: Processors = qemu.COUNTED
    #: A guest that takes longer is ended, s; and one that takes longer to boot.
    longest: float = LONGEST
    boot_limit: float = BOOT_LIMIT
    #: Receives a line about a boot that takes long.
    say: Say = field(default=lambda text: None, compare=False, repr=False)
    #: Receives the console as it is written, if given.
    console: Say | None = field(default=None, compare=False, repr=False)

    def boot(
        self, images: Sequence[bytes | Path], handed: Mapping[str, bytes], stop: threading.Event | None = None
    ) -> Ended:
        """Boot with archives as the initial file system, and wait for the end; the guest's pause is none.

        Raises `UsageError` if it takes too long, and KeyboardInterrupt when `stop` is set. Neither here nor below is
        a process or a file left in any case.
        """
        memory = f"memory-backend-ram,id=ram,size={self.memory_mib}M"
        with self._running(memory, handed, images, ["-action", "watchdog=none"], stop, self.longest) as running:
            running.say, running.follow = self.say, self.console
            return running.end()

    def keep(self, images: Sequence[bytes | Path], into: Path, stop: threading.Event | None = None) -> None:
        """Boot till the guest pauses itself, and keep it there. Raises as `boot` does, and if it never pauses."""
        memory = self._mapped(into, "on")
        with self._running(memory, {}, images, ["-action", "watchdog=pause"], stop, self.boot_limit) as running:
            running.say, running.follow = self.say, self.console
            try:
                self._save(running, into)
            except Gone:
                running.end()
                raise UsageError(f"{self._called} ended before it was ready; {running.said()}") from None
            except Refused as why:
                raise UsageError(f"{self._called} cannot be kept in {into}: {why}") from None
        for name in (MEMORY, STATE):
            with open(into / name, "rb") as file:
                os.fsync(file.fileno())

    def resume(self, kept: Path, handed: Mapping[str, bytes], stop: threading.Event | None = None) -> Ended:
        """Go on with a kept machine, and wait for the end. Raises as `boot` does."""
        more = ["-action", "watchdog=none", "-S", "-global", SAVED_ALONE, "-incoming", "defer"]
        with self._running(self._mapped(kept, "off"), handed, [], more, stop, self.longest) as running:
            running.before = (kept / CONSOLE).read_text(errors="replace")
            try:
                monitor = running.monitor()
                monitor.ask("migrate-incoming", uri=f"exec:cat {shlex.quote(str(kept / STATE))}")
                monitor.wait("MIGRATION", "completed")
                monitor.ask("cont")
            except (Gone, Refused) as why:
                reason = str(why) or running.errors()
                raise UsageError(f"{self._called} cannot go on from {kept}: {reason}; remove that folder") from None
            return running.end()

    @property
    def _called(self) -> str:
        return f"guest:{self.kernel.name} ({self.kernel.release})"

    def _mapped(self, folder: Path, share: str) -> str:
        """Memory in a file: shared to keep it, and else copied page by page when it is written to."""
        return f"memory-backend-file,id=ram,size={self.memory_mib}M,mem-path={_word(folder / MEMORY)},share={share}"

    def _save(self, running: "_Running", into: Path) -> None:
        monitor = running.monitor()
        monitor.wait("STOP")
        console = running.console()
        registers = monitor.ask("human-monitor-command", command_line="info registers -a")
        if self.processors.counted and registers.count(IDLE) < self.processors.count:
            raise UsageError(f"{self._called} cannot be kept: its kernel was not idle when it was to be paused")
        monitor.ask(SAVE, filename=str(into / STATE))
        monitor.ask("quit")
        running.end()
        (into / CONSOLE).write_text(console)

    @contextmanager
    def _running(
        self,
        memory: str,
        handed: Mapping[str, bytes],
        images: Sequence[bytes | Path],
        more: Sequence[str],
        stop: threading.Event | None,
        limit: float,
    ) -> Iterator["_Running"]:
        """The emulator at work; it ends with this, and with this process."""
        sweep()
        with _folder() as folder:
            command = [
                *self.emulator.command(self.kernel, self.words, self.memory_mib, self.processors),
                *("-object", memory, "-serial", f"file:{folder / 'console'}", "-serial", f"file:{folder / 'port'}"),
                *(_initial(folder, images) if images else []),
                *_handed(folder, handed),
                *more,
            ]
            with open(folder / "errors", "wb") as errors:
                guest = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    env=self.emulator.environment(),
                    process_group=0,
                )
            try:
                yield _Running(guest, self.kernel, folder, time.monotonic(), limit, stop)
            finally:
                guest.kill()
                guest.wait()
                guest.stdout.close()
                _close(guest)


class Late(UsageError):
    """A guest did not end in its time."""


class Panicked(UsageError):
    """A guest's kernel gave up."""

    def __init__(self, said: str, console: str):
        """`said` is the error's text; the console has the kernel's own words."""
        super().__init__(said)
        lines = (line for line in console.splitlines() if GAVE_UP in line)
        #: How it said so.
        self.line = next(lines).partition(GAVE_UP)[2].strip(" -")


@dataclass
class _Running:
    """A guest at work, within bounds of time and output."""

    guest: subprocess.Popen
    kernel: Kernel
    folder: Path
    began: float
    longest: float
    stop: threading.Event | None
    #: What its kernel had said when it was kept.
    before: str = ""
    #: Receives a line every `REPORTED_EVERY` s, and the console as it is written.
    say: Say | None = None
    follow: Say | None = None
    _reported: float = 0.0
    _followed: int = 0

    def monitor(self) -> Monitor:
        """The connection that commands the emulator."""
        monitor = Monitor(self.guest, self.look)
        monitor.ask("migrate-set-capabilities", capabilities=[{"capability": "events", "state": True}])
        return monitor

    def end(self) -> Ended:
        """Wait for the end, and give what it left."""
        while True:
            try:
                self.guest.wait(HEARD_SECONDS)
                break
            except subprocess.TimeoutExpired:
                self.look()
        self._hand_on(last=True)
        seconds = time.monotonic() - self.began
        if self.guest.returncode:
            raise UsageError(f"guest:{self.kernel.name}: {self.errors()}")
        return Ended(self.console(), _text(self.folder / "port"), seconds)

    def look(self) -> None:
        """Raise what ends a guest before its time."""
        if self.stop and self.stop.is_set():
            raise KeyboardInterrupt
        self._report()
        late = time.monotonic() > self.began + self.longest
        outputs = [self.folder / name for name in ("console", "port")]
        full = any(path.exists() and path.stat().st_size > LARGEST_OUTPUT for path in outputs)
        if late or full:
            self._hand_on(last=True)
            why = f"did not end within {self.longest:g} s" if late else "wrote without end"
            fault = Late if late else UsageError
            raise fault(f"guest:{self.kernel.name} ({self.kernel.release}) {why}; {self.said()}{self._hint()}")

    def _report(self) -> None:
        """Say how long it has taken so far, and hand on what is new on the console."""
        self._hand_on()
        seconds = time.monotonic() - self.began
        if self.say and seconds >= self._reported + REPORTED_EVERY:
            self._reported = seconds
            lines = [line.strip() for line in self.console().splitlines() if line.strip()]
            said = f"the console's last line: {lines[-1]}" if lines else "the console is empty"
            self.say(f"guest:{self.kernel.name}: {seconds:.0f} s of at most {self.longest:g} s; {said}")

    def _hand_on(self, last: bool = False) -> None:
        """Hand on the lines that are new on the console; the `last` one need not be whole."""
        if not self.follow:
            return
        new = self.console()[self._followed :]
        whole = new if last else new[: new.rfind("\n") + 1]
        self._followed += len(whole)
        for line in whole.splitlines():
            self.follow(line)

    def _hint(self) -> str:
        """How to see all messages of a kernel that runs with `quiet`."""
        return (
            "" if self.follow else f"\nsee all messages of the kernel: schedlab guest boot {self.kernel.name} --console"
        )

    def console(self) -> str:
        """All that its kernel has said."""
        return self.before + _text(self.folder / "console")

    def said(self) -> str:
        """The end of its console."""
        return end_of(self.console())

    def errors(self) -> str:
        """How the emulator ended, and why, if it says so."""
        status = self.guest.wait()
        silent = "the disk of its memory's file is full" if status == -signal.SIGBUS else "it said nothing"
        why = _text(self.folder / "errors").strip() or silent
        return f"{qemu.PROGRAM} ended with status {status}: {why}"


def end_of(console: str) -> str:
    """The last lines of a console, for an error, after the line that says why the kernel gave up."""
    lines = [line.rstrip() for line in console.splitlines() if line.strip()]
    last = lines[-SHOWN_LINES:]
    reason = [line for line in lines[:-SHOWN_LINES] if GAVE_UP in line][-1:]
    shown = [*reason, *last] or ["(nothing)"]
    return "\n".join(["the end of its console:", *(f"  | {line}" for line in shown)])


def sweep() -> None:
    """Remove the folders of processes that were killed; their guests have died with them."""
    leftovers.remove_left(Path(tempfile.gettempdir()).glob(f"{FOLDER}*"))


@contextmanager
def _folder() -> Iterator[Path]:
    """A new folder for what the emulator reads and writes; it goes with this."""
    try:
        folder = tempfile.TemporaryDirectory(prefix=f"{FOLDER}{os.getpid()}-")
    except OSError as why:
        raise UsageError(f"no folder for temporary files: {why.strerror}; TMPDIR names one") from None
    with folder, cache.room(Path(folder.name), "TMPDIR"):
        leftovers.mark(Path(folder.name))
        yield Path(folder.name)


def _initial(folder: Path, images: Sequence[bytes | Path]) -> list[str]:
    """The initial file system: archives that follow each other."""
    with open(folder / "images", "wb") as file:
        for image in images:
            file.write(image.read_bytes() if isinstance(image, Path) else image)
    return ["-initrd", str(folder / "images")]


def _handed(folder: Path, handed: Mapping[str, bytes]) -> list[str]:
    """What the guest can read from the emulator."""
    words = []
    for number, name in enumerate((ORDER, GIVEN)):
        path = folder / f"handed{number}"
        path.write_bytes(handed.get(name, b""))
        words += ["-fw_cfg", f"name={name},file={_word(path)}"]
    return words


def _word(path: Path) -> str:
    """A path among an option's words, which commas divide."""
    return str(path).replace(",", ",,")


def _close(guest: subprocess.Popen) -> None:
    """Close its standard input, whatever it has not read."""
    with suppress(BrokenPipeError):
        guest.stdin.close()


def _text(path: Path) -> str:
    """What a guest has written, without what would control the terminal that it is shown on."""
    text = path.read_text(errors="replace") if path.exists() else ""
    return CONTROL.sub("", ESCAPED.sub("", text))
