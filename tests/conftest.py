"""What the tests share: a small experiment, and the command as a user runs it."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import hypothesis
import jsonschema
import pytest

# No test asserts how long something takes.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

ROOT = Path(__file__).parent.parent
COMMAND = Path(sys.executable).with_name("schedlab")
SCHEMAS = ROOT / "schema" / "output"

SMALL = """
question = "Which slice keeps a reader quick alongside a hog?"
machine = "at_286"
seeds = 3
metrics = ["tasks.io.real", "tasks.hog.share", "wakeup_latency.p99"]
duration = "30s"
[scheduler]
name = "minix"
[workload]
io = { load = "read_files", files = 3, size = "4KiB" }
hog = { load = "spin", compute = "1s", passes = "forever" }
[sweep]
"scheduler.slice" = ["100ms", "18ms"]
"""


#: Files that take minutes, the longest first. One process tests a file: the last to begin keeps the others waiting.
LONG = (
    "new_scheduler",
    "forms",
    "hostile_files",
    "fleet",
    "tune",
    "ending",
    "pages",
    "documents",
    "executors",
    "guest_ext",
    "comparison",
    "importance",
    "guest_devices",
    "guest_turns",
    "lab_page",
    "tune_page",
)


def pytest_collection_modifyitems(items):
    """Long files first, the others as they are."""
    place = {f"test_{name}": number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


def pytest_configure():
    """Commands heed Ctrl-C, even where the tests are a background job that a shell lets ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def agreed_to_nothing(tmp_path, monkeypatch):
    """What the user of this machine has agreed to run is no part of a test, nor what a test agrees to of his."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def small(tmp_path) -> Path:
    """An experiment file with two cells and three seeds."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def strict(schema):
    """The schema of a document, without the fields that later versions may add."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {} if "properties" not in schema else {"additionalProperties": False}
    inner = {key: strict(value) for key, value in schema.items() if key != "properties"}
    named = {"properties": {key: strict(value) for key, value in schema["properties"].items()}} if closed else {}
    return closed | inner | named


def valid(document, name=None):
    """The document, if it is as its schema says, or the schema of that name."""
    name = name or document["schema"].split("/")[1]
    schema = strict(json.loads((SCHEMAS / f"{name}.json").read_text()))
    jsonschema.Draft202012Validator(schema).validate(document)
    return document


class Command:
    """The command `schedlab`, run in a folder of its own."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __call__(self, *arguments, env=None) -> subprocess.CompletedProcess:
        return subprocess.run(
            [COMMAND, *map(str, arguments)],
            cwd=self.folder,
            env={**{k: v for k, v in os.environ.items() if k != "COLUMNS"}, "NO_COLOR": "1", **(env or {})},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )

    def json(self, *arguments):
        """The JSON document that a successful command prints. It is as its schema says."""
        done = self(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return valid(json.loads(done.stdout))

    def ok(self, *arguments) -> str:
        """What a successful command prints."""
        done = self(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, *arguments) -> subprocess.Popen:
        """Start the command and leave it running."""
        return subprocess.Popen(
            [COMMAND, *map(str, arguments)], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )


@pytest.fixture
def schedlab(tmp_path) -> Command:
    return Command(tmp_path)


def agent_or_skip() -> Path:
    """The true agent; a test that needs it is skipped where there is none."""
    from schedlab.errors import UsageError
    from schedlab.targets import agent

    try:
        return agent.program()
    except UsageError:
        pytest.skip("schedlab-agent is not installed, nor named by SCHEDLAB_AGENT")


def page_or_skip() -> None:
    """Skip a test of the lab's page where schedlab is installed without it."""
    from schedlab.errors import UsageError
    from schedlab.lab import made

    try:
        made.made()
    except UsageError as why:
        pytest.skip(str(why))


@contextmanager
def settings_to_ourselves():
    """No other test on this machine changes its settings meanwhile."""
    with open(Path(tempfile.gettempdir()) / "schedlab-settings-under-test.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def running(words, **options):
    """A process of a test, killed where the test fails: `Popen` alone waits for it then, without end."""
    with subprocess.Popen(words, **options) as process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def killed(folder: Path) -> None:
    """Mark a folder as one of a process that is dead by now."""
    code = "import sys, pathlib; from schedlab.system import leftovers; leftovers.mark(pathlib.Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, folder], check=True)
