"""The pages that are served: the lab, reports, recordings. Reports and recordings are written by their own verbs."""

import base64
import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from schedlab.errors import UsageError
from schedlab.lab import given, page
from schedlab.lab.given import Given
from schedlab.lab.made import made
from schedlab.serve import stored
from schedlab.serve.children import Children
from schedlab.serve.protocol import NOTHING

#: Pages that commands write at the same time, and seconds that another one waits.
AT_ONCE, PATIENCE = 2, 120.0
#: Bytes of a page that a command has written, at most.
LARGEST = 256 << 20


@dataclass(frozen=True)
class Page:
    """A page, and its Content-Security-Policy."""

    content: bytes
    policy: str = NOTHING


class Pages:
    """All pages of a server. `home` gives what the lab is about, `places` where experiments can be run."""

    def __init__(
        self,
        home: Callable[[], Given],
        places: Callable[[], list[dict[str, Any]]],
        out: Path,
        traces: Path | None,
        children: Children,
        folder: Path,
    ):
        """Read what pages are made of; `UsageError` if it is not installed, or there is no `home`."""
        self._home, self._places = home, places
        self._out, self._traces, self._children, self._folder = out, traces, children, folder
        self._writers = threading.BoundedSemaphore(AT_ONCE)
        # What is wrong with it is said before anything is served.
        home()
        self._parts = made()

    def home(self) -> Page:
        """The lab."""
        return self._lab(self._home())

    def results(self, name: str) -> Page:
        """The lab of results."""
        return self._lab(given.of_results(stored.result(self._out, name)))

    def report(self, name: str) -> Page:
        """The report of results."""
        folder = stored.result(self._out, name)
        with self._written() as file:
            self._children.done(["report", str(folder), "-o", str(file)], file.parent)
            return Page(_read(file))

    def recording(self, name: str) -> Page:
        """The page of a recording."""
        recording = stored.recording(self._traces, name)
        with self._written() as file:
            self._children.done(["trace", str(recording), "--html", str(file), "--allow-loss"], file.parent)
            script = (files("schedlab.report") / "templates" / "timeline.js").read_text("utf-8")
            return Page(_read(file), f"{NOTHING}; script-src {_digest(script)}")

    def _lab(self, about: Given) -> Page:
        content = page.content(replace(about, served={"places": self._places()}), self._parts)
        # Its script, no other; the simulator, which it has in it; requests to this server.
        may = f"script-src {_digest(self._parts.page)} 'wasm-unsafe-eval' blob:; worker-src blob:; connect-src 'self'"
        return Page(content, f"{NOTHING}; {may}")

    @contextmanager
    def _written(self) -> Iterator[Path]:
        """A file for a page, when it is its turn."""
        if not self._writers.acquire(timeout=PATIENCE):
            raise UsageError("other pages are being written: try again when they are done")
        try:
            with TemporaryDirectory(prefix="page-", dir=self._folder) as folder:
                yield Path(folder) / "page.html"
        finally:
            self._writers.release()


def _read(file: Path) -> bytes:
    if (size := file.stat().st_size) > LARGEST:
        raise UsageError(f"the page has {size} bytes; at most {LARGEST} are served: write it with the command")
    return file.read_bytes()


def _digest(script: str) -> str:
    """A script as a policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
