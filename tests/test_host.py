"""`schedlab host`: what the host permits, and settings that come back."""

import os
import time
from pathlib import Path

import pytest
from test_cli import refused

CLUSTER = Path("/proc/sys/vm/page-cluster")
VERBS = ["check", "tunables", "apply", "confirm", "restore", "unit"]
VERBS += ["save", "files", "install", "uninstall", "installed", "diff", "watch"]

needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or not os.access(CLUSTER, os.W_OK), reason=f"{CLUSTER} cannot be written here"
)


@pytest.fixture
def journal(tmp_path):
    """The journal's option, in a folder of the test's own."""
    return ["--journal", str(tmp_path / "journal")]


@pytest.fixture
def cluster():
    """A harmless setting of the kernel, and another value for it; put back whatever a test does."""
    before = CLUSTER.read_text()
    yield before.strip(), "1" if before.strip() != "1" else "2"
    CLUSTER.write_text(before)


def comes(done) -> bool:
    """Wait for what another process does."""
    end = time.monotonic() + 30
    while not done():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_an_example_and_prints_json(schedlab, verb):
    done = schedlab("host", verb, "--help")
    assert done.returncode == 0
    assert f"Example: schedlab host {verb}" in done.stdout
    assert "--json" in done.stdout


def test_check_says_for_every_no_what_was_seen(schedlab, journal):
    lines = schedlab.json("host", "check", "--look", "50ms", *journal)["answers"]
    assert {line["answer"] for line in lines} <= {"yes", "limited", "no", "unknown"}
    assert all(line["what"] and line["seen"] for line in lines)
    assert all(line["advice"] is None for line in lines if line["answer"] == "yes")
    topics = {line["what"] for line in lines}
    wanted = [
        "kernel",
        "tunables of memory",
        "perf events",
        "control groups",
        "clock",
        "quiet",
        "no time stolen",
        "no load",
    ]
    assert topics.issuperset(wanted)


def test_check_is_a_table_for_people(schedlab, journal):
    done = schedlab("host", "check", "--look", "50ms", *journal)
    assert done.returncode == 0
    assert "what to do" in done.stdout
    assert f"Linux {os.uname().release}" in done.stdout


def test_check_leaves_nothing_mounted(schedlab, journal):
    before = Path("/proc/mounts").read_text()
    schedlab.json("host", "check", "--look", "50ms", *journal)
    assert Path("/proc/mounts").read_text() == before


def test_tunables_are_listed_with_value_range_and_meaning(schedlab):
    rows = {row["name"]: row for row in schedlab.json("host", "tunables")["tunables"]}
    assert rows["page_cluster"]["value"] == CLUSTER.read_text().strip()
    assert rows["swappiness"]["allowed"].startswith("0 to 200")
    assert rows["slice"]["access"] == "per_task"
    assert all(row["meaning"] for row in rows.values())
    done = schedlab("host", "tunables")
    assert "swappiness" in done.stdout
    assert "write back" in done.stdout


def test_one_tunable_is_shown_with_its_file(schedlab):
    done = schedlab("host", "tunables", "dirty_bytes")
    assert "/proc/sys/vm/dirty_bytes" in done.stdout
    assert "sets dirty_ratio to 0" in done.stdout


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("swappiness=300", "from 0 to 200"),
        ("swappyness=1", "no such tunable"),
        ("swappiness", "NAME=VALUE"),
        ("dirty_expire=15ms", "10ms"),
        ("elevator@nothing=none", "no block device"),
        ("slice=3ms", "each task"),
    ],
)
def test_a_wrong_setting_is_refused_in_one_message(schedlab, journal, tmp_path, setting, says):
    refused(schedlab("host", "apply", setting, *journal), says)
    assert not list(tmp_path.glob("journal/*.json"))


@needs_root
def test_a_dry_run_prints_commands_both_ways_and_writes_nothing(schedlab, journal, cluster, tmp_path):
    now, other = cluster
    done = schedlab("host", "apply", "--dry-run", f"page_cluster={other}", *journal)
    assert f"echo {other} > {CLUSTER}\n" in done.stdout
    assert f"echo {now} > {CLUSTER}\n" in done.stdout
    assert CLUSTER.read_text().strip() == now
    assert not (tmp_path / "journal").exists()


@needs_root
def test_a_setting_is_taken_back_unless_it_is_confirmed(schedlab, journal, cluster):
    now, other = cluster
    begun = schedlab.json("host", "apply", f"page_cluster={other}", "--confirm-within", "300ms", *journal)
    assert begun["settings"] == {"page_cluster": other}
    assert comes(lambda: CLUSTER.read_text().strip() == now)
    refused(schedlab("host", "confirm", *journal), "nothing waits")


@needs_root
def test_a_confirmed_setting_stays_and_a_restored_one_goes(schedlab, journal, cluster):
    now, other = cluster
    assert "schedlab host confirm" in schedlab("host", "apply", f"page_cluster={other}", *journal).stdout
    assert CLUSTER.read_text().strip() == other
    would = schedlab.json("host", "restore", "--dry-run", *journal)
    assert len(would["living"]) == 1
    assert "page_cluster" in would["living"][0]
    schedlab("host", "restore", *journal)
    assert CLUSTER.read_text().strip() == now
    schedlab("host", "apply", f"page_cluster={other}", *journal)
    assert schedlab("host", "confirm", *journal).stdout == "The settings stay.\n"
    assert "Nothing is left" in schedlab("host", "restore", *journal).stdout
    assert CLUSTER.read_text().strip() == other


@needs_root
def test_a_confirmation_as_json_names_who_held_the_setting(schedlab, journal, cluster):
    schedlab("host", "apply", f"page_cluster={cluster[1]}", *journal)
    (process,) = schedlab.json("host", "confirm", *journal)["confirmed"]
    assert process > 1


def test_the_unit_restores_at_boot(schedlab):
    text = schedlab("host", "unit").stdout
    assert "ExecStart=" in text
    assert 'schedlab-agent" restore\n' in text
    assert schedlab.json("host", "unit") == {"schema": "schedlab/host-unit/1", "unit": text}


def test_an_agent_that_is_not_there_is_said(schedlab):
    done = schedlab("host", "tunables", env={"SCHEDLAB_AGENT": "/nowhere/agent"})
    refused(done, "/nowhere/agent", "schedlab-agent")


def test_the_group_help_names_every_verb(schedlab):
    done = schedlab("host", "--help")
    assert all(verb in done.stdout for verb in VERBS)
    assert "--json" in done.stdout
