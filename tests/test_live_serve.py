"""What `schedlab serve` runs on this host leaves nothing there, however run and server end. With the true agent."""

# Fixtures are imported, and named by arguments.
# ruff: noqa: F401, F811

import signal
from contextlib import suppress
from pathlib import Path

import pytest
from labpage import with_page
from serving import Serving, lives, soon
from test_guest import HOGS, KERNEL, WEIGHTS, booting, guest
from test_live_faults import FILE, KNOB, children, groups_of, put_back

from schedlab.results import Results

pytestmark = with_page


@pytest.fixture
def serving(tmp_path):
    found = Serving(tmp_path)
    yield found
    found.close()


def agreed(serving, seeds: int) -> dict[str, str]:
    """A text that sets the knob, and what runs it here."""
    text = FILE.format(duration="1s", seeds=seeds, values="101, 102", more="")
    plan = serving.post("/api/plan", text, on="host", name="fault").json
    assert any("vfs_cache_pressure = 101" in line for line in plan["lines"])
    return {"text": text, "name": "fault", "on": "host", "agreed": plan["agreed"], "dirty": "1"}


def descendants(pids: list[int]) -> set[int]:
    """The processes below these, and themselves."""
    found = set(pids)
    for pid in pids:
        found |= descendants(children(pid))
    return found


def with_agent(found: set[int]) -> set[int]:
    """These processes, if an agent that has made its control group is among them."""
    return found if groups_of(found) else set()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=lambda one: one.name)
def test_what_a_run_has_set_is_back_and_its_processes_are_gone(serving, put_back, how):
    number = serving.begin(**agreed(serving, seeds=50))
    soon(lambda: serving.job(number)["done"] and KNOB.read_text().strip() in ("101", "102"))
    # Each run has an agent of its own; between two runs there is none.
    begun = soon(lambda: with_agent(descendants(serving.commands())))
    serving.process.send_signal(how)
    assert serving.close() == (-how if how == signal.SIGKILL else 0)
    if how == signal.SIGKILL:
        soon(lambda: KNOB.read_text() == put_back and not any(map(lives, begun)))
    assert KNOB.read_text() == put_back
    assert not groups_of(begun)
    assert not any(map(lives, begun))
    (folder,) = (serving.folder / "results").iterdir()
    assert Results.open(folder).frame["seed"].len()


def machines(pids: list[int]) -> set[int]:
    """The emulators below these processes."""
    found = set()
    for pid in descendants(pids):
        # One that has ended meanwhile is none.
        with suppress(FileNotFoundError, ProcessLookupError):
            found |= {pid} if "qemu" in Path(f"/proc/{pid}/comm").read_text() else set()
    return found


def test_a_run_in_a_guest_is_that_of_the_command(serving, guest):
    number = serving.begin(HOGS, name="hogs", on=f"guest:{KERNEL}", dirty="1")
    job = serving.until(number, "done", "failed")
    assert job["state"] == "done", job
    (folder,) = (serving.folder / "results").iterdir()
    shares = {row["metric"]: row["value"] for row in Results.open(folder).frame.iter_rows(named=True)}
    (a, b), (heavy, light) = (shares[f"tasks.{name}.share"] for name in "ab"), WEIGHTS
    assert a / (a + b) == pytest.approx(heavy / (heavy + light), abs=0.02)


def test_a_run_in_a_guest_that_is_cancelled_leaves_no_machine(serving, guest):
    number = serving.begin(HOGS.replace("4s", "300s"), name="long", on=f"guest:{KERNEL}", dirty="1")
    begun = soon(lambda: machines(serving.commands()))
    assert serving.post(f"/api/jobs/{number}/cancel").status in (200, 202)
    soon(lambda: not any(map(lives, begun)))
    assert serving.until(number, "cancelled")
