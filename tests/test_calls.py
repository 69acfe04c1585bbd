"""What calls cost on the machines `guest` and `host` is what bench/calls.py measures: the same fields, and sources."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

from schedlab.experiment import Experiment

ROOT = Path(__file__).parent.parent
#: Not measured by the bench alone: read off recordings of ten loads.
OF_OTHER_SOURCE = {("guest", "sleep")}


@pytest.fixture(scope="module")
def bench():
    """The bench, as a module."""
    spec = importlib.util.spec_from_file_location("calls", ROOT / "bench/calls.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def machine(name):
    """A machine as an experiment has it."""
    workload = {"a": {"load": "spin", "compute": "1ms"}}
    experiment = Experiment.from_dict({"machine": name, "scheduler": {"name": "cfs"}, "workload": workload}, "calls")
    (cell,) = experiment.cells()
    return cell.scenario["machine"]


@pytest.mark.parametrize("name", ["guest", "host"])
def test_the_costs_of_calls_are_the_fields_that_the_bench_measures_each_with_its_source(bench, name):
    calls = {field: cost for field, cost in machine(name)["calls"].items() if isinstance(cost, dict)}
    assert set(calls) == set(bench.FIELDS)
    for field, cost in calls.items():
        assert "bench/calls.py" in cost["source"], field
        assert (name, field) in OF_OTHER_SOURCE or cost["source"].startswith("bench/calls.py"), field
        assert re.fullmatch(r"[0-9.]+(ns|us|ms)", cost["value"]), field


@pytest.mark.parametrize("name", ["guest", "host"])
def test_tasks_of_the_workload_are_made_before_the_run(name):
    assert machine(name)["prepared"] is True


def test_the_file_of_the_machine_has_a_line_for_each_field(bench):
    written = tomllib.loads((ROOT / "machines/guest.toml").read_text())["calls"]
    assert set(written) == set(bench.FIELDS)
