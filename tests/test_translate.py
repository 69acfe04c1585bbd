"""The simulator compared with kernels: the same experiment with another scheduler, on a guest's machine."""

import pytest
from test_cli import refused

from schedlab.errors import UsageError
from schedlab.experiment import Experiment
from schedlab.targets import translate
from schedlab.targets.factory import targets
from schedlab.targets.simulator import Simulator

QUANTUM = """
machine = "host"
metrics = ["tasks.a.share"]
duration = "1s"
[scheduler]
name = "eevdf"
wakeup_preemption = false
[workload]
a = { load = "spin", compute = "1s", passes = "forever" }
[sweep]
"scheduler.base_slice" = ["3ms", "100ms"]
"workload.a.nice" = [0, 5]
"""


def experiment(text=QUANTUM, **changes):
    return Experiment.from_text(text, "quantum.toml").replace(**changes)


def test_a_parameter_is_the_one_that_means_the_same_under_another_scheduler():
    cells = translate.with_policy(experiment(), "cfs").cells()
    assert [cell.scenario["scheduler"]["min_granularity"] for cell in cells] == ["3ms", "3ms", "100ms", "100ms"]
    assert {cell.scenario["scheduler"]["wakeup_preemption"] for cell in cells} == {False}


def test_a_setting_of_a_kernel_is_a_parameter_of_the_scheduler():
    asked = experiment(tunables={"wakeup_preemption": True, "min_granularity": "8ms"}, scheduler=None, sweep={})
    scheduler = translate.with_policy(asked, "eevdf").cells()[0].scenario["scheduler"]
    assert (scheduler["wakeup_preemption"], scheduler["base_slice"]) == (True, "8ms")


def test_what_is_given_of_the_scheduler_counts_more_than_a_setting():
    asked = experiment(tunables={"wakeup_preemption": True})
    assert translate.with_policy(asked, "eevdf").cells()[0].scenario["scheduler"]["wakeup_preemption"] is False


def test_what_means_nothing_under_a_scheduler_is_refused():
    asked = experiment(scheduler={"name": "eevdf", "run_to_parity": False})
    with pytest.raises(ValueError, match="run_to_parity: unknown field"):
        translate.with_policy(asked, "cfs")
    with pytest.raises(UsageError, match=r"sweeps scheduler\.name: use sim"):
        translate.with_policy(experiment(scheduler=None, sweep={"scheduler.name": ["cfs", "eevdf"]}), "cfs")


def test_a_translated_cell_keeps_its_place_in_the_table():
    asked = experiment()
    place = Simulator(1, "sim:cfs", translate.with_policy(asked, "cfs"))
    cells, new = asked.cells(), place.cells(asked.cells())
    assert [cell.factors for cell in new] == [cell.factors for cell in cells]
    assert not {cell.hash for cell in new} & {cell.hash for cell in cells}


def test_compared_with_a_guest_the_host_is_a_machine_of_one_processor(monkeypatch):
    monkeypatch.setattr("schedlab.targets.factory._guest", lambda name, experiment, conditions: None)
    simulator, _ = targets("sim:eevdf,guest:6.1", experiment(), 1, None)
    machine = simulator.cells(experiment().cells())[0].scenario["machine"]
    assert (machine["processors"], machine["clock"]["hz"]) == (1, "250/s")
    (alone,) = targets("sim", experiment(), 1, None)
    assert alone.translated is None


def test_an_unknown_scheduler_is_refused_with_the_nearest(schedlab, small):
    refused(schedlab("run", small, "--on", "sim:eevd"), "'eevd' is no scheduler; did you mean 'eevdf'")
