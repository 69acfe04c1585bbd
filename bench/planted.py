"""Trouble planted on this host, with what has to be named for it: situations of `diagnose.py`."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

CGROUP = pathlib.Path("/sys/fs/cgroup")
HOG = ["sh", "-c", "while :; do :; done"]
PROCESSORS = os.cpu_count() or 1


@dataclass(frozen=True)
class Planted:
    """What may be named: resources, and of tasks the numbers, the program's name, or the group."""

    resources: tuple[str, ...]
    pids: frozenset[int] = frozenset()
    name: str | None = None
    group: str | None = None
    #: Tasks that were planted next to the culprit: none of them may be named before it.
    before: frozenset[int] = frozenset()

    def place(self, found: dict) -> int | None:
        """Where the answer has it: 1 where it is the first that is named for its resource; None if it is not named."""
        if not self.resources:
            return None if found["short"] else 1
        places = [self._in(it) for it in found["findings"] if it["short"] and it["resource"] in self.resources]
        return min((place for place in places if place), default=None)

    def _in(self, finding: dict) -> int | None:
        if self.group is not None and self.group in finding["groups"]:
            return finding["groups"].index(self.group) + 1
        if not self.pids and self.name is None:
            return 1 if self.group is None else None
        for place, task in enumerate(finding["tasks"], 1):
            tasks = {task["pid"], *task["members"]}
            if self.pids & tasks or (self.name is not None and task["name"].startswith(self.name)):
                return place
            if self.before & tasks:
                return None
        return None


@contextlib.contextmanager
def running(*commands: list[str], preferred: bool = False) -> Iterator[list[int]]:
    """Commands, each with all its children a group that is ended. The preferred ones are sessions of their own, which
    others' work does not keep from the processors: else they would wait for one of those instead of a drive.
    """
    if preferred:
        # Where each session has its share of the processors, a task's own level counts only within it.
        first = 'echo -15 > /proc/self/autogroup; exec nice -n -15 "$0" "$@"'
        commands = tuple(["sh", "-c", first, *words] for words in commands)
    where = {"start_new_session": True} if preferred else {"process_group": 0}
    started = [
        subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **where) for words in commands
    ]
    try:
        time.sleep(1)
        yield [one.pid for one in started]
    finally:
        for one in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()


@contextlib.contextmanager
def group(controller: str, above: pathlib.Path | None = None, **settings: str) -> Iterator[pathlib.Path]:
    """A control group of version 1, below another or none."""
    path = (above or CGROUP / controller) / f"planted-{os.getpid()}"
    path.mkdir()
    try:
        for name, value in settings.items():
            (path / name.replace("__", ".")).write_text(value)
        yield path
    finally:
        for _ in range(250):
            with contextlib.suppress(OSError):
                path.rmdir()
                break
            time.sleep(0.02)


def python(program: str) -> list[str]:
    """A program of ours."""
    return [sys.executable, "-c", program]


@contextlib.contextmanager
def hogs(number: int, *before: str):
    """Loops that never wait."""
    with running(*[[*before, *HOG]] * number) as pids:
        yield Planted(("run queue", "processor"), frozenset(pids))


@contextlib.contextmanager
def disk(once: str):
    """Writers past the cache."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        write = f"dd if=/dev/zero of={folder}/$N bs=4k oflag=direct,dsync conv=notrunc"
        shells = [["sh", "-c", f"N={n}; {once.replace('DD', write)}"] for n in range(3)]
        with running(*shells, preferred=True):
            yield Planted(("disk",), name="dd")


@contextlib.contextmanager
def swarm():
    """Shells that start the shortest program."""
    with running(*[["sh", "-c", "while :; do /bin/true; done"]] * (PROCESSORS + 1)):
        yield Planted(("short-lived tasks", "processor", "run queue"), name="true")


@contextlib.contextmanager
def fork_storm():
    """Processes that fork and wait."""
    storm = "import os\nwhile True:\n p = os.fork()\n if p == 0: os._exit(0)\n os.waitpid(p, 0)"
    with running(*[python(storm)] * PROCESSORS) as pids:
        yield Planted(("short-lived tasks",), frozenset(pids))


@contextlib.contextmanager
def thrashing():
    """A reader of more than its group may keep."""
    with group("memory", memory__limit_in_bytes=str(16 << 20)) as path, tempfile.TemporaryDirectory(dir=".") as folder:
        file = f"{folder}/file"
        read = f"echo $$ > {path}/tasks; head -c 60000000 /dev/zero > {file}; while :; do cat {file} > /dev/null; done"
        with running(["sh", "-c", read]):
            time.sleep(1)
            yield Planted(("memory and paging",), group=f"/{path.name}")


@contextlib.contextmanager
def swapping():
    """A program larger than its group may be, with swap space."""
    with group("memory", memory__limit_in_bytes=str(32 << 20)) as path, tempfile.TemporaryDirectory(dir=".") as folder:
        file = f"{folder}/swap"
        subprocess.run(["dd", "if=/dev/zero", f"of={file}", "bs=1M", "count=192", "status=none"], check=True)
        os.chmod(file, 0o600)
        subprocess.run(["mkswap", file], check=True, capture_output=True)
        subprocess.run(["swapon", file], check=True)
        try:
            touch = "m = bytearray(96 << 20)\nwhile True:\n for i in range(0, len(m), 4096): m[i] = (m[i] + 1) % 256"
            words = ["sh", "-c", f'echo $$ > {path}/tasks; exec "$0" "$@"', *python(touch)]
            with running(words) as pids:
                yield Planted(("memory and paging",), frozenset(pids), group=f"/{path.name}")
        finally:
            subprocess.run(["swapoff", file], check=True)


@contextlib.contextmanager
def quota():
    """Loops in a group with a fifth of a processor."""
    with group("cpu", cpu__cfs_period_us="100000", cpu__cfs_quota_us="20000") as path:
        words = ["sh", "-c", f"echo $$ > {path}/tasks; while :; do :; done"]
        with running(words, words):
            yield Planted(("processor quota",), group=f"/{path.name}")


@contextlib.contextmanager
def lock():
    """Threads that sleep with the lock that all want."""
    contend = (
        "import threading, time\nheld = threading.Lock()\n"
        "def use():\n while True:\n  with held: time.sleep(0.002)\n"
        "threads = [threading.Thread(target=use) for _ in range(6)]\nfor t in threads: t.start()"
    )
    with running(python(contend)) as pids:
        yield Planted(("lock",), frozenset(pids))


STREAM = """
import os, socket
a = socket.create_server(("127.0.0.1", 0))
if os.fork():
    b = a.accept()[0]
    room = bytearray(1 << 18)
    while b.recv_into(room): pass
c = socket.create_connection(a.getsockname())
data = bytes(1 << 18)
while True: c.sendall(data)
"""
DATAGRAMS = """
import os, socket
a = socket.socket(type=socket.SOCK_DGRAM)
a.bind(("127.0.0.1", 0))
c = socket.socket(type=socket.SOCK_DGRAM)
c.connect(a.getsockname())
if os.fork():
    while True: a.recv(2000)
while True: c.send(b"x" * 1000)
"""


@contextlib.contextmanager
def network(program: str):
    """Senders and receivers over the loopback."""
    with running(*[python(program)] * PROCESSORS) as pids:
        yield Planted(("network", "interrupts"), frozenset(pids), name=pathlib.Path(sys.executable).name)


@contextlib.contextmanager
def realtime():
    """A real-time loop."""
    last = str(PROCESSORS - 1)
    with running(["chrt", "-f", "50", "taskset", "-c", last, *HOG]) as pids:
        yield Planted(("real-time tasks",), frozenset(pids))


@contextlib.contextmanager
def hogs_and_a_larger_task():
    """Eight equal loops, and one that has twice the share of each of them."""
    with running(*[HOG] * 8) as pids, running(["nice", "-n", "-3", *python("while True: pass")]) as larger:
        yield Planted(("run queue", "processor"), frozenset(pids), before=frozenset(larger))


@contextlib.contextmanager
def nested_quota():
    """Loops in a group without a quota, in a group that has a fifth of a processor."""
    settings = {"cpu__cfs_period_us": "100000", "cpu__cfs_quota_us": "20000"}
    with group("cpu", **settings) as path, group("cpu", above=path) as inner:
        words = ["sh", "-c", f"echo $$ > {inner}/tasks; while :; do :; done"]
        with running(words, words):
            yield Planted(("processor quota",), group=f"/{path.name}")


@contextlib.contextmanager
def makefile():
    """A build of many short steps by several programs."""
    with tempfile.TemporaryDirectory() as folder:
        targets = " ".join(f"t{number}" for number in range(20_000))
        step = "@sed -n 1p Steps | tr a-z A-Z > /dev/null; expr 1 + 1 > /dev/null; sleep 0"
        pathlib.Path(folder, "Steps").write_text("one line\n")
        pathlib.Path(folder, "Makefile").write_text(f"all: {targets}\n{targets}:\n\t{step}\n.PHONY: all {targets}\n")
        with running(["make", "-s", "-C", folder, f"-j{PROCESSORS + 1}"]) as pids:
            yield Planted(("short-lived tasks", "processor", "run queue"), frozenset(pids))


@contextlib.contextmanager
def write_back():
    """One writer through the cache, and readers past it that wait behind what it sends."""
    writes = (
        "import os\nfile = os.open('large', os.O_CREAT | os.O_WRONLY)\npart = bytes(1 << 20)\n"
        "while True:\n os.lseek(file, 0, 0)\n for _ in range(256): os.write(file, part)\n os.fdatasync(file)"
    )
    reads = "while :; do dd if=small of=/dev/null bs=4k count=2000 iflag=direct; done"
    with tempfile.TemporaryDirectory(dir=".") as folder:
        (pathlib.Path(folder) / "small").write_bytes(os.urandom(8 << 20))
        inside = ["env", "-C", folder]
        writer, reader = [*inside, *python(writes)], [*inside, "sh", "-c", reads]
        with running(writer, reader, reader, preferred=True) as (writes_back, *behind):
            yield Planted(("disk",), frozenset({writes_back}), before=frozenset(behind))


@contextlib.contextmanager
def pipes():
    """Pairs that do nothing but copy through a pipe."""
    with running(*[["sh", "-c", "yes | cat > /dev/null"]] * PROCESSORS):
        yield Planted(("processor", "run queue"), name="yes")


@contextlib.contextmanager
def unawaited():
    """A server's children, 30 ms of work each, whose ends it ignores: it is credited with nothing."""
    serve = (
        "import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nwhile True:\n"
        " if os.fork() == 0:\n  end = time.process_time() + 0.03\n  while time.process_time() < end: pass\n"
        f"  os._exit(0)\n time.sleep({0.025 / PROCESSORS})"
    )
    with running(python(serve)) as pids:
        yield Planted(("processor", "run queue"), frozenset(pids))


@contextlib.contextmanager
def killed():
    """A program that is larger than its group may be, and that is begun again whenever it is killed."""
    with group("memory", memory__limit_in_bytes=str(24 << 20)) as path:
        grow = "m = []\nwhile True: m.append(bytearray(1 << 20))"
        words = ["sh", "-c", f'echo $$ > {path}/tasks; while :; do "$0" "$@"; done', *python(grow)]
        with running(words):
            yield Planted(("memory and paging",), group=f"/{path.name}")


SITUATIONS: dict[str, Callable] = {
    "hogs, many": lambda: hogs(3 * PROCESSORS),
    "hogs, one a processor": lambda: hogs(PROCESSORS),
    "hogs tied to a processor": lambda: hogs(3, "taskset", "-c", "0"),
    "disk, short children of a shell": lambda: disk("while :; do DD count=50; done"),
    "disk, a child behind a shell": lambda: disk("DD count=100000000; true"),
    "swarm of short processes": swarm,
    "fork storm": fork_storm,
    "memory cgroup thrashing": thrashing,
    "swapping": swapping,
    "processor quota": quota,
    "lock contention": lock,
    "loopback, a stream": lambda: network(STREAM),
    "loopback, datagrams": lambda: network(DATAGRAMS),
    "real-time hog": realtime,
    "equal hogs and a larger task": hogs_and_a_larger_task,
    "processor quota, one level up": nested_quota,
    "build of many short steps": makefile,
    "write-back stalls readers": write_back,
    "pairs that copy through pipes": pipes,
    "children that are not waited for": unawaited,
    "memory cgroup, killed again and again": killed,
}
