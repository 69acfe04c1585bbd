"""The benches judge themselves: a ceiling that is slower than what it is a ceiling of is a fault of the bench."""

import importlib
import sys

import pytest
from conftest import ROOT


@pytest.fixture
def policies(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    yield importlib.import_module("policies")
    for name in ("policies", "bench"):
        sys.modules.pop(name, None)


def row(ratio, scheduler="o1", tasks=1000):
    return {"scheduler": scheduler, "tasks": tasks, "load": "hogs", "processors": 1, "grouped": False, "ratio": ratio}


@pytest.mark.parametrize(("ratio", "status"), [(0.64, 1), (0.949, 1), (0.95, 0), (2.0, 0)])
def test_a_ceiling_slower_than_the_simulator_fails_the_bench(policies, monkeypatch, capsys, ratio, status):
    rows = [row(1.2, "fifo"), row(ratio)]
    monkeypatch.setattr(policies, "everything", lambda ours, names: {"rows": rows})
    monkeypatch.setattr(policies, "tables", lambda result: "")
    monkeypatch.setattr(sys, "argv", ["policies.py", "--ours", "x", "o1", "fifo"])
    assert policies.main() == status
    said = capsys.readouterr().err
    assert ("o1, 1,000 hogs on 1 processors, ratio" in said) == bool(status)
    assert "fifo" not in said
