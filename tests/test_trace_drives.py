"""`schedlab trace` on requests to drives: alone, as blktrace records them, and next to tasks."""

import csv
import io

import pytest
from conftest import ROOT
from test_cli import refused
from test_trace_verb import HOG, SERVER, waits

DATA = ROOT / "crates" / "traces" / "tests" / "data"
BLKPARSE, BLKTRACE = DATA / "blkparse.txt", DATA / "two-processors.blktrace"


def total(words):
    """Requests and bytes of the total that blkparse prints."""
    text = BLKPARSE.read_text().split("Total (")[1].split(words)[1]
    count, kib = (part.strip() for part in text.split(",")[:2])
    return int(count), int(kib.split("KiB")[0]) * 1024


@pytest.mark.parametrize("file", [BLKPARSE, BLKTRACE], ids=["text", "binary"])
def test_a_trace_of_a_drive_has_its_requests(schedlab, file):
    found = schedlab.json("trace", file)
    (drive,) = found["drives"]
    assert (drive["drive"], found["tasks"], found["processors"]) == ("8,16", [], [])
    read, write, other = (drive[kind] for kind in ("read", "write", "other"))
    assert (read["requests"], read["bytes"]) == total("Reads Completed:")
    # blkparse counts discards among the writes.
    both = (write["requests"] + other["requests"], write["bytes"] + other["bytes"])
    assert both == total("Writes Completed:")
    assert 0 < drive["busy_pct"] < 100
    assert read["service_us"]["p50"] <= read["service_us"]["p99"] <= read["service_us"]["max"]
    assert (drive["without_issue"], drive["without_completion"]) == (0, 0)


def test_the_table_and_the_csv_have_a_row_for_each_kind(schedlab):
    shown = schedlab.ok("trace", BLKTRACE)
    assert ": blktrace, 0.005765 s, 1 drive, " in " ".join(shown.split())
    assert "task" not in shown.split("warning: ")[0]
    assert "warning: requests to drives only: nothing is known of tasks" in shown
    rows = list(csv.DictReader(io.StringIO(schedlab.ok("trace", BLKTRACE, "--csv"))))
    assert [(row["drive"], row["kind"]) for row in rows] == [("8,16", kind) for kind in ("read", "write", "other")]
    (drive,) = schedlab.json("trace", BLKTRACE)["drives"]
    assert float(rows[0]["p99 [us]"]) == drive["read"]["service_us"]["p99"]


@pytest.mark.parametrize("words", [["--task", "dd"], ["--cpu", "0"], ["--group", "all=.*"]])
def test_of_drives_alone_no_task_can_be_asked_for(schedlab, words):
    refused(schedlab("trace", BLKTRACE, *words), f"{words[0]} is of tasks", "schedlab record -- sleep 10")


def test_a_page_and_a_comparison_are_of_tasks(schedlab):
    refused(schedlab("trace", BLKTRACE, "--html", "page.html"), "--html is of tasks")
    assert not (schedlab.folder / "page.html").exists()
    file = waits(1000).write(schedlab.folder / "script.txt")
    for files in ((file, "--against", BLKTRACE), (BLKTRACE, "--against", file)):
        refused(schedlab("trace", *files), "two-processors.blktrace: the recording has no sched:sched_switch events")


def test_whatif_says_that_there_are_no_tasks(schedlab):
    refused(schedlab("whatif", BLKTRACE), "two-processors.blktrace", "sched_switch")


def test_requests_next_to_tasks_are_a_table_of_their_own(schedlab):
    text = waits(1000)
    for at, line in ((200, "rq_issue: 8,0 R 4096 () 1000 + 8 [server]"), (450, "rq_complete: 8,0 R () 1000 + 8 [0]")):
        text.add(at, 0, HOG, "sched_waking", "")
        text.lines[-1] = text.lines[-1].replace("sched:sched_waking: ", f"block:block_{line}")
    text.lines.sort(key=lambda line: float(line.split("]")[1].split(":")[0]))
    file = text.write(schedlab.folder / "script.txt")
    found = schedlab.json("trace", file)
    (drive,) = found["drives"]
    assert (drive["drive"], drive["read"]["requests"], drive["read"]["bytes"]) == ("8,0", 1, 4096)
    assert drive["read"]["service_us"]["max"] == pytest.approx(250)
    assert {row["comm"] for row in found["tasks"]} >= {HOG[0], SERVER[0]}
    shown = schedlab.ok("trace", file)
    assert "drives; times from issue to completion" in shown
    assert "the worst waits" in shown
    schedlab.ok("trace", file, "--html", "page.html")
    assert "Drives" in (schedlab.folder / "page.html").read_text()
