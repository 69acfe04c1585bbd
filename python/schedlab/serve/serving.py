"""`schedlab serve` from its beginning to its end: what is listened to, what is put in order when it ends."""

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from schedlab.errors import UsageError
from schedlab.lab.given import Given
from schedlab.serve import places
from schedlab.serve.children import Children
from schedlab.serve.jobs import Jobs
from schedlab.serve.pages import Pages
from schedlab.serve.server import Folders, Server
from schedlab.system import leftovers
from schedlab.system.terminal import say
from schedlab.units import counted

#: How the names of folders begin that a server has for a moment.
PREFIX = "schedlab-serve-"
#: Where a browser has a screen to be on.
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


def serve(
    home: Callable[[], Given], port: int, out: Path, traces: Path | None, opens: bool, tell: Callable[[Server], None]
) -> None:
    """Serve until Ctrl-C or a signal to end. `tell` is called when the server answers, before a browser is opened."""
    if traces and not traces.exists():
        raise UsageError(f"--traces {traces}: there is no such folder")
    out, traces = _folder(out, "--out"), traces and _folder(traces, "--traces")
    leftovers.remove_left(Path(gettempdir()).glob(f"{PREFIX}*"))
    with TemporaryDirectory(prefix=PREFIX) as own, _listening(port) as server:
        notes = _noted()
        leftovers.mark(Path(own))
        children = Children()
        jobs = Jobs(children, out, Path(own))
        pages = Pages(home, places.known, out, traces, children, Path(own))
        server.begin(pages, places.known, jobs, children, Folders(out, traces, Path(own)))
        try:
            tell(server)
            if opens:
                _open(server.address, Path(own))
            os.read(notes, 1)
        finally:
            _end(server, jobs, children)


def _end(server: Server, jobs: Jobs, children: Children) -> None:
    """Take no more requests, and have the jobs end in order."""
    if at_work := len(jobs.at_work()):
        say(f"ending {counted(at_work, 'run')}: what is finished is kept, what was set is put back")
    jobs.close()
    server.shutdown()
    children.close()
    jobs.join()


def _folder(path: Path, option: str) -> Path:
    found = Path(os.path.realpath(path))
    if found.exists() and not found.is_dir():
        raise UsageError(f"{option} {path}: is no folder")
    return found


@contextmanager
def _listening(port: int) -> Iterator[Server]:
    try:
        server = Server(port)
    except OSError as why:
        if why.errno == errno.EADDRINUSE:
            raise UsageError(f"--port {port}: another program listens to it; leave out --port for a free one") from None
        raise UsageError(f"--port {port}: {why.strerror}; leave out --port for a free one") from None
    with server:
        yield server


def _noted() -> int:
    """Have Ctrl-C and signals to end noted, whichever thread gets them; gives the pipe that has their numbers.

    What our parent ignores on our behalf (nohup) is not. It stays so to the end of the process, which follows: one more
    of them changes nothing.
    """
    notes, written = os.pipe()
    os.set_blocking(written, False)
    signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(one) is not signal.SIG_IGN:
            signal.signal(one, lambda *_: None)
    return notes


def _open(address: str, folder: Path) -> None:
    """Open the user's browser, if there is a screen. The address is in a file: other users can read command lines."""
    if not any(map(os.environ.get, SCREENS)):
        return
    import webbrowser

    file = folder / "open.html"
    link = escape(address)
    text = '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>schedlab</title>'
    text += f'<meta http-equiv="refresh" content="0;url={link}"><p><a href="{link}">The lab</a></p>\n'
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as page:
        page.write(text)
    if not webbrowser.open(file.as_uri()):
        print("no browser was found: open the address in one", file=sys.stderr)
