"""What the page is made of: the simulator as WebAssembly, and the scripts of page and worker. `make setup` makes them.

They are no part of the repository. Where a library for WebAssembly or node was missing, schedlab is installed without.
"""

import base64
import gzip
from dataclasses import dataclass
from importlib.resources import files

from schedlab.errors import UsageError

#: The simulator (crates/web), and the scripts (web/src) of the page and of the worker that runs it.
ENGINE, PAGE, WORKER = "engine.wasm", "page.js", "worker.js"
#: What to do where one is missing.
REMEDIES = {
    ENGINE: "it needs Rust's library for WebAssembly: rustup target add wasm32-unknown-unknown, then make web setup",
    PAGE: "it needs node and npm: install them, then make web setup",
    WORKER: "it needs node and npm: install them, then make web setup",
}
#: What would end a script too soon, or begin a comment within it.
ENDINGS = ("</script", "<!--")


@dataclass(frozen=True)
class Made:
    """The simulator, packed (base64 of gzip), and the two scripts."""

    engine: str
    page: str
    worker: str


def made() -> Made:
    """Read them. UsageError if one is missing."""
    folder = files("schedlab.lab")
    missing = [name for name in REMEDIES if not (folder / name).is_file()]
    if missing:
        raise UsageError(f"schedlab is installed without {' and '.join(missing)}: {REMEDIES[missing[0]]}")
    packed = gzip.compress((folder / ENGINE).read_bytes(), 9, mtime=0)
    return Made(base64.b64encode(packed).decode(), _script(PAGE), _script(WORKER))


def _script(name: str) -> str:
    text = (files("schedlab.lab") / name).read_text("utf-8")
    found = next((ending for ending in ENDINGS if ending in text), None)
    if found:
        raise ValueError(f"{name} has {found!r}, which a page cannot hold")
    return text
