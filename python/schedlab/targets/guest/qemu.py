"""The emulator: installed, or its packages unpacked into the cache; and what processors a guest has of it.

    one, counted     it counts instructions, which is the guest's clock:
                     a guest instruction = 2^shift ns        shift = 3: 125 million a second, whatever the host does
    N, not counted   as many threads of the host, in the host's time: processors that run at once cannot be counted

Nothing of the host is in the guest: no network, no disk, no file but the images made for it. Hardware virtualization is
never used, even where /dev/kvm is: it is no proof that anything boots under it, and there, too, time is the host's.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import UsageError
from schedlab.targets.guest import apt, cache
from schedlab.targets.guest.apt import Say
from schedlab.targets.guest.kernels import Kernel

PROGRAM = "qemu-system-x86_64"
PACKAGE = "qemu-system-x86"
#: An instruction takes 2^SHIFT ns.
SHIFT = 3
#: The guest's clock begins here, so that no answer depends on the day.
BEGINS = "2020-01-01"
#: Idle time passes at once. The recording that is not kept (rr) has the emulator's two threads take turns: else one of
#: them now and then passes idle time before the instructions that the other has just executed are counted, and a timer
#: comes late. Of runs with 150 000 sleeps six in eight differed without it, and of eight with it none.
COUNTING = f"shift={SHIFT},sleep=off,rr=record,rrfile={os.devnull}"
#: The watchdog ib700 is how a guest pauses itself (crates/agent/src/guest/emulator.rs).
MACHINE = (
    "-nodefaults -no-user-config -nographic -display none -machine pc,graphics=off,memory-backend=ram -smp {count} "
    f"-no-reboot -accel {{how}} -rtc clock=vm,base={BEGINS} -device ib700 -qmp stdio"
)
#: The tests of ciphers are half of a boot's instructions, and nothing that is measured uses any. Kernels differ in
#: whether autogroup is on; here it is off, as on a simulated machine, until `tunables.autogroup` asks for it.
#: DAMON_STAT, on in 6.17 as Debian builds it, would take 2 % of the processor.
COMMAND_LINE = "console=ttyS0 panic=-1 quiet nokaslr cryptomgr.notests noautogroup damon_stat.enabled=0"
#: Where unpacked packages have libraries and firmware.
LIBRARIES = ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")
FIRMWARE = ("usr/share/qemu", "usr/share/seabios")


@dataclass(frozen=True)
class Processors:
    """How many a guest has, and whose time is theirs."""

    count: int = 1
    #: Whether instructions are counted, which makes time the guest's own.
    counted: bool = True

    @property
    def machine(self) -> list[str]:
        """The part of the emulator's command that does not depend on the kernel."""
        how = f"tcg -icount {COUNTING}" if self.counted else "tcg,thread=multi"
        return MACHINE.format(count=self.count, how=how).split()

    @property
    def spelled(self) -> str:
        """For people, and for what decides results."""
        return f"shift={SHIFT}" if self.counted else f"processors={self.count}"

    @property
    def threads(self) -> int:
        """Threads of the host that such a guest keeps at work."""
        return 1 if self.counted else self.count


#: One, the usual.
COUNTED = Processors()


def processors(name: str) -> tuple[str, Processors]:
    """The kernel and the processors that a name means: 6.1 has one that is counted, 6.1@2 two that are not."""
    kernel, at, count = name.rpartition("@")
    if not at or not count.isdigit() or Path(name).is_file():
        return name, Processors()
    here = len(os.sched_getaffinity(0))
    if not 1 <= int(count) <= here:
        raise UsageError(
            f"guest:{name}: {count} processors; each needs one of the host's, so there can be 1 to {here} of them"
        )
    return kernel, Processors(int(count), counted=False)


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

    def command(self, kernel: Kernel, words: str, memory_mib: int, processors: Processors) -> list[str]:
        """The part of its command that says what machine it is. `words` go behind the kernel's command line."""
        firmware = [word for path in FIRMWARE for word in ("-L", str(self.tree / path))] if self.tree else []
        return [
            *([setpriv, "--pdeathsig", "KILL"] if (setpriv := shutil.which("setpriv")) else []),
            *(str(self.program), *firmware, *processors.machine, "-m", str(memory_mib)),
            *("-kernel", str(kernel.image), "-append", f"{COMMAND_LINE} {words}".strip()),
        ]


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
    try:
        return Emulator(program, _version(program, tree), tree)
    except UsageError as why:
        raise UsageError(f"{why}; remove {tree}, and it is fetched again") from None


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
