"""A guest as a machine that carries out orders: the agent executes one command, reports, and powers off.

    boot      once for a kernel and a setup, until the kernel's own work of the boot is done; then the machine is kept
    an order  goes on from the kept machine: handed over by the emulator, begun a lead after the moment of keeping

So an order costs what it asks for, and a third of a second. Every one finds the same machine, to the bit; what it makes
of it is the same, too, where instructions are counted.
"""

import hashlib
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from schedlab.errors import UsageError
from schedlab.targets import agent
from schedlab.targets.guest import cache, elf, emulation, kernels, qemu, snapshots
from schedlab.targets.guest.apt import Say
from schedlab.targets.guest.emulation import GAVE_UP, GIVEN, ORDER, Emulation, Ended, Late, Panicked, end_of
from schedlab.targets.guest.initramfs import File, archive
from schedlab.targets.guest.kernels import Kernel
from schedlab.targets.guest.qemu import Emulator, Processors
from schedlab.targets.guest.setup import DIGITS, Setup

#: Time in which a kernel's own work of the boot comes to an end: up to 2.5 s of processor time in the first 8 s.
SETTLE_NS = 8_000_000_000
#: From the moment of keeping to the beginning of an order: the largest order is read in half of it.
LEAD_NS = 1_000_000_000
#: The serial port that reports come through, as the guest sees it.
PORT = "/dev/ttyS1"
AGENT = "/init"
#: In the host's time, a second's work is measured so often at most.
ATTEMPTS = 3
#: A measurement in the host's time takes some seconds. Sometimes one of several processors goes on from the kept
#: machine and makes no progress, for a reason that is not known: one that takes longer than this, s, is started again.
HANGS_AFTER = 60.0
#: Measurements that spread by no more than this share are steady; by more than that, no number would mean anything.
STEADY, UNUSABLE = 0.1, 1.0


@dataclass(frozen=True)
class Report:
    """What came of an order."""

    answer: Any
    #: Digest of the answer's text.
    digest: str
    ended: Ended


@dataclass(frozen=True)
class Machine:
    """A kernel, an emulator, an agent, and how the guest is set up."""

    kernel: Kernel
    emulator: Emulator
    #: The archive with the agent.
    image: Path
    agent: str
    setup: Setup = field(default_factory=Setup)
    processors: Processors = qemu.COUNTED
    #: A guest that takes longer is ended, s of real time.
    longest: float = emulation.LONGEST
    #: Receives the console of a boot as it is written, if given.
    console: Say | None = field(default=None, compare=False, repr=False)
    #: Gets a line about what takes long.
    say: Say = field(default=lambda text: None, compare=False, repr=False)

    @property
    def engine(self) -> str:
        """All that decides a result, besides the order."""
        kernel = f"{self.kernel.release} {self.kernel.version}"
        manner = hashlib.sha256(self._manner.encode()).hexdigest()[:DIGITS]
        program = f"qemu {self.emulator.version} machine+{manner} {self.processors.spelled} agent+{self.agent}"
        return f"guest {kernel} {program}{self.setup.spelled}{self._modules()}"

    @property
    def _manner(self) -> str:
        """The arguments of the emulator and of every kernel."""
        return " ".join([*self.processors.machine, qemu.COMMAND_LINE])

    def _modules(self) -> str:
        """The digest of the modules that are loaded: of a kernel of one's own, others may lie there tomorrow."""
        files = kernels.needed(self.kernel, tuple(self.setup.modules)).values()
        return f" modules+{hashlib.sha256(b''.join(files)).hexdigest()[:DIGITS]}" if files else ""

    def ask(
        self,
        words: Sequence[str],
        given: Any = None,
        settle_ns: int = SETTLE_NS,
        stop: threading.Event | None = None,
        plain: bool = False,
    ) -> Report:
        """Have the agent execute one command, and return its answer, read as JSON unless it is to be `plain` text.

        It begins `settle_ns` after the boot; sooner than the kernel has settled, it is booted for it, and else it goes
        on from the machine that is kept. A program of the guest's files does it, if the words begin with its path.
        Raises `UsageError` with the agent's words, or with the end of the console.
        """
        settled = settle_ns >= SETTLE_NS
        lead_ns = LEAD_NS + settle_ns - SETTLE_NS if settled else 0
        command = [*words] if words[0].startswith("/") else [AGENT, *words]
        order = {"command": command, "lead": f"{lead_ns}ns", "port": PORT}
        handed = {ORDER: json.dumps(order).encode()}
        if given is not None:
            handed[GIVEN] = json.dumps(given).encode()
        ended = self.resume(handed, stop) if settled else self.boot(handed, settle_ns, stop)
        report = self._report(ended)
        if report["troubles"]:
            raise UsageError(f"guest:{self.kernel.name}: {'; '.join(report['troubles'])}; {end_of(ended.console)}")
        if report["status"]:
            why = report["errors"].strip().removeprefix("error: ")
            raise UsageError(f"guest:{self.kernel.name}: {why or 'the agent failed and said nothing'}")
        digest = hashlib.sha256(report["output"].encode()).hexdigest()
        return Report(report["output"] if plain else json.loads(report["output"]), digest, ended)

    def calibrate(self, stop: threading.Event | None = None) -> dict:
        """Measure how much work a second is."""
        return self.ask(["calibrate"], stop=stop).answer

    def steadiest_calibration(self, stop: threading.Event | None = None) -> dict:
        """The same in the host's time: the first that is steady, or the steadiest of a few."""
        self.keep(stop)
        bounded = replace(self, longest=min(self.longest, HANGS_AFTER))
        measured, late = [], None
        for _ in range(ATTEMPTS):
            try:
                measured.append(bounded.calibrate(stop))
            except Late as why:
                self.say(f"guest:{self.kernel.name} hangs at its start, and is started again")
                late = why
            if any(one["spread"] <= STEADY for one in measured):
                break
        if not measured and late:
            raise late
        best = min(measured, key=lambda one: one["spread"])
        if best["spread"] > UNUSABLE:
            raise UsageError(
                f"guest:{self.kernel.name}: the host is too busy to measure how much work a second is: measurements "
                f"spread by {100 * best['spread']:.0f} %; end what else runs, or name a guest that is counted"
            )
        return best

    def calibration(self, stop: threading.Event | None = None) -> dict:
        """The same where instructions are counted: measured once for a kernel and an agent."""
        key = hashlib.sha256(self.engine.encode()).hexdigest()[:16]
        path = cache.folder() / "calibrations" / f"{key}.json"
        try:
            return json.loads(path.read_text())
        except (FileNotFoundError, ValueError):
            # Not there, or damaged: what is measured again is the same.
            measured = self.calibrate(stop)
        cache.write(path, json.dumps(measured).encode())
        return measured

    def boot(self, handed: dict[str, bytes], settle_ns: int, stop: threading.Event | None = None) -> Ended:
        """Boot for what is handed over, and wait for the end."""
        return self._emulation.boot(self._images(settle_ns), handed, stop)

    def resume(self, handed: dict[str, bytes], stop: threading.Event | None = None) -> Ended:
        """Go on from the kept machine, and wait for the end; it is made first, if need be."""
        with snapshots.machine(self._digest, lambda folder: self._keep(folder, stop), stop, say=self.say) as folder:
            return self._emulation.resume(folder, handed, stop)

    def keep(self, stop: threading.Event | None = None) -> None:
        """See to it that the machine is kept, so that the next order need not wait for it."""
        with snapshots.machine(self._digest, lambda folder: self._keep(folder, stop), stop, say=self.say):
            pass

    def _keep(self, folder: Path, stop: threading.Event | None) -> None:
        self.say(f"guest:{self.kernel.name}{self.setup.spelled}: booting once; the machine is kept for all runs")
        self._emulation.keep(self._images(SETTLE_NS, pause=True), folder, stop)

    @property
    def _emulation(self) -> Emulation:
        return Emulation(
            self.emulator,
            self.kernel,
            " ".join(self.setup.words),
            self.setup.memory_mib,
            self.processors,
            longest=self.longest,
            boot_limit=emulation.BOOT_LIMIT * (self.processors.count if self.processors.take_turns else 1),
            say=self.say,
            console=self.console,
        )

    @property
    def _digest(self) -> str:
        """Names all that decides what the kept machine is."""
        parts = (self.kernel.identity, self.emulator.version, self._manner, SETTLE_NS)
        text = "\n".join(map(str, [*parts, self.image.name, self.setup.digest, self._modules()]))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def _images(self, settle_ns: int, pause: bool = False) -> list[bytes | Path]:
        """The initial file system: the agent, modules and files of the setup, and how to get ready."""
        modules = kernels.needed(self.kernel, tuple(self.setup.modules))
        names = {name: f"{number:02}-{name}.ko" for number, name in enumerate(modules)}
        parameters = {names[name]: value for name, value in self.setup.modules.items() if name in names}
        files = {f"modules/{names[name]}": File(contents) for name, contents in modules.items()}
        # They may be programs.
        files |= {path: File(contents, executable=True) for path, contents in self.setup.extra.items()}
        how = {"settle": f"{settle_ns}ns", "pause": pause, "parameters": parameters}
        files["setup.json"] = File(json.dumps(how).encode())
        return [self.image, archive(files)]

    def _report(self, ended: Ended) -> dict:
        try:
            return json.loads(ended.port)
        except json.JSONDecodeError:
            what = "reported what is no report" if ended.port.strip() else "ended without a report"
            said = f"guest:{self.kernel.name} ({self.kernel.release}) {what}; {end_of(ended.console)}"
            raise (Panicked(said, ended.console) if GAVE_UP in ended.console else UsageError(said)) from None


def ready(name: str, say: Say) -> Machine:
    """The machine with that kernel, as 6.1, 6.1@2 or 6.1@2-counted; kernel and emulator are fetched if need be."""
    plain, processors = qemu.processors(name)
    kernel = replace(kernels.find(plain, say), name=name)
    emulator = qemu.find(say, processors)
    program = agent.program().read_bytes()
    if not elf.is_static(program):
        raise UsageError(
            f"{agent.program()} needs the host's libraries, and a guest has none: build it with "
            'RUSTFLAGS="-C target-feature=+crt-static" cargo build --release -p schedlab-agent '
            "--target x86_64-unknown-linux-gnu"
        )
    image = archive({AGENT.strip("/"): File(program, executable=True)})
    digest = hashlib.sha256(image).hexdigest()[:16]
    path = cache.folder() / "images" / f"{digest}.cpio"
    # A disk that was full, or lost its power, leaves less.
    if not path.exists() or path.stat().st_size != len(image):
        cache.write(path, image)
    return Machine(kernel, emulator, path, hashlib.sha256(program).hexdigest()[:DIGITS], processors=processors, say=say)
