"""What every verb has in common: help, manual pages, completion, errors, JSON, colours, exit statuses, -q and -v."""

import importlib
import inspect
import json
import os
import pty
import re
import shutil
import subprocess
import tomllib

import pytest
from conftest import COMMAND, ROOT, valid

from schedlab.cli import verbs
from schedlab.system import status

DOCS = ROOT / "docs" / "command-line.md"


def needs(program):
    return pytest.mark.skipif(not shutil.which(program), reason=f"{program} is not installed")


# Verbs, help, manual pages.


@pytest.mark.parametrize("verb", verbs.SUMMARIES)
def test_the_summary_of_a_verb_is_the_first_paragraph_of_its_documentation(verb):
    module = importlib.import_module(verbs.module(verb))
    text = module.app.info.help if verb in verbs.GROUPS else inspect.getdoc(module.verb)
    assert verbs.SUMMARIES[verb] == " ".join(text.split("\n\n")[0].split())
    assert verb == module.NAME


def test_every_module_of_a_verb_is_a_verb():
    files = {
        path.stem for path in (ROOT / "python" / "schedlab" / "cli").glob("*.py") if "\nNAME = " in path.read_text()
    }
    assert files == {verbs.module(verb).rpartition(".")[2] for verb in verbs.SUMMARIES}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("man")
    subprocess.run([COMMAND, "man", "--out", folder], check=True, capture_output=True)
    return folder


def test_every_verb_has_a_manual_page_with_all_that_its_help_has(pages, schedlab):
    from schedlab.cli import calling

    assert {"schedlab.1", "schedlab-run.1", "schedlab-guest-boot.1", "schedlab-host-check.1"} <= set(os.listdir(pages))
    for verb in verbs.SUMMARIES:
        page = (pages / f"schedlab-{verb}.1").read_text().replace("\\-", "-").replace("\\e", "\\")
        for _, entries in calling.page(verb).sections:
            assert all(term in page and text in page for term, text in entries), verb
    assert schedlab("man", "run").stdout == (pages / "schedlab-run.1").read_text()


@needs("mandoc")
def test_the_manual_pages_are_good_roff(pages):
    found = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", *pages.iterdir()], capture_output=True, text=True, check=False
    )
    assert [line for line in found.stdout.splitlines() if "missing date" not in line] == []


def test_an_unknown_page_is_refused_with_the_nearest(schedlab):
    done = schedlab("man", "runn")
    assert done.returncode == 2
    assert "did you mean 'run'?" in done.stderr


def test_help_is_laid_out_for_the_width(schedlab):
    for width in (60, 100):
        lines = schedlab("run", "--help", env={"COLUMNS": str(width)}).stdout.splitlines()
        assert max(map(len, lines)) <= width + 25, "an example is on one line"
        assert [line for line in lines if len(line) > width and not line.startswith(("Usage:", "Example:"))] == []


# Exit statuses.


def test_help_says_in_words_what_an_option_takes(schedlab):
    for verb in verbs.SUMMARIES:
        text = schedlab(verb, "--help").stdout
        assert not re.search(r"<\w|x[<>]=|=x", text), f"{verb}: a type of Python"
    assert re.search(r"^  --seeds N +Number of seeds\.  \[at least 1\]$", schedlab("run", "--help").stdout, re.M)


def test_every_exit_status_is_in_the_help_and_in_the_documents(schedlab):
    constants = {value for name, value in vars(status).items() if name.isupper() and isinstance(value, int)}
    assert constants == set(status.MEANINGS)
    shown = " ".join(schedlab("--help").stdout.split())
    for number, meaning in status.MEANINGS.items():
        assert f"{number} {meaning}" in shown
        assert f"| {number} | {meaning} |" in DOCS.read_text()


def test_no_verb_has_an_exit_status_of_its_own():
    for path in (ROOT / "python" / "schedlab" / "cli").glob("*.py"):
        assert not re.search(r"typer\.Exit\(\d|sys\.exit\(\d|return (2|70|130|141)\n", path.read_text()), path


# Errors.


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["run", "none.toml"], "file"),
        (["run", "--frobnicate", "x"], "usage"),
        (["run"], "usage"),
        (["frobnicate"], "refused"),
        (["describe", "minnix"], "refused"),
        (["guest", "frobnicate"], "usage"),
    ],
)
def test_with_json_an_error_is_a_line_of_json(schedlab, words, kind):
    plain, done = schedlab(*words), schedlab(*words, "--json")
    assert (plain.returncode, done.returncode, done.stdout) == (2, 2, "")
    error = valid(json.loads(done.stderr), "error")
    assert (error["kind"], error["status"]) == (kind, 2)
    assert f"error: {error['message']}" == plain.stderr.splitlines()[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "x.toml", "--seeds", "0"], "'--seeds': 0 is out of range: at least 1"),
        (["run", "x.toml", "--seeds", "few"], "'--seeds': 'few' is not a whole number"),
        (["run", "x.toml", "--first", "soon"], "'--first': 'soon' is not a number"),
        (["trace", "x", "--cpu", "70000"], "'--cpu': 70000 is out of range: 0 to 65535"),
        (["completion", "csh"], "'csh' is not one of 'bash', 'zsh', 'fish'"),
    ],
)
def test_a_value_that_an_option_does_not_take_is_refused_in_words(schedlab, words, said):
    done = schedlab(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0].endswith(said)


def test_a_fault_is_an_error_as_json_too(schedlab, small, tmp_path):
    (tmp_path / "broken" / "polars").mkdir(parents=True)
    (tmp_path / "broken" / "polars" / "__init__.py").write_text("raise RuntimeError('planted')")
    words = ["run", small, "--baseline", "scheduler.slice=18ms", "--json"]
    done = schedlab(*words, env={"PYTHONPATH": str(tmp_path / "broken")})
    error = valid(json.loads(done.stderr), "error")
    assert (done.returncode, error["kind"]) == (70, "fault")
    assert "planted" in error["message"]


def test_a_command_of_others_that_wants_json_has_no_error_as_json(schedlab):
    done = schedlab("time", "--frobnicate", "--", "ls", "--json")
    assert done.stderr.startswith("error: no such option")


# JSON.


def test_a_run_as_json_has_a_version_and_is_as_its_schema_says(schedlab, small):
    words = ["run", small, "--gantt", "a.svg", "--baseline", "scheduler.slice=18ms"]
    assert valid(schedlab.json(*words), "run")["pictures"]


# Colours, -q and -v.


def colours(schedlab, **env):
    return "\x1b[" in schedlab("host", "check", "--look", "50ms", env=env).stdout


def test_colours_go_by_the_terminal_and_by_no_color_and_force_color(schedlab):
    assert not colours(schedlab)
    assert colours(schedlab, FORCE_COLOR="1")
    done = schedlab("host", "check", "--look", "50ms", env={"FORCE_COLOR": "1", "NO_COLOR": "1"})
    assert not re.search(r"\x1b\[[\d;]*3[0-7]", done.stdout), "NO_COLOR is stronger"


def test_quiet_prints_no_notes_and_verbose_prints_details(schedlab, small):
    quiet, plain, verbose = (schedlab("run", small, *words, "--csv") for words in (["-q"], [], ["-v"]))
    assert quiet.stdout == plain.stdout == verbose.stdout
    assert quiet.stderr == ""
    assert "95 % interval" in plain.stderr
    assert f"read {small}" in verbose.stderr
    assert re.search(r"run: \d+\.\d\d s, exit status 0\n$", verbose.stderr)


def test_levels_may_stand_before_the_verb_and_every_verb_has_them(schedlab):
    from schedlab.cli import calling

    assert schedlab("-v", "list", "machines").stderr.endswith("exit status 0\n")
    for verb in verbs.SUMMARIES:
        options = [term for _, entries in calling.page(verb).sections for term, _ in entries]
        assert {"-q, --quiet", "-v, --verbose", "-h, --help"} <= set(options), verb


def test_quiet_still_prints_errors(schedlab):
    assert "none.toml" in schedlab("run", "none.toml", "-q").stderr


# Completion.


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("completion")
    for shell in ("bash", "zsh", "fish"):
        done = subprocess.run([COMMAND, "completion", shell], check=True, capture_output=True)
        (folder / shell).write_bytes(done.stdout)
    return folder


def offered_bash(scripts, line):
    words = [*line.split(" ")]
    script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _schedlab; printf "%s\\n" "${COMPREPLY[@]}"'
    return shell(["bash", "--norc", "-c", script, scripts / "bash", *words])


def offered_zsh(scripts, line):
    words = [*line.split(" ")]
    # The functions of zsh's own completion print what they are given.
    stubs = 'compdef() { : }; _files() { : }; _describe() { print -l -- "${(@P)@[-1]%%:*}" }; '
    script = f'{stubs} source "$0"; words=("$@"); CURRENT=$#; _schedlab'
    found = shell(["zsh", "-f", "-c", script, scripts / "zsh", *words])
    return [word for word in found if word.startswith(words[-1])]


def offered_fish(scripts, line):
    script = 'source $argv[1]; complete -C "$argv[2]"'
    return [word.split("\t")[0] for word in shell(["fish", "--no-config", "-c", script, scripts / "fish", line])]


def shell(words):
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return [word for word in done.stdout.splitlines() if word]


@pytest.mark.parametrize(
    "offered",
    [
        pytest.param(offered_bash, marks=needs("bash")),
        pytest.param(offered_zsh, marks=needs("zsh")),
        pytest.param(offered_fish, marks=needs("fish")),
    ],
)
def test_a_shell_completes_verbs_options_and_names(scripts, offered):
    assert set(offered(scripts, "schedlab re")) == {"record", "reproduce", "report"}
    assert {"--trace", "--trust", "--threads"} <= set(offered(scripts, "schedlab run x.toml --t"))
    assert "--trace" not in offered(scripts, "schedlab list --t")
    assert set(offered(scripts, "schedlab describe mini")) >= {"minix"}
    assert set(offered(scripts, "schedlab guest b")) == {"boot", "build"}
    assert "--confirm-within" in offered(scripts, "schedlab host apply --c")
    assert "--version" in offered(scripts, "schedlab --v")


# lint and new.


def test_lint_finds_nothing_wrong_with_the_examples(schedlab):
    done = schedlab("lint", *sorted((ROOT / "examples").glob("*.toml")))
    assert done.returncode == 0, done.stdout
    assert "0 errors, 0 warnings" in done.stdout


def test_lint_names_the_line_and_the_status_is_one(schedlab, small):
    small.write_text(small.read_text().replace('name = "minix"', 'name = "minux"'))
    line = next(n for n, text in enumerate(small.read_text().splitlines(), 1) if "minux" in text)
    done = schedlab("lint", small)
    assert done.returncode == 1
    assert re.search(rf"small\.toml:{line}: error: scheduler\.name: .*minix", done.stdout)
    found = schedlab("lint", small, "--json")
    document = valid(json.loads(found.stdout), "lint")
    assert (found.returncode, document["errors"]) == (1, 1)
    (diagnostic,) = document["files"][0]["diagnostics"]
    assert diagnostic["range"]["start"] == {"line": line - 1, "character": 0}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("seeds = 1", "one run of each cell has no interval"),
        ('[sweep]\n"scheduler.slice" = ["18ms"]', "has one value"),
        ("", "question: is missing"),
    ],
)
def test_lint_warns_of_what_may_mislead(schedlab, tmp_path, line, words):
    head, _, sweep = line.partition("[sweep]")
    text = 'machine = "at_286"\n' + head + '\n[scheduler]\nname = "minix"\n[workload]\nhog = { load = "spin" }\n'
    (tmp_path / "a.toml").write_text(text + (f"[sweep]{sweep}\n" if sweep else ""))
    done = schedlab("lint", "a.toml")
    assert done.returncode == 0
    warned = next(found for found in done.stdout.splitlines() if words in found)
    number = int(warned.split(":")[1])
    shown = (tmp_path / "a.toml").read_text().splitlines()[number - 1]
    assert not line or any(word in shown for word in ("seeds", "slice", "[sweep]"))


def test_new_writes_a_file_that_runs_and_says_what_its_fields_mean(schedlab):
    done = schedlab("new", "mine.toml")
    assert done.returncode == 0, done.stderr
    text = (schedlab.folder / "mine.toml").read_text()
    assert sum("#" in line for line in text.splitlines()) >= 8
    assert schedlab("lint", "mine.toml").stdout == "1 file: 0 errors, 0 warnings\n"
    assert len(schedlab.json("run", "mine.toml", "--seeds", "2")["cells"]) == 3


def test_new_takes_its_answers_from_options(schedlab):
    words = ["--question", 'Is "it" so?', "--machine", "at_286", "--scheduler", "minix", "--load", "spin,spin"]
    document = valid(
        schedlab.json("new", "a.toml", *words, "--vary", "scheduler.slice=36ms,18ms", "--seeds", "3"), "new"
    )
    assert (document["cells"], document["seeds"]) == (2, 3)
    written = tomllib.loads((schedlab.folder / "a.toml").read_text())
    assert (written["question"], written["machine"]) == ('Is "it" so?', "at_286")
    assert list(written["workload"]) == ["spin_1", "spin_2"]
    assert written["sweep"] == {"scheduler.slice": ["36ms", "18ms"]}


def test_new_asks_five_questions_on_a_terminal(tmp_path):
    master, terminal = pty.openpty()
    started = subprocess.Popen(
        [COMMAND, "new", "a.toml"], stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    )
    os.close(terminal)
    os.write(master, b"Why?\n\neevdf\nspin\nnone\n")
    _, asked = started.communicate(timeout=60)
    os.close(master)
    assert started.returncode == 0
    assert [f"{number}/5" for number in range(1, 6)] == re.findall(r"\d/5", asked.decode())
    written = tomllib.loads((tmp_path / "a.toml").read_text())
    assert (written["question"], written["scheduler"]["name"]) == ("Why?", "eevdf")
    assert "sweep" not in written


def test_new_refuses_what_is_there_and_names_that_are_not(schedlab):
    assert schedlab("new", "a.toml").returncode == 0
    for words, said in [
        (["a.toml"], "--force"),
        (["b.toml", "--scheduler", "minux"], "did you mean 'minix'?"),
        (["b.toml", "--load", "spin,spinn"], "did you mean 'spin'?"),
        (["b.toml", "--vary", "slice"], "FIELD=VALUE"),
        (["b.toml", "--vary", "scheduler.sliec=1ms"], "sliec"),
    ]:
        done = schedlab("new", *words)
        assert done.returncode == 2
        assert said in done.stderr
    assert not (schedlab.folder / "b.toml").exists()
