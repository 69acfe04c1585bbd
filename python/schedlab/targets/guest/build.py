"""Compiles the source of a scheduler into the object that a guest's kernel takes: `fifo.bpf.c` into `fifo.bpf.o`.

    compiler       the newest clang of the machine's own suites, installed or of its package
    vmlinux.h      the types of that very kernel: a guest prints them, once
    bpf/*.h        the headers of libbpf, of its package

The same source, kernel and packages make the same bytes, in whatever folder.
"""

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from schedlab.errors import UsageError
from schedlab.targets.guest import apt, cache, constants, ext, kernels
from schedlab.targets.guest.apt import Apt, Say
from schedlab.targets.guest.machine import Machine
from schedlab.targets.guest.qemu import LIBRARIES
from schedlab.targets.guest.setup import Setup

#: What the names of sources and of objects end in.
SOURCE, OBJECT = ".bpf.c", ".bpf.o"
#: Packages of compilers, and of the headers.
COMPILERS, HEADERS = re.compile(r"clang-(\d+)"), "libbpf-dev"
#: BTF, which the kernel reads types from, is made of debugging information; an instruction set that all kernels with
#: sched_ext know.
OPTIONS = ("-g", "-O2", "-Wall", "-target", "bpf", "-mcpu=v3", "-D__TARGET_ARCH_x86")
#: Where a kernel publishes its types.
TYPES = "/sys/kernel/btf/vmlinux"
#: Longest time of a compilation, s.
TIMEOUT = 300


def refuse_no_source(source: Path) -> None:
    """Refuse what is no source of a scheduler; asked before a kernel is fetched for it."""
    if not source.name.endswith(SOURCE):
        raise UsageError(f"{source}: the name of a scheduler's source ends in {SOURCE}")
    if not source.is_file():
        raise UsageError(f"{source}: there is no such file")


def build(source: Path, machine: Machine, say: Say) -> Path:
    """Compile for the machine's kernel; the object lies next to its source."""
    refuse_no_source(source)
    ext.refuse_without(machine.kernel)
    target = source.with_name(source.name.removesuffix(SOURCE) + OBJECT)
    included = [types(machine, say), headers(say)]
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder, target.name)
        _compile(source, included, new, say)
        cache.write(target, new.read_bytes())
        target.chmod(0o644)
    return target


def types(machine: Machine, say: Say) -> Path:
    """The folder with vmlinux.h of the machine's kernel."""
    folder = cache.folder() / "types" / machine.kernel.identity
    with cache.building(folder) as new:
        if new:
            say(f"asking {machine.kernel.release} for its types")
            with_tool = replace(machine, setup=Setup(extra=ext.tool(say)))
            words = [*ext.COMMAND, "btf", "dump", "file", TYPES, "format", "c"]
            (new / "vmlinux.h").write_text(with_tool.ask(words, settle_ns=0, plain=True).answer)
    return folder


def enumerators(machine: Machine, say: Say) -> dict[str, int]:
    """Values of the kernel's enumerations that schedulers use, by name."""
    return constants.enumerators((types(machine, say) / "vmlinux.h").read_text())


def _compile(source: Path, included: list[Path], target: Path, say: Say) -> None:
    program, environment = compiler(say)
    folders = [word for folder in included for word in ("-isystem", str(folder), f"-ffile-prefix-map={folder}=.")]
    # Names are those of the source's folder, so that no path gets into the object.
    command = [program, *OPTIONS, "-ffile-compilation-dir=.", *folders, "-c", source.name, "-o", target]
    try:
        done = subprocess.run(
            command,
            cwd=source.resolve().parent,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as why:
        raise UsageError(f"{program} cannot be run: {why}") from None
    if done.returncode:
        raise UsageError(f"{source} does not compile:\n{done.stderr.strip()}")
    if done.stderr.strip():
        say(done.stderr.strip())


def compiler(say: Say) -> tuple[Path, dict[str, str]]:
    """The compiler, and the environment in which it finds its libraries."""
    tree = cache.folder() / "clang"
    if not tree.exists():
        source = apt.own(say)
        newest = _newest(source)
        if installed := shutil.which(newest):
            return Path(installed), dict(os.environ)
        with cache.building(tree) as new:
            if new:
                source.unpack(source.needed_for(newest), new, say)
    found = sorted(tree.glob("usr/lib/llvm-*/bin/clang"))
    if not found:
        raise UsageError(f"{tree} has no clang; remove it, so that it is fetched again")
    libraries = [tree / path for path in LIBRARIES] + [found[-1].parent.parent / "lib"]
    return found[-1], dict(os.environ) | {"LD_LIBRARY_PATH": ":".join(map(str, libraries))}


def _newest(source: Apt) -> str:
    # A name that only other packages mention is no package.
    named = [name for name in source.names("clang-") if COMPILERS.fullmatch(name)]
    names = [package.name for package in source.show(named)]
    if not names:
        raise UsageError("no clang among the packages of the machine's own suites")
    return max(names, key=lambda name: int(COMPILERS.fullmatch(name)[1]))


def headers(say: Say) -> Path:
    """The folder with the headers of libbpf; the library itself is not needed."""
    tree = cache.folder() / HEADERS
    with cache.building(tree) as new:
        if new:
            source = apt.siblings(say)
            packages = sorted(source.show([HEADERS]), key=lambda package: kernels.order(package.version))
            if not packages:
                raise UsageError(f"no package {HEADERS} among the packages")
            source.unpack([f"{HEADERS}={packages[-1].version}"], new, say)
    return tree / "usr/include"
