"""Guests of several processors, whose instructions are not counted: their names, and that they are marked as noisy."""

import json
import os
from pathlib import Path

import pytest
from test_cli import refused
from test_guest import HOGS, booting, cell

from schedlab.errors import UsageError
from schedlab.experiment import Experiment
from schedlab.report import measured
from schedlab.results import Results
from schedlab.targets import factory
from schedlab.targets.guest import emulation, kernels, machine, qemu, target
from schedlab.targets.guest.emulation import Late
from schedlab.targets.guest.refused import refuse_impossible
from schedlab.targets.host.conditions import Conditions

NAME = "6.1@2"
TWO = qemu.Processors(2, counted=False)

enough = pytest.mark.skipif(len(os.sched_getaffinity(0)) < TWO.count, reason="each needs a processor of the host")


def quiet(text):
    """Discard messages."""


def hogs(*set: str) -> Experiment:
    return Experiment.from_text(HOGS, "hogs.toml", set=set)


@pytest.fixture(scope="module")
def guest():
    """A machine of two processors."""
    return booting(NAME)


def test_a_kernel_without_a_number_has_one_processor_that_is_counted():
    for name in ("6.1", "./bzImage", "./a@b", "./me@home/bzImage+./lib"):
        assert qemu.processors(name) == (name, qemu.COUNTED)
    assert "-icount" in qemu.COUNTED.machine


@enough
def test_a_number_behind_the_kernel_is_of_processors_that_are_not_counted():
    assert qemu.processors(NAME) == ("6.1", TWO)
    assert qemu.processors("./bzImage+./modules@1") == ("./bzImage+./modules", qemu.Processors(1, counted=False))
    assert "-icount" not in TWO.machine
    assert "-smp 2" in " ".join(TWO.machine)


def test_a_file_whose_name_ends_so_is_a_kernel(tmp_path):
    image = tmp_path / "bzImage@2"
    image.touch()
    assert qemu.processors(str(image)) == (str(image), qemu.COUNTED)


@pytest.mark.parametrize("count", [0, 4096])
def test_more_processors_than_the_host_has_are_refused(schedlab, small, count):
    refused(schedlab("run", small, "--on", f"guest:6.1@{count}"), f"{count} processors; each needs one of the host's")


def test_a_guest_has_the_processors_of_its_name_and_no_more():
    two = cell(cpus=[1])
    two.scenario["machine"]["processors"] = 2
    refuse_impossible(two, of_host=False, processors=TWO)
    with pytest.raises(UsageError, match=r"workload.a.cpus: a guest of 2 processors has no more"):
        refuse_impossible(cell(cpus=[2]), of_host=True, processors=TWO)
    two.scenario["machine"]["processors"] = 3
    with pytest.raises(UsageError, match=r"the experiment's machine has 3: set machine.processors=2"):
        refuse_impossible(two, of_host=False, processors=TWO)


@enough
def test_the_simulator_compared_with_such_a_guest_has_its_processors():
    assert factory._processors_of_guests(["sim", f"guest:{NAME}"], hogs()) == TWO
    assert factory._processors_of_guests(["sim", "guest:6.1"], hogs()) == qemu.Processors()
    with pytest.raises(UsageError, match="sim takes the machine of the guests, and these have 1 and 2"):
        factory.targets(f"guest:6.1,{NAME},sim", hogs(), None, Conditions())
    assert factory._processors_of_guests(["guest:6.1", f"guest:{NAME}"], hogs()) == qemu.Processors()


@enough
def test_every_result_of_such_a_guest_says_that_it_is_noisy(guest, tmp_path):
    asked = hogs("seeds=2", "duration=1s")
    results = asked.run(tmp_path, targets=[target.Guest(NAME, of_host=True, _machine=guest)])
    assert results.noisy == [f"guest:{NAME}"]
    (note,) = Results.open(results.folder).notes
    assert note.startswith(f"guest:{NAME}: noisy: 2 processors in the host's time")
    assert note in results._repr_html_().replace("&#x27;", "'")
    measured.write(results, tmp_path / "page.html")
    assert "noisy: 2 processors" in (tmp_path / "page.html").read_text()
    # Each run was made once; a hog has a processor of its own, whatever its nice level.
    lines = (results.folder / target.LOG).read_text().splitlines()
    assert [len(json.loads(line)["guests"]) for line in lines] == [1, 1]
    shares = {row["metric"]: row["mean"] for row in results.summary("*").iter_rows(named=True)}
    assert shares["tasks.b.share"] > 0.8 * shares["tasks.a.share"]


@enough
def test_the_command_says_it_next_to_the_table_and_in_json(guest, schedlab, tmp_path):
    (tmp_path / "hogs.toml").write_text(HOGS)
    words = ["run", "hogs.toml", "--on", f"guest:{NAME}", "--set", "duration=1s"]
    done = schedlab(*words, "--gantt", "hogs.txt")
    assert done.returncode == 0, done.stderr
    assert f"note: guest:{NAME}: noisy" in done.stdout
    assert f"(a run of its own: guest:{NAME} is noisy)" in done.stdout
    assert (tmp_path / "hogs.txt").stat().st_size > 0
    assert schedlab.json(*words)["noisy"] == [f"guest:{NAME}"]


def panicking(monkeypatch, *panics: bool) -> None:
    """Guests that run experiments: those that panic leave what an emulated kernel of two processors left once."""
    of_each, resume = iter(panics), emulation.Emulation.resume

    def run(self, kept, handed, stop=None):
        if "run" in json.loads(handed[emulation.ORDER])["command"] and next(of_each, False):
            return emulation.Ended("[   18.7] Kernel panic - not syncing: Fatal exception in interrupt\n", "", 1.0)
        return resume(self, kept, handed, stop)

    monkeypatch.setattr(emulation.Emulation, "resume", run)


@enough
def test_a_run_whose_kernel_gives_up_is_made_again_and_says_so(guest, tmp_path, monkeypatch):
    panicking(monkeypatch, True)
    results = hogs("duration=1s").run(tmp_path, targets=[target.Guest(NAME, of_host=True, _machine=guest, say=quiet)])
    assert results.summary("tasks.a.share").height == 1
    why = "the guest's kernel gave up, and the run was made again: not syncing: Fatal exception in interrupt"
    assert why in [one["warning"] for one in results.warnings]


@enough
def test_a_kernel_that_gives_up_twice_is_an_error_with_its_words(guest, tmp_path, monkeypatch):
    panicking(monkeypatch, True, True)
    with pytest.raises(UsageError, match=r"ended without a report(?s:.)*Fatal exception in interrupt"):
        hogs("duration=1s").run(tmp_path, targets=[target.Guest(NAME, of_host=True, _machine=guest, say=quiet)])


def measuring(monkeypatch, *spreads: float | None) -> machine.Machine:
    """A machine that finds these spreads, one after the other; it hangs at each that is None."""
    found = iter(spreads)

    def calibrate(self, stop=None):
        spread = next(found)
        if spread is None:
            raise Late(f"guest:{NAME} did not end within {self.longest:g} s")
        return {"spread": spread}

    monkeypatch.setattr(machine.Machine, "calibrate", calibrate)
    monkeypatch.setattr(machine.Machine, "keep", lambda self, stop=None: None)
    kernel = kernels.Kernel(NAME, Path("bzImage"), "6.1.0", "6.1-1")
    return machine.Machine(kernel, qemu.Emulator(Path("qemu"), "7.2"), Path("image"), "agent", processors=TWO)


@pytest.mark.parametrize(("spreads", "best"), [((0.05,), 0.05), ((0.9, 0.02), 0.02), ((5.0, 0.3, 0.4), 0.3)])
def test_a_seconds_work_is_the_steadiest_of_a_few_measurements(monkeypatch, spreads, best):
    assert measuring(monkeypatch, *spreads).steadiest_calibration() == {"spread": best}


@pytest.mark.parametrize("spreads", [(None, 0.05), (None, None, 0.3), (0.3, None, 0.4)])
def test_a_guest_that_hangs_at_its_start_is_started_again(monkeypatch, spreads):
    assert measuring(monkeypatch, *spreads).steadiest_calibration()["spread"] == min(filter(None, spreads))


def test_a_guest_that_hangs_each_time_is_an_error(monkeypatch):
    with pytest.raises(Late, match="did not end within 60 s"):
        measuring(monkeypatch, None, None, None).steadiest_calibration()


def test_a_host_that_is_too_busy_to_measure_a_seconds_work_is_refused(monkeypatch):
    with pytest.raises(UsageError, match=r"guest:6\.1@2: the host is too busy .*spread by 150 %"):
        measuring(monkeypatch, 431210.0, 2.0, 1.5).steadiest_calibration()


def test_a_seconds_work_that_was_measured_badly_is_reported():
    assert target._unsteady({"spread": 0.01}) is None
    assert "measured to 52 % only" in target._unsteady({"spread": 0.52})
