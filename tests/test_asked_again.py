"""The reports asked again of kernels in guests: their files, and what is refused. The runs are the command's."""

import importlib
import tomllib

import pytest
from test_cli import refused

from schedlab import reproductions
from schedlab.errors import UsageError
from schedlab.experiment import Experiment
from schedlab.guest.place import refuse_impossible
from schedlab.live import reports

ASKED = [(name, version) for version in ("live", "guest") for name in reports.names(version)]


@pytest.mark.parametrize(("name", "version"), ASKED)
def test_every_claim_has_its_check_and_every_experiment_its_file(name, version):
    folder = reproductions.folder(name) / version
    spec = tomllib.loads((folder / f"{version}.toml").read_text())
    if "refused" in spec:
        return
    claims = importlib.import_module(f"schedlab.reproductions.{folder.parent.name}.{version}.claims")
    assert [claim["id"] for claim in spec["claim"] if not hasattr(claims, claim["id"].replace("-", "_"))] == []
    for entry in spec["experiment"]:
        for cell in Experiment.from_toml(folder / f"{entry['file']}.toml").cells():
            if version == "guest":
                refuse_impossible(cell, of_host=True)


def test_what_needs_caches_is_refused_on_a_guest_with_the_reason(schedlab):
    done = schedlab("reproduce", "irix-1999-slice", "--on", "guest:6.1")
    assert done.returncode == 0
    assert "skipped: an emulated processor has no caches" in " ".join(done.stdout.split())


def test_the_version_is_that_of_the_places():
    assert reports.version_for("sim,host") == "live"
    assert reports.version_for("sim:cfs,guest:6.1,7.2") == "guest"
    for on in ("host,guest:6.1", "sim:cfs"):
        with pytest.raises(UsageError, match="of host or of guests, one or the other"):
            reports.version_for(on)


def test_host_and_guests_at_once_are_refused(schedlab):
    refused(schedlab("reproduce", "minix-1990", "--on", "host,guest:6.1"), "one or the other: host, guest:6.1")
