"""What is in the folder that `--scratch` names is its owner's, whatever it is called."""

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import agent_or_skip

ANYHOW = ("--dirty", "--patience", "0.7", "--quiet-below", "100")
FILE = """
machine = { preset = "host", processors = 1 }
seeds = 1
duration = "300ms"
metrics = ["tasks.reader.share"]
[groups.one]
weight = 512
[workload]
reader = { load = "stream", size = "64KiB", passes = "forever", group = "one" }
"""
#: Names that a run of this or an earlier version could have given.
NAMES = ("schedlab-2024", "schedlab-99999999-0123456789abcdef", "schedlab-volume-2024", ".schedlab-made")


def test_folders_that_are_called_as_ours_are_left_alone(schedlab):
    agent_or_skip()
    scratch = schedlab.folder / "sc"
    for name in NAMES:
        (scratch / name).mkdir(parents=True)
        (scratch / name / "f").write_text("x")
    (schedlab.folder / "mine").mkdir()
    (schedlab.folder / "mine" / "f").write_text("x")
    (scratch / "schedlab-99999998").symlink_to(schedlab.folder / "mine")
    (schedlab.folder / "f.toml").write_text(FILE)
    done = schedlab("run", "f.toml", "--on", "host", "--scratch", "sc", *ANYHOW)
    assert done.returncode == 0, done.stderr
    assert all((scratch / name / "f").read_text() == "x" for name in NAMES)
    assert (scratch / "schedlab-99999998" / "f").exists()
    assert len(list(scratch.iterdir())) == len(NAMES) + 1, "and nothing of the run is left"


def _agents(plan: Path) -> list[int]:
    """All agents that name this folder among their arguments."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(plan.parent).encode() in process.read_bytes():
                found.append(int(process.parent.name))
        except OSError:
            continue
    return found


def test_what_killed_agents_have_left_is_named_and_removed(schedlab):
    """All agents of a run at once, so that only the journal knows."""
    agent = agent_or_skip()
    if os.geteuid():
        pytest.skip("groups and recordings are root's")
    scratch, journal = schedlab.folder / "sc", schedlab.folder / "journal"
    scratch.mkdir()
    work = {"load": "stream", "size": "64KiB", "passes": "forever", "group": "one"}
    scenario = {"machine": {"name": "host", "processors": 1}, "scheduler": {"name": "eevdf"}, "groups": {"one": {}}}
    options = {"scratch": str(scratch), "journal": str(journal), "at_most": "60s"}
    calibration = {"rounds_per_second": 6e8, "calls_per_second": 5e6, "spread": 0.0}
    plan = schedlab.folder / "plan.json"
    asked = {
        "scenario": scenario | {"workload": {"a": work}},
        "seed": 1,
        "calibration": calibration,
        "options": options,
    }
    plan.write_text(json.dumps(asked))
    run = subprocess.Popen([agent, "run", plan], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 30
    # A member, a group, a folder, and mostly an instance.
    while len(list(journal.glob("*.json"))) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.3)
    for pid in _agents(plan):
        # Those that the first ones started die with them.
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    run.wait()
    where = ("--journal", str(journal))
    would = schedlab.json("host", "restore", "--dry-run", *where)["back"]
    assert any(text.startswith("group ") for text in would), would
    assert any(text.startswith(f"folder {scratch}") for text in would), would
    done = schedlab("host", "restore", *where)
    assert done.returncode == 0, done.stderr
    assert all(f"restored: {text}" in done.stdout for text in would if text.startswith(("group", "folder", "tracing")))
    assert not list(scratch.iterdir())
    assert "Nothing is left to restore." in schedlab("host", "restore", *where).stdout
    assert [path.name for path in journal.iterdir()] == ["lock"]
