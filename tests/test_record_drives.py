"""`schedlab record` and `schedlab trace` on a drive of the live host, against the kernel's own counters."""

import os
import subprocess
from pathlib import Path

import pytest
from conftest import agent_or_skip

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/sys/kernel/tracing/events/block").exists(),
    reason="recording needs root, and tracefs at /sys/kernel/tracing",
)


@pytest.fixture(autouse=True)
def permitted():
    agent_or_skip()


def drives() -> dict[str, tuple[int, int, int, int]]:
    """Reads, bytes read, writes and bytes written of each drive since the boot, as the kernel counts them."""
    found = {}
    for line in Path("/proc/diskstats").read_text().splitlines():
        major, minor, _, reads, _, read, _, writes, _, written, *_ = line.split()
        found[f"{major},{minor}"] = (int(reads), 512 * int(read), int(writes), 512 * int(written))
    return found


def test_the_requests_of_a_drive_are_those_that_the_kernel_counts(schedlab, tmp_path):
    """Others use it, too: there are at least those of the load, and at most those of the whole command."""
    stats = ["cat /proc/diskstats > before", "cat /proc/diskstats > after"]
    writes = "dd if=/dev/zero of=written bs=64k count=100 oflag=direct"
    if subprocess.run(["sh", "-c", writes], cwd=tmp_path, capture_output=True).returncode:
        pytest.skip("this file system has no direct writes")
    device = os.stat(tmp_path).st_dev
    drive = os.path.realpath(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    if not os.path.exists(f"{drive}/dev"):
        pytest.skip("this file system is on no drive")
    whole = Path(drive) if not (Path(drive) / "partition").exists() else Path(drive).parent
    name = (whole / "dev").read_text().strip().replace(":", ",")
    first = drives()[name]
    schedlab.ok("record", "-o", "r.dat", "--", "sh", "-c", f"{stats[0]}; {writes}; {stats[1]}")
    last = drives()[name]

    def counted(file):
        lines = (line.split() for line in (tmp_path / file).read_text().splitlines())
        (line,) = (line for line in lines if f"{line[0]},{line[1]}" == name)
        return int(line[7]), 512 * int(line[9])

    found = schedlab.json("trace", "r.dat")
    (one,) = (one for one in found["drives"] if one["drive"] == name)
    inner = [after - before for before, after in zip(counted("before"), counted("after"), strict=True)]
    outer = [last[2] - first[2], last[3] - first[3]]
    assert inner[0] >= 100
    assert inner[0] <= one["write"]["requests"] <= outer[0]
    assert inner[1] <= one["write"]["bytes"] <= outer[1]
    assert 0 < one["write"]["service_us"]["p50"] < 1e6
    assert 0 < one["busy_pct"] <= 100
