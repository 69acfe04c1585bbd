"""Writes the outputs of docs/tour.md and of the pages in EXACT: `.venv/bin/python scripts/tour.py`

Kinds of blocks as arguments renew only these: `scripts/tour.py console form guest`.

A block of the page begins with ```console and is one of these:

    console                   commands whose output is the same everywhere
    console form              their output has numbers that differ
    console host              real tasks on this host
    console guest:6.17,6.1    these kernels in guests
    console make              targets of the Makefile: shown, and not run

The commands of a page run in one folder, one after the other. A toml block is the file named in the line above it. In
an output, a line of three dots stands for any number of lines.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "tour.md"
#: Pages all of whose commands print the same everywhere.
EXACT = [ROOT / "docs" / name for name in ("clusters.md", "comparing.md", "reports.md", "tuning.md")]

_BLOCK = re.compile(r"^```(?P<kind>console|toml)(?: (?P<where>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`([\w.]+)`:\s*\Z")
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
#: Of the engine and the scenarios, in the name of a results folder: every verb takes the name without it.
_DIGEST = re.compile(r"(?<=[\w/])-[0-9a-f]{8}$", re.MULTILINE)
_DOTS = re.compile(r"^\.\.\.\n", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """A command of the page with the output that is shown, or a file to write."""

    #: The word after `console`; of a file its name.
    where: str
    command: str
    shown: str
    line: int

    @property
    def is_file(self) -> bool:
        """Whether it is a file."""
        return not self.command


def steps(text: str) -> Iterator[Step]:
    """What the page says, from top to bottom."""
    for block in _BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        if block["kind"] == "toml":
            yield Step(_FILE.search(text[: block.start()])[1], "", block["text"], line)
        for command, shown in _COMMAND.findall(block["text"]) if block["kind"] == "console" else ():
            yield Step(block["where"] or "", command, shown, line)


def run(command: str, folder: Path) -> subprocess.CompletedProcess:
    """Run a command of the page as in a pipe, whatever terminal this runs in."""
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment |= {"NO_COLOR": "1", "PATH": f"{Path(sys.executable).parent}:{environment['PATH']}"}
    # What this user has agreed to run is no part of the page.
    environment["XDG_STATE_HOME"] = str(folder / "state")
    return subprocess.run(["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)


def trimmed(output: str) -> str:
    """An output as the page shows it."""
    return re.sub(r"[ \t]+$", "", _DIGEST.sub("", output), flags=re.MULTILINE).strip("\n") + "\n"


def form(output: str) -> str:
    """What stays when a measurement is repeated: names and the order of lines.

    Rows of the simulator keep their numbers. Warnings are about the host of the moment.
    """
    quiet = re.sub(r"^warning: .*\n(?:  .*\n)*", "", output, flags=re.MULTILINE)
    lines = [" ".join(line.split()) for line in quiet.splitlines()]
    plain = [
        line if line.startswith("sim ") else re.sub(r"[-+]?\d[\d.,]*(?:\+[0-9a-f]{8}\b)?", "N", line) for line in lines
    ]
    return re.sub("─+", "─", "\n".join(plain)) + "\n"


def agrees(shown: str, output: str, reduced: Callable[[str], str] = str) -> bool:
    """Whether the output is the one shown, where three dots stand for any number of lines."""
    parts = [reduced(part) if part else "" for part in _DOTS.split(shown)]
    return re.fullmatch("(?:.*\n)*".join(map(re.escape, parts)), reduced(output)) is not None


def renewed(shown: str, output: str) -> str:
    """The output, cut as the one shown: as many lines of its beginning and of its end."""
    if not _DOTS.search(shown):
        return output
    head, tail = (part.count("\n") for part in _DOTS.split(shown))
    lines = output.splitlines(keepends=True)
    return "".join([*lines[:head], "...\n", *lines[len(lines) - tail :]])


def main() -> None:
    """Run every command and write what it prints."""
    for page in (PAGE, *EXACT):
        renew(page, sys.argv[1:] or ["console", "form", "host", "guest"])


def renew(page: Path, wanted: list[str]) -> None:
    """Write the outputs of the wanted kinds of blocks of a page anew."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "schema", folder / "schema")
        for step in list(steps(text)):
            if step.is_file:
                (folder / step.where).write_text(step.shown)
            elif (step.where or "console").partition(":")[0] in wanted:
                done = run(step.command, folder)
                if done.returncode:
                    raise SystemExit(f"{page.name}:{step.line}: $ {step.command}\n{done.stdout}{done.stderr}")
                before = f"$ {step.command}\n{step.shown}"
                after = renewed(step.shown, trimmed(done.stdout) if done.stdout else "")
                text = text.replace(before, f"$ {step.command}\n{after}", 1)
                page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
