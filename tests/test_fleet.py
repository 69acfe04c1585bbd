"""Runs on other hosts over ssh: with daemons of our own on the loopback, the true agent, and settings that change
nothing of note. Whatever ends the connection, what was set is back, and nothing is left but the agent in its cache.
Long, because all of them share the daemons.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import agent_or_skip, settings_to_ourselves, valid
from sshd import Fleet, as_another_machine
from test_cli import refused
from test_live_faults import KNOB, until

from schedlab.targets.target import LOG

#: As on hosts where others work too: these tests are not about noise.
ANYHOW = ("--trust", "--dirty", "--patience", "0.7", "--quiet-below", "100")
#: Processes of an agent at work, its tasks apart: the attendant, the restorer, and both of the run.
AT_WORK = 4
#: Where the odd host looks for what is odd about it.
ODD = 'ForceCommand test -z "$ODD" || . "$ODD"; eval "$SSH_ORIGINAL_COMMAND"'

PLAIN = """
machine = "host"
seeds = 2
duration = "1s"
metrics = ["tasks.hog.share"]
workload.hog = { load = "spin", passes = "forever" }
"""

SETTING = """
machine = { preset = "host", processors = 1 }
seeds = 1
duration = "60s"
metrics = ["tasks.hog.share"]
tunables.vfs_cache_pressure = 101
workload.hog = { load = "spin", passes = "forever" }
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Two hosts, as two machines where that can be played; one of them has one processor."""
    agent_or_skip()
    folder = tmp_path_factory.mktemp("fleet")
    fleet = Fleet(folder / "f")
    try:
        another = as_another_machine(folder / "one")
        fleet.are_machines = bool(another)
        fleet.one = fleet.host("one", *another)
        only = ["taskset", "-c", str(min(os.sched_getaffinity(0)))] if shutil.which("taskset") else []
        fleet.two = fleet.host("two", *only, *as_another_machine(folder / "two"))
        fleet.odd = fleet.host("odd", more=ODD)
        yield fleet
    finally:
        fleet.close()


@pytest.fixture
def hosts(fleet, schedlab, monkeypatch):
    """The hosts, for the command; after a test nothing of it may be left."""
    monkeypatch.setenv("SCHEDLAB_SSH", fleet.command)
    monkeypatch.setenv("TMPDIR", str(schedlab.folder))
    fleet.started = []
    yield fleet
    for process in fleet.started:
        process.kill()
        process.communicate()
    until(lambda: not commands(str(fleet.config)), 10)
    until(lambda: not agents(fleet.folder), 30)


@pytest.fixture
def put_back(hosts):
    """What the knob holds before and after."""
    if os.geteuid():
        pytest.skip("settings of the host are root's")
    if not KNOB.exists():
        pytest.skip(f"this kernel has no {KNOB}")
    with settings_to_ourselves():
        before = KNOB.read_text()
        try:
            yield before
            until(lambda: KNOB.read_text() == before)
        finally:
            KNOB.write_text(before)


def commands(word: str) -> list[int]:
    """Processes that have this among their words, as a part of one."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word in path.read_text(errors="replace"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def agents(folder: Path) -> list[int]:
    """Processes whose program is below that folder."""
    found = (path.parent for path in Path("/proc").glob("[0-9]*/exe"))
    return [int(path.name) for path in found if os.path.realpath(path / "exe").startswith(f"{folder}/")]


def files(folder: Path) -> list[str]:
    """Of a host's cache."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def log_of(folder: Path) -> list[dict]:
    (log,) = folder.rglob(LOG)
    return [json.loads(line) for line in log.read_text().splitlines()]


def written(schedlab, text: str) -> Path:
    path = schedlab.folder / "there.toml"
    path.write_text(text)
    return path


def test_two_hosts_and_the_simulator_are_one_table(schedlab, hosts):
    path = written(schedlab, PLAIN)
    words = ("run", path, "--on", "sim,host@one,host@two", "--over", "on", *ANYHOW)
    done = schedlab.json(*words)
    assert [cell["factors"]["on"] for cell in done["cells"]] == ["sim", "host@one", "host@two"]
    assert all(cell["metrics"]["tasks.hog.share"]["n"] == 2 for cell in done["cells"])
    assert {row["on"] for row in done["differences"]} == {"host@one", "host@two"}
    assert (done["runs"]["computed"], done["noisy"]) == (6, [])
    for alias in ("one", "two"):
        (agent,) = files(hosts.cache(alias))
        assert (hosts.cache(alias) / agent).stat().st_mode & 0o777 == 0o700
        assert list(schedlab.folder.rglob(f"calibration-host@{alias}.json"))
    assert not list(schedlab.folder.glob("schedlab-ssh-*")), "the folder of the sockets is gone"
    lines = log_of(schedlab.folder)
    assert sorted(line["order"] for line in lines if "order" in line) == [1, 2, 3, 4]
    assert overlap(lines) == hosts.are_machines
    again = schedlab.json(*words)
    assert (again["runs"]["computed"], again["runs"]["known"]) == (0, 6)
    of_two = next(cell for cell in again["cells"] if cell["factors"]["on"] == "host@two")
    manifest = json.loads(next(schedlab.folder.rglob("manifest.json")).read_text())
    machines = {cell["on"]: manifest["machines"][cell["machine"]]["processors"] for cell in manifest["cells"]}
    if shutil.which("taskset"):
        assert machines["host@two"] == 1, "it is that host's, not this computer's"
    assert of_two["metrics"]["tasks.hog.share"]["mean"] > 0


def overlap(lines: list[dict]) -> bool:
    """Whether runs of the two hosts went on at the same time; those of one host never do."""
    spans = {"host@one": [], "host@two": []}
    for line in lines:
        if "order" in line:
            spans[line["on"]].append([line["time"]])
        elif "outcome" in line:
            spans[line["on"]][-1].append(line["time"])
    for own in spans.values():
        assert all(first[1] <= second[0] for first, second in pairwise(own))
    one, two = spans.values()
    return any(a[0] < b[1] and b[0] < a[1] for a in one for b in two)


def begun(schedlab, hosts, on: str = "host@one") -> subprocess.Popen:
    """The command, once its run there has set the knob and its tasks are at work."""
    process = schedlab.start("run", written(schedlab, SETTING), "--on", on, *ANYHOW)
    hosts.started.append(process)

    def is_at_work() -> bool:
        assert process.poll() is None, process.communicate()
        return KNOB.read_text().strip() == "101" and len(agents(hosts.folder)) >= AT_WORK

    until(is_at_work, 60)
    return process


def session_killed(hosts, process):
    """The daemon's process of this session is killed."""
    for child in Path(f"/proc/{hosts.one.pid}/task/{hosts.one.pid}/children").read_text().split():
        os.kill(int(child), signal.SIGKILL)


def ssh_killed(hosts, process):
    """All of ssh is killed here."""
    for pid in commands(str(hosts.config)):
        os.kill(pid, signal.SIGKILL)


def pressed(hosts, process):
    """Ctrl-C."""
    process.send_signal(signal.SIGINT)


def killed(hosts, process):
    """This side is killed."""
    process.send_signal(signal.SIGKILL)


@pytest.mark.parametrize(
    ("end", "status", "words"),
    [
        (session_killed, 2, ("host@one: the connection broke", "nothing that it had changed is left", "same command")),
        (ssh_killed, 2, ("host@one: the connection broke", "nothing that it had changed is left", "same command")),
        (pressed, 130, ("same command goes on",)),
        (killed, -signal.SIGKILL, ()),
    ],
)
def test_whatever_ends_the_connection_the_settings_are_back(schedlab, hosts, put_back, end, status, words):
    process = begun(schedlab, hosts)
    end(hosts, process)
    until(lambda: KNOB.read_text() == put_back, 10)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == status, errors
    assert all(word in errors for word in words), errors
    until(lambda: not commands(str(hosts.config)), 10)
    schedlab("host", "tunables", "page_cluster", "--on", "host@one")
    assert not list(schedlab.folder.glob("schedlab-ssh-*")), "what a killed command left is gone with the next"
    assert len(files(hosts.cache("one"))) == 1


def test_a_link_that_goes_silent_ends_the_run_there(schedlab, hosts, put_back, tmp_path):
    name = f"lab{os.getpid()}"
    link = [
        f"ip netns add {name}",
        f"ip link add {name}a type veth peer name {name}b netns {name}",
        f"ip addr add 10.213.7.1/30 dev {name}a",
        f"ip link set {name}a up",
        f"ip -n {name} addr add 10.213.7.2/30 dev {name}b",
        f"ip -n {name} link set {name}b up",
    ]
    try:
        for words in link:
            if subprocess.run(words.split(), capture_output=True).returncode:
                pytest.skip(f"no link can be made here: {words}")
        inside = ["ip", "netns", "exec", name, *as_another_machine(tmp_path / "far")]
        hosts.host("far", *inside, address="10.213.7.2")
        process = begun(schedlab, hosts, "host@far")
        subprocess.run(["ip", "link", "set", f"{name}a", "down"], check=True)
        until(lambda: KNOB.read_text() == put_back, 30)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 2
        for word in ("host@far: the connection broke", "cannot be asked", "schedlab host restore --on host@far"):
            assert word in errors
    finally:
        subprocess.run(["ip", "netns", "del", name], capture_output=True)
        subprocess.run(["ip", "link", "del", f"{name}a"], capture_output=True)


def test_what_all_killed_agents_left_there_is_restored_over_ssh(schedlab, hosts, put_back):
    process = begun(schedlab, hosts)
    there = agents(hosts.cache("one"))
    assert len(there) >= AT_WORK
    for pid in there:
        os.kill(pid, signal.SIGSTOP)
    for pid in there:
        os.kill(pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "host@one: the connection broke (ssh, or the agent there, was killed)" in errors
    assert re.search(rf"it has left [^;]*vfs_cache_pressure[^;]* to {put_back.strip()}", errors), errors
    assert "process" not in errors.partition("it has left ")[2].partition(";")[0], "those that were killed have ended"
    assert "schedlab host restore --on host@one" in errors
    assert KNOB.read_text().strip() == "101"
    would = schedlab.json("host", "restore", "--on", "host@one", "--dry-run")
    assert any("vfs_cache_pressure" in text for text in would["back"])
    assert "vfs_cache_pressure" in schedlab("host", "restore", "--on", "host@one").stdout
    assert KNOB.read_text() == put_back


def test_the_restorer_there_puts_back_what_a_killed_agent_cannot(schedlab, hosts, put_back):
    process = begun(schedlab, hosts)
    words = {pid: Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1] for pid in agents(hosts.cache("one"))}
    assert b"restorer" in words.values()
    # The one that has set the knob; the other runs the tasks.
    os.kill(min(pid for pid, verb in words.items() if verb == b"run"), signal.SIGKILL)
    until(lambda: KNOB.read_text() == put_back, 10)
    process.communicate(timeout=60)
    assert process.returncode == 2


def test_the_verbs_of_the_host_work_there(schedlab, hosts, put_back):
    on = ("--on", "host@one")
    lines = schedlab.json("host", "check", "--look", "50ms", *on)["answers"]
    assert "kernel" in {line["what"] for line in lines}
    assert schedlab.json("host", "tunables", "vfs_cache_pressure", *on)["tunables"][0]["value"] == put_back.strip()
    said = schedlab("host", "apply", "vfs_cache_pressure=101", *on).stdout
    assert "schedlab host confirm --on host@one within" in said
    assert KNOB.read_text().strip() == "101"
    schedlab("host", "restore", *on)
    assert KNOB.read_text() == put_back
    refused(schedlab("host", "restore", *on, "--journal", "here"), "host@one", "whole path")


HOSTILE = [
    "-oProxyCommand=touch x",
    "-Fx",
    "a;touch x",
    "a b",
    "$(touch x)",
    "`touch x`",
    "a|b",
    "a\nb",
    "a'b",
    "::1",
    "[::1",
    "",
    "a@b@c",
    "@a",
    "a:0",
    "a:65536",
    "a:b",
    "%h",
    "a/b",
    "é",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_is_no_name_never_reaches_ssh(schedlab, small, monkeypatch, name):
    trap = schedlab.folder / "trap"
    trap.write_text("#!/bin/sh\ntouch sprung\n")
    trap.chmod(0o755)
    monkeypatch.setenv("SCHEDLAB_SSH", str(trap))
    refused(schedlab("run", small, "--on", f"host@{name}"), "host@")
    refused(schedlab("host", "check", "--on", f"host@{name}"), "host@")
    assert not (schedlab.folder / "sprung").exists()


def test_names_reach_ssh_as_they_are(schedlab, monkeypatch):
    from schedlab.targets.names import destination, split

    assert destination("host@web1") == ("web1", None)
    assert destination("host@alice@web-1.example.org:2222") == ("alice@web-1.example.org", "2222")
    assert destination("host@[fe80::1%eth0]:22") == ("fe80::1%eth0", "22")
    assert split("guest:6.1,host@web1,6.2") == ["guest:6.1", "host@web1", "6.2"]
    echo = schedlab.folder / "echo"
    echo.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >asked\nexit 255\n')
    echo.chmod(0o755)
    monkeypatch.setenv("SCHEDLAB_SSH", f"{echo} -F x")
    refused(schedlab("host", "check", "--on", "host@alice@web1:2222"), "host@alice@web1:2222: no connection")
    asked = (schedlab.folder / "asked").read_text().splitlines()
    assert asked[:2] == ["-F", "x"]
    assert asked[-5:-1] == ["-p", "2222", "--", "alice@web1"]
    assert "BatchMode=yes" in asked
    assert "'" not in asked[-1].removeprefix("exec /bin/sh -c '").removesuffix("'")


def test_an_agent_that_is_not_ours_is_replaced_before_it_is_used(schedlab, hosts):
    words = ("host", "tunables", "page_cluster", "--on", "host@one")
    schedlab.json(*words)
    (name,) = files(hosts.cache("one"))
    agent = hosts.cache("one") / name
    whole = agent.read_bytes()
    agent.unlink()
    agent.write_text(f"#!/bin/sh\ntouch {schedlab.folder}/ran\n")
    agent.chmod(0o755)
    schedlab.json(*words)
    assert agent.read_bytes() == whole
    assert not (schedlab.folder / "ran").exists()
    assert agent.stat().st_mode & 0o777 == 0o700


@pytest.fixture
def full(tmp_path):
    """Two file systems: one with hardly any room, and one from which no program is started."""
    found = {}
    for name, options in (("full", "size=256k"), ("noexec", "noexec,size=64m")):
        found[name] = tmp_path / name
        found[name].mkdir()
        words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", found[name]]
        if subprocess.run(words, capture_output=True).returncode:
            pytest.skip("no file system can be mounted here")
    yield found
    for folder in found.values():
        subprocess.run(["umount", folder], check=True)


def test_a_cache_that_takes_no_agent_is_named(schedlab, hosts, full):
    for name, words in (("full", ("No space left on device",)), ("noexec", ("noexec", "XDG_CACHE_HOME"))):
        hosts.alias(name, hosts.odd, cache=full[name])
        refused(schedlab("host", "tunables", "--on", f"host@{name}"), f"host@{name}: ", str(full[name]), *words)
    assert not files(full["full"]), "nothing is left of what did not come whole"


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ("PATH={fake}:$PATH", ("riscv64", "SCHEDLAB_AGENT_riscv64")),
        ("echo Welcome!", ("Welcome!", "silent")),
        ("echo This account is closed. >&2; exit 1", ("no connection", "This account is closed.")),
        ("PATH={none}", ("sha256sum",)),
    ],
)
def test_a_host_that_cannot_be_used_is_refused_with_what_to_do(schedlab, hosts, odd, words, tmp_path):
    fake, none = tmp_path / "fake", tmp_path / "none"
    fake.mkdir()
    (fake / "uname").write_text('#!/bin/sh\ntest "$1" = -m && echo riscv64 || exec /bin/uname "$@"\n')
    (fake / "uname").chmod(0o755)
    none.mkdir()
    for name in ("uname", "cat", "grep", "ls", "chmod", "touch", "mkdir", "rm", "mv", "find"):
        (none / name).symlink_to(shutil.which(name))
    script = tmp_path / "odd"
    script.write_text(odd.format(fake=fake, none=none) + "\n")
    alias = f"odd{len(odd)}"
    hosts.alias(alias, hosts.odd, SetEnv=f"ODD={script}")
    refused(schedlab("host", "tunables", "--on", f"host@{alias}"), f"host@{alias}: ", *words)


def test_ssh_says_itself_why_it_does_not_connect(schedlab, hosts, tmp_path):
    other, empty = tmp_path / "other", tmp_path / "empty"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
    empty.write_text("")
    changed = tmp_path / "changed"
    public = (tmp_path / "other.pub").read_text().split()[:2]
    changed.write_text(f"[{hosts.one.address}]:{hosts.one.port} {' '.join(public)}\n")
    for alias, given, words in [
        ("stranger", {"UserKnownHostsFile": empty}, ("Host key verification failed", "by hand")),
        ("changed", {"UserKnownHostsFile": changed}, ("REMOTE HOST IDENTIFICATION HAS CHANGED", "find out why")),
        ("unkeyed", {"IdentityFile": other}, ("Permission denied", "ssh-copy-id")),
        ("nowhere", {"HostName": "no-such-host.invalid"}, ("Could not resolve", "~/.ssh/config")),
    ]:
        hosts.alias(alias, hosts.one, **{name: str(value) for name, value in given.items()})
        refused(schedlab("host", "check", "--on", f"host@{alias}"), f"host@{alias}: no connection", *words)
    assert not list(schedlab.folder.glob("schedlab-ssh-*"))


def test_without_ssh_a_host_is_refused(schedlab):
    done = schedlab("host", "check", "--on", "host@one", env={"SCHEDLAB_SSH": "no-such-program"})
    refused(done, "host@one", "no-such-program is not here")


def test_what_a_file_does_is_agreed_to_host_by_host(schedlab, hosts):
    text = 'machine = "host"\nseeds = 1\nworkload.w = { load = "command", run = "true" }\n'
    path = written(schedlab, text)
    assert schedlab("run", path, "--on", "host@one", *ANYHOW).returncode == 0
    plain = [word for word in ANYHOW if word != "--trust"]
    assert schedlab("run", path, "--on", "host@one", *plain).returncode == 0
    done = schedlab("run", path, "--on", "host@two", *plain)
    refused(done, "On host@two, as the user that ssh logs in, it would", "runs commands on host@two", "--trust")


@pytest.fixture
def of_nobody():
    """A folder of the user nobody's, outside of those of root's tests."""
    if os.geteuid() or not shutil.which("setpriv"):
        pytest.skip("only root can log in somebody else")
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    shutil.chown(folder, 65534, 65534)
    yield folder
    shutil.rmtree(folder)


def test_without_root_there_what_is_allowed_works_and_settings_are_refused(schedlab, hosts, of_nobody):
    user = "setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all"
    forced = f'cd {of_nobody}; HOME={of_nobody} XDG_STATE_HOME={of_nobody} exec {user} sh -c "$SSH_ORIGINAL_COMMAND"'
    daemon = hosts.host("nobody", more=f"ForceCommand {forced}")
    hosts.alias("plain", daemon, cache=of_nobody / "cache")
    refused(schedlab("run", written(schedlab, SETTING), "--on", "host@plain", *ANYHOW), "host@plain: ", "as root")
    done = schedlab.json("run", written(schedlab, PLAIN), "--on", "host@plain", "--set", "seeds=1", *ANYHOW)
    assert done["cells"][0]["metrics"]["tasks.hog.share"]["mean"] > 0
    assert any("ran as an ordinary task" in warning["warning"] for warning in done["warnings"])
    assert {path.stat().st_uid for path in of_nobody.rglob("*")} == {65534}


def test_a_plan_connects_to_no_host(schedlab):
    path = written(schedlab, SETTING)
    env = {"SCHEDLAB_SSH": "no-such-program"}
    done = schedlab("run", path, "--on", "sim:eevdf,host@one", "--set", "tunables={}", "--dry-run", env=env)
    assert "on host@one: not looked at: no connection was made" in done.stdout, done.stderr
    done = schedlab("run", path, "--on", "host@one", "--dry-run", "--json", env=env)
    document = valid(json.loads(done.stdout), "plan")
    assert document["on"]["host@one"]["effects"][0]["text"] == "vfs_cache_pressure = 101"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run", "FILE", "--on", "host@one", "--blind"), "--blind is for --on host alone"),
        (("parity", "--on", "host@one"), "host@one"),
        (("reproduce", "--on", "sim,host@one"), "host@one"),
        (("run", "FILE", "--on", "host@one,host@one"), "named twice"),
        (("run", "FILE", "--on", "host@one", "--gantt", "x.svg"), "host@one"),
    ],
)
def test_what_only_this_computer_can_do_is_refused(schedlab, words, says):
    path = written(schedlab, PLAIN)
    done = schedlab(*(path if word == "FILE" else word for word in words), env={"SCHEDLAB_SSH": "no-such-program"})
    refused(done, says)
