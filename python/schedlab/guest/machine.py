"""A guest as a machine that obeys orders: boots, does one thing by the agent, reports, powers off.

Its image of the agent is kept by content; what differs from order to order is a small second archive behind it.
"""

import hashlib
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schedlab.errors import UsageError
from schedlab.guest import cache, elf, kernels, qemu
from schedlab.guest.apt import Say
from schedlab.guest.initramfs import File, archive
from schedlab.guest.kernels import Kernel
from schedlab.guest.qemu import Emulator, Ended
from schedlab.guest.setup import DIGITS, Setup
from schedlab.live import agent

#: Time in which a kernel's own work of the boot comes to an end: up to 2.5 s of processor time in the first 8 s.
SETTLE_NS = 8_000_000_000
#: The serial port that reports come through, as the guest sees it.
PORT = "/dev/ttyS1"
AGENT = "/init"


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

    @property
    def engine(self) -> str:
        """All that decides a result, beside the order."""
        kernel = f"{self.kernel.release} {self.kernel.version}"
        program = f"qemu {self.emulator.version} shift={qemu.SHIFT} agent+{self.agent}"
        return f"guest {kernel} {program}{self.setup.spelled}"

    def ask(
        self,
        words: Sequence[str],
        given: Any = None,
        settle_ns: int = SETTLE_NS,
        stop: threading.Event | None = None,
        plain: bool = False,
    ) -> Report:
        """Have the agent do one thing, and give its answer, read as JSON unless it is to be `plain` text.

        Raises `UsageError` with the agent's own words, or with the end of the console.
        """
        order = {"command": [AGENT, *words], "settle": f"{settle_ns}ns", "port": PORT}
        ended = self._boot(order, given, stop)
        report = self._report(ended)
        if report["troubles"]:
            raise UsageError(f"guest:{self.kernel.name}: {'; '.join(report['troubles'])}; {qemu.end_of(ended.console)}")
        if report["status"]:
            why = report["errors"].strip().removeprefix("error: ")
            raise UsageError(f"guest:{self.kernel.name}: {why or 'the agent failed and said nothing'}")
        digest = hashlib.sha256(report["output"].encode()).hexdigest()
        return Report(report["output"] if plain else json.loads(report["output"]), digest, ended)

    def calibration(self, stop: threading.Event | None = None) -> dict:
        """How much work a second is. Instructions are counted, so it is measured once for a kernel and an agent."""
        key = hashlib.sha256(self.engine.encode()).hexdigest()[:16]
        path = cache.folder() / "calibrations" / f"{key}.json"
        if not path.exists():
            cache.write(path, json.dumps(self.ask(["calibrate"], stop=stop).answer).encode())
        return json.loads(path.read_text())

    def _boot(self, order: dict, given: Any, stop: threading.Event | None) -> Ended:
        setup = self.setup
        modules = kernels.needed(self.kernel, setup.modules)
        names = {name: f"{number:02}-{name}.ko" for number, name in enumerate(modules)}
        order |= {"parameters": {names[name]: value for name, value in setup.modules.items()}}
        files = {f"modules/{names[name]}": File(contents) for name, contents in modules.items()}
        files |= {path: File(contents) for path, contents in setup.extra.items()}
        files["order.json"] = File(json.dumps(order).encode())
        if given is not None:
            files["plan.json"] = File(json.dumps(given).encode())
        images, words = [self.image, archive(files)], " ".join(setup.words)
        return qemu.boot(self.emulator, self.kernel, images, stop, more=words, memory_mib=setup.memory_mib)

    def _report(self, ended: Ended) -> dict:
        try:
            return json.loads(ended.port)
        except json.JSONDecodeError:
            what = "reported what is no report" if ended.port.strip() else "ended without a report"
            raise UsageError(
                f"guest:{self.kernel.name} ({self.kernel.release}) {what}; {qemu.end_of(ended.console)}"
            ) from None


def ready(name: str, say: Say) -> Machine:
    """The machine with that kernel; kernel and emulator are fetched if need be."""
    kernel = kernels.find(name, say)
    emulator = qemu.find(say)
    program = agent.program().read_bytes()
    if not elf.is_static(program):
        raise UsageError(
            f"{agent.program()} needs the host's libraries, and a guest has none: build it with "
            'RUSTFLAGS="-C target-feature=+crt-static" cargo build --release -p schedlab-host '
            "--target x86_64-unknown-linux-gnu"
        )
    image = archive({AGENT.strip("/"): File(program, executable=True)})
    digest = hashlib.sha256(image).hexdigest()[:16]
    path = cache.folder() / "images" / f"{digest}.cpio"
    if not path.exists():
        cache.write(path, image)
    return Machine(kernel, emulator, path, hashlib.sha256(program).hexdigest()[:DIGITS])
