"""Packages from the machine's own sources, without touching the machine: lists and packages lie in our own cache.

The sources are those of the machine's distribution, as apt has them. Sibling suites are the same with another release's
name in place of this one's: where bookworm is, bullseye and trixie are tried too. A suite that is not there is
left out.
"""

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import UsageError
from schedlab.targets.guest import cache

#: Releases of the distribution, oldest first, that may be tried in place of the machine's own.
RELEASES = ("bullseye", "bookworm", "trixie")
#: Suites of a release in addition to those that the machine names.
MORE_SUITES = "-backports"
#: Lists younger than this are not fetched again, s.
FRESH_FOR = 7 * 86400
#: Longest time for lists, and for the packages of one download, s.
LISTS_TIMEOUT, PACKAGES_TIMEOUT = 300, 1800
#: Lists, and the packages of one download with their unpacked files, take less than this, bytes.
ROOM = 512 << 20
SOURCES = Path("/etc/apt")
ABOUT_SYSTEM = Path("/etc/os-release")

Say = Callable[[str], None]


@dataclass(frozen=True)
class Package:
    """A package as the lists have it."""

    name: str
    version: str
    depends: tuple[str, ...] = ()


@dataclass(frozen=True)
class Apt:
    """Lists of some sources, with apt's programs to ask them."""

    folder: Path
    #: The machine's record of what is installed, or none of it.
    installed: bool
    #: The suite that packages are taken from in place of the usual one; none, for the usual one.
    preferred: str = ""

    def _options(self) -> list[str]:
        settings = {
            "Dir::Etc::sourcelist": self.folder / "ours.sources",
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "Dir::State::lists": self.folder / "lists",
            "Dir::Cache": self.folder / "cache",
            "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
            "Acquire::Retries": "2",
            # The user apt otherwise becomes cannot write into our folders.
            "APT::Sandbox::User": "root",
            # Nothing of the machine's is written: there is nothing to lock.
            "Debug::NoLocking": "1",
        }
        if not self.installed:
            settings["Dir::State::status"] = "/dev/null"
        if self.preferred:
            settings["APT::Default-Release"] = self.preferred
        return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]

    def run(self, program: str, *words: str, timeout: float, where: Path | None = None) -> subprocess.CompletedProcess:
        """Run one of apt's programs."""
        if not shutil.which(program):
            raise UsageError(f"{program} is not here: guest kernels come from packages of Debian; or name a bzImage")
        try:
            command = [program, *self._options(), *words]
            return subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=where, check=False)
        except subprocess.TimeoutExpired:
            raise UsageError(f"{program} {words[0]} took longer than {timeout:g} s; is the network there?") from None

    def update(self, sources: str, say: Say) -> None:
        """Fetch the lists if they are old or of other sources."""
        file = self.folder / "ours.sources"
        stamp = self.folder / "fetched"
        same = file.exists() and file.read_text() == sources
        if same and stamp.exists() and time.time() - stamp.stat().st_mtime < FRESH_FOR:
            return
        cache.refuse_full(self.folder, ROOM)
        for name in ("lists/partial", "cache/archives/partial"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        file.write_text(sources)
        say("fetching lists of packages")
        done = self.run("apt-get", "update", timeout=LISTS_TIMEOUT)
        # Suites that are not there make it fail, though the others have come.
        if not any((self.folder / "lists").glob("*Packages*")):
            raise UsageError(f"no list of packages could be fetched: {_last(done.stderr)}")
        stamp.touch()

    def names(self, prefix: str) -> list[str]:
        """The packages whose names begin so."""
        return self.run("apt-cache", "pkgnames", prefix, timeout=60).stdout.split()

    def show(self, names: Iterable[str]) -> list[Package]:
        """What the lists say of packages, the newest version of each."""
        text = self.run("apt-cache", "show", "--no-all-versions", *names, timeout=60).stdout
        return [_package(entry) for entry in text.split("\n\n") if entry.strip()]

    def needed_for(self, name: str) -> list[str]:
        """A package and what this machine lacks of what it needs, as NAME=VERSION."""
        done = self.run("apt-get", "-s", "install", "--no-install-recommends", name, timeout=60)
        lines = re.findall(r"^Inst (\S+) (?:\[\S+\] )?\((\S+) ", done.stdout, re.MULTILINE)
        if not lines:
            raise UsageError(
                f"the package {name} cannot be had: {_last(done.stderr) or 'apt lists nothing to install'}"
            )
        return [f"{package}={version}" for package, version in lines]

    def unpack(self, packages: Iterable[str], into: Path, say: Say) -> None:
        """Fetch packages (NAME=VERSION) and unpack them into a folder."""
        wanted = list(packages)
        cache.refuse_full(into, ROOM)
        parcel = into / ".packages"
        parcel.mkdir()
        say(f"fetching {', '.join(wanted)}")
        # All at once: apt reads its lists each time, which takes longer than most packages.
        done = self.run("apt-get", "download", *wanted, timeout=PACKAGES_TIMEOUT, where=parcel)
        if done.returncode:
            raise UsageError(f"a package could not be fetched: {_last(done.stderr)}")
        for file in sorted(parcel.glob("*.deb")):
            done = subprocess.run(["dpkg", "-x", file, into], capture_output=True, text=True, timeout=300, check=False)
            if done.returncode:
                raise UsageError(f"{file.name} could not be unpacked: {_last(done.stderr)}")
        shutil.rmtree(parcel)


def own(say: Say) -> Apt:
    """The machine's own suites, and what is installed."""
    return _of("own", [_release()], (), True, say)


def backports(say: Say) -> Apt:
    """The machine's own suites with newer programs for this release, which come first."""
    return _of("backports", [_release()], (MORE_SUITES,), True, say, preferred=_release() + MORE_SUITES)


def siblings(say: Say) -> Apt:
    """Suites of all releases."""
    return _of("siblings", [*RELEASES], (MORE_SUITES,), False, say)


def _of(
    name: str, releases: list[str], more_suites: tuple[str, ...], installed: bool, say: Say, preferred: str = ""
) -> Apt:
    apt = Apt(cache.folder() / "apt" / name, installed, preferred)
    apt.folder.mkdir(parents=True, exist_ok=True)
    sources = _sources(_release(), releases, more_suites)
    with cache.alone_at(apt.folder):
        apt.update(sources, say)
    return apt


def _release() -> str:
    """The name of the machine's release."""
    text = ABOUT_SYSTEM.read_text() if ABOUT_SYSTEM.exists() else ""
    found = re.search(r'^VERSION_CODENAME="?([\w-]+)"?$', text, re.MULTILINE)
    if not found or found[1] not in RELEASES:
        name = found[1] if found else "unknown"
        raise UsageError(
            f"kernels come from packages of Debian ({', '.join(RELEASES)}), and this system is {name}: "
            "name a bzImage instead, as in guest:/boot/vmlinuz"
        )
    return found[1]


def _sources(release: str, releases: list[str], more_suites: tuple[str, ...]) -> str:
    """The machine's sources of its distribution, each for these releases, in apt's newer form."""
    entries = []
    for entry in _entries():
        suites = [suite for suite in entry.get("Suites", "").split() if re.match(rf"{release}(-|$)", suite)]
        if not suites:
            continue
        wanted = [*suites, *(release + more for more in more_suites if release in suites)]
        other = [re.sub(rf"^{release}", name, suite) for name in releases for suite in wanted]
        entries.append(entry | {"Types": "deb", "Suites": " ".join(dict.fromkeys(other))})
    if not entries:
        raise UsageError(
            f"apt has no source of {release} in {SOURCES}: name a bzImage instead, as in guest:/boot/vmlinuz"
        )
    return "\n\n".join("\n".join(f"{key}: {value}" for key, value in entry.items()) for entry in entries) + "\n"


def _entries() -> list[dict[str, str]]:
    """Every source of the machine, of both forms."""
    lines = [SOURCES / "sources.list", *sorted(SOURCES.glob("sources.list.d/*.list"))]
    found = [
        entry for path in lines if path.exists() for entry in map(_from_line, path.read_text().splitlines()) if entry
    ]
    for path in sorted(SOURCES.glob("sources.list.d/*.sources")):
        for text in re.split(r"\n\s*\n", path.read_text()):
            fields = re.findall(r"^([A-Za-z-]+):[ \t]*(.*(?:\n[ \t].*)*)", text, re.MULTILINE)
            entry = {name: value.rstrip() for name, value in fields}
            if "deb" in entry.get("Types", "").split() and entry.get("Enabled", "yes") != "no":
                found.append(entry)
    return found


def _from_line(line: str) -> dict[str, str] | None:
    """A source of the older form: deb [signed-by=...] URI SUITE COMPONENT..."""
    found = re.match(r"deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+(.+)", line)
    if not found:
        return None
    options = dict(option.split("=", 1) for option in (found[1] or "").split() if "=" in option)
    entry = {"URIs": found[2], "Suites": found[3], "Components": found[4].partition("#")[0].strip()}
    return entry | ({"Signed-By": options["signed-by"]} if "signed-by" in options else {})


def _package(entry: str) -> Package:
    fields = dict(re.findall(r"^(Package|Version|Depends): (.*)$", entry, re.MULTILINE))
    depends = tuple(word.split()[0] for word in fields.get("Depends", "").split(", ") if word and "|" not in word)
    return Package(fields["Package"], fields["Version"], depends)


def _last(text: str) -> str:
    """The last line, or before it the last one that says what could not be fetched, and why."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    failed = [line for line in lines if "Failed to fetch" in line]
    return (failed or lines or [""])[-1]
