"""Kept machines: made once, in use or not, removed when many; and what goes on from them is the same each time."""

import fcntl
import hashlib
import json
import os
import shutil
import threading

import pytest
from conftest import killed
from test_guest import guest  # noqa: F401

from schedlab import Experiment
from schedlab.errors import UsageError
from schedlab.targets.guest import cache, emulation, snapshots
from schedlab.targets.guest.emulation import ORDER
from schedlab.targets.guest.machine import AGENT, LEAD_NS, PORT, SETTLE_NS
from schedlab.targets.guest.target import Guest


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """A cache with nothing in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def filled(folder):
    """Substitute for making a machine."""
    (folder / emulation.STATE).write_bytes(bytes(range(256)) * 64)


def order(*words):
    return {ORDER: json.dumps({"command": [AGENT, *words], "lead": f"{LEAD_NS}ns", "port": PORT}).encode()}


def test_a_machine_that_several_threads_want_is_made_once(empty):
    made, found = [], []

    def want():
        with snapshots.machine("a", lambda folder: (made.append(1), filled(folder))) as folder:
            found.append((folder / emulation.STATE).exists())

    both = [threading.Thread(target=want) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert (len(made), found) == (1, [True, True])


def test_a_machine_is_known_by_its_contents_not_by_their_size(empty):
    made, said = [], []

    def make(folder):
        made.append(1)
        with open(folder / emulation.MEMORY, "wb") as memory:
            memory.write(bytes(1 << 20))
            memory.write(bytes(range(1, 256)) * 4096)
            memory.truncate(8 << 20)
        filled(folder)

    def asked():
        with snapshots.machine("a", make, say=said.append) as folder:
            return folder

    folder = asked()
    assert (asked(), len(made)) == (folder, 1)
    damages = [
        (emulation.MEMORY, 1 << 20, bytes(64 << 10)),
        (emulation.MEMORY, 5 << 20, b"x"),
        (emulation.STATE, 9, b"x"),
    ]
    for number, (name, offset, piece) in enumerate(damages, 2):
        before = (folder / name).stat()
        with open(folder / name, "r+b") as file:
            file.seek(offset)
            file.write(piece)
        # The time of the change does not reveal it either.
        os.utime(folder / name, ns=(before.st_atime_ns, before.st_mtime_ns))
        asked()
        assert (len(made), said[-1]) == (number, f"{folder / name} is damaged; the machine is made again")
    for name in (snapshots.DIGESTS, emulation.STATE):
        (folder / name).unlink()
        asked()
    assert len(made) == len(damages) + 3
    assert len(said) == len(damages) + 2


def test_holes_in_a_machines_memory_are_the_same_as_zeros(tmp_path):
    dense, sparse = tmp_path / "dense", tmp_path / "sparse"
    dense.write_bytes(bytes(3 << 20) + b"end" + bytes(1 << 20))
    with open(sparse, "wb") as file:
        file.seek(3 << 20)
        file.write(b"end")
        file.truncate(dense.stat().st_size)
    assert snapshots._digest(dense) == snapshots._digest(sparse)
    os.truncate(sparse, sparse.stat().st_size + 1)
    assert snapshots._digest(dense) != snapshots._digest(sparse)


def test_a_machine_that_could_not_be_made_leaves_nothing(empty):
    def fails(folder):
        filled(folder)
        raise UsageError("no")

    with pytest.raises(UsageError), snapshots.machine("a", fails):
        pass
    assert [path.name for path in snapshots.folder().iterdir() if path.is_dir()] == []


def test_ctrl_c_ends_the_wait_for_a_machine(empty):
    snapshots.folder().mkdir(parents=True)
    stop = threading.Event()
    stop.set()
    with open(cache.lock_of(snapshots.folder() / "a"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(KeyboardInterrupt), snapshots.machine("a", filled, stop):
            pass


def test_those_not_used_for_longest_are_removed_but_none_in_use(empty):
    for age, name in enumerate("abcd"):
        with snapshots.machine(name, filled):
            pass
        os.utime(snapshots.folder() / name, (10 - age, 10 - age))
    one = snapshots.size(snapshots.folder() / "a")
    with snapshots.machine("d", filled):
        os.utime(snapshots.folder() / "d", (1, 1))
        snapshots.remove_oldest(2 * one, snapshots.folder() / "a")
    assert sorted(path.name for path in snapshots.folder().iterdir() if path.is_dir()) == ["a", "b", "d"]


def test_what_a_killed_process_has_half_made_is_removed_but_not_what_is_being_made(empty):
    def make(folder_of_b):
        (snapshots.folder() / ".a-killed").mkdir()
        killed(snapshots.folder() / ".a-killed")
        snapshots.remove_oldest(1, snapshots.folder() / "b")
        assert folder_of_b.is_dir()
        filled(folder_of_b)

    with snapshots.machine("b", make):
        assert sorted(path.name for path in snapshots.folder().iterdir() if path.is_dir()) == ["b"]


def test_every_process_that_resumes_a_machine_gives_the_same_answer(guest):  # noqa: F811
    first, second = (guest.resume(order("calibrate")) for _ in range(2))
    assert first.port == second.port
    assert json.loads(first.port)["status"] == 0


def test_a_machine_that_is_kept_twice_is_the_same(guest, tmp_path):  # noqa: F811
    found = []
    for name in "ab":
        (tmp_path / name).mkdir()
        guest._keep(tmp_path / name, None)
        state = (tmp_path / name / emulation.STATE).read_bytes()
        # Before its own clock the emulator writes that of the host, which the guest never sees.
        state = state[state.index(b"timer/icount") :]
        with open(tmp_path / name / emulation.MEMORY, "rb") as memory:
            found.append((state, hashlib.file_digest(memory, "sha256").hexdigest()))
    assert found[0] == found[1]


def test_many_sleeps_take_the_same_time_in_every_guest(guest):  # noqa: F811
    # Each sleep's end is a chance for the emulator's threads to disagree on the time.
    steps = [{"compute": "20us"}, {"sleep": "130us"}]
    experiment = Experiment.from_dict(
        {"machine": "host", "duration": "2s", "workload": {"a": {"passes": "forever", "steps": steps}}}
    )
    place = Guest(guest.kernel.name, of_host=True, trace="off")
    place._machine = guest
    (cell,) = place.cells(experiment.cells())
    calibration = guest.calibration()
    assert len({place.ask(cell, 1, calibration).digest for _ in range(3)}) == 1


def test_what_goes_on_from_a_kept_machine_works_as_fast_as_a_booted_one(guest):  # noqa: F811
    booted, resumed = guest.boot(order("calibrate"), SETTLE_NS), guest.resume(order("calibrate"))
    answers = [json.loads(json.loads(ended.port)["output"]) for ended in (booted, resumed)]
    first, second = (answer["rounds_per_second"] for answer in answers)
    assert first == pytest.approx(second, rel=1e-3)


def test_a_damaged_machine_is_refused_with_its_folder(guest, tmp_path):  # noqa: F811
    guest.keep()
    with snapshots.machine(guest._digest, filled) as folder:
        shutil.copytree(folder, tmp_path / "damaged")
    state = tmp_path / "damaged" / emulation.STATE
    state.write_bytes(state.read_bytes()[:1000])
    with pytest.raises(UsageError, match=r"cannot go on from \S*damaged(?s:.*)remove that folder"):
        guest._emulation.resume(tmp_path / "damaged", order("calibrate"))


def test_an_order_that_is_too_large_is_refused(guest):  # noqa: F811
    with pytest.raises(UsageError, match="at most 1048576 can be handed over"):
        guest.ask(["run"], "x" * (1 << 20))
