"""Guests of several processors that are counted: their names, the emulator that they need, and that they repeat."""

import json
import os
from pathlib import Path

import pytest
from test_cli import refused
from test_guest import HOGS, booting, cell

from schedlab.errors import UsageError
from schedlab.experiment import Experiment
from schedlab.parity import processors
from schedlab.run import plan
from schedlab.targets.factory import targets
from schedlab.targets.guest import apt, emulation, kernels, machine, qemu, target
from schedlab.targets.guest.refused import refuse_impossible
from schedlab.targets.host.conditions import Conditions
from schedlab.targets.translate import on_a_guests_machine

NAME = "6.1@2-counted"
TURNS = qemu.Processors(2)
HOGS_OF_ONE = {"a": {"load": "spin", "compute": "1s"}}
#: Under a second, so that little is executed.
SECONDS = 0.5


@pytest.fixture(scope="module")
def guest():
    """A machine of two processors that take turns."""
    return booting(NAME)


def test_a_number_that_is_counted_is_of_processors_that_take_turns():
    assert qemu.processors(NAME) == ("6.1", TURNS)
    words = " ".join(TURNS.machine)
    # Recording, which has the emulator's threads take turns, is refused to a machine that begins with two.
    assert "-smp 1,maxcpus=2" in words
    assert words.count("x86_64-cpu") == 1
    assert "rr=record" in words
    # The emulator's main loop must not wait for a processor, or the order of turns is another one.
    assert TURNS.threads == 2
    assert not qemu.COUNTED.take_turns
    assert not qemu.Processors(2, counted=False).take_turns


def test_the_simulated_machine_next_to_a_counted_guest_has_its_costs():
    asked = Experiment.from_dict({"machine": "host", "duration": "1s", "workload": HOGS_OF_ONE}, "hogs")
    counted, noisy = (on_a_guests_machine(asked, 2, own).definition["machine"] for own in (True, False))
    assert (counted["preset"], counted["processors"]) == ("guest", 2)
    assert (noisy["preset"], noisy["processors"]) == ("host", 2)
    assert counted["idle_states"] == [{"residency": "0s", "latency": "52us"}]
    assert "idle_states" not in noisy
    assert "idle_states" not in on_a_guests_machine(asked, 1, counted=True).definition["machine"]


def test_only_several_counted_processors_take_turns_in_the_simulated_machine_too():
    machine = {"preset": "host", "topology": {"cores_per_cache": 1}}
    asked = Experiment.from_dict({"machine": machine, "duration": "1s", "workload": HOGS_OF_ONE}, "hogs")

    def turns(count: int, counted: bool) -> list[int] | None:
        (one,) = on_a_guests_machine(asked, count, counted).cells()
        layout = one.scenario["machine"]["topology"]
        assert layout["cores_per_cache"]
        return layout.get("turns")

    assert turns(4, counted=True) == [4, 3, 3, 3]
    assert turns(1, counted=True) is None
    assert turns(2, counted=False) is None


@pytest.mark.parametrize("count", [0, 1, 17])
def test_a_number_that_cannot_take_turns_is_refused(schedlab, small, count):
    why = f"{count} processors that take turns; there can be 2 to 16 of them, and guest:6.1 has one"
    refused(schedlab("run", small, "--on", f"guest:6.1@{count}-counted"), why)


def test_who_asks_for_more_than_the_host_has_learns_of_those_that_take_turns():
    count = len(os.sched_getaffinity(0)) + 1
    with pytest.raises(UsageError, match=rf"guest:6\.1@{count}-counted has them take turns on one"):
        qemu.processors(f"6.1@{count}")


def test_a_guest_whose_processors_take_turns_has_all_of_them():
    two = cell(cpus=[1])
    two.scenario["machine"]["processors"] = 2
    refuse_impossible(two, of_host=False, processors=TURNS)
    with pytest.raises(UsageError, match=r"workload.a.cpus: a guest of 2 processors has no more"):
        refuse_impossible(cell(cpus=[2]), of_host=True, processors=TURNS)


def test_runs_of_processors_that_take_turns_are_not_shuffled():
    assert plan._order([f"guest:{NAME}"]) == "as in the file"
    assert plan._order(["guest:6.1@1"]).startswith("guest:6.1@1: repeat by repeat")


@pytest.mark.parametrize(
    ("version", "fair"),
    [("1:7.2+dfsg-7+deb12u18", False), ("8.0.5", False), ("8.1.0", True), ("1:10.0.2+ds-2~bpo12+1", True)],
)
def test_an_emulator_that_starves_a_processor_is_known_by_its_version(version, fair):
    assert qemu.Emulator(Path("qemu"), version).is_fair is fair


def test_without_an_emulator_that_is_fair_the_user_learns_what_is_needed(monkeypatch):
    old = qemu.Emulator(Path("qemu"), "1:7.2+dfsg-7")
    asked = []
    monkeypatch.setattr(qemu.shutil, "which", lambda name: None)
    monkeypatch.setattr(qemu, "_fetched", lambda folder, packages, say: asked.append(packages) or old)
    with pytest.raises(UsageError, match=r"need QEMU 8\.1 or newer, .* is 1:7\.2\+dfsg-7"):
        qemu.find(print, TURNS)
    assert qemu.find(print) is old
    assert asked == [apt.backports, apt.own]


@pytest.mark.parametrize(
    ("processors", "longer"), [(TURNS, 2), (qemu.COUNTED, 1), (qemu.Processors(2, counted=False), 1)]
)
def test_a_boot_may_take_as_many_times_longer_as_processors_take_turns(processors, longer):
    kernel = kernels.Kernel(NAME, Path("bzImage"), "6.1.0", "6.1-1")
    about = machine.Machine(kernel, qemu.Emulator(Path("qemu"), "10.0"), Path("image"), "agent", processors=processors)
    assert about._emulation.boot_limit == longer * emulation.BOOT_LIMIT


def test_processors_that_take_turns_repeat_or_say_that_they_did_not(guest, tmp_path):
    asked = Experiment.from_text(HOGS, "hogs.toml", set=["seeds=1", f"duration={SECONDS}s"])
    where = target.Guest(NAME, of_host=True, _machine=guest)
    assert where.repeatable
    results = asked.run(tmp_path, targets=[where])
    (line,) = (results.folder / target.LOG).read_text().splitlines()
    # Two guests answered alike, or a third one had to vote, as happens on a busy host (docs/guest-kernels.md).
    digests = [one["digest"] for one in json.loads(line)["guests"]]
    alike = len(set(digests)) == 1
    assert len(digests) == (target.TIMES if alike else target.TIMES + 1)
    doubts = [one["warning"] for one in results.warnings if "guests gave" in one["warning"]]
    assert len(doubts) == (0 if alike else 1)
    assert results.noisy == []
    assert any("2 processors take turns" in note for note in results.notes)
    # Each hog has a processor, half of the machine; on a single one they would share 75 to 25 by nice level.
    shares = {row["metric"]: row["mean"] for row in results.summary("*").iter_rows(named=True)}
    assert shares["tasks.a.share"] == pytest.approx(50, abs=1)
    assert shares["tasks.b.share"] == pytest.approx(50, abs=1)


def test_the_simulator_is_compared_with_processors_that_take_turns(guest, tmp_path):
    on = f"guest:{NAME}"
    (path,) = processors.scenarios(["pinned_and_free_hogs"])
    given = [*processors.overrides(on, 1), f"duration={SECONDS}s"]
    experiment = Experiment.from_toml(path, set=given)
    where = [*targets("sim", experiment, 1, Conditions()), target.Guest(NAME, of_host=True, _machine=guest)]
    results = experiment.run(tmp_path, targets=where)
    compared = {one.metric: one for one in processors.compare(results, on)}
    # Three hogs are bound to the first processor, and two are free: each kind ends up with a processor.
    for job in ("bound", "free"):
        assert compared[f"tasks.{job}.share"].measured.mean == pytest.approx(50, abs=10)
