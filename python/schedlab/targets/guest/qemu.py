"""The emulator: installed, or its packages unpacked into the cache; and what processors a guest has of it.

    one, counted     it counts instructions, which is the guest's clock:
                     a guest instruction = 2^shift ns        shift = 3: 125 million a second, whatever the host does
    N, counted       the same clock, and one thread of the host for all: the processors take turns, so each computes at
                     a share of that speed while others are busy. Order and counts of decisions, not speed
    N, not counted   as many threads of the host, in the host's time: processors that run at once cannot be counted

Nothing of the host is in the guest: no network, no disk, no file but the images made for it. Hardware virtualization is
never used, even where /dev/kvm is: it is no proof that anything boots under it, and there, too, time is the host's.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
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
#: A turn of one of several counted processors lasts at most till half of the time to the emulator's next timer, which
#: could be 2 ms. A timer with this period, us, makes it 50 us: so long may the wakeup of an idle processor take. It
#: belongs to a filter for a network that nothing is on; the emulator has no other one that a user can set.
TURN_TIMER = 100
TURNS = f"-netdev hubport,id=turns,hubid=0 -object filter-buffer,id=turn,netdev=turns,interval={TURN_TIMER}"
#: The others of several counted processors are devices: recording is refused to a machine that begins with more than
#: one, because no such recording can be played, and none of ours ever is.
ANOTHER = "-device qemu64-x86_64-cpu,socket-id=0,core-id={core},thread-id=0"
#: The first emulator under which counted processors take turns at all. Before, the first one that runs gets all the
#: time to the next timer, and if it waits for another one, it waits for ever.
FAIR_SINCE = (8, 1)
#: Most processors of a guest that is counted.
MOST_COUNTED = 16
#: Behind the number of processors of a guest that is to be counted.
SPELLED_COUNTED = "-counted"
#: The watchdog ib700 is how a guest pauses itself (crates/agent/src/guest/emulator.rs).
MACHINE = (
    "-nodefaults -no-user-config -nographic -display none -machine pc,graphics=off,memory-backend=ram -smp {smp} "
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
        if not self.counted:
            return MACHINE.format(smp=self.count, how="tcg,thread=multi").split()
        own = MACHINE.format(smp=self._at_first, how=f"tcg -icount {COUNTING}").split()
        return [*own, *TURNS.split(), *self._others] if self.take_turns else own

    @property
    def take_turns(self) -> bool:
        """Whether several processors are counted."""
        return self.counted and self.count > 1

    @property
    def _at_first(self) -> str:
        return f"1,maxcpus={self.count},sockets=1,cores={self.count}" if self.take_turns else str(self.count)

    @property
    def _others(self) -> list[str]:
        return [word for core in range(1, self.count) for word in ANOTHER.format(core=core).split()]

    @property
    def spelled(self) -> str:
        """For people, and for what decides results."""
        counted = f"shift={SHIFT}" if self.counted else ""
        several = f"processors={self.count}" if self.count > 1 or not self.counted else ""
        return " ".join(filter(None, (counted, several)))

    @property
    def threads(self) -> int:
        """Threads of the host that such a guest keeps at work.

        Where processors take turns it is two, because their order depends on the emulator's main loop, which must not
        wait: on a host with two processors 63 of 64 runs were the same to the byte one at a time, and 47 of 80 two at
        a time. One processor has no turns, and needs no main loop but while it is idle.
        """
        return 2 if self.take_turns else 1 if self.counted else self.count


#: One, the usual.
COUNTED = Processors()


def processors(name: str) -> tuple[str, Processors]:
    """The kernel and the processors that a name means.

    6.1 has one that is counted, 6.1@2 two that are not, and 6.1@2-counted two that are and take turns.
    """
    kernel, at, number = name.rpartition("@")
    count = number.removesuffix(SPELLED_COUNTED)
    if not at or not count.isdigit() or Path(name).is_file():
        return name, Processors()
    if number != count:
        if not 2 <= int(count) <= MOST_COUNTED:
            raise UsageError(
                f"guest:{name}: {count} processors that take turns; there can be 2 to {MOST_COUNTED} of them, and "
                f"guest:{kernel} has one"
            )
        return kernel, Processors(int(count))
    here = len(os.sched_getaffinity(0))
    if not 1 <= int(count) <= here:
        raise UsageError(
            f"guest:{name}: {count} processors; each needs one of the host's, so there can be 1 to {here} of them; "
            f"guest:{kernel}@{count}{SPELLED_COUNTED} has them take turns on one"
        )
    return kernel, Processors(int(count), counted=False)


@dataclass(frozen=True)
class Emulator:
    """A program that emulates a machine."""

    program: Path
    version: str
    #: Folder of unpacked packages; none, if it is installed.
    tree: Path | None = None

    @property
    def is_fair(self) -> bool:
        """Whether counted processors take turns under it."""
        numbers = re.findall(r"\d+", self.version.partition(":")[2] or self.version)
        return tuple(map(int, numbers[:2])) >= FAIR_SINCE

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


def find(say: Say, of: Processors = COUNTED) -> Emulator:
    """An emulator for these processors: the one that is installed, or one in the cache, fetched if need be."""
    installed = shutil.which(PROGRAM)
    here = Emulator(Path(installed), _version(Path(installed), None)) if installed else None
    if here and (here.is_fair or not of.take_turns):
        return here
    fetched = _fetched("qemu-backports", apt.backports, say) if of.take_turns else _fetched("qemu", apt.own, say)
    if of.take_turns and not fetched.is_fair:
        wanted = ".".join(map(str, FAIR_SINCE))
        raise UsageError(
            f"several counted processors need QEMU {wanted} or newer, in which they take turns, and the newest that "
            f"can be fetched is {fetched.version}: install a newer one, or name a guest without {SPELLED_COUNTED}"
        )
    return fetched


def _fetched(folder: str, packages: Callable[[Say], apt.Apt], say: Say) -> Emulator:
    """An emulator whose packages are unpacked in the cache."""
    tree = cache.folder() / folder
    with cache.building(tree) as new:
        if new:
            source = packages(say)
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
