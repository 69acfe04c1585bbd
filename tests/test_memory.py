"""Peaks of memory: which runs are counted together, what is stored and kept, and files that are no database."""

import json
import re
import sqlite3

import pytest
from conftest import valid
from hypothesis import given
from hypothesis import strategies as st
from peaks import BEGIN, MIB, SECOND, database, ended, fake_agent, until

from schedlab.errors import UsageError
from schedlab.memory import advice, classes, history, store
from schedlab.memory.classes import named, rules
from schedlab.memory.recorder import Recorder

RULES = rules()


def sorted_as(command, path=None, forked=False):
    words = command.split()
    return named(path or f"/usr/bin/{words[0]}", words[0][:15], words, forked, RULES)


# Classes.


@pytest.mark.parametrize(
    ("command", "program", "text"),
    [
        ("git status", "git", "status"),
        ("git -C /home/me/secret --no-pager log -n5 --since=yesterday", "git", "log --no-pager --since -C -n"),
        ("cc1 -O2 -quiet -o /tmp/x.s a.c -O2", "cc1", "<path> -O2 -o -q"),
        ("python3.11 -W error build.py --fast 3", "python3.11 build.py", "<number> --fast"),
        ("python3 -m pytest tests", "python3 -m pytest", "<word>"),
        ("python3 -c print(1)", "python3 -c", ""),
        ("bash -ec exit", "bash -c", ""),
        ("bash", "bash", ""),
        ("mysql -psecret --password=secret", "mysql", "--password -p"),
        ("grep secret file", "grep", "<word>"),
        ("sleep 0.5s", "sleep", "<number>"),
        ("tool --key-0123456789abcdef --depth2", "tool", "--depth# --key-#"),
        ("tool -- -x", "tool", "<word>"),
        ("tool --$(secret)", "tool", "--?"),
    ],
)
def test_a_class_is_the_subcommand_and_the_names_of_options(command, program, text):
    assert sorted_as(command) == (program, text)


def test_a_forked_process_and_one_of_unknown_arguments_are_classes_of_their_own():
    assert sorted_as("sh a.sh -x", forked=True) == ("sh a.sh", "-x [forked]")
    assert named("/usr/bin/git", "git", None, False, RULES) == ("git", "?")
    assert named(None, "kworker", None, True, RULES) == ("kworker", "? [forked]")
    assert named("/bin/busybox", "ls", ["ls", "-l"], False, RULES) == ("ls", "-l")
    assert named("/bin/busybox", "busybox", ["busybox", "ls", "-l"], False, RULES) == ("ls", "-l")


def test_what_differs_from_run_to_run_is_no_part_of_a_name():
    assert sorted_as("x", "/t/deps/caches-3f9a8b7c6d5e4f21")[0] == "caches-#"
    assert sorted_as("sh /tmp/job-20261127.sh")[0] == "sh job-#.sh"
    assert sorted_as("x", "/t/feedback")[0] == "feedback"
    assert "\n" not in sorted_as("x", "/t/a\nb\x1b[2J")[0]


def test_no_program_has_a_name_of_ours(tmp_path):
    names = {"cgroup": "cgroup", "[": "./[", "[cgroup]": "./[cgroup]", "[forked]": "./[forked]", "(other)": "./(other)"}
    for name, stored in (names | {"(sd-pam)": "./(sd-pam)", "?": "./?", "a[1]": "a[1]", "?a": "?a"}).items():
        assert named(f"/bin/{name}", "x", [name], False, RULES) == (stored, "")
        assert named(None, name, None, False, RULES) == (stored, "?")
    lines = [ended(MIB, path=f"/bin/{name}", arguments=(name,)) for name in names]
    line = {"kind": "group", "time_ns": 5, "path": "/a", "peak_bytes": 2 * MIB, "elapsed_ns": 1, "how": ""}
    path = database(tmp_path / "a.db", [*lines, line])
    assert [group.peak for group in history.load(path, history.GROUP).groups] == [2 * MIB]
    assert {group.program for group in history.processes(history.load(path), None)} == {*names.values()}


words = st.lists(st.text(st.characters(exclude_characters="\0"), max_size=20), max_size=12)


@given(words, st.booleans(), st.sampled_from(["/usr/bin/git", "/bin/bash", "/bin/busybox", "/usr/bin/python3", None]))
def test_whatever_the_arguments_are_names_are_short_and_on_one_line(arguments, forked, path):
    program, text = named(path, "name", arguments, forked, RULES)
    assert 0 < len(program) <= 3 * classes.LONGEST
    assert len(text) < 800
    assert not any(sign in program + text for sign in "\0\n\r\t\x1b")


@given(st.text(st.characters(categories=["L", "Nd"]), min_size=5, max_size=20))
def test_no_value_of_an_option_is_stored(secret):
    secret = f"Zq{secret}"
    for spelled in (["-p", secret], [f"-p{secret}"], [f"--password={secret}"], ["--password", secret], ["--", secret]):
        assert secret not in named("/usr/bin/mysql", "mysql", ["mysql", *spelled], False, RULES)[1]


def test_rules_of_a_file_come_before_the_built_in_ones(tmp_path):
    file = tmp_path / "rules.toml"
    file.write_text('[program.mine]\nsubcommand = true\n[program."git*"]\nsubcommand = false\n')
    own = rules(file)
    assert named("/bin/mine", "mine", ["mine", "go", "-x"], False, own)[1] == "go -x"
    assert named("/bin/git", "git", ["git", "status"], False, own)[1] == "<word>"
    assert named("/bin/cargo", "cargo", ["cargo", "build"], False, own)[1] == "build"


@pytest.mark.parametrize("text", ["[programs.x]", "[program.x]\nsubcommands = true", "[program.x]\nkeep = 3", "x = ["])
def test_what_is_no_rule_is_refused(tmp_path, text):
    file = tmp_path / "rules.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"rules\.toml"):
        rules(file)


# What is stored.


@given(st.integers(4096, 1 << 55))
def test_a_bucket_holds_its_peak_and_is_a_sixteenth_of_a_doubling_wide(peak):
    at = store.bucket(peak)
    assert store.upper(at - 1) < peak <= store.upper(at)
    assert store.upper(at) == pytest.approx(store.upper(at - store.PER_DOUBLING) * 2, rel=1e-3)


def test_peaks_are_kept_by_class_and_version(tmp_path):
    lines = [ended(MIB * peak, time_ns=peak) for peak in (3, 1, 2)]
    lines += [ended(9 * MIB, version=2, arguments=("git", "log"), status=256, how="polled")]
    lines += [
        {"kind": "group", "time_ns": 5, "path": "/a.slice/b.service", "peak_bytes": MIB, "elapsed_ns": 1, "how": ""}
    ]
    found = history.load(database(tmp_path / "a.db", lines))
    by_name = {group.name: group for group in found.groups}
    status, log = by_name["git status"], by_name["git log"]
    assert [run.peak // MIB for run in status.runs] == [1, 2, 3]
    assert (status.n, status.peak, status.mapped, status.versions) == (3, 3 * MIB, 6 * MIB, [1])
    assert (log.polled, log.failed, log.versions) == (1, 1, [2])
    assert by_name["[cgroup] /a.slice/b.service"].peak == MIB
    assert any("polled" in note for note in found.notes)
    whole = {group.name: group for group in history.load(tmp_path / "a.db", "git", "program").groups}
    assert (whole["git"].n, whole["git"].peak) == (4, 9 * MIB)


def test_no_argument_is_in_the_file(tmp_path):
    words = ("git", "push", "https://me:Sesame@host", "-oSesame", "--token=Sesame")
    path = database(tmp_path / "a.db", [ended(MIB, arguments=words)])
    for file in tmp_path.iterdir():
        assert b"Sesame" not in file.read_bytes()
    assert history.load(path).groups[0].text == "push --token -o"


def test_the_size_is_bounded_by_programs_and_not_by_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "KEPT", 20)
    path = database(tmp_path / "a.db", [ended(MIB + 4096 * n, time_ns=n) for n in range(500)])
    group = history.load(path).groups[0]
    assert (group.n, len(group.runs)) == (500, 20)
    assert [run.time_ns for run in group.runs] == list(range(480, 500)), "the last ones are kept"
    exact = sorted(MIB + 4096 * n for n in range(500))
    for share in (0.1, 0.5, 0.9, 0.99, 1.0):
        found = group.quantile(share)
        assert exact[history.rank(500, share) - 1] <= found <= exact[history.rank(500, share) - 1] * 1.045
    assert "histograms only" in history.load(path).notes[0]


def test_programs_classes_and_versions_beyond_the_bounds_are_counted_together(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "PROGRAMS", 3)
    monkeypatch.setattr(store, "CLASSES", 2)
    monkeypatch.setattr(store, "VERSIONS", 2)
    lines = [ended(MIB, path=f"/bin/p{n}") for n in range(6)]
    lines += [ended(MIB, path="/bin/p0", arguments=("p0", option)) for option in ("-a", "-b", "-c", "-d")]
    lines += [ended(MIB, path="/bin/p1", version=version) for version in range(2, 7)]
    found = history.load(database(tmp_path / "a.db", lines)).groups
    assert {group.program for group in found} == {"p0", "p1", "p2", "(other)"}
    assert {group.text for group in found if group.program == "p0"} == {"<word>", "-a", "(other)"}
    assert sum(group.n for group in found) == len(lines)
    assert max(version for group in found for version in group.versions) == 2


def test_an_exact_name_comes_before_a_pattern(tmp_path):
    path = database(tmp_path / "a.db", [ended(MIB, path=f"/bin/{name}") for name in ("x[1]", "x1", "a*", "ab")])
    for asked, programs in {"x[1]": ["x[1]"], "x[12]": ["x1"], "a*": ["a*"], "x*": ["x1", "x[1]"]}.items():
        assert [group.program for group in history.load(path, asked).groups] == programs


def test_a_recorder_goes_on_where_the_one_before_ended(tmp_path):
    path = tmp_path / "a.db"
    for version in (1, 2, 1):
        database(path, [ended(MIB, version=version), {"kind": "gap", "time_ns": 2, "what": "ends"}])
    found = history.load(path)
    assert (found.groups[0].n, len(found.groups[0].runs), found.groups[0].versions) == (3, 3, [1, 2])
    assert [one.gaps for one in found.recordings] == [1, 1, 1]
    assert "lost 3 times" in found.notes[0]


def test_what_was_lost_is_said_to_be_processes_or_their_arguments(schedlab, tmp_path):
    gaps = {what: {"kind": "gap", "time_ns": 2, "what": what} for what in ("ends", "records", "programs")}
    missing, unknown = "lost 2 times: some processes are missing", "lost 1 time: no process is missing by that"
    for kinds, said in ((("programs",), {unknown}), (("ends", "records"), {missing}), ((*gaps,), {missing, unknown})):
        lines = [ended(MIB), *(gaps[kind] for kind in kinds)]
        path = database(tmp_path / f"{len(kinds)}.db", lines)
        notes = schedlab.json("memory", "show", "--db", path)["notes"]
        assert {text for text in (missing, unknown) if any(text in note for note in notes)} == said
        env = fake_agent(tmp_path, [BEGIN, *lines, until()])
        done = schedlab("memory", "record", "--json", "--db", tmp_path / f"r{len(kinds)}.db", env=env)
        assert {text for text in (missing, unknown) if text in done.stderr} == said
        document = valid(json.loads(done.stdout))
        assert (document["gaps"], document["program_gaps"]) == (len(kinds), kinds.count("programs"))


def test_two_recordings_do_not_write_to_one_file_and_readers_are_not_kept_out(tmp_path):
    path = database(tmp_path / "a.db", [ended(MIB)])
    with store.locked(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        assert history.load(path).groups[0].n == 1
        with pytest.raises(UsageError, match="another recording"), store.locked(path):
            pass


def test_what_fails_in_the_middle_of_a_batch_leaves_none_of_it(tmp_path):
    path = database(tmp_path / "a.db", [ended(MIB)])
    with store.locked(path) as connection:
        recorder = Recorder(connection, RULES)
        recorder.take(ended(MIB))
        recorder.take(ended("much"))
        with pytest.raises(TypeError):
            recorder.take(until())
    assert history.load(path).groups[0].n == 1


# The verbs.


@pytest.fixture
def recorded(tmp_path, schedlab):
    """The usual database of this test, with two programs, one of two versions."""
    peaks = [(40 + n % 7) * MIB for n in range(60)]
    lines = [ended(peak, time_ns=n * SECOND, version=1 + n // 30) for n, peak in enumerate(peaks)]
    lines += [
        ended(2 * peak, time_ns=n * SECOND, path="/bin/cc1", arguments=("cc1", "-O2")) for n, peak in enumerate(peaks)
    ]
    return database(tmp_path / "state" / "schedlab" / "memory.db", lines)


def test_every_verb_prints_json_as_its_schema_says(schedlab, recorded):
    shown = schedlab.json("memory", "show", "--by", "class")
    assert [(one["program"], one["runs"]) for one in shown["programs"]] == [("cc1", 60), ("git", 60)]
    found = schedlab.json("memory", "suggest", "git", "--unit", "a.service")
    assert "a.service.d" in found["drop_in"]
    assert found["limits"][0]["memory_max_bytes"] > 46 * MIB
    assert schedlab.json("memory", "drift", "git")["comparisons"][0]["verdict"] == "no difference shown"
    rules = schedlab.json("memory", "replay", "--declared", "512M")["rules"]
    assert [one["rule"] for one in rules] == ["largest", "declared", "suggested"]


@pytest.mark.parametrize("verb", ["show", "suggest", "drift", "replay"])
def test_every_verb_prints_all_forms(schedlab, recorded, verb):
    plain, csv, markdown = (schedlab("memory", verb, *form) for form in ([], ["--csv"], ["--markdown"]))
    assert plain.returncode == csv.returncode == markdown.returncode == 0, plain.stderr
    assert csv.stdout.splitlines()[0].count(",") > 3
    assert markdown.stdout.startswith("|")


def test_a_drop_in_is_text_for_systemd_and_for_one_program(schedlab, recorded):
    done = schedlab("memory", "suggest", "cc1", "--unit", "build")
    assert done.stdout.splitlines()[0] == "# /etc/systemd/system/build.service.d/memory.conf"
    assert "\n[Service]\nMemoryAccounting=yes\nMemoryHigh=" in done.stdout
    for words in (["--unit", "build"], ["[cgroup]", "--unit", "build"], ["cc1", "--unit", "a\nb"]):
        refused = schedlab("memory", "suggest", *words)
        assert (refused.returncode, refused.stdout) == (2, "")


@pytest.mark.parametrize(
    ("unit", "name", "section"),
    [
        ("foo.slice", "foo.slice", "Slice"),
        ("foo.service", "foo.service", "Service"),
        ("my.app", "my.app.service", "Service"),
        ("a@1", "a@1.service", "Service"),
        ("-.slice", "-.slice", "Slice"),
        ("a" * 245, "a" * 245 + ".service", "Service"),
    ],
)
def test_the_section_of_a_drop_in_follows_the_type_of_the_unit(unit, name, section):
    group = history.Group("a", "", 1, runs=[history.Run(1, 1, MIB, SECOND, False)])
    lines = advice.drop_in(unit, advice.of(group, 1e-3)).splitlines()
    assert lines[0] == f"# /etc/systemd/system/{name}.d/memory.conf"
    assert [line for line in lines if line.startswith("[")] == [f"[{section}]"]


@pytest.mark.parametrize(
    "unit",
    [
        *("a/b", "../a", "..", "a..b", "", ".service", "@.service", "a\nb", "a b", "ä", "a.scope", "a.socket"),
        *("a" * 246, "a--b.slice", "-a.slice", "a@1.slice"),
    ],
)
def test_what_is_no_unit_with_a_limit_is_refused_in_one_line(schedlab, recorded, unit):
    refused = schedlab("memory", "suggest", "cc1", f"--unit={unit}")
    assert (refused.returncode, refused.stdout, len(refused.stderr.splitlines())) == (2, "", 1)
    assert refused.stderr.startswith("error: --unit")


def test_without_memory_there_is_no_limit(schedlab, tmp_path):
    path = tmp_path / "a.db"
    database(path, [ended(0, time_ns=n * SECOND) for n in range(40)])
    for words in ([], ["--unit", "a"], ["--json"]):
        refused = schedlab("memory", "suggest", "git", "--db", path, *words)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "no memory recorded: git" in refused.stderr
    database(path, [ended(MIB, path="/bin/cc1", arguments=("cc1",))])
    assert "no memory recorded: git status" in schedlab.ok("memory", "suggest", "--db", path)
    found = schedlab.json("memory", "suggest", "--db", path)
    assert [one["program"] for one in found["limits"]] == ["cc1"]
    assert [(one["program"], one["runs"]) for one in found["without_memory"]] == [("git", 40)]


@pytest.mark.parametrize(("peak", "elapsed"), [(0, SECOND), (MIB, 0), (0, 0)])
def test_a_replay_of_nothing_used_compares_nothing(schedlab, tmp_path, peak, elapsed):
    path = database(tmp_path / "a.db", [ended(peak, time_ns=n, elapsed_ns=elapsed) for n in range(40)])
    for form in ([], ["--csv"], ["--markdown"], ["--declared", "5M"]):
        schedlab.ok("memory", "replay", "--db", path, *form)
    for one in schedlab.json("memory", "replay", "--db", path)["rules"]:
        assert (one["broken"], one["used_byte_seconds"]) == (0, 0)
        assert elapsed or one["saved_of_largest"]["value"] is None
    assert "no memory recorded over any time" in schedlab.ok("memory", "replay", "--db", path)


def test_the_newest_known_version_is_used_and_unknown_ones_are_counted(schedlab, tmp_path):
    lines = [ended(MIB * (9 - version), time_ns=n, version=version) for n, version in enumerate([1] * 9 + [2] * 7)]
    unknown = [ended(100 * MIB, time_ns=100 + n, file=None) for n in range(3)]
    path = database(tmp_path / "a.db", lines + unknown)
    words = ("memory", "suggest", "git", "--newest", "--db", path)
    [one] = schedlab.json(*words)["limits"]
    assert (one["runs"], one["memory_max_bytes"], one["unknown_version_runs"]) == (7, 14 * MIB, 3)
    assert "3 runs of unknown version left out" in schedlab.ok(*words)
    assert "# 3 runs of unknown version left out\n" in schedlab.ok(*words, "--unit", "a")
    database(tmp_path / "b.db", unknown)
    done = schedlab.ok(*words[:-1], tmp_path / "b.db")
    assert "no version is known of 1 of 1" in done
    assert "left out" not in done


def test_shares_of_one_table_have_the_same_number_of_digits(schedlab, tmp_path):
    lines = [ended(MIB * (40 + n % 7), time_ns=n) for n in range(60)]
    lines += [ended(MIB, path="/bin/cc1", arguments=("cc1",))]
    path = database(tmp_path / "a.db", lines)
    for safety, digits in (("1e-3", 2), ("1e-5", 4), ("0.5", 0)):
        table = schedlab.ok("memory", "suggest", "--safety", safety, "--db", path)
        cells = re.findall(r"(\S+) \[(\S+), (\S+)\]", table)
        assert len(cells) == 2
        assert {len(number.partition(".")[2]) for cell in cells for number in cell} == {digits}
        assert "e" not in "".join(number for cell in cells for number in cell)


def test_the_limit_of_a_unit_follows_from_its_control_group(schedlab, tmp_path):
    line = {"kind": "group", "time_ns": 5, "elapsed_ns": SECOND, "how": "memory.peak"}
    lines = [line | {"path": f"/system.slice/{name}.service", "peak_bytes": n * MIB} for n, name in enumerate("abc", 1)]
    path = database(tmp_path / "a.db", lines)
    done = schedlab("memory", "suggest", "[cgroup]", "--unit", "b", "--db", path)
    assert f"MemoryMax={4 * MIB}\n" in done.stdout, done.stderr
    assert "/b.service.d/" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "gti"], "did you mean 'git'?"),
        (["show", ""], "without it, all programs"),
        (["show", "--by", "user"], "class and program"),
        (["suggest", "--safety", "0.9"], "--safety 0.9"),
        (["suggest", "--safety", "nan"], "--safety nan"),
        (["replay", "--declared", "much"], "--declared much"),
        (["replay", "--declared", "cc1=-1M"], "no size"),
        (["replay", "--declared", "ccl=5M"], "no program of that name is recorded; did you mean 'cc1'?"),
        (["replay", "--declared", "5M", "--declared", "nosuch=5M"], "no program of that name is recorded"),
        (["replay", "git", "--declared", "cc1=5M"], "no program of that name is among those asked for"),
    ],
)
def test_what_cannot_be_asked_is_refused(schedlab, recorded, words, said):
    done = schedlab("memory", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_names_of_others_are_escaped(schedlab, tmp_path):
    path = database(tmp_path / "a.db", [ended(MIB)])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE program SET name = ?", ("a\x1b[2J\nb",))
    for form in ([], ["--json"], ["--csv"], ["--markdown"]):
        assert "\x1b" not in schedlab("memory", "show", "--db", path, *form).stdout
