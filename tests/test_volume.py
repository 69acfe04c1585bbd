"""Which runs on a live host have a file system of their own, and what it is asked to be."""

from pathlib import Path

from schedlab.experiment import Experiment
from schedlab.targets.host.cell import volume
from schedlab.targets.host.conditions import Conditions

PLAIN = """
machine = {machine}
metrics = ["elapsed"]
scheduler.name = "eevdf"
[groups.all]
{group}
[workload.reader]
load = "stream"
size = "1MiB"
group = "all"
"""


def asked(machine: str = '"uniform"', group: str = "", scratch: str | None = None):
    cell = Experiment.from_text(PLAIN.format(machine=machine, group=group), "test.toml").cells()[0]
    return volume(cell, Conditions(scratch=Path(scratch) if scratch else None))


def test_a_run_without_drive_and_limit_uses_a_folder():
    assert asked() is None
    assert asked(scratch="/var/tmp") is None


def test_the_requested_size_is_that_of_a_run_without_a_drive():
    assert asked(scratch="loop:200MiB") == {"size": "200MiB"}
    drive = asked('{ preset = "uniform", drive = "st3144a" }', scratch="loop:200MiB")
    assert set(drive) == {"disk"}


def test_a_drive_is_described_in_its_own_words():
    assert asked('{ preset = "uniform", drive = "st3144a" }')["disk"]["heads"]["value"] == 4


def test_a_limit_of_memory_asks_for_a_volume_and_only_with_one_there_is_a_swap_area():
    swapping = '{ preset = "uniform", memory = { swap = "64MiB" } }'
    assert asked(group='memory = "32MiB"') == {}
    assert asked(swapping, 'memory = "32MiB"') == {"swap": "64MiB"}
    assert asked(swapping) is None
