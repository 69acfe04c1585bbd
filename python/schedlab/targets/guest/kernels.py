"""Kernels for guests: of the distribution's packages by version, or any other by path (IMAGE, or IMAGE+MODULES).

A name is the beginning of a version: `6.1` is the newest 6.1 that is fetched, or else the newest that can be had. What
is fetched stays what `6.1` means, until `schedlab guest fetch 6.1` looks for a newer one: results stay comparable.
"""

import gzip
import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from schedlab.errors import UsageError, nearest
from schedlab.targets.guest import apt, cache
from schedlab.targets.guest.apt import Package, Say

#: Small kernels for virtual machines: what a guest's disk and console need is built in.
PACKAGES = re.compile(r"linux-image-(\d+\.\d+\.\d\S*)-cloud-amd64")
PREFIX = "linux-image-"
#: Where newer packages, split by what they hold, have the kernel itself and its modules.
PARTS = re.compile(r"linux-(binary|modules|base)-\d")
RECORD = "kernel.json"
VERSION = re.compile(r"\d+\.\d+(\.\d+)*([-+.~]\S*)?")
#: Header of a bzImage: what it begins with, where, and where the place of its version's text is (from 512 on).
HEADER_MAGIC, HEADER_AT, VERSION_AT, VERSION_FROM = b"HdrS", 0x202, 0x20E, 0x200
LARGEST_IMAGE = 256 << 20
#: What a module says of those that it needs.
DEPENDS = re.compile(rb"\0depends=([^\0]*)\0")
#: Lists what is no module of a kernel because it is built in.
BUILT_IN = "modules.builtin"


def _zstd(packed: bytes) -> bytes:
    """Unpack with the program: what distributions pack so is a kernel developer's, or another distribution's."""
    if not shutil.which("zstd"):
        raise UsageError("the kernel's modules are packed with zstd, which is not here: install the package zstd")
    return subprocess.run(["zstd", "-dc"], input=packed, capture_output=True, check=True, timeout=60).stdout


#: How modules are packed, by the end of their names.
PACKED = {".ko": bytes, ".xz": lzma.decompress, ".gz": gzip.decompress, ".zst": _zstd}


@dataclass(frozen=True)
class Kernel:
    """A kernel that can be booted."""

    #: What the user called it.
    name: str
    image: Path
    #: What it calls itself.
    release: str
    #: Version of its package, or the digest of its image.
    version: str
    #: Folder of its modules, if it has any.
    modules: Path | None = None

    @property
    def identity(self) -> str:
        """Decides results, and names files."""
        return f"{self.release}_{self.version}"


def find(name: str, say: Say) -> Kernel:
    """The kernel of that name; fetched, if need be."""
    if "/" in name:
        return _of_path(name)
    _check(name)
    known = [kernel for kernel in fetched() if _is(name, kernel.release)]
    return _renamed(known[-1], name) if known else fetch(name, say)


def fetched() -> list[Kernel]:
    """The kernels in the cache, oldest version first."""
    found = [_recorded(record) for record in _folder().glob(f"*/{RECORD}")]
    return sorted(found, key=lambda kernel: order(kernel.version))


def _recorded(record: Path) -> Kernel:
    """The kernel of a folder; a damaged one is refused by the folder's name."""
    try:
        about = json.loads(record.read_text())
        image = record.parent / about["image"]
        read_release(image)
        modules = record.parent / about["modules"] if about["modules"] else None
        return Kernel(about["release"], image, about["release"], about["version"], modules)
    except (OSError, ValueError, KeyError, UsageError):
        raise UsageError(f"{record.parent} is damaged; remove that folder, and it is fetched again") from None


def available(say: Say) -> list[Package]:
    """The newest package of every version (6.1, 6.12) that can be had, oldest first; the name is the kernel's own."""
    newest = {}
    for package in _packages(apt.siblings(say), lambda release: True):
        newest[series(_release(package.name))] = package
    return sorted(newest.values(), key=lambda package: order(package.version))


def fetch(name: str, say: Say) -> Kernel:
    """Fetch the newest kernel of that version."""
    _check(name)
    source = apt.siblings(say)
    packages = _packages(source, lambda release: _is(name, release))
    if not packages:
        known = dict.fromkeys(series(_release(package.name)) for package in available(say))
        raise UsageError(f"no kernel {name!r} among the packages; {nearest(name, known)}")
    package = packages[-1]
    release = _release(package.name)
    target = _folder() / f"{release}_{package.version}".replace(":", "_")
    with cache.building(target) as new:
        if new:
            parts = [part for part in package.depends if PARTS.match(part)]
            wanted = [package, *source.show(parts)] if parts else [package]
            source.unpack([f"{part.name}={part.version}" for part in wanted], new, say)
            _record(new, release, package.version)
    return _renamed(next(kernel for kernel in fetched() if kernel.image.is_relative_to(target)), name)


def module(kernel: Kernel, name: str) -> bytes | None:
    """The contents of one of the kernel's modules, as the kernel takes them; none, if it is built in.

    Of a kernel without a folder of modules, everything is taken to be built in: what it lacks shows when it is used.
    """
    if not kernel.modules:
        return None
    files, built_in = _modules(kernel.modules)
    wanted = name.replace("-", "_")
    if wanted in built_in:
        return None
    if wanted not in files:
        near = nearest(wanted, files)
        raise UsageError(f"guest:{kernel.name}: {kernel.release} has no module {name!r}, nor is it built in; {near}")
    file = files[wanted]
    unpack = PACKED.get(file.suffix)
    if not unpack:
        known = ", ".join(PACKED)
        raise UsageError(f"guest:{kernel.name}: {file.name} is packed in a way that is not known here ({known} are)")
    try:
        return unpack(file.read_bytes())
    except (OSError, EOFError, lzma.LZMAError, subprocess.CalledProcessError) as why:
        raise UsageError(f"guest:{kernel.name}: {file} cannot be unpacked: {why}") from None


@lru_cache(maxsize=32)
def _modules(folder: Path) -> tuple[dict[str, Path], set[str]]:
    """The files of modules, and the names of what is built in."""
    files = {_spelled(file.name): file for file in sorted(folder.rglob("*.ko*"))}
    lists = [path for path in (folder / BUILT_IN, folder.parent / BUILT_IN) if path.exists()]
    return files, {_spelled(Path(line).name) for path in lists[:1] for line in path.read_text().split()}


def _spelled(file: str) -> str:
    """A module's name, as the kernel spells it."""
    return file.partition(".ko")[0].replace("-", "_")


@lru_cache(maxsize=32)
def needed(kernel: Kernel, names: tuple[str, ...]) -> dict[str, bytes]:
    """Modules by name, and those that they need, each after all that it needs itself; not what is built in."""
    found: dict[str, bytes] = {}
    for name in names:
        contents = module(kernel, name)
        if contents is None:
            continue
        others = DEPENDS.search(contents)
        wanted = [other.decode() for other in others[1].split(b",") if other] if others else []
        found |= {other: file for other, file in needed(kernel, tuple(wanted)).items() if other not in found}
        found[name] = contents
    return found


def series(release: str) -> str:
    """`6.1` of `6.1.0-56-cloud-amd64`."""
    return ".".join(re.findall(r"\d+", release)[:2])


def _record(folder: Path, release: str, version: str) -> None:
    """Say where in a folder the image and the modules are."""
    images = sorted(folder.rglob("vmlinuz*"))
    if not images:
        raise UsageError(f"the package of {release} holds no kernel; name a bzImage instead, as in guest:/boot/vmlinuz")
    modules = next((path for path in sorted(folder.rglob("lib/modules/*/kernel")) if path.is_dir()), None)
    about = {
        "release": read_release(images[0]).split()[0],
        "version": version,
        "image": str(images[0].relative_to(folder)),
        "modules": str(modules.relative_to(folder)) if modules else None,
    }
    (folder / RECORD).write_text(json.dumps(about, indent=2))


def read_release(image: Path) -> str:
    """What a bzImage calls itself, by its header."""
    with open(image, "rb") as file:
        head = file.read(VERSION_FROM + 0x10000)
    if head[HEADER_AT : HEADER_AT + len(HEADER_MAGIC)] != HEADER_MAGIC:
        raise UsageError(f"{image} is no kernel that can be booted (a bzImage)")
    start = VERSION_FROM + int.from_bytes(head[VERSION_AT : VERSION_AT + 2], "little")
    text = head[start : start + 256].partition(b"\0")[0].decode("ascii", "replace")
    return text if text.strip() else "unnamed"


def _of_path(name: str) -> Kernel:
    image, modules = _image_and_modules(name)
    if image.stat().st_size > LARGEST_IMAGE:
        raise UsageError(f"guest:{name}: {image.stat().st_size >> 20} MB are no kernel's")
    release = read_release(image).split()[0]
    version = "sha256+" + hashlib.sha256(image.read_bytes()).hexdigest()[:16]
    return Kernel(name, image, release, version, modules)


def _image_and_modules(name: str) -> tuple[Path, Path | None]:
    """The paths in IMAGE or IMAGE+FOLDER; a plus sign may occur in either."""
    whole = Path(name).expanduser().resolve()
    if whole.is_file():
        return whole, None
    for plus in re.finditer(r"\+", name):
        image, folder = (Path(part).expanduser().resolve() for part in (name[: plus.start()], name[plus.end() :]))
        if image.is_file():
            if any(folder.rglob("*.ko*")):
                return image, folder
            raise UsageError(
                f"guest:{name}: there are no modules in {folder}; name a folder as /lib/modules/{{release}}"
            )
    raise UsageError(f"guest:{name}: there is no such file")


def _packages(source: apt.Apt, wanted: Callable[[str], bool]) -> list[Package]:
    names = [name for name in source.names(PREFIX) if (found := PACKAGES.fullmatch(name)) and wanted(found[1])]
    return sorted(source.show(names), key=lambda package: order(package.version)) if names else []


def _release(package: str) -> str:
    return package.removeprefix(PREFIX)


def _check(name: str) -> None:
    if not VERSION.fullmatch(name):
        raise UsageError(
            f"guest:{name}: {name!r} is no kernel; name a version, as in guest:6.1, or a bzImage, as in guest:./bzImage"
        )


def _is(name: str, release: str) -> bool:
    """6.1 is 6.1.0-56, and not 6.12."""
    return release.startswith(name) and not release[len(name) : len(name) + 1].isdigit()


def order(version: str) -> tuple:
    """What puts versions in order: by the numbers in them, first those of the kernel, then those of the package."""
    upstream, _, rest = version.partition("-")
    return tuple(map(int, re.findall(r"\d+", upstream))), tuple(map(int, re.findall(r"\d+", rest)))


def _renamed(kernel: Kernel, name: str) -> Kernel:
    return Kernel(name, kernel.image, kernel.release, kernel.version, kernel.modules)


def _folder() -> Path:
    folder = cache.folder() / "kernels"
    os.makedirs(folder, exist_ok=True)
    return folder
