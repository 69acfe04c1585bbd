"""The emulator: installed, or its packages unpacked into the cache. It counts instructions, which is the guest's clock.

    a guest instruction = 2^shift ns        shift = 3: 125 million instructions a second, whatever the host does

Nothing of the host is in the guest: no network, no disk, no file but the images made for it. Hardware virtualization is
never used, even where /dev/kvm is: under it time is the host's.
"""

import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import UsageError
from schedlab.guest import apt, cache
from schedlab.guest.apt import Say
from schedlab.guest.kernels import Kernel
from schedlab.guest.setup import MEMORY_MIB
from schedlab.interrupt import HEARD_SECONDS

PROGRAM = "qemu-system-x86_64"
PACKAGE = "qemu-system-x86"
#: An instruction takes 2^SHIFT ns.
SHIFT = 3
#: The guest's clock begins here, so that no answer depends on the day.
BEGINS = "2020-01-01"
MACHINE = (
    "-nodefaults -no-user-config -nographic -display none -machine pc,graphics=off -smp 1 -no-reboot -accel tcg "
    f"-rtc clock=vm,base={BEGINS}"
).split()
#: The tests of ciphers are half of a boot's instructions, and nothing that is measured uses any.
COMMAND_LINE = "console=ttyS0 panic=-1 quiet nokaslr cryptomgr.notests"
#: What the folder of a running guest is called, before the number of its process.
FOLDER = "schedlab-guest-"
#: A guest that takes longer, s of real time, is ended.
LONGEST = 600.0
#: No guest writes more than this to a port, bytes.
LARGEST_OUTPUT = 64 << 20
#: So much of a console's end is shown, lines.
SHOWN_LINES = 12
#: What a kernel says when it gives up, before it lists where.
GAVE_UP = "Kernel panic"
#: Where unpacked packages have libraries and firmware.
LIBRARIES = ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")
FIRMWARE = ("usr/share/qemu", "usr/share/seabios")


@dataclass(frozen=True)
class Emulator:
    """A program that emulates a machine."""

    program: Path
    version: str
    #: Folder of unpacked packages; none, if it is installed.
    tree: Path | None = None

    def environment(self) -> dict[str, str]:
        """Where it finds its libraries."""
        return dict(os.environ) | ({"LD_LIBRARY_PATH": _libraries(self.tree)} if self.tree else {})

    def command(
        self, kernel: Kernel, images: Path, console: Path, port: Path, shift: int, more: str, memory_mib: int
    ) -> list[str]:
        """The command that boots a kernel."""
        firmware = [word for path in FIRMWARE for word in ("-L", str(self.tree / path))] if self.tree else []
        return [
            *([setpriv, "--pdeathsig", "KILL"] if (setpriv := shutil.which("setpriv")) else []),
            *(str(self.program), *firmware, *MACHINE, "-m", str(memory_mib)),
            *("-icount", f"shift={shift},sleep=off"),
            *("-serial", f"file:{console}", "-serial", f"file:{port}"),
            *("-kernel", str(kernel.image), "-initrd", str(images)),
            *("-append", f"{COMMAND_LINE} {more}".strip()),
        ]


@dataclass(frozen=True)
class Ended:
    """What a guest left."""

    console: str
    port: str
    seconds: float


def find(say: Say) -> Emulator:
    """The emulator that is installed, or the one in the cache, fetched if need be."""
    installed = shutil.which(PROGRAM)
    if installed:
        return Emulator(Path(installed), _version(Path(installed), None))
    tree = cache.folder() / "qemu"
    with cache.building(tree) as new:
        if new:
            source = apt.own(say)
            source.unpack(source.needed_for(PACKAGE), new, say)
            _version(new / "usr/bin" / PROGRAM, new)
    program = tree / "usr/bin" / PROGRAM
    return Emulator(program, _version(program, tree), tree)


def boot(
    emulator: Emulator,
    kernel: Kernel,
    images: Sequence[bytes | Path],
    stop: threading.Event | None = None,
    longest: float = LONGEST,
    shift: int = SHIFT,
    more: str = "",
    memory_mib: int = MEMORY_MIB,
) -> Ended:
    """Boot a kernel with archives as its initial file system, and wait until it powers off.

    `more` is put behind its command line. Raises `UsageError` if it takes longer than `longest`, and KeyboardInterrupt
    when `stop` is set. No process and no file is left in any case.
    """
    _sweep()
    with tempfile.TemporaryDirectory(prefix=f"{FOLDER}{os.getpid()}-") as folder:
        place = Path(folder)
        images_at, console, port = place / "images", place / "console", place / "port"
        with open(images_at, "wb") as file:
            for image in images:
                file.write(image.read_bytes() if isinstance(image, Path) else image)
        command = emulator.command(kernel, images_at, console, port, shift, more, memory_mib)
        began = time.monotonic()
        with _running(command, emulator.environment(), place / "errors") as guest:
            _wait(guest, kernel, (console, port), began + longest, stop)
        seconds = time.monotonic() - began
        if guest.returncode:
            why = (place / "errors").read_text(errors="replace").strip() or "it said nothing"
            raise UsageError(f"guest:{kernel.name}: {PROGRAM} ended with status {guest.returncode}: {why}")
        return Ended(_text(console), _text(port), seconds)


def _sweep() -> None:
    """Remove the folders of processes that were killed; their guests have died with them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        owner = folder.name.removeprefix(FOLDER).partition("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)


def end_of(console: str) -> str:
    """The last lines of a console, for an error, after the line that says why the kernel gave up."""
    lines = [line.rstrip() for line in console.splitlines() if line.strip()]
    last = lines[-SHOWN_LINES:]
    reason = [line for line in lines[:-SHOWN_LINES] if GAVE_UP in line][-1:]
    shown = [*reason, *last] or ["(nothing)"]
    return "\n".join(["the end of its console:", *(f"  | {line}" for line in shown)])


@contextmanager
def _running(command: list[str], environment: dict[str, str], errors: Path) -> Iterator[subprocess.Popen]:
    """The emulator at work; it ends with this, and with this process."""
    with open(errors, "wb") as file:
        guest = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment, process_group=0
        )
    try:
        yield guest
    finally:
        guest.kill()
        guest.wait()


def _wait(
    guest: subprocess.Popen, kernel: Kernel, outputs: Sequence[Path], deadline: float, stop: threading.Event | None
) -> None:
    """Wait for the end, within bounds of time and output."""
    while True:
        try:
            guest.wait(HEARD_SECONDS)
            return
        except subprocess.TimeoutExpired:
            pass
        if stop and stop.is_set():
            raise KeyboardInterrupt
        late = time.monotonic() > deadline
        full = any(path.exists() and path.stat().st_size > LARGEST_OUTPUT for path in outputs)
        if late or full:
            why = "did not end in time" if late else "wrote without end"
            raise UsageError(f"guest:{kernel.name} ({kernel.release}) {why}; {end_of(_text(outputs[0]))}")


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def _libraries(tree: Path) -> str:
    return ":".join(str(tree / path) for path in LIBRARIES)


def _version(program: Path, tree: Path | None) -> str:
    environment = dict(os.environ) | ({"LD_LIBRARY_PATH": _libraries(tree)} if tree else {})
    try:
        done = subprocess.run(
            [program, "--version"], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as why:
        raise UsageError(f"{program} cannot be run: {why}") from None
    found = re.search(r"version (\S+)(?: \(Debian ([^)]+)\))?", done.stdout)
    if not found:
        raise UsageError(f"{program} --version failed: {done.stderr.strip() or done.stdout.strip()}")
    return found[2] or found[1]
