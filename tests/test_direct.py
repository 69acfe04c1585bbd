"""Verbs that start at once import no more than they need, and take their options as the command's own parser does."""

import contextlib
import inspect
import io
import json
import os
import random
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
import typer.main
from conftest import COMMAND, agent_or_skip
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from test_start import HEAVY, imported, imports

from schedlab import direct
from schedlab.cli import calling
from schedlab.direct import attended, diagnosed, options, recorded, timed, watched
from schedlab.system import escaped
from schedlab.tables import width
from schedlab.targets import agent

VERBS = {"time": timed, "watch": watched, "diagnose": diagnosed, "record": recorded, "attend": attended}
COMMANDS = {verb: calling.command(verb) for verb in VERBS}
#: Of these no verb that starts at once may import any; the last ones are Python's own.
SLOW = HEAVY | {"typer", "click", "pydantic", "rich", "schedlab.cli", "schedlab._core", "random", "concurrent.futures"}
SLOW |= {"dataclasses", "inspect", "pathlib", "urllib", "typing", "subprocess", "threading", "signal"}
SLOW |= {"runpy", "importlib", "locale", "selectors"}
#: Nor of these a verb that passes lines on, nor one that has not begun its agent: what is imported later is
#: imported while the agent is at work, or after a command was measured.
LATER = {"json", "contextlib", "re", "enum", "collections", "functools", "schedlab.tables", "schedlab.observe.diagnose"}


def declared(verb):
    """The options of the command's own parser, by the words for them."""
    found = (one for one in COMMANDS[verb].params if not isinstance(one, typer.core.TyperArgument))
    return {word: one for one in found for word in one.opts}


@pytest.mark.parametrize(
    "words",
    [
        "time -- true",
        "time --json -- true",
        "watch --json --once",
        "watch --every 20ms --for 60ms",
        "diagnose --for 100ms --every 20ms",
    ],
)
def test_a_verb_of_the_agent_imports_no_library(schedlab, words):
    agent_or_skip()
    found = imported(schedlab, *words.split())
    assert "schedlab.direct" in found
    assert not {name for name in found if name.partition(".")[0] in SLOW or name in SLOW}


def test_lines_are_passed_on_without_being_read(schedlab):
    agent_or_skip()
    assert not LATER & imported(schedlab, "watch", "--json", "--once")


@pytest.mark.parametrize("words", ["time -- true", "diagnose --for 100ms --every 20ms"])
def test_what_judges_and_shows_is_imported_once_the_agent_is_at_work(schedlab, tmp_path, words):
    """The agent here reports which modules the process that began it had imported by then."""
    program, said = agent_or_skip(), tmp_path / "said"
    fake = tmp_path / "agent"
    fake.write_text(f'#!/bin/sh\ncp "$PYTHON_SAID" "{said}.$1"\nexec {program} "$@"\n')
    fake.chmod(0o755)
    noted = tmp_path / "noted"
    line = [f"exec '{COMMAND}' {words} 2> {noted}"]
    env = os.environ | {agent.ELSEWHERE: str(fake), "PYTHONPROFILEIMPORTTIME": "1", "PYTHON_SAID": str(noted)}
    subprocess.run(["sh", "-c", *line], env=env, check=True, cwd=tmp_path, stdout=subprocess.DEVNULL)
    verb = {"time": "time", "diagnose": "suspects"}[words.split()[0]]
    known = imports((tmp_path / f"said.{verb}").read_text())
    assert "schedlab.targets.agent" in known
    assert not LATER & known
    assert "json" in imports(noted.read_text())


@pytest.mark.parametrize("verb", VERBS)
def test_options_are_those_that_the_command_declares(verb):
    known = declared(verb)
    for word, option in options.OPTIONS[verb].items():
        one = known[word]
        assert (one.name, one.is_flag, one.multiple) == (option.name, option.read is None, option.many)
        bounds = (getattr(one.type, "min", None), getattr(one.type, "max", None))
        assert bounds == (option.least, option.most)
    accepted = inspect.signature(VERBS[verb].run).parameters
    assert {option.name for option in options.OPTIONS[verb].values()} <= accepted.keys()
    for one in {id(one): one for one in known.values() if one.name in accepted}.values():
        assert accepted[one.name].default == one.default


WORDS = st.sampled_from(
    [
        "--",
        "-",
        "--help",
        "-h",
        "-o",
        "--output",
        "--json",
        "--every",
        "--for",
        "--csv",
        "--tasks",
        "--by",
        "--cgroup",
        "--once",
        "--nice",
        "--repeat",
        "--warm-up",
        "--seed",
        "--write",
        "--touch-nothing",
        "--repeat=3",
        "--for=2s",
        "--json=1",
        "--tasks=",
        "1",
        "0",
        "-1",
        "1001",
        "2.5",
        "10ms",
        "cpu",
        "sleep",
        "a b",
        "--versus",
        "--no-such",
        "-j",
    ]
)


@settings(max_examples=400)
@given(st.sampled_from(sorted(VERBS)), st.lists(WORDS, max_size=6))
def test_what_is_read_is_what_the_command_reads(verb, words):
    found = options.read([verb, *words])
    if found is None:
        return
    with contextlib.redirect_stderr(io.StringIO()):
        context = COMMANDS[verb].make_context(verb, list(words))
    usual = {name: one.default for name, one in inspect.signature(VERBS[verb].run).parameters.items()}
    taken = {name: context.params[name] or None for name in usual}
    assert found[0] == verb
    assert {name: list(value) if isinstance(value, tuple) else value for name, value in taken.items()} == {
        name: (found[1] | {}).get(name, None if one is inspect.Parameter.empty else one) or None
        for name, one in usual.items()
    }


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["run", "x"],
        ["time"],
        ["time", "--"],
        ["time", "ls"],
        ["time", "--help"],
        ["time", "--repeat", "0", "--", "ls"],
        ["watch", "--tasks", "1001"],
        ["watch", "--tasks", "x"],
        ["watch", "--frobnicate"],
        ["diagnose", "--", "ls"],
        ["diagnose", "--for"],
        ["diagnose", "--for", "--json"],
        ["--version"],
    ],
)
def test_what_is_in_doubt_is_left_to_the_command(words):
    assert direct.chosen(words) is None


def test_a_shell_that_completes_is_left_to_the_command(monkeypatch):
    assert direct.chosen(["diagnose"])
    monkeypatch.setenv(direct.COMPLETING, "complete_bash")
    assert direct.chosen(["diagnose"]) is None


@pytest.mark.parametrize(
    "words",
    [
        ["time", "-o", "/no/such/x", "--", "true"],
        ["watch", "--by", "x"],
        ["watch", "--every", "1ms"],
        ["watch", "--every", "1ms", "--json"],
        ["diagnose", "--for", "x"],
    ],
)
def test_errors_are_those_of_the_command(schedlab, words):
    agent_or_skip()
    done = schedlab(*words)
    slow = [sys.executable, "-c", "from schedlab.cli import main; main()", *words]
    same = subprocess.run(slow, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=schedlab.folder)
    assert (done.returncode, done.stdout, done.stderr) == (same.returncode, same.stdout, same.stderr)
    assert done.returncode == 2


def test_the_lines_of_the_agent_pass_through_unchanged(schedlab, tmp_path):
    lines = ['{"type":"header", "x":1}', '{"name":"a\\u001b[2J"}', '{"name":"grün\x7f\u202e\x9b"}']
    said = tmp_path / "lines"
    said.write_text("".join(f"{line}\n" for line in lines))
    fake = tmp_path / "agent"
    fake.write_text(f"#!/bin/sh\ncat {said}\n")
    fake.chmod(0o755)
    done = schedlab("watch", "--json", env={agent.ELSEWHERE: str(fake)})
    assert done.returncode == 0, done.stderr
    shown = done.stdout.splitlines()
    assert shown[:2] == lines[:2]
    assert shown[2] == '{"name":"grün\\u007f\\u202e\\u009b"}'
    assert [json.loads(line) for line in shown] == [json.loads(line) for line in lines]
    fake.write_text("#!/bin/sh\nexit 0\n")
    done = schedlab("watch", "--json", env={agent.ELSEWHERE: str(fake)})
    assert (done.returncode, json.loads(done.stderr)["message"]) == (2, "schedlab-agent reported nothing")


def test_escaped_json_means_the_same_and_has_nothing_that_a_terminal_obeys():
    draw = random.Random(3)
    for _ in range(500):
        text = "".join(chr(draw.choice([draw.randrange(0x250), draw.randrange(0x2000, 0x2070)])) for _ in range(20))
        document = json.dumps({"x": text}, ensure_ascii=False)
        shown = escaped.of_json(document)
        assert json.loads(shown) == {"x": text}
        assert escaped.escaped(shown) == shown


def test_the_width_of_a_text_is_that_of_the_library_that_draws():
    for code in range(0x20, 0x3000):
        if unicodedata.category(chr(code)) not in ("Cc", "Cs", "Cn"):
            assert width.cell_len(chr(code)) == cell_len(chr(code)), hex(code)
    for text in ("", "12.3 ± 0.4", "–", "日本語", "a\u0301", "ü…"):
        assert width.cell_len(text) == cell_len(text)


def test_a_command_inherits_no_descriptor_of_the_answer(schedlab):
    agent_or_skip()
    done = schedlab("time", "--", "ls", "-l", "/proc/self/fd")
    assert done.returncode == 0, done.stderr
    assert "memfd" not in done.stdout
    assert Path(f"/proc/{os.getpid()}/fd").exists()
