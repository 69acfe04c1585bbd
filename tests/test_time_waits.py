"""`schedlab time`: what a command waited for while it slept, and its connections, in planted situations."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from math import isclose

import pytest
from conftest import COMMAND, agent_or_skip, valid
from hypothesis import given, settings
from hypothesis import strategies as st

from schedlab.observe.waits import WAITS, remotes, share

#: How long a planted wait lasts, s.
LONG = 0.5
#: A command that waits in one way for as long as its first argument says.
WAITER = """
import fcntl, os, select, signal, socket, subprocess, sys, threading, time
how, seconds, port = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
def connected():
    one = socket.create_connection(("127.0.0.1", port))
    one.sendall(b"q")
    return one
def epoll(one):
    poll = select.epoll()
    poll.register(one, select.EPOLLIN)
    poll.poll()
if how == "timer": time.sleep(seconds)
elif how == "lock":
    lock = threading.Lock(); lock.acquire()
    threading.Timer(seconds, lock.release).start(); lock.acquire()
elif how == "child": subprocess.run(["sleep", str(seconds)])
elif how == "pipe": subprocess.run(["sh", "-c", f"sleep {seconds}"], stdout=subprocess.PIPE)
elif how == "recv": connected().recv(1)
elif how == "poll": one = connected(); p = select.poll(); p.register(one, select.POLLIN); p.poll()
elif how == "select": one = connected(); select.select([one], [], [], 30)
elif how == "epoll": epoll(connected())
elif how == "thread":
    threading.Thread(target=lambda: connected().recv(1)).start()
"""
WAYS = {
    "timer": "timer_ns",
    "lock": "lock_ns",
    "child": "program_ns",
    "pipe": "program_ns",
    "recv": "network_ns",
    "poll": "network_ns",
    "select": "network_ns",
    "epoll": "network_ns",
}
PYTHON = os.path.realpath(sys.executable)


@pytest.fixture(autouse=True)
def agent():
    """Nothing is measured without it."""
    return agent_or_skip()


@pytest.fixture
def server():
    """A server that answers each connection after a while; its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                one, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(one,), daemon=True).start()

    def answer(one):
        with one:
            one.recv(1)
            time.sleep(LONG)
            one.sendall(b"a" * 100_000)

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.close()


def timed(*command):
    """What `schedlab time` says of a command."""
    done = subprocess.run([COMMAND, "time", "--json", "--", *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return valid(json.loads(done.stdout))["commands"][0]


def off(found):
    """How far a wait may be off, s: it begins and ends between two looks, which a busy machine delays."""
    (run,) = found["runs"]
    return 0.05 + 5 * run["elapsed_ns"] / run["waits"]["looks"] / 1e9


def waited(found, whose="main"):
    return {wait: found["waits"][whose][wait]["mean"] / 1e9 for wait in WAITS}


@pytest.mark.parametrize(("how", "wait"), WAYS.items())
def test_a_planted_wait_is_found_with_its_length(how, wait, server):
    found = timed(PYTHON, "-c", WAITER, how, str(LONG), str(server))
    seen = waited(found)
    assert seen[wait] == pytest.approx(LONG, abs=off(found)), found["runs"][0]["waits"]
    assert sum(seen.values()) - seen[wait] < off(found)
    interval = found["waits"]["main"][wait]
    assert interval["low"] <= interval["mean"] <= interval["high"]
    assert isclose(sum(seen.values()) * 1e9, found["parts"]["main"]["asleep_ns"]["mean"], rel_tol=1e-6)


def test_a_thread_that_waits_is_in_the_sum_and_not_in_the_first_task(server):
    found = timed(PYTHON, "-c", WAITER, "thread", str(LONG), str(server))
    assert waited(found, "whole")["network_ns"] == pytest.approx(LONG, abs=off(found))
    assert waited(found)["network_ns"] < off(found)


def test_the_remote_end_is_named_with_what_went_over_it(server):
    found = timed(PYTHON, "-c", WAITER, "recv", str(LONG), str(server))
    (end,) = found["remotes"]
    assert (end["address"], end["port"], end["connections"]) == ("127.0.0.1", server, 1)
    assert end["waited_ns"] / 1e9 == pytest.approx(LONG, abs=off(found))
    # The first byte, with the handshake on some kernels.
    assert 1 <= end["sent_bytes"] <= 3
    shown = subprocess.run(
        [COMMAND, "time", "--", PYTHON, "-c", WAITER, "recv", "0", str(server)], capture_output=True, text=True
    )
    assert f"127.0.0.1:{server}" in shown.stdout
    assert "asleep, for the network" in shown.stdout


def test_a_stopped_task_waits_for_something_else():
    code = "import os, signal, subprocess, time; subprocess.Popen(['sh', '-c', f'sleep 1; kill -CONT {os.getpid()}']); "
    code += "os.kill(os.getpid(), signal.SIGSTOP); time.sleep(0.5)"
    found = timed(PYTHON, "-c", code)
    seen = waited(found)
    assert seen["timer_ns"] == pytest.approx(LONG, abs=off(found)), seen
    assert seen["other_ns"] == pytest.approx(1, abs=off(found)), seen


def test_connections_that_end_unseen_are_counted():
    code = "import socket\nserver = socket.create_server(('127.0.0.1', 0))\nfor _ in range(200):\n"
    code += "    with socket.create_connection(server.getsockname()): server.accept()[0].close()\n"
    (run,) = timed(PYTHON, "-c", code)["runs"]
    seen = sum(end["connections"] for end in run["waits"]["remotes"])
    # Both ends of each are this command's.
    assert run["waits"]["unseen_connections"] + seen >= 350


def test_what_is_over_at_once_has_no_estimate():
    found = timed("true")
    assert all(found["waits"]["main"][wait] is None for wait in WAITS) or waited(found)
    assert found["remotes"] == []


def test_looking_at_many_tasks_takes_little_of_a_processor():
    code = "import threading, time; [threading.Thread(target=time.sleep, args=(3,)).start() for _ in range(200)]"
    (run,) = timed(PYTHON, "-c", code)["runs"]
    # A hundredth is allowed, and half of one for connections; that tasks are many is known only after a few looks.
    assert run["waits"]["own_ns"] < 0.03 * run["elapsed_ns"]
    assert run["waits"]["whole"]["timer_ns"] > 400e9


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(list(WAITS)), st.integers(0, 1000), min_size=1), st.sampled_from(list(WAITS)))
def test_shares_are_wilson_s(counts, wait):
    from scipy.stats import binomtest

    seen = sum(counts.values())
    looks = {"seen": seen, "squares": 100 * seen, **dict.fromkeys(WAITS, 0)}
    looks |= {name: 10 * count for name, count in counts.items()}
    found = share(looks, wait)
    if not seen:
        assert found is None
        return
    wanted = binomtest(counts.get(wait, 0), seen).proportion_ci(method="wilson")
    assert found == pytest.approx((counts.get(wait, 0) / seen, wanted.low, wanted.high), abs=1e-6)


def test_remote_ends_are_means_over_the_runs():
    one = {"address": "10.0.0.1", "port": 80, "connections": 1, "waited_ns": 10, "sent_bytes": 4, "received_bytes": 2}
    one |= {"retransmits": 0, "segments": 1, "rtt_us": 5}
    runs = [{"waits": {"remotes": [one]}}, {"waits": {"remotes": [{**one, "waited_ns": 30, "rtt_us": 9}]}}]
    (found,) = remotes(runs)
    assert (found["waited_ns"], found["sent_bytes"], found["rtt_us"]) == (20, 4, 9)
    assert remotes([{"waits": {"remotes": None}}]) == []
