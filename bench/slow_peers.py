"""Remote ends and links that are short, planted in a network namespace of this host: situations of `diagnose.py`."""

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator

from planted import Planted, python, running

HERE, THERE, PORT = "10.77.9.1", "10.77.9.2", 7009
#: What the peer does: answers late, reads slowly, or takes all.
PEER = f"""
import socket, sys, threading, time
def late(one):
    while one.recv(100): time.sleep(0.2); one.sendall(b"x" * 1000)
def slow(one):
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    while one.recv(8192): time.sleep(0.05)
def takes(one):
    while one.recv(1 << 20): pass
listener = socket.create_server(("{THERE}", {PORT}))
while True:
    one, _ = listener.accept()
    threading.Thread(target=HOW, args=(one,), daemon=True).start()
"""
ASKS = f"""
import socket
one = socket.create_connection(("{THERE}", {PORT}))
while True: one.sendall(b"q"); one.recv(10000)
"""
SENDS = f"""
import socket
one = socket.create_connection(("{THERE}", {PORT}))
while True: one.sendall(b"x" * 65536)
"""
#: What a link of 8 Mbit/s does to what is sent.
SHAPED = "qdisc add dev {link} root tbf rate 8mbit burst 16kb latency 200ms"


def _done(line: str) -> None:
    """One command, which must succeed."""
    subprocess.run(line.split(), check=True, capture_output=True)


@contextlib.contextmanager
def namespace() -> Iterator[str]:
    """A network namespace behind a link of this host; its name, which the link has with an `a` at this end."""
    name = f"planted{os.getpid()}"[-12:]
    try:
        _done(f"ip netns add {name}")
        _done(f"ip link add {name}a type veth peer name {name}b netns {name}")
        _done(f"ip addr add {HERE}/24 dev {name}a")
        _done(f"ip link set {name}a up")
        _done(f"ip -n {name} addr add {THERE}/24 dev {name}b")
        _done(f"ip -n {name} link set {name}b up")
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", f"{name}a"], capture_output=True, check=False)


@contextlib.contextmanager
def peer(how: str, client: str, shaped: bool = False):
    """A peer and the client that waits for it."""
    with namespace() as name:
        if shaped:
            _done("tc " + SHAPED.format(link=f"{name}a"))
        serve = ["ip", "netns", "exec", name, *python(PEER.replace("HOW", how))]
        with running(serve), running(python(client)) as pids:
            yield Planted(("network",), frozenset(pids))


SITUATIONS: dict[str, Callable] = {
    "a peer that answers late": lambda: peer("late", ASKS),
    "a peer that reads slowly": lambda: peer("slow", SENDS),
    "a link of 8 Mbit/s": lambda: peer("takes", SENDS, shaped=True),
}
