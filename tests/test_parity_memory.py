"""The memory scenarios compared with guest kernels: they are experiments both ways, and the page shows what misses."""

import importlib.util
from pathlib import Path

import pytest

from schedlab.experiment import Experiment
from schedlab.parity import memory
from schedlab.targets.guest.qemu import Processors
from schedlab.targets.guest.refused import refuse_impossible

SCRIPT = Path(__file__).parent.parent / "scripts/parity_memory.py"


@pytest.mark.parametrize("kernel", memory.KERNELS)
def test_every_scenario_is_an_experiment_of_the_simulator_and_of_a_guest(kernel):
    cases = memory.cases()
    assert len({case.path for case in cases}) >= 8
    for case in cases:
        simulated = Experiment.from_toml(case.path, set=case.simulated(kernel))
        measured = Experiment.from_toml(case.path, set=case.in_guest(kernel))
        assert simulated.name == measured.name == case.path.stem
        for cell in measured.cells():
            refuse_impossible(cell, measured.is_of_host, Processors())


def test_a_difference_beyond_the_bounds_is_shown_as_a_miss_with_what_is_suspected():
    spec = importlib.util.spec_from_file_location("parity_memory", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    case = memory.cases(["working_sets_in_phases"])[0]
    measured = {"swap_out": 1000.0, "swap_in": 0.0, "page_in": 5000.0}
    near = {"swap_out": 1100.0, "swap_in": 32.0, "page_in": 5500.0}
    far = near | {"swap_out": 1101.0}
    held = script.page({"6.1": list(memory.compare(case, near, measured))})
    assert "3 of 3 hold †" in held
    assert "**" not in held.split("hold †.")[1]
    missed = script.page({"6.1": list(memory.compare(case, far, measured))})
    assert "2 of 3 hold †" in missed
    assert "† Both bounds were set after" in missed
    assert "**1,101 / 1,000**" in missed
    assert "- `working_sets_in_phases`: Suspected" in missed
