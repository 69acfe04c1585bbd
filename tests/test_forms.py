"""Results as people and programs get them: in terminals of several widths, in pipes, as CSV and as Markdown."""

import csv
import io
import json
import os
import pty
import re
import shutil
import struct
import termios
from fcntl import ioctl

import pytest
from conftest import COMMAND, ROOT, agent_or_skip
from test_cli import refused

from schedlab import Experiment, Results, UsageError, load
from schedlab.cli import calling, verbs

FACTOR = "workload.request.gap.exp"
METRICS = ["tasks.request.queueing.mean", "tasks.request.turnaround.mean", "run_queue", "utilization"]


@pytest.fixture
def queue(schedlab):
    """An example with three cells, four metrics and two seeds, run once."""
    shutil.copy(ROOT / "examples" / "queue.toml", schedlab.folder)
    assert schedlab("run", "queue.toml", "--seeds", "2").returncode == 0
    return ("run", "queue.toml", "--seeds", "2")


def in_terminal(folder, width, *arguments, columns=None):
    """What the command prints in a terminal of that width."""
    environment = {**os.environ, "TERM": "dumb", "NO_COLOR": "1"}
    environment.pop("COLUMNS", None)
    environment |= {"COLUMNS": columns} if columns else {}
    pid, end = pty.fork()
    if pid == 0:
        try:
            # The size is there before the command asks for it.
            ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
            os.chdir(folder)
            os.execve(COMMAND, [str(COMMAND), *arguments], environment)
        finally:
            os._exit(127)
    printed = b""
    while True:
        try:
            piece = os.read(end, 1 << 16)
        except OSError:
            break
        if not piece:
            break
        printed += piece
    os.close(end)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return printed.decode().replace("\r\n", "\n")


def table_of(printed):
    """The lines between title and notes."""
    lines = printed.lstrip("\n").splitlines()
    end = next(place for place, line in enumerate(lines) if line.startswith(("mean ±", "no interval")))
    return lines[:end]


def keeps_its_words(lines):
    """Names of metrics and factors are whole, and so is every number with its interval."""
    text = "\n".join(lines)
    assert all(re.search(rf"(?<!\S){re.escape(name)}(?!\S)", text) for name in [FACTOR, *METRICS])
    numbers = re.findall(r"[\d.]+ ± [\d.]+", text)
    assert len(numbers) == 3 * len(METRICS)
    return numbers


@pytest.mark.parametrize(("width", "form"), [(40, "records"), (80, "transposed"), (200, "wide")])
def test_a_table_takes_the_form_that_its_terminal_has_room_for(schedlab, queue, width, form):
    lines = table_of(in_terminal(schedlab.folder, width, *queue))
    numbers = keeps_its_words(lines)
    assert max(map(len, lines)) <= width
    assert sorted(numbers) == sorted(keeps_its_words(table_of(schedlab(*queue, env={"COLUMNS": "200"}).stdout)))
    heads = [line.split() for line in lines if FACTOR in line]
    assert len(heads) == (3 if form == "records" else 1)
    assert ("18ms" in heads[0]) == (form == "transposed")


def test_a_pipe_has_a_hundred_columns_unless_columns_says_otherwise(schedlab, queue):
    assert max(map(len, table_of(schedlab(*queue).stdout))) <= 100
    narrow, wide = (table_of(schedlab(*queue, env={"COLUMNS": width}).stdout) for width in ("30", "300"))
    assert len(narrow) > len(wide) == 8
    keeps_its_words(narrow)
    keeps_its_words(wide)
    assert table_of(schedlab(*queue, env={"COLUMNS": "wide"}).stdout) == table_of(schedlab(*queue).stdout)


def test_columns_goes_before_the_terminal(schedlab, queue):
    wide = table_of(schedlab(*queue, env={"COLUMNS": "200"}).stdout)
    assert table_of(in_terminal(schedlab.folder, 40, *queue, columns="200")) == wide


def test_csv_has_the_numbers_of_json_in_full(schedlab, queue):
    done = schedlab(*queue, "--csv")
    document = schedlab.json(*queue)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row[FACTOR] for row in rows] == [cell["factors"][FACTOR] for cell in document["cells"]]
    for row, cell in zip(rows, document["cells"], strict=True):
        for name, found in cell["metrics"].items():
            unit = "" if found["unit"] == "1" else f" [{found['unit']}]"
            read = [float(row[f"{name}{part}{unit}"]) for part in ("", " low", " high")]
            assert read == [found["mean"], found["low"], found["high"]]
            assert int(row[f"{name} n"]) == found["n"]
    assert "mean ± half" in done.stderr, "what is said of the table is no row of it"


def test_csv_is_a_frame_for_polars(schedlab, queue):
    import polars as pl

    frame = pl.read_csv(io.StringIO(schedlab(*queue, "--csv").stdout))
    assert frame.height == 3
    assert all(kind.is_numeric() for name, kind in frame.schema.items() if name != FACTOR)


def test_a_seed_has_no_bounds_and_csv_leaves_them_empty(schedlab, queue):
    (row, *_) = csv.DictReader(io.StringIO(schedlab("run", "queue.toml", "--seeds", "1", "--csv").stdout))
    assert float(row["run_queue"]) > 0
    assert (row["run_queue low"], row["run_queue high"], row["run_queue n"]) == ("", "", "1")


def test_markdown_is_the_wide_table_at_any_width(schedlab, queue):
    done = schedlab(*queue, "--markdown", env={"COLUMNS": "20"})
    lines = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 3
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {len(METRICS) + 2}
    assert lines[0].startswith(f"| {FACTOR} | tasks.request.queueing.mean [ms] |")
    assert "- mean ± half" in done.stdout


def test_differences_are_the_table_of_csv_if_a_baseline_is_named(schedlab, queue):
    rows = list(csv.DictReader(io.StringIO(schedlab(*queue, "--csv", "--baseline", f"{FACTOR}=18ms").stdout)))
    expected = schedlab.json(*queue, "--baseline", f"{FACTOR}=18ms")["differences"]
    assert [float(row["difference"]) for row in rows] == [one["mean"] for one in expected]
    assert [(row["metric"], row["unit"], row["verdict"]) for row in rows] == [
        (one["metric"], one["unit"], one["verdict"]) for one in expected
    ]


@pytest.mark.parametrize("forms", [("--csv", "--markdown"), ("--json", "--csv"), ("--json", "--csv", "--markdown")])
@pytest.mark.parametrize(
    "verb",
    [
        ("run", "queue.toml"),
        ("report", "results/queue"),
        ("matrix", "fifo", "--loads", "hogs"),
        ("cache", "x.csv"),
        ("reproduce",),
        ("parity",),
        ("judge", "x.toml"),
        ("list",),
        ("describe", "minix"),
        ("unseal", "results/x", "--verdict", "x"),
        ("host", "check"),
        ("host", "tunables"),
        ("guest", "list"),
        ("diagnose",),
        ("memory", "show"),
        ("memory", "replay"),
    ],
)
def test_only_one_form_is_printed(schedlab, verb, forms):
    refused(schedlab(*verb, *forms), " and ".join(forms), "choose one of them")
    assert not (schedlab.folder / "results").exists(), "it is said before anything runs"


def test_a_plan_is_no_table(schedlab, queue):
    refused(schedlab(*queue, "--dry-run", "--csv"), "--csv", "--json")


#: Verbs that print no table: a file, a page, a line, a script; `watch --csv` names a file for its rows.
NO_TABLE = {"new", "lint", "schema", "completion", "man", "watch", "record", "attend", "guest fetch", "guest boot",
            "guest build", "host apply", "host confirm", "host restore", "host unit", "host save", "host files",
            "host install", "host uninstall", "host watch", "memory record", "lab", "serve"}  # fmt: skip


def test_every_verb_that_prints_a_table_has_all_forms():
    inner = [f"{group} {name}" for group in verbs.GROUPS for name in calling.command(group).commands]
    plain = [verb for verb in verbs.SUMMARIES if verb not in verbs.GROUPS]
    for verb in {*plain, *inner} - NO_TABLE:
        options = {term.split()[0] for _, entries in calling.page(verb).sections for term, _ in entries}
        assert {"--json", "--csv", "--markdown"} <= options, verb


TABLES = [
    (("list",), {"family", "name", "summary"}),
    (("list", "metrics"), {"family", "name", "summary"}),
    (("describe", "minix"), {"family", "parameter", "default", "allowed", "meaning"}),
    (("host", "check", "--look", "50ms"), {"what", "answer", "seen", "what to do"}),
    (("host", "tunables"), {"family", "tunable", "now", "access", "allowed", "meaning"}),
    (("host", "tunables", "swappiness"), {"family", "tunable", "now", "access", "allowed", "meaning"}),
    (("guest", "list", "--here"), {"kernel", "version", "release", "fetched"}),
    (("time", "--", "true"), {"command", "tasks", "quantity", "unit", "mean", "low", "high", "n"}),
    (
        ("diagnose", "--for", "200ms", "--every", "50ms"),
        {"resource", "sign", "value", "unit", "short from", "verdict", "because"},
    ),
]


@pytest.mark.parametrize(
    ("words", "columns"), TABLES, ids=lambda value: " ".join(value) if isinstance(value, tuple) else ""
)
def test_a_table_is_csv_and_markdown_too(schedlab, words, columns):
    if words[0] in ("host", "time", "diagnose"):
        agent_or_skip()
    place = words.index("--") if "--" in words else len(words)
    csv_text, markdown = (
        schedlab(*words[:place], form, *words[place:], env={"COLUMNS": "40"}) for form in ("--csv", "--markdown")
    )
    assert (csv_text.returncode, markdown.returncode) == (0, 0), csv_text.stderr + markdown.stderr
    rows = list(csv.DictReader(io.StringIO(csv_text.stdout), strict=True))
    assert all(set(row) == columns and None not in row.values() for row in rows)
    assert rows or words[0] == "guest"
    lines = [line for line in markdown.stdout.splitlines() if line.startswith("|")]
    shown = [line for line in lines if not re.match(r"\| (\*\*|---)", line)]
    assert len(shown) >= len(rows) or words[:2] == ("host", "tunables"), (
        "as many rows, but for tunables that are absent"
    )


def test_the_numbers_of_time_are_those_of_its_json(schedlab):
    agent_or_skip()
    words = ("--repeat", "2", "--", "true", "--versus", "sleep", "0.05")
    rows = list(csv.DictReader(io.StringIO(schedlab("time", "--csv", *words).stdout)))
    document = json.loads(schedlab("time", "--json", *words).stdout)
    parts, waits, counts = (document["commands"][0][key] for key in ("parts", "waits", "counts"))
    whole = len(parts["main"]) + len(waits["main"])
    assert len(rows) == 2 * (2 * whole + len(rows_of_counts(rows))) + len(document["difference"])
    assert set(counts) >= {"tasks", "peak_bytes"}
    asleep = [row for row in rows if (row["quantity"], row["tasks"]) == ("asleep", "first")]
    assert [row["command"] for row in asleep] == ["true", "sleep 0.05", "second less first"]
    assert float(asleep[1]["low"]) <= float(asleep[1]["mean"]) <= float(asleep[1]["high"])
    first = {
        row["quantity"]: float(row["mean"])
        for row in rows
        if (row["command"], row["tasks"], row["unit"]) == ("sleep 0.05", "first", "s")
    }
    elapsed = first.pop("elapsed")
    slept = [first.pop(name) for name in list(first) if name.startswith("asleep, ")]
    assert 0.05 < elapsed == pytest.approx(sum(first.values()), abs=1e-6), first
    assert sum(slept) == pytest.approx(first["asleep"], abs=1e-6)


def rows_of_counts(rows):
    return {row["quantity"] for row in rows if row["unit"] != "s"}


@pytest.mark.parametrize("width", [40, 60, 100])
def test_notes_below_a_table_are_as_wide_as_the_table_may_be(schedlab, small, width):
    small.write_text(small.read_text().replace('duration = "30s"', 'duration = "1s"'))
    done = schedlab("run", small, env={"COLUMNS": str(width)})
    notes = done.stdout[done.stdout.index("\nmean ±") :].splitlines()
    assert any(line.startswith("warning: ") for line in notes)
    assert any(line.startswith("  ") for line in notes), "a long note goes on indented"
    assert max(map(len, notes)) <= width
    wide = schedlab("run", small, env={"COLUMNS": "2000"}).stdout.splitlines()
    assert [" ".join(line.split()) for line in wide if line.startswith("warning: ")] == [
        note
        for note in re.split(r"\n(?=warning: )", "\n".join(notes))
        if note.startswith("warning: ")
        for note in [" ".join(note.split())]
    ]


def test_the_table_of_results_is_printed_again_by_report(schedlab, queue):
    printed = schedlab("report", "results/queue", "--csv")
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout == schedlab(*queue, "--csv").stdout
    rows = [line for line in schedlab(*queue, "--markdown").stdout.splitlines() if line.startswith("|")]
    assert "\n".join(rows) in schedlab("report", "results/queue", "--markdown").stdout
    assert not (schedlab.folder / "report.html").exists()
    assert schedlab("report", "results/queue", "--csv", "-o", "page.html").returncode == 0
    assert (schedlab.folder / "page.html").exists()
    written = schedlab("report", "results/queue", "-o", "other.html").stdout
    assert re.fullmatch(r"wrote other\.html, the page about results/queue-\w{8}\n", written)


def test_matrix_cache_and_reports_have_a_row_for_each_number(schedlab):
    rows = list(csv.DictReader(io.StringIO(schedlab("matrix", "fifo", "minix", "--loads", "hogs", "--csv").stdout)))
    cells = schedlab.json("matrix", "fifo", "minix", "--loads", "hogs")["cells"]
    assert [(row["measure"], row["scheduler"], float(row["mean"])) for row in rows] == [
        (cell["measure"], cell["scheduler"], cell["mean"]) for cell in cells
    ]
    trace = ROOT / "tests" / "traces" / "skewed.csv"
    rows = list(csv.DictReader(io.StringIO(schedlab("cache", trace, "--policy", "lru,arc", "--csv").stdout)))
    curves = schedlab.json("cache", trace, "--policy", "lru,arc")["curves"]
    assert [float(row["miss_ratio"]) for row in rows] == [p["miss_ratio"] for c in curves for p in c["points"]]
    rows = list(csv.DictReader(io.StringIO(schedlab("reproduce", "irix-1999-slice", "--csv").stdout)))
    known = schedlab.json("reproduce", "irix-1999-slice")["rows"]
    assert [(row["row"], row["unit"], row["verdict"]) for row in rows] == [
        (row["id"], row["unit"], row["verdict"]) for row in known
    ]
    assert [row["predicted"] for row in rows] == ["" if r["predicted"] is None else repr(r["predicted"]) for r in known]


def test_results_are_found_by_name_and_the_one_run_last_is_taken(schedlab, queue):
    (first,) = (schedlab.folder / "results").iterdir()
    assert "folders" not in schedlab("report", "results/queue").stderr, "only one has the name"
    schedlab(*queue, "--set", "duration=100s")
    (second,) = set((schedlab.folder / "results").iterdir()) - {first}
    done = schedlab("report", "results/queue")
    assert done.stdout.endswith(f"the page about results/{second.name}\n")
    assert "2 folders of results have this name" in done.stderr
    assert second.name in done.stderr
    # Nothing new is computed, and yet it is the one that was requested last.
    schedlab(*queue)
    assert schedlab("report", "queue").stdout.endswith(f"the page about results/{first.name}\n")
    assert Results.open(schedlab.folder / "results" / "queue").folder == first
    assert load(schedlab.folder / "results" / "queue")["scenario"].n_unique() == 3
    assert load(schedlab.folder / "results")["scenario"].n_unique() == 6


def test_a_name_that_only_begins_like_another_is_not_that(schedlab, queue, tmp_path):
    (folder,) = (schedlab.folder / "results").iterdir()
    folder.rename(folder.with_name(f"queue-long-{folder.name[-8:]}"))
    with pytest.raises(UsageError, match="no results folder"):
        Results.open(tmp_path / "results" / "queue")
    assert Results.open(tmp_path / "results" / "queue-long").name == "queue"


def test_a_summary_has_the_requested_metrics(small, tmp_path):
    results = Experiment.from_toml(small).run(out=tmp_path)
    assert results.summary()["metric"].unique(maintain_order=True).to_list() == results.metrics
    assert results.summary("tasks.*.real")["metric"].unique().to_list() == ["tasks.io.real"]
    assert set(results.summary("*")["metric"]) == set(results.frame["metric"])
    with pytest.raises(UsageError, match=r"did you mean 'tasks\.io\.real'"):
        results.summary(["tasks.io.reel"])


@pytest.mark.parametrize("columns", ["20", "40", "80", "200"])
@pytest.mark.parametrize("metrics", [None, 1])
@pytest.mark.parametrize("levels", [1, 2, 40])
def test_results_show_themselves_in_ten_lines(small, tmp_path, monkeypatch, columns, metrics, levels):
    monkeypatch.setenv("COLUMNS", columns)
    slices = ", ".join(f'"{18 + n}ms"' for n in range(levels))
    chosen = "" if metrics is None else 'metrics = ["tasks.io.real"]'
    text = re.sub(r"^metrics = .*$", chosen, small.read_text(), flags=re.MULTILINE)
    small.write_text(re.sub(r'"scheduler.slice" = .*', f'"scheduler.slice" = [{slices}]', text))
    shown = repr(Experiment.from_toml(small, set=["seeds=1"]).run(out=tmp_path))
    lines = shown.splitlines()
    assert len(lines) <= 10
    assert lines[0].startswith(f"small: {levels} {'cell' if levels == 1 else 'cells'}, 1 seed, ")
    assert "io" in shown
    assert "real" in shown


def test_one_is_not_said_as_many(schedlab, small):
    said = schedlab("run", small, "--seeds", "1", "--set", "scheduler.slice=18ms").stdout
    assert "no interval: 1 seed; 1 run (0 known before)" in said
    assert (
        "over 2 seeds; 1 run (1 known before)"
        in schedlab("run", small, "--seeds", "2", "--set", "scheduler.slice=18ms").stdout
    )
    schedlab("report", "small", "-o", "page.html")
    assert "1 cell, 2 seeds each" in (schedlab.folder / "page.html").read_text()


def test_jobs_are_rows_where_the_columns_of_all_jobs_do_not_fit(schedlab, small):
    text = small.read_text().replace(
        'metrics = ["tasks.io.real", "tasks.hog.share", "wakeup_latency.p99"]',
        'metrics = ["tasks.*.share", "tasks.*.user", "tasks.*.sys", "tasks.*.run_wait.mean", "context_switches"]',
    )
    small.write_text(text)
    lines = table_of(schedlab("run", small).stdout)
    assert max(map(len, lines)) <= 100
    assert "job" in lines[2].split() + lines[3].split()
    assert sum(line.split()[1:2] == ["hog"] for line in lines) == 2
