"""A shortage of network, planted with a peer in a network namespace: `diagnose` and `time` name the remote end."""

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from conftest import COMMAND, agent_or_skip, valid

PYTHON = os.path.realpath(sys.executable)
HERE, THERE, PORT = "10.77.3.1", "10.77.3.2", 7003
#: What the peer does: answers late, reads slowly, or swallows all.
PEER = """
import socket, sys, threading, time
def late(one):
    while one.recv(100): time.sleep(0.2); one.sendall(b"x" * 1000)
def slow(one):
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    while one.recv(8192): time.sleep(0.05)
def sink(one):
    while one.recv(1 << 20): pass
listener = socket.create_server((sys.argv[2], int(sys.argv[3])))
print("ready", flush=True)
while True:
    one, _ = listener.accept()
    threading.Thread(target=globals()[sys.argv[1]], args=(one,), daemon=True).start()
"""
CLIENT = """
import socket, sys, time
end = time.monotonic() + float(sys.argv[4])
one = socket.create_connection((sys.argv[2], int(sys.argv[3])))
while time.monotonic() < end:
    if sys.argv[1] == "ask": one.sendall(b"q"); one.recv(10000)
    else: one.sendall(b"x" * 65536)
"""


def forget_the_dead():
    """Remove what tests that were killed have left: it has the same addresses."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout.split()
    for name in listed:
        if name.startswith("sl") and name[2:].isdigit() and not os.path.exists(f"/proc/{name[2:]}"):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


@pytest.fixture(scope="module")
def namespace():
    """A network namespace behind a link of this host; its name."""
    agent_or_skip()
    forget_the_dead()
    name = f"sl{os.getpid()}"
    words = [
        f"ip netns add {name}",
        f"ip link add {name}a type veth peer name {name}b netns {name}",
        f"ip addr add {HERE}/24 dev {name}a",
        f"ip link set {name}a up",
        f"ip -n {name} addr add {THERE}/24 dev {name}b",
        f"ip -n {name} link set {name}b up",
    ]
    try:
        for line in words:
            done = subprocess.run(line.split(), capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"{line}: {done.stderr.strip()}")
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], capture_output=True)
        subprocess.run(["ip", "link", "del", f"{name}a"], capture_output=True)


@contextmanager
def peer(namespace, how):
    words = ["ip", "netns", "exec", namespace, PYTHON, "-c", PEER, how, THERE, str(PORT)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield
        finally:
            process.kill()


@contextmanager
def client(what, seconds=60):
    with subprocess.Popen([PYTHON, "-c", CLIENT, what, THERE, str(PORT), str(seconds)]) as process:
        try:
            time.sleep(0.5)
            yield process.pid
        finally:
            process.kill()


@contextmanager
def shaped(namespace):
    """The link to the peer carries 8 Mbit/s."""
    words = f"tc qdisc add dev {namespace}a root tbf rate 8mbit burst 16kb latency 200ms"
    done = subprocess.run(words.split(), capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{words}: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(f"tc qdisc del dev {namespace}a root".split(), capture_output=True)


def network():
    """What `diagnose` says of the network, and its first line."""
    done = subprocess.run([COMMAND, "diagnose", "--json", "--for", "4s"], capture_output=True, text=True)
    found = valid(json.loads(done.stdout))
    return next(one for one in found["findings"] if one["resource"] == "network"), found["summary"]


def over(finding):
    return {one["sign"] for one in finding["evidence"] if one["over"]}


@pytest.mark.parametrize(
    ("how", "what", "sign"),
    [
        ("late", "ask", "a remote end is awaited"),
        ("slow", "push", "a remote end has no room for more"),
    ],
)
def test_a_slow_peer_is_named_with_who_waits_for_it(namespace, how, what, sign):
    with peer(namespace, how), client(what) as pid:
        finding, summary = network()
    assert finding["short"]
    assert sign in over(finding)
    assert finding["device"] == f"{THERE}:{PORT}"
    assert finding["tasks"][0]["pid"] == pid
    assert f"network: {THERE}:{PORT}" in summary


def test_a_shaped_link_is_named_with_its_pace(namespace):
    with shaped(namespace), peer(namespace, "sink"), client("push") as pid:
        finding, _ = network()
    assert finding["short"]
    assert {"data is on the way to a remote end"} <= over(finding)
    assert "a remote end is awaited" not in over(finding)
    assert finding["tasks"][0]["pid"] == pid
    (note,) = [note for note in finding["notes"] if note.startswith(f"{THERE}:{PORT}: data on the way")]
    pace = int(note.split(" KiB/s")[0].split()[-1].replace(",", ""))
    # 8 Mbit/s are 977 KiB/s.
    assert 600 < pace < 1100


def test_a_connection_that_idles_is_no_shortage(namespace):
    with peer(namespace, "late"):
        code = f"import socket; one = socket.create_connection(('{THERE}', {PORT})); "
        code += "one.sendall(b'q'); one.recv(9999); one.recv(1)"
        with subprocess.Popen([PYTHON, "-c", code]) as process:
            try:
                time.sleep(1)
                finding, _ = network()
            finally:
                process.kill()
    # It has its answer, and waits for what may come.
    assert not finding["short"]
    assert finding["device"] is None


def test_time_says_how_long_a_command_waited_for_the_peer(namespace):
    with peer(namespace, "late"):
        words = [PYTHON, "-c", CLIENT, "ask", THERE, str(PORT), "2"]
        done = subprocess.run([COMMAND, "time", "--json", "--", *words], capture_output=True, text=True)
    found = valid(json.loads(done.stdout))["commands"][0]
    (end,) = found["remotes"]
    assert (end["address"], end["port"]) == (THERE, PORT)
    assert found["waits"]["main"]["network_ns"]["mean"] > 0.7 * found["parts"]["main"]["asleep_ns"]["mean"]
    assert end["waited_ns"] > 1.2e9
