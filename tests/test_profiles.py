"""Settings that stay: profiles, what they become, what departs from them, and that nothing of them is left."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import COMMAND, running, valid
from test_cli import refused

SWAPPINESS = Path("/proc/sys/vm/swappiness")
CLUSTER = Path("/proc/sys/vm/page-cluster")
HUGE = Path("/sys/kernel/mm/transparent_hugepage/defrag")

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not os.access(SWAPPINESS, os.W_OK), reason=f"{SWAPPINESS} cannot be written here"
)


@pytest.fixture
def journal(tmp_path):
    """The journal's option, in a folder of the test's own."""
    return ["--journal", str(tmp_path / "state" / "journal")]


@pytest.fixture
def settings():
    """Two harmless settings, with the kernel's own values until a test changes them; put back whatever it does."""
    files = {SWAPPINESS: "60", CLUSTER: "3"}
    before = [file.read_text() for file in files]
    try:
        for file, text in files.items():
            file.write_text(text)
        yield list(files.values())
    finally:
        for file, text in zip(files, before, strict=True):
            file.write_text(text)


@pytest.fixture
def profile(schedlab, tmp_path, settings):
    """A profile that differs from what is set, as its file."""
    file = tmp_path / "pytest-web.toml"
    schedlab.ok("host", "save", str(file), f"swappiness={int(settings[0]) % 100 + 1}", "page_cluster=1")
    return file


def everything(*folders: Path) -> dict[str, str]:
    """Every file, folder and link below."""
    found = {}
    for folder in folders:
        for root, below, names in os.walk(folder):
            for name in [*below, *names]:
                path = os.path.join(root, name)
                found[path] = os.readlink(path) if os.path.islink(path) else str(os.lstat(path).st_size)
    return found


def test_what_is_installed_is_in_force_and_uninstalling_leaves_nothing(schedlab, profile, journal, settings, tmp_path):
    folders = [Path("/etc"), tmp_path]
    before = everything(*folders)
    done = schedlab.json("host", "install", str(profile), *journal)
    assert done["complete"]
    assert done["files"] == ["/etc/sysctl.d/90-schedlab-pytest-web.conf"]
    assert CLUSTER.read_text() == "1\n"
    assert schedlab.json("host", "installed", *journal)["profiles"][0]["profile"]["name"] == "pytest-web"
    assert "as it should be" in schedlab.ok("host", "diff", "pytest-web", *journal)
    text = schedlab.ok("host", "uninstall", "pytest-web", *journal)
    assert "nothing of it is left" in text
    assert everything(*folders) == before
    assert [file.read_text().strip() for file in (SWAPPINESS, CLUSTER)] == settings


def test_the_system_s_own_tools_read_the_files(schedlab, profile, journal, settings, tmp_path):
    tool = next(
        (Path(p) for p in ("/usr/lib/systemd/systemd-sysctl", "/lib/systemd/systemd-sysctl") if os.path.exists(p)), None
    )
    if tool is None:
        pytest.skip("no systemd-sysctl here")
    schedlab.ok("host", "files", str(profile), "-o", str(tmp_path / "root"))
    CLUSTER.write_text("3")
    subprocess.run([tool, tmp_path / "root/etc/sysctl.d/90-schedlab-pytest-web.conf"], check=True)
    assert CLUSTER.read_text() == "1\n"


def test_a_unit_does_at_boot_what_it_says(schedlab, tmp_path):
    name = "thp_defrag"
    found = schedlab.json("host", "tunables", name)["tunables"][0]
    if found["access"] != "writable":
        pytest.skip(f"{name}: {found['access']} here")
    file = tmp_path / "pages.toml"
    schedlab.ok("host", "save", str(file), name)
    schedlab.ok("host", "files", str(file), "-o", str(tmp_path / "root"))
    unit = tmp_path / "root/etc/systemd/system/schedlab-pages.service"
    link = tmp_path / "root/etc/systemd/system/multi-user.target.wants/schedlab-pages.service"
    assert link.resolve() == unit
    start = next(line for line in unit.read_text().splitlines() if line.startswith("ExecStart="))
    # What systemd does with the line, for one without specifiers and variables.
    subprocess.run(["/bin/sh", "-c", start.split('"')[1]], check=True)
    assert schedlab.json("host", "tunables", name)["tunables"][0]["value"] == found["value"]
    if Path("/usr/bin/systemd-analyze").exists():
        done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
        assert "schedlab-pages" not in done.stderr, done.stderr


def test_diff_names_what_departs_and_ends_with_1(schedlab, profile, journal, settings):
    done = schedlab("host", "diff", str(profile), *journal)
    assert done.returncode == 1
    assert "differs" in done.stdout
    CLUSTER.write_text("1")
    found = schedlab("host", "diff", str(profile), "--json", *journal)
    assert found.returncode == 1
    standing = {one["setting"]: one["standing"] for one in valid(json.loads(found.stdout))["settings"]}
    assert standing == {"swappiness": "differs", "page_cluster": "same"}


@pytest.mark.parametrize("ending", [signal.SIGINT, None])
def test_watch_names_the_change_and_who_wrote_it(schedlab, profile, journal, settings, ending):
    words = [COMMAND, "host", "watch", str(profile), "--every", "50ms", "--json", *journal]
    words += [] if ending else ["--for", "6s"]
    with running(words, stdout=subprocess.PIPE, text=True) as watching:
        first = valid(json.loads(watching.stdout.readline()))
        assert {one["setting"] for one in first["settings"]} == {"swappiness", "page_cluster"}
        writer = subprocess.Popen(["/bin/sh", "-c", f"echo 1 > {CLUSTER}; sleep 3"])
        line = valid(json.loads(watching.stdout.readline()))
        assert (line["setting"], line["was"], line["now"], line["standing"]) == (
            "page_cluster",
            settings[1],
            "1",
            "same",
        )
        assert (line["by"]["pid"], line["by"]["comm"]) == (writer.pid, "sh")
        assert str(CLUSTER) in line["by"]["command"]
        if ending:
            watching.send_signal(ending)
        assert watching.wait(30) == (130 if ending else 1)
        writer.wait()


def test_of_several_writers_the_last_is_named(schedlab, profile, journal, settings):
    words = [COMMAND, "host", "watch", str(profile), "--every", "5s", "--json", *journal]
    with running(words, stdout=subprocess.PIPE, text=True) as watching:
        watching.stdout.readline()
        for _ in range(5):
            time.sleep(0.2)
            # The first one writes and lives on; what is read is the second one's.
            first = subprocess.Popen(["/bin/sh", "-c", f"echo 61 > {SWAPPINESS}; sleep 2"])
            second = subprocess.Popen(["/bin/sh", "-c", f"sleep 0.3; echo 62 > {SWAPPINESS}; sleep 2"])
            values = {61: first.pid, 62: second.pid}
            for _ in range(2):
                line = json.loads(watching.stdout.readline())
                assert line["by"]["pid"] == values[int(line["now"])], line
                if line["now"] == "62":
                    break
            first.wait()
            second.wait()
            SWAPPINESS.write_text("60")
            while json.loads(watching.stdout.readline())["now"] != "60":
                pass
        watching.send_signal(signal.SIGINT)
        watching.wait(30)


def test_a_writer_can_forge_no_line(schedlab, profile, journal, settings):
    words = [COMMAND, "host", "watch", str(profile), "--for", "3s", *journal]
    with running(words, stdout=subprocess.PIPE, text=True) as watching:
        time.sleep(1)
        code = f"open('{CLUSTER}', 'w').write('1'); import time; time.sleep(2.5)"
        name = "x\n08:00:00 swappiness: 1 -> 2, written by init (1)"
        writer = subprocess.Popen([name, "-c", code], executable="/usr/bin/python3")
        text, _ = watching.communicate(timeout=60)
        writer.wait()
    assert [line for line in text.splitlines() if line.startswith("08:00:00")] == []
    assert "page_cluster" in text


def test_profiles_are_taken_back_next_to_each_other(schedlab, tmp_path, journal, settings):
    names = {
        "one": f"swappiness={int(settings[0]) % 100 + 1}",
        "two": "page_cluster=1",
        "three": "dirty_writeback=5.01s",
    }
    for name, setting in names.items():
        schedlab.ok("host", "save", f"{name}.toml", setting)
        schedlab.ok("host", "install", f"{name}.toml", *journal)
    processes = [schedlab.start("host", "uninstall", name, *journal) for name in names]
    said = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], said
    assert [file.read_text().strip() for file in (SWAPPINESS, CLUSTER)] == settings
    assert not (tmp_path / "state").exists()


def test_watch_that_sees_no_change_ends_with_0(schedlab, profile, journal):
    began = time.monotonic()
    text = schedlab.ok("host", "watch", str(profile), "--for", "300ms", *journal)
    assert time.monotonic() - began > 0.3
    assert "already" in text


def test_a_file_that_was_changed_is_left_alone(schedlab, profile, journal):
    schedlab.ok("host", "install", str(profile), *journal)
    made = Path("/etc/sysctl.d/90-schedlab-pytest-web.conf")
    try:
        made.write_text("# mine\n")
        done = schedlab("host", "uninstall", "pytest-web", *journal)
        assert done.returncode == 1
        assert f"left alone: {made}" in done.stdout
        assert made.read_text() == "# mine\n"
    finally:
        schedlab("host", "uninstall", "pytest-web", "--force", *journal)
    assert not made.exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = 'Web'\n[tunables]\nswappiness = 1\n", 'name = "Web"'),
        ("name = 'web'\n[tunables]\nswappiness = 1000\n", "from 0 to 200"),
        ("name = 'web'\n[tunables]\nswapiness = 10\n", "no such tunable"),
        ("name = 'web'\ntunables = 3\n", "tunables"),
        ("name = 'web'\n[tunables]\n", "there are none"),
        ("\x1b[31m", "line 1"),
    ],
)
def test_a_wrong_profile_is_refused_with_its_file_and_field(schedlab, tmp_path, journal, text, said):
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    for verb in ("diff", "files", "install", "watch"):
        done = schedlab("host", verb, str(file), *journal)
        refused(done, "wrong.toml", said)
        assert "\x1b" not in done.stderr


def test_what_is_no_profile_is_refused(schedlab, tmp_path, journal):
    refused(schedlab("host", "diff", "nothing", *journal), "no profile of that name is installed")
    refused(schedlab("host", "diff", "no.toml", *journal), "no.toml")
    refused(schedlab("host", "install", str(tmp_path), *journal), "a folder")
    refused(schedlab("host", "save", str(tmp_path / "a"), "swappiness"), "NAME.toml")
    refused(schedlab("host", "save", str(tmp_path / "a.toml"), "nonsense"), "no such tunable")
    assert not (tmp_path / "a.toml").exists()


def test_a_later_file_of_sysctl_is_named(schedlab, profile, journal):
    later = Path("/etc/sysctl.d/99-zz-pytest.conf")
    later.write_text("vm.swappiness = 77\n")
    try:
        notes = schedlab.json("host", "files", str(profile), *journal)["notes"]
    finally:
        later.unlink()
    assert notes == [f"vm.swappiness: {later} is read later and sets it to 77"]


TUNED = """
machine = "guest"
duration = "3s"
seeds = 4
[scheduler]
name = "eevdf"
base_slice = "60ms"
[workload]
front = { load = "periodic", run = "2ms" }
hogs = { load = "spin", compute = "10s", count = 3 }
[space]
"scheduler.base_slice" = ["3ms", "20ms", "60ms"]
[goal]
minimize = ["tasks.front.wakeup_latency.p99"]
"""


def test_what_was_tuned_becomes_a_profile(schedlab, tmp_path, journal):
    (tmp_path / "front.toml").write_text(TUNED)
    found = schedlab.json("tune", "front.toml", "--budget", "40", "--profile", "front-host.toml")
    assert found["tunables"] == {"base_slice": found["chosen"]["scheduler.base_slice"]}
    assert found["profile"] == "front-host.toml"
    kept = schedlab("host", "diff", "front-host.toml", "--json", *journal)
    profile = valid(json.loads(kept.stdout))["profile"]
    assert profile["tunables"] == found["tunables"]
    assert profile["about"].startswith("front: ")
    assert found["words"][0] in profile["about"]


def test_where_a_host_has_nothing_to_set_there_is_no_profile(schedlab, tmp_path):
    (tmp_path / "front.toml").write_text(TUNED.replace('"eevdf"', '"stride"').replace("base_slice", "slice"))
    done = schedlab("tune", "front.toml", "--budget", "40", "--profile", "front-host.toml")
    assert done.returncode == 0, done.stderr
    assert "not written" in done.stderr
    assert not (tmp_path / "front-host.toml").exists()
