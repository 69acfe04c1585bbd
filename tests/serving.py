"""What the tests of `schedlab serve` share: a server, asked as a browser asks, or as none would."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from conftest import COMMAND, ROOT, Command

PLAYER = ROOT / "examples" / "traces" / "player.txt"
#: Seconds within which everything comes.
PATIENCE = 60
#: A run that does not end while a test looks.
ENDLESS = "50000"
EXPERIMENT = {"Content-Type": "application/toml"}
#: An experiment of a second, with random numbers.
TINY = """
question = "What does a hog leave?"
machine = "uniform"
duration = "300ms"
seeds = {seeds}
metrics = ["tasks.hog.share"]
[scheduler]
name = "round_robin"
[workload]
hog = {{ load = "spin", passes = "forever" }}
nap = {{ steps = [{{ sleep = {{ exp = "20ms" }} }}, {{ compute = "1ms" }}], passes = "forever" }}
"""


class Answer:
    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        self.body = response.read()

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self):
        assert self.status in (200, 202), (self.status, self.text)
        return json.loads(self.body)


class Serving:
    """A server at work."""

    def __init__(self, folder: Path, *words: str, before: tuple[str, ...] = ()):
        """Start it; `before` are words that start the command."""
        folder.mkdir(exist_ok=True, parents=True)
        self.folder, self.temporary = folder, folder / "tmp"
        self.temporary.mkdir(exist_ok=True)
        environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "TMPDIR": str(self.temporary)}
        self.process = subprocess.Popen(
            [*before, COMMAND, "serve", "--json", *words],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=(folder / "said").open("w"),
            text=True,
        )
        line = self.process.stdout.readline()
        assert line, (folder / "said").read_text()
        self.about = json.loads(line)
        parts = urlsplit(self.about["address"])
        self.host, self.port, self.token = parts.netloc, parts.port, parts.query.removeprefix("token=")

    def close(self) -> int:
        """End it, if it has not ended."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(PATIENCE)
        self.process.stdout.close()
        return status

    @property
    def cookie(self) -> dict[str, str]:
        return {"Cookie": f"schedlab-{self.port}={self.token}"}

    @property
    def own(self) -> dict[str, str]:
        """What the page's own requests have."""
        return self.cookie | {"Origin": f"http://{self.host}", "Sec-Fetch-Site": "same-origin"}

    def ask(self, path: str, method: str = "GET", headers: dict | None = None, body: bytes | None = None) -> Answer:
        """One request, as the page makes it unless `headers` are given."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, self.own if headers is None else headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def post(self, path: str, text: str | bytes = "", headers: dict | None = None, **query: str) -> Answer:
        """What the page sends with a text."""
        text = text.encode() if isinstance(text, str) else text
        query = f"?{urlencode(query)}" if query else ""
        return self.ask(path + query, "POST", (self.own if headers is None else headers) | EXPERIMENT, text)

    def raw(self, request: bytes) -> bytes:
        """What comes back for bytes that are perhaps no request, until the connection is closed."""
        found = b""
        with suppress(ConnectionError), socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connection:
            connection.sendall(request)
            while piece := connection.recv(65536):
                found += piece
        return found

    def state(self) -> dict:
        return self.ask("/api/state").json

    def begin(self, text: str, name: str = "tiny", on: str = "sim", **more: str) -> int:
        """Have an experiment run; gives its number."""
        return self.post("/api/jobs", text, name=name, on=on, **more).json["number"]

    def job(self, number: int) -> dict:
        return next(job for job in self.state()["jobs"] if job["number"] == number)

    def until(self, number: int, *states: str, counted: bool = False) -> dict:
        """The job, once it is in one of these states, and has counted runs if it shall."""
        return soon(lambda: (job := self.job(number))["state"] in states and (job["done"] or not counted) and job)

    def commands(self) -> list[int]:
        """The processes that it has started."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [int(child) for task in tasks for child in task.read_text().split()]


def soon(so, seconds: float = PATIENCE):
    """Wait until it is so; gives what it is."""
    end = time.monotonic() + seconds
    while not (found := so()):
        assert time.monotonic() < end, "it did not come to that in time"
        time.sleep(0.02)
    return found


def lives(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture(scope="module")
def serving(tmp_path_factory):
    """A server with results and a recording; outside of its folders is a secret, and links to it are in them."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "tiny.toml").write_text(TINY.format(seeds=2))
    assert Command(folder)("run", "tiny.toml").returncode == 0
    (results,) = (folder / "results").iterdir()
    (folder / "recordings").mkdir()
    shutil.copy(PLAYER, folder / "recordings")
    (folder / "recordings" / ".hidden").write_text("hidden")
    (folder / "secret.txt").write_text("secret")
    (folder / "recordings" / "link.txt").symlink_to(folder / "secret.txt")
    shutil.copytree(results, folder / "outside")
    (folder / "results" / "outside").symlink_to(folder / "outside")
    shutil.copytree(results, folder / "results" / "linked")
    (folder / "results" / "linked" / "runs-0000.parquet").unlink()
    (folder / "results" / "linked" / "runs-0000.parquet").symlink_to(folder / "secret.txt")
    found = Serving(folder, "--traces", "recordings")
    found.results = results.name
    yield found
    found.close()
