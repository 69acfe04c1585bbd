"""Addresses of clusters: their forms, and whether a cluster of the kind answers there.

The libraries try for a minute and more where there is no answer, or one of another program, and log much meanwhile. So
a connection is made here first, and the first bytes are read.
"""

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass

from schedlab.errors import UsageError

#: Seconds until a connection counts as impossible, and until the first bytes of a scheduler should have come.
REACHED_SECONDS, WORD_SECONDS = 5.0, 4.0
#: A host's name or address, and a port.
PLACE = r"(?P<host>[^/:\[\]\s]+|\[[0-9a-fA-F:]+\]):(?P<port>\d{1,5})"
#: A scheduler of Dask begins with what it understands: a short message, after its length in 8 bytes.
LENGTH, SHORT = 8, 1 << 16


@dataclass(frozen=True)
class Kind:
    """How clusters of a library are reached."""

    #: The module that is imported.
    module: str
    form: re.Pattern
    #: The form in words.
    example: str
    #: Whether the server sends first, unencrypted.
    speaks: Callable[[str], bool]


KINDS = {
    "ray": Kind(
        "ray",
        re.compile(rf"auto|(?:ray://)?{PLACE}"),
        "ray://HOST:10001, HOST:6379 or auto",
        # The first question is Ray's own; see `ray.Ray`.
        lambda address: False,
    ),
    "dask": Kind(
        "distributed",
        re.compile(rf"(?:(?:tcp|tls)://)?{PLACE}"),
        "tcp://HOST:8786 or tls://HOST:8786",
        lambda address: not address.startswith("tls://"),
    ),
}


def refuse_malformed(name: str, address: str) -> None:
    """Refuse what is no address of a cluster of this kind."""
    found = KINDS[name].form.fullmatch(address)
    if not found or not 0 < int(found["port"] or 1) < 1 << 16:
        raise UsageError(f"--address {address}: no address of a cluster of {name}; it is {KINDS[name].example}")


def knock(name: str, address: str) -> None:
    """Refuse an address without a server, or with one of another kind; within `REACHED_SECONDS` and `WORD_SECONDS`."""
    kind = KINDS[name]
    found = kind.form.fullmatch(address)
    if not found or not found["host"]:
        return
    door = (found["host"].strip("[]"), int(found["port"]))
    try:
        with socket.create_connection(door, REACHED_SECONDS) as there:
            if not kind.speaks(address):
                return
            there.settimeout(WORD_SECONDS)
            said = _read(there, LENGTH)
    except OSError as why:
        raise UsageError(
            f"--address {address}: no cluster can be reached there ({why.strerror or why}); is it running, "
            "and is its port open?"
        ) from None
    if len(said) < LENGTH or not 0 < int.from_bytes(said, "little") < SHORT:
        raise UsageError(f"--address {address}: what answers there is no cluster of {name}")


def _read(there: socket.socket, count: int) -> bytes:
    """That many bytes; fewer if no more come."""
    said = b""
    while len(said) < count:
        try:
            piece = there.recv(count - len(said))
        except TimeoutError:
            return said
        if not piece:
            return said
        said += piece
    return said
