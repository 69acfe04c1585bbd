"""What a page is made of: the simulator as WebAssembly, and the scripts of page and worker. `make setup` makes them.

They are no part of the repository. Where a library for WebAssembly or node was missing, schedlab is installed without.
"""

import base64
import gzip
from dataclasses import dataclass
from importlib.resources import files

from schedlab.errors import UsageError

#: The simulator (crates/web), and the scripts (web/src): of the lab's page, of live reports, of the pages of the
#: gallery, and of the worker.
ENGINE, PAGE, LIVE, GALLERY, WORKER = "engine.wasm", "page.js", "live.js", "gallery.js", "worker.js"
#: What to do where one is missing.
REMEDIES = {
    ENGINE: "it needs Rust's library for WebAssembly: rustup target add wasm32-unknown-unknown, then make web setup",
    PAGE: "it needs node and npm: install them, then make web setup",
    LIVE: "it needs node and npm: install them, then make web setup",
    GALLERY: "it needs node and npm: install them, then make web setup",
    WORKER: "it needs node and npm: install them, then make web setup",
}
#: Letters of base 85 (RFC 1924) that mean something in HTML, and those that stand for them (`web/src/packed.ts`).
PLAIN = str.maketrans("&<>", ",.:")
#: What would end a script too soon, or begin a comment within it.
ENDINGS = ("</script", "<!--")


@dataclass(frozen=True)
class Made:
    """The simulator, packed, and the two scripts."""

    engine: str
    page: str
    worker: str


def made(page: str = PAGE) -> Made:
    """Read them, with the script of that page. UsageError if one is missing."""
    folder = files("schedlab.lab")
    missing = [name for name in (ENGINE, page, WORKER) if not (folder / name).is_file()]
    if missing:
        raise UsageError(f"schedlab is installed without {' and '.join(missing)}: {REMEDIES[missing[0]]}")
    return Made(packed((folder / ENGINE).read_bytes()), _script(page), _script(WORKER))


def packed(data: bytes) -> str:
    """Data as a page holds it: gzip in base 85, a sixteenth shorter than in base 64."""
    return base64.b85encode(gzip.compress(data, 9, mtime=0)).decode().translate(PLAIN)


def _script(name: str) -> str:
    text = (files("schedlab.lab") / name).read_text("utf-8")
    found = next((ending for ending in ENDINGS if ending in text), None)
    if found:
        raise ValueError(f"{name} has {found!r}, which a page cannot hold")
    return text
