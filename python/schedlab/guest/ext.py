"""Schedulers of one's own in a guest, by the kernel's sched_ext: `[tunables] sched_ext = "fifo.bpf.o"`, or "none".

The object lies in the guest's initial file system, beside the tool that hands it to the kernel: bpftool, with the few
libraries that it needs, of the distribution's packages. The agent attaches it before anything is measured, and refuses
to report if the kernel has thrown it out (`crates/host/src/guest/ext.rs` tells what it finds where).
"""

import re
import subprocess
from pathlib import Path

from schedlab.errors import UsageError
from schedlab.guest import apt, cache, elf
from schedlab.guest.apt import Say
from schedlab.guest.kernels import Kernel
from schedlab.guest.qemu import LIBRARIES
from schedlab.live.runs import SCHED_EXT

#: The tunable's value where the kernel keeps its own scheduler.
NONE = "none"
#: The folder in the guest, and what is in it.
FOLDER, SCHEDULER, LOADER, TOOL = "sched_ext", "scheduler.bpf.o", "ld.so", "bpftool"
#: What the loader of libraries is called where it is installed.
INSTALLED_LOADER = "ld-linux-x86-64.so.2"
#: Where a package has the configuration of its kernel, beside the image; newer ones have all in a folder of its own.
CONFIGURATIONS = ("config-{release}", "config")
#: What the kernel must be built with.
OPTION = "CONFIG_SCHED_CLASS_EXT=y"
#: How to begin the tool in the guest.
COMMAND = (f"/{FOLDER}/{LOADER}", "--library-path", f"/{FOLDER}", f"/{FOLDER}/{TOOL}")


def files(named: str, folder: Path, kernel: Kernel, say: Say) -> dict[str, bytes]:
    """What the initial file system must have for the scheduler that is named by its path, which begins at `folder`.

    Raises `UsageError` if there is no such object, or the kernel takes none.
    """
    if named == NONE:
        return {}
    refuse_without(kernel)
    scheduler = read(folder / Path(named).expanduser())
    return {**tool(say), f"{FOLDER}/{SCHEDULER}": scheduler}


def read(path: Path) -> bytes:
    """The contents of a scheduler's object."""
    known = f"tunables.{SCHED_EXT}: {path}"
    try:
        contents = path.read_bytes()
    except OSError as why:
        raise UsageError(f"{known} cannot be read: {why.strerror}; {NONE!r} is the kernel's own scheduler") from None
    if not elf.is_bpf(contents):
        raise UsageError(
            f"{known} is no object for BPF (ELF, machine {elf.EM_BPF}): schedlab guest build makes one of its source"
        )
    return contents


def refuse_without(kernel: Kernel) -> None:
    """Refuse a kernel that is known to take no schedulers. Of one without a configuration, the guest will tell."""
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
