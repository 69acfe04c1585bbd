"""HTTP as the server speaks it: what a request may be, and what every answer has, whatever it is about.

The standard library's server is used. It is for one person on one computer: loopback, no TLS, no proxy in front of
it, a dozen requests, none of them with a form or a file. Starlette and uvicorn would bring six packages (starlette,
anyio, idna, uvicorn, h11, sniffio) for a router and an event loop that nothing here needs: runs and pages are made by
processes, not by coroutines. What `http.server` lacks is here:

    a head of 32 KiB, a body of 512 KiB, 64 connections, 30 s for either       at most
    chunked bodies, Expect                                                     are refused
    of too many connections, the oldest that has not shown the token           is closed
    the guard's rules                                                          before anything is looked up
    the same headers                                                           with every answer, those to errors too
"""

import io
import re
import socket
import socketserver
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, unquote_to_bytes, urlsplit

from schedlab._core import ScenarioError
from schedlab.errors import UsageError
from schedlab.serve.guard import Guard, is_own_site
from schedlab.serve.refused import Refused
from schedlab.system import escaped
from schedlab.system.terminal import detail, insist

LOOPBACK = "127.0.0.1"
#: Bytes of the head of a request, and of an experiment: what the page's editor takes.
HEAD, BODY = 32 << 10, 512 << 10
#: Bytes of what is too large that are read all the same, so that its sender hears the answer, and seconds for that.
DRAINED, DRAINING = 4 << 20, 5.0
#: Connections at the same time. Seconds from an answer to the end of the next head, for a body, and for an answer.
CONNECTIONS, PATIENCE = 64, 30.0
#: What a page may do by itself: nothing but have a style and pictures of its own.
NOTHING = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
TEXT, HTML = "text/plain; charset=utf-8", "text/html; charset=utf-8"
#: For a browser that was sent here by another page: it gives its cookie only to what this page asks for.
ONWARD = b'<!doctype html><meta http-equiv="refresh" content="0;url=/"><title>schedlab</title><a href="/">The lab</a>\n'


@dataclass(frozen=True)
class Answer:
    """What is sent."""

    status: int
    kind: str
    content: bytes
    policy: str = NOTHING
    headers: dict[str, str] = field(default_factory=dict)


class Listener(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Listens to loopback, and answers each connection in a thread as its kind of `Talk` says."""

    daemon_threads, block_on_close = True, False
    allow_reuse_address = True
    request_queue_size = CONNECTIONS

    def __init__(self, port: int, handler: type["Talk"]):
        """Listen to that port, or to a free one if it is 0."""
        super().__init__((LOOPBACK, port), handler)
        self.port: int = self.server_address[1]
        self.guard = Guard(self.port)
        self._lock = threading.Lock()
        #: The open connections, the oldest first, and whether each has shown the token.
        self._open: dict[Any, bool] = {}

    def process_request(self, request: Any, client_address: Any) -> None:
        """Take a connection. If there are too many, the oldest that has not shown the token is closed, perhaps this."""
        with self._lock:
            self._open[request] = False
            if len(self._open) > CONNECTIONS:
                self._close_one()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """A connection has ended."""
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def keep(self, request: Any) -> None:
        """This connection has shown the token: others make room for it."""
        with self._lock:
            if request in self._open:
                self._open[request] = True

    def _close_one(self) -> None:
        """Its thread reads the end of the connection, and ends."""
        oldest = next(request for request, is_known in self._open.items() if not is_known)
        del self._open[oldest]
        with suppress(OSError):
            oldest.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Forget a connection that broke."""
        detail("a connection broke")


class Talk(BaseHTTPRequestHandler):
    """One connection. A subclass says what is answered."""

    server: Listener
    protocol_version = "HTTP/1.1"
    #: Of a request that names none: what is wrong with it is answered in full.
    default_request_version = "HTTP/1.0"

    def setup(self) -> None:
        """Bound what is read."""
        super().setup()
        self.rfile.close()
        self.rfile = Bounded(Timed(self.connection))

    def handle_one_request(self) -> None:
        """Read a request, with a head of the usual size, and answer it."""
        self.requestline = self.request_version = self.command = ""
        self.rfile.begin()
        try:
            super().handle_one_request()
        except LongHead:
            self.send_error(431, f"the head of the request is too long: at most {HEAD} bytes are taken")
            self._drain(DRAINED)

    def do_GET(self) -> None:
        """Answer."""
        self._answer(self.get)

    def do_HEAD(self) -> None:
        """Answer without the content."""
        self._answer(self.get)

    def do_POST(self) -> None:
        """Do what is asked."""
        self._answer(self.post)

    def get(self, asked: "Asked") -> Answer:
        """What a request to read is answered with."""
        raise NotImplementedError

    def post(self, asked: "Asked") -> Answer:
        """What a request to change something is answered with."""
        raise NotImplementedError

    def handle_expect_100(self) -> bool:
        """Nothing waits for a permission to send its body."""
        self.send_error(417, "send the body at once")
        return False

    def version_string(self) -> str:
        """What answers."""
        return "schedlab"

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is no request."""
        self.close_connection = True
        self._send(plain(code, message or "this is no request that schedlab serve knows"))

    def log_message(self, format: str, *words: Any) -> None:
        """Nothing of its own: `-v` names requests, without what is behind their question mark."""

    def _answer(self, work: Callable[["Asked"], Answer]) -> None:
        try:
            asked = self._asked()
            detail(escaped.escaped(f"{self.command} /{'/'.join(asked.path)}"))
            answer = asked.first or work(asked)
        except Refused as why:
            answer = plain(why.status, str(why))
        except (UsageError, ScenarioError) as why:
            answer = plain(422, str(why))
        except OSError as why:
            answer = plain(422, f"{why.filename}: {why.strerror}" if why.filename else str(why))
        except Exception as why:
            insist(f"schedlab serve: a page failed ({type(why).__name__}: {why}). Please report it.")
            answer = plain(500, f"schedlab failed ({type(why).__name__}); its terminal says more")
        # What is left of a body would be taken for the next request.
        left = self._left()
        self.close_connection |= answer.status >= 400 or left != 0
        self._send(answer)
        self._drain(left)

    def _asked(self) -> "Asked":
        """The request, if it may be answered."""
        guard, headers = self.server.guard, self.headers
        host = guard.check_host(headers)
        try:
            parts = urlsplit(self.path)
            query = {name: values[-1] for name, values in parse_qs(parts.query, max_num_fields=10).items()}
        except ValueError as why:
            raise Refused(400, f"this is no address: {why}") from None
        if self.command != "POST" and parts.path == "/" and "token" in query:
            return Asked([""], {}, self._welcome(query["token"]))
        guard.check_reader(headers)
        self.server.keep(self.connection)
        if self.command == "POST":
            guard.check_writer(headers, host)
        return Asked(_segments(parts.path), query)

    def _welcome(self, token: str) -> Answer:
        """The cookie for the token, and the way to the lab without it."""
        guard = self.server.guard
        if not guard.is_token(token):
            raise Refused(403, "this is not the token of this server: open the address that it has printed")
        self.server.keep(self.connection)
        cookie = {"Set-Cookie": guard.set_cookie}
        if is_own_site(self.headers):
            return Answer(303, TEXT, b"", headers=cookie | {"Location": "/"})
        return Answer(200, HTML, ONWARD, headers=cookie)

    def body(self) -> bytes:
        """All of it."""
        lengths = self.headers.get_all("Content-Length", [])
        if "Transfer-Encoding" in self.headers or len(lengths) != 1 or not re.fullmatch("[0-9]{1,18}", lengths[0]):
            raise Refused(411, "the length of the body is to be given, as Content-Length")
        if (length := int(lengths[0])) > BODY:
            raise Refused(413, f"the experiment has {length} bytes; at most {BODY} are taken")
        self.rfile.allow(PATIENCE)
        try:
            text = self.rfile.read(length)
        except TimeoutError:
            raise Refused(408, f"the body has not come within {PATIENCE:.0f} s") from None
        self.rfile.read_all = True
        if len(text) < length:
            raise Refused(400, "the body ends before its length")
        return text

    def _send(self, answer: Answer) -> None:
        self.connection.settimeout(PATIENCE)
        self.send_response(answer.status)
        own = {"Content-Type": answer.kind, "Content-Security-Policy": answer.policy}
        if answer.status != 204:
            own["Content-Length"] = str(len(answer.content))
        if self.close_connection:
            own["Connection"] = "close"
        for name, value in {**HEADERS, **own, **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.content)

    def _left(self) -> int:
        """Bytes of the body that were not read; as many as are drained where its length is not known."""
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not re.fullmatch("[0-9]{1,18}", length):
            return DRAINED
        return 0 if self.rfile.read_all else int(length)

    def _drain(self, left: int) -> None:
        """Read what is left of a body, up to a bound: a connection that is closed before takes the answer with it."""
        left = min(left, DRAINED)
        self.rfile.allow(DRAINING)
        with suppress(OSError):
            # Who waits for the end of the answer has it.
            if left:
                self.connection.shutdown(socket.SHUT_WR)
            while left and (piece := self.rfile.read(min(left, HEAD))):
                left -= len(piece)


@dataclass(frozen=True)
class Asked:
    """A request: the parts of its path, its query, and an answer that it has already."""

    path: list[str]
    query: dict[str, str]
    first: Answer | None = None


class LongHead(Exception):
    """The head of a request has more than HEAD bytes."""


class Timed(io.RawIOBase):
    """What comes over a connection, up to a moment: each byte by itself may be late, not all of them."""

    def __init__(self, connection: socket.socket):
        """Read from there."""
        self._connection, self.end = connection, 0.0

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Bytes, as soon as there are some."""
        if (left := self.end - time.monotonic()) <= 0:
            raise TimeoutError("the request takes too long")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class Bounded(io.BufferedReader):
    """What a client sends: `left` bytes of lines, which are the head of a request, and then a body."""

    def begin(self) -> None:
        """The head of a request comes next."""
        self.left, self.read_all = HEAD, False
        self.allow(PATIENCE)

    def allow(self, seconds: float) -> None:
        """From now on, what is read has to come within that time."""
        self.raw.end = time.monotonic() + seconds

    def readline(self, most: int = HEAD) -> bytes:
        """A line; an error if the head is too long."""
        line = super().readline(min(most, self.left + 1))
        self.left -= len(line)
        if self.left < 0:
            raise LongHead
        return line


def _segments(path: str) -> list[str]:
    """The parts between the slashes, each decoded once and by itself: no part has a slash that separates."""
    if not path.startswith("/"):
        raise Refused(404, "there is no such page")
    try:
        return [unquote_to_bytes(part).decode() for part in path[1:].split("/")]
    except UnicodeDecodeError:
        raise Refused(404, "there is no such page") from None


def plain(status: int, why: str) -> Answer:
    """A line of text."""
    return Answer(status, TEXT, f"{escaped.escaped(why)}\n".encode())
