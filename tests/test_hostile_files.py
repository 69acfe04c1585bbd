"""Files that a user names are read up to a limit, without waiting, and shown with control characters escaped."""

import base64
import json
import os
import random
import resource
import socket
import subprocess
import zlib

import pytest
from conftest import COMMAND, SMALL
from test_cli import refused
from test_ending import shell

from schedlab.errors import UsageError
from schedlab.system import escaped, reading

#: What a process may take at most: far less than a file without an end.
MEMORY = 2 << 30
SECONDS = 60

#: Every verb that takes a file, with the file's place.
VERBS = {
    "run": (("run", "{}"), "file.toml"),
    "dry run": (("run", "{}", "--dry-run"), "file.toml"),
    "judge": (("judge", "{}"), "file.toml"),
    "cache": (("cache", "{}"), "file.csv"),
    "report": (("report", "results/x-1"), "results/x-1/manifest.json"),
    "list": (("list", "results"), "results/x-1/manifest.json"),
    "unseal": (("unseal", "results/x-1", "--verdict", "A"), "results/x-1/manifest.json"),
    "a kernel": (("run", "small.toml", "--on", "guest:./{}"), "image"),
}

#: What such a file may be instead; makes it, and names what the message says.
UNUSUAL = {
    "a device without end": (lambda path: path.symlink_to("/dev/zero"), "is a device"),
    "a device of random bytes": (lambda path: path.symlink_to("/dev/urandom"), "is a device"),
    "a terminal": (lambda path: path.symlink_to("/dev/tty"), ""),
    "an empty device": (lambda path: path.symlink_to("/dev/null"), "is a device"),
    "a pipe": (lambda path: os.mkfifo(path), "is a pipe"),
    "a folder": (lambda path: path.mkdir(), "is a folder"),
    "a socket": (lambda path: bound(path), ""),
    "a link to itself": (lambda path: path.symlink_to(path.name), ""),
    "too long": (lambda path: sparse(path, 300 << 30), ""),
}


def bound(path):
    socket.socket(socket.AF_UNIX).bind(os.path.relpath(path))


def sparse(path, size):
    with open(path, "wb") as file:
        file.truncate(size)


def limited(folder, *words, stdin=subprocess.DEVNULL):
    """The command with little memory and time."""
    return subprocess.run(
        [COMMAND, *map(str, words)], cwd=folder, stdin=stdin, capture_output=True, timeout=SECONDS,
        env={**os.environ, "NO_COLOR": "1", "POLARS_MAX_THREADS": "1"}, start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)),
    )  # fmt: skip


#: Which of these each verb is given: all of them one, and the others those that hang or fill the memory.
HOSTILE = [("run", what) for what in UNUSUAL] + [
    (verb, what) for verb in VERBS if verb != "run" for what in ("a device without end", "a pipe", "too long")
]


@pytest.mark.parametrize(("verb", "what"), HOSTILE)
def test_what_is_no_ordinary_file_is_refused_at_once(tmp_path, monkeypatch, verb, what):
    monkeypatch.chdir(tmp_path)
    words, place = VERBS[verb]
    (tmp_path / "small.toml").write_text(SMALL)
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    make, said = UNUSUAL[what]
    make(path)
    if verb == "cache" and what == "too long":
        pytest.skip("a trace may be of any length; the reader judges what is in it")
    done = limited(tmp_path, *(word.format(place) for word in words))
    errors = done.stderr.decode()
    # The list continues with the intact results.
    assert done.returncode == (0 if verb == "list" else 2), errors
    assert len(errors.splitlines()) == 1
    assert place.rpartition("/")[2] in errors or verb == "a kernel"
    assert said in errors or verb == "a kernel"


ZIPPED = 'for n in 3 1 3; do echo "$n"; done | gzip > t.gz; '


PIPED = ["$SCHEDLAB cache <(zcat t.gz)", "zcat t.gz | $SCHEDLAB cache /dev/stdin", "$SCHEDLAB cache /dev/stdin < t.gz"]


@pytest.mark.parametrize("line", PIPED)
def test_a_trace_comes_through_a_pipe(schedlab, line):
    done = shell(schedlab, ZIPPED + line + " --policy lru --sizes 1 --json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["trace"]["requests"] == 3


def test_a_pipe_with_a_name_is_refused_with_what_to_do(schedlab):
    done = shell(schedlab, "mkfifo p; $SCHEDLAB cache p")
    assert (done.returncode, done.stderr) == (
        2, "error: p: is a pipe with a name; give it as <(cat p), or name an ordinary file\n"
    )  # fmt: skip
    refused(schedlab("run", "p"), "write what comes through it to a file")


def test_a_limit_is_stated(tmp_path):
    path = tmp_path / "long"
    sparse(path, reading.SMALL + 1)
    with pytest.raises(UsageError, match="is longer than 1 MiB, the most that is read"):
        reading.data(path, reading.SMALL)
    sparse(path, reading.SMALL)
    assert len(reading.data(path, reading.SMALL)) == reading.SMALL


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc0\xaf"])
@pytest.mark.parametrize("before", [0, 1, 70_000])
def test_what_is_no_utf8_is_refused_by_its_byte(schedlab, bad, before):
    path = schedlab.folder / "file.toml"
    path.write_bytes(b"#" * before + bad)
    refused(schedlab("run", path), f"is not UTF-8: byte {before} (from 0) is 0x{bad[0]:02x}")


#: Sequences that a terminal obeys, and what they are shown as.
SEQUENCES = {
    "\x1b[2J": r"\x1b[2J",
    "\x1b]0;title\x07": r"\x1b]0;title\x07",
    "\x9b31m": r"\x9b31m",
    "\x7f\x08": r"\x7f\x08",
    "a\rb": r"a\x0db",
    "\u202eabc": r"\u202eabc",
    "\u2028line": r"\u2028line",
}


def obeyed(text: str) -> list[str]:
    """What of it a terminal would not just show."""
    return [sign for sign in text if escaped.escaped(sign) != sign]


def test_text_of_a_file_is_shown_escaped_wherever_it_is_printed(schedlab):
    """In the question, in a machine's title, in the file's own name, and in what is wrong; all at once."""
    sign = " ".join(SEQUENCES)
    quoted = json.dumps(sign)
    name = f"odd{sign.replace('/', '')}.toml"
    path = schedlab.folder / name
    path.write_text(
        f"question = {quoted}\nseeds = 1\nscheduler = {{ name = 'fifo' }}\n"
        f"machine = {{ preset = 'uniform', title = {quoted} }}\n"
        "workload.a = { load = 'spin', compute = '1ms' }\n"
    )
    done = schedlab("run", name, "--gantt", "a.svg", "--trace", "a.json")
    assert done.returncode == 0, done.stderr
    assert [shown for shown in SEQUENCES.values() if shown not in done.stdout] == []
    assert not obeyed(done.stdout + done.stderr)
    printed = schedlab("run", name, "--json")
    assert json.loads(printed.stdout)["question"] == sign
    listed = schedlab("list", "results")
    (folder,) = (schedlab.folder / "results").iterdir()
    reported = schedlab("report", f"results/{folder.name}", "-o", "page.html")
    assert reported.returncode == 0, reported.stderr
    pages = [(schedlab.folder / file).read_bytes().decode() for file in ("page.html", "a.svg", "a.json")]
    path.write_text(
        f"question = {quoted}\nmachine = {quoted}\nscheduler = {{ name = {quoted} }}\n[workload]\n{quoted} = 1"
    )
    wrong = schedlab("run", name)
    assert wrong.returncode == 2
    overridden = schedlab("run", name, "--set", f"machine={sign}")
    missing = schedlab("run", f"no{sign}.toml")
    for text in (
        printed.stdout,
        listed.stdout,
        reported.stdout,
        wrong.stderr,
        overridden.stderr,
        missing.stderr,
        *pages,
    ):
        assert not obeyed(text)


def test_a_name_that_is_no_utf8_is_shown(schedlab, small):
    name = os.fsdecode(b"odd\xff.toml")
    os.rename(small, schedlab.folder / name)
    done = subprocess.run(
        [COMMAND, "run", name], cwd=schedlab.folder, capture_output=True, text=True, errors="surrogateescape"
    )
    assert "report it" not in done.stderr
    assert rb"odd\xff".decode() in done.stdout + done.stderr


def damaged(document, chance):
    """The document with one of its values replaced or left out."""
    at = document
    while True:
        key = chance.choice(list(at) if isinstance(at, dict) else range(len(at)))
        if isinstance(at[key], dict | list) and at[key] and chance.random() < 0.7:
            at = at[key]
            continue
        if chance.random() < 0.3:
            del at[key]
        else:
            at[key] = chance.choice([None, -1, 1e300, "x", [], {}, [[]], {"x": {}}, "\x1b[2J", True])
        return document


def test_a_manifest_that_was_changed_is_read_or_refused(small, tmp_path):
    """Whatever is changed: no fault of ours. The verbs' own functions, since a process for each would take long."""
    from schedlab._core import ScenarioError
    from schedlab.experiment import Experiment
    from schedlab.report.measured import write
    from schedlab.results import Results

    folder = Experiment.from_toml(small).run(tmp_path / "results").folder
    whole = (folder / "manifest.json").read_text()
    chance, refusals = random.Random(14), 0
    for _ in range(150):
        (folder / "manifest.json").write_text(json.dumps(damaged(json.loads(whole), chance)))
        try:
            results = Results.open(folder)
            results.summary_tables()
            repr(results)
            write(results, tmp_path / "page.html")
        except (UsageError, ScenarioError):
            refusals += 1
    assert refusals > 40


@pytest.mark.parametrize(
    "seal",
    [b"", b"!", b"AAAA", base64.b64encode(zlib.compress(b"[]")), base64.b64encode(zlib.compress(b'{"A": [1]}')),
     base64.b64encode(zlib.compress(b"[" * 100_000)), base64.b64encode(zlib.compress(bytes(1 << 30), 9))],
    ids=["empty", "no base 64", "no zlib", "a list", "no cell", "deep", "a bomb"],
)  # fmt: skip
def test_a_damaged_seal_is_named(tmp_path, small, seal):
    from schedlab.experiment import Experiment

    folder = Experiment.from_toml(small).run(tmp_path / "results").folder
    (folder / "seal").write_bytes(seal)
    done = limited(tmp_path, "unseal", folder, "--verdict", "A")
    assert (done.returncode, b"seal is damaged" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("how", ["columns", "text", "empty", "pipe"])
def test_damaged_results_are_named(tmp_path, small, how):
    import polars as pl

    from schedlab.experiment import Experiment

    folder = Experiment.from_toml(small).run(tmp_path / "results").folder
    (file,) = folder.glob("runs-*.parquet")
    file.unlink()
    if how == "columns":
        pl.DataFrame({"x": [1]}).write_parquet(file)
    elif how == "pipe":
        os.mkfifo(file)
    else:
        file.write_text("" if how == "empty" else "PAR1" * 100)
    done = limited(tmp_path, "report", folder)
    assert (done.returncode, file.name.encode() in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("nan", "is NaN in a run of seed"),
        ("infinite", "is inf in a run of seed"),
        ("huge", "is 1e308 in a run of seed"),
        ("unit", "a metric has one unit"),
        ("twice", "has two values in the run of seed"),
    ],
)
def test_values_that_no_run_gives_are_named(tmp_path, small, how, said):
    import polars as pl

    from schedlab.experiment import Experiment

    folder = Experiment.from_toml(small).run(tmp_path / "results").folder
    (file,) = folder.glob("runs-*.parquet")
    rows = pl.read_parquet(file)
    other = {"nan": float("nan"), "infinite": float("inf"), "huge": 1e308, "unit": pl.lit("B")}
    column = "unit" if how == "unit" else "value"
    if how == "twice":
        rows = pl.concat([rows, rows])
    else:
        rows = rows.with_columns(pl.when(pl.col("seed") == 1).then(other[how]).otherwise(column).alias(column))
    rows.write_parquet(file)
    done = limited(tmp_path, "report", folder)
    assert done.returncode == 2, done.stderr
    assert said.encode() in done.stderr
    assert file.name.encode() in done.stderr
