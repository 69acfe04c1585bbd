"""The reports asked again of kernels in guests: their files, and what is refused. The runs are the command's."""

import importlib
import tomllib

import pytest
from test_cli import refused

from schedlab.errors import UsageError
from schedlab.experiment import Experiment
from schedlab.published import kernels, reproductions
from schedlab.published.reproductions.irix_1999_nbuf import kernel_claims as nbuf
from schedlab.published.reproductions.linux_1994 import kernel_claims as order_of_1994
from schedlab.stats import Interval
from schedlab.targets.guest.qemu import COUNTED
from schedlab.targets.guest.refused import refuse_impossible

ASKED = [(name, version) for version in kernels.VERSIONS for name in kernels.names(version)]


@pytest.mark.parametrize(("name", "version"), ASKED)
def test_every_claim_has_its_check_and_every_experiment_its_file(name, version):
    folder = reproductions.folder(name) / version
    spec = tomllib.loads((folder / f"{version}.toml").read_text())
    if "refused" in spec:
        return
    claims = importlib.import_module(f"schedlab.published.reproductions.{folder.parent.name}.{version}.claims")
    assert [claim["id"] for claim in spec["claim"] if not hasattr(claims, claim["id"].replace("-", "_"))] == []
    for entry in spec["experiment"]:
        for cell in Experiment.from_toml(folder / f"{entry['file']}.toml").cells():
            if version == "guest":
                refuse_impossible(cell, of_host=True, processors=COUNTED)


def test_what_needs_caches_is_refused_on_a_guest_with_the_reason(schedlab):
    done = schedlab("reproduce", "irix-1999-slice", "--on", "guest:6.1")
    assert done.returncode == 0
    assert "skipped: an emulated processor has no caches" in " ".join(done.stdout.split())


def test_the_version_is_that_of_the_places():
    assert kernels.version_for("sim,host") == "host"
    assert kernels.version_for("sim:cfs,guest:6.1,7.2") == "guest"
    for on in ("host,guest:6.1", "sim:cfs"):
        with pytest.raises(UsageError, match="of host or of guests, one or the other"):
            kernels.version_for(on)


def test_host_and_guests_at_once_are_refused(schedlab):
    refused(schedlab("reproduce", "minix-1990", "--on", "host,guest:6.1"), "one or the other: host, guest:6.1")


class Given:
    """A runner with given numbers: one for each limit of memory, or for each elevator."""

    def __init__(self, measured: str, numbers):
        self.measured, self.numbers = measured, numbers

    def value(self, file, metric, on=None, **factors):
        return self.numbers(file, metric, *factors.values())


def exactly(mean: float, half: float = 0.0) -> Interval:
    return Interval(mean, mean - half, mean + half, 3)


@pytest.mark.parametrize(("place", "climbs_at"), [("host", "384MiB"), ("guest:6.1", "48MiB")])
def test_the_claims_on_nbuf_look_at_the_sizes_of_their_place(place, climbs_at):
    seen = set()

    def numbers(file, metric, limit, files):
        seen.add(limit)
        return exactly(66.0 if file == "file_major" or limit == climbs_at else 1.0)

    finding = nbuf.order_decides_more_than_memory(Given(place, numbers))
    assert finding.verdict == "holds"
    assert seen == set(nbuf.SIZES[place.partition(":")[0]].limits)


def test_where_each_request_takes_the_same_time_device_time_is_computed_from_the_requests():
    means = {"tasks.files.real": 4.0, "disk_requests": 2000.0, "disk_busy": 100.0}
    evidence = nbuf.busy_falls_with_memory(Given("guest:6.1", lambda file, metric, *_: exactly(means[metric]))).evidence
    assert "device at work s: 2.00 2.00 2.00 2.00" in evidence
    evidence = nbuf.busy_falls_with_memory(Given("host", lambda file, metric, *_: exactly(means[metric]))).evidence
    assert "device at work s: 4.00 4.00 4.00 4.00" in evidence


@pytest.mark.parametrize(
    ("writes_first", "verdict"),
    [(exactly(5, 1), "holds"), (exactly(9.5, 1), "not shown"), (exactly(20), "does not hold")],
)
def test_orders_whose_intervals_overlap_are_not_shown_to_differ(writes_first, verdict):
    def numbers(file, metric, elevator):
        return writes_first if elevator == order_of_1994.STARVED[0] else exactly(10, 1)

    assert order_of_1994.writes_first_helps_under_swap(Given("guest:6.1", numbers)).verdict == verdict
