"""Schedulers of one's own in a guest, by the kernel's sched_ext: `[tunables] sched_ext = "fifo.bpf.o"`, or "none".

Behind the path, constants of the object can be given (`guest/constants.py`): "weighted.bpf.o slice_ns=20000000".

The object lies in the guest's initial file system, next to the tool that hands it to the kernel: bpftool, with the few
libraries that it needs, of the distribution's packages. The agent attaches it before anything is measured, and refuses
to report if the kernel has thrown it out (`crates/agent/src/guest/ext.rs` documents where it looks).
"""

import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from schedlab.errors import UsageError
from schedlab.system import reading
from schedlab.targets.guest import apt, cache, constants, elf
from schedlab.targets.guest.apt import Say
from schedlab.targets.guest.kernels import Kernel
from schedlab.targets.guest.qemu import LIBRARIES
from schedlab.targets.linux import SCHED_EXT

#: The tunable's value where the kernel keeps its own scheduler.
NONE = "none"
#: The folder in the guest, and what is in it.
FOLDER, SCHEDULER, LOADER, TOOL = "sched_ext", "scheduler.bpf.o", "ld.so", "bpftool"
#: What the loader of libraries is called where it is installed.
INSTALLED_LOADER = "ld-linux-x86-64.so.2"
#: Where a package has the configuration of its kernel, next to the image; newer ones have all in a folder of its own.
CONFIGURATIONS = ("config-{release}", "config")
#: What the kernel must be built with.
OPTION = "CONFIG_SCHED_CLASS_EXT=y"
#: How to begin the tool in the guest.
COMMAND = (f"/{FOLDER}/{LOADER}", "--library-path", f"/{FOLDER}", f"/{FOLDER}/{TOOL}")


def files(
    named: str, folder: Path, kernel: Kernel, say: Say, enumerators: Callable[[], Mapping[str, int]] = dict
) -> dict[str, bytes]:
    """What the initial file system must have for the scheduler that is named by its path, which begins at `folder`.

    `enumerators` gives those of the kernel, by name. Raises `UsageError` if there is no such object, if the kernel
    takes none, or if constants of the object have no value.
    """
    if named == NONE:
        return {}
    refuse_without(kernel)
    path, words = _split(named, folder)
    scheduler = read(path)
    of_guest = tool(say)
    label = f"tunables.{SCHED_EXT}: {path}"
    known = constants.found(scheduler, types(scheduler, label))
    values = constants.given(words, label)
    return {**of_guest, f"{FOLDER}/{SCHEDULER}": constants.filled(scheduler, known, values, enumerators, label)}


def _split(named: str, folder: Path) -> tuple[Path, list[str]]:
    """The path of an object, and the words behind it; a path may have spaces if it is quoted, or if nothing follows."""
    whole = folder / Path(named).expanduser()
    if whole.exists():
        return whole, []
    try:
        first, *words = shlex.split(named)
    except ValueError as why:
        raise UsageError(f"tunables.{SCHED_EXT}: {named!r}: {why}") from None
    return folder / Path(first).expanduser(), words


def types(scheduler: bytes, label: str) -> list[dict]:
    """The types of an object (BTF), as bpftool lists them; the tool runs here, and needs no right."""
    found = _needed(cache.folder() / TOOL)
    libraries = ":".join(sorted({str(path.parent) for path in found.values()}))
    with tempfile.TemporaryDirectory() as folder, cache.room(Path(folder), "TMPDIR"):
        file = Path(folder, SCHEDULER)
        file.write_bytes(scheduler)
        command = [found[LOADER], "--library-path", libraries, found[TOOL], "-j", "btf", "dump", "file", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    try:
        return constants.read_types(done.stdout)
    except UsageError as why:
        raise UsageError(f"{label}: {why} {done.stderr.strip()}".rstrip()) from None


def read(path: Path) -> bytes:
    """The contents of a scheduler's object."""
    known = f"tunables.{SCHED_EXT}: {path}"
    try:
        contents = reading.data(path, reading.OBJECT)
    except OSError as why:
        raise UsageError(f"{known} cannot be read: {why.strerror}; {NONE!r} is the kernel's own scheduler") from None
    if not elf.is_bpf(contents):
        raise UsageError(
            f"{known} is no object for BPF (ELF, machine {elf.EM_BPF}): schedlab guest build makes one of its source"
        )
    return contents


def refuse_without(kernel: Kernel) -> None:
    """Refuse a kernel that is known to take no schedulers. Without a configuration file, the guest decides."""
    named = [kernel.image.with_name(name.format(release=kernel.release)) for name in CONFIGURATIONS]
    config = next((file for file in named if file.is_file()), None)
    if config and OPTION not in config.read_text().splitlines():
        raise UsageError(
            f"guest:{kernel.name}: tunables.{SCHED_EXT}: {kernel.release} is built without "
            f"{OPTION.removesuffix('=y')}; guest:6.17 has it"
        )


def tool(say: Say) -> dict[str, bytes]:
    """Bpftool with all that it needs, by paths in the guest; fetched at first use."""
    tree = cache.folder() / TOOL
    with cache.building(tree) as new:
        if new:
            source = apt.siblings(say)
            source.unpack(source.needed_for(TOOL), new, say)
            _needed(new)
    found = _needed(tree)
    return {f"{FOLDER}/{name}": path.read_bytes() for name, path in found.items()}


def _needed(tree: Path) -> dict[str, Path]:
    """The tool, its libraries and their loader, by the names that it asks for: the loader itself lists them."""
    loader = next(iter(sorted(tree.rglob(INSTALLED_LOADER))), tree / INSTALLED_LOADER)
    program = tree / "usr/sbin" / TOOL
    libraries = ":".join(str(tree / path) for path in LIBRARIES)
    command = [loader, "--library-path", libraries, "--list", program]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as why:
        raise UsageError(f"{program}: its libraries cannot be listed: {why}") from None
    named = re.findall(r"^\s*(\S+) => (/\S+) \(", done.stdout, re.MULTILINE)
    if done.returncode or not named:
        raise UsageError(f"{program}: its libraries cannot be listed: {done.stderr.strip() or 'none are'}")
    needed = {name: Path(path) for name, path in named if not name.startswith("/")}
    return {TOOL: program, LOADER: loader, **needed}
