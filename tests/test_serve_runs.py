"""Runs that `schedlab serve` makes: in order, cancelled at any moment, agreed to, and ended with it."""

# Fixtures are imported, and named by arguments.
# ruff: noqa: F401, F811

import json
import re
import signal
import subprocess
import sys
import time

import pytest
from conftest import Command, agent_or_skip, valid
from labpage import with_page
from serving import ENDLESS, TINY, Serving, lives, serving, soon

from schedlab.serve import children, jobs

pytestmark = with_page


def test_an_experiment_is_run_and_its_results_are_listed(serving):
    number = serving.begin(TINY.format(seeds=7), "../we?rd näme.toml")
    job = serving.until(number, "done", "failed")
    assert (job["state"], job["message"], job["done"], job["total"]) == ("done", "", 7, 7)
    assert re.fullmatch(r"we-rd-n-me-[0-9a-f]{8}", job["result"])
    assert job["result"] in [result["name"] for result in serving.state()["results"]]
    assert serving.ask(f"/reports/{job['result']}").status == 200
    assert not list(serving.temporary.glob("schedlab-serve-*/job-*")), "what it was run from is gone"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TINY.format(seeds=1).replace("round_robin", "round_robbin"), 'tiny.toml:8: scheduler.name: "round_robbin"'),
        ("\0", "tiny.toml"),
        ("machine = [[[[[[", "tiny.toml"),
        ("", "tiny.toml"),
    ],
)
def test_a_wrong_text_has_the_engines_message(serving, text, said):
    job = serving.until(serving.begin(text), "done", "failed")
    assert (job["state"], job["result"]) == ("failed", None)
    assert said in job["message"]


def test_bytes_that_are_no_text_are_refused_and_files_are_not_read(serving):
    answer = serving.post("/api/jobs", b"\xff\xfe", name="tiny", on="sim")
    assert (answer.status, answer.text) == (422, "the experiment is not UTF-8\n")
    pool = '[workload.x]\narrivals = { recorded = { file = "/etc/shadow" } }\nsteps = [{ compute = "1ms" }]\n'
    for on in ("sim", "host"):
        for what in ("jobs", "plan"):
            answer = serving.post(f"/api/{what}", 'machine = "uniform"\n' + pool, name="tiny", on=on)
            assert answer.status == 422
            assert "names files (/etc/shadow)" in answer.text or "no place" in answer.text


@pytest.mark.parametrize(
    "on", ["", "moon", "host@web1", "guest:0.1", "guest:/bin/sh", "sim,host", "sim:fifo", "--trust"]
)
def test_a_place_that_is_not_offered_is_refused(serving, on):
    answer = serving.post("/api/jobs", TINY.format(seeds=1), on=on)
    assert answer.status == 422
    assert "there are: sim" in answer.text


def test_one_runs_at_a_time_a_few_wait_and_each_can_be_cancelled(serving):
    running = serving.begin(TINY.format(seeds=ENDLESS), "long")
    serving.until(running, "running", counted=True)
    waiting = [serving.begin(TINY.format(seeds=1), "next") for _ in range(jobs.MOST_WAITING)]
    answer = serving.post("/api/jobs", TINY.format(seeds=1), on="sim")
    assert (answer.status, "wait already" in answer.text) == (429, True)
    assert {serving.job(number)["state"] for number in waiting} == {"waiting"}
    for number in (*waiting[1:], running):
        assert serving.post(f"/api/jobs/{number}/cancel").status == 202
    job = serving.until(running, "cancelled")
    assert "are kept in" in job["message"]
    assert 0 < job["done"] < job["total"]
    assert serving.until(waiting[0], "done")["result"]
    assert {serving.job(number)["state"] for number in waiting[1:]} == {"cancelled"}
    assert serving.post("/api/jobs/999999/cancel").status == 404
    assert serving.post(f"/api/jobs/{running}/cancel").status == 202, "once more changes nothing"
    assert serving.job(running)["state"] == "cancelled"


def test_a_run_that_is_cancelled_at_any_moment_is_cancelled(serving):
    for rest in (0, 0.05, 0.1, 0.2, 0.3, 0.4):
        number = serving.begin(TINY.format(seeds=ENDLESS), "long")
        time.sleep(rest)
        serving.post(f"/api/jobs/{number}/cancel")
        job = serving.until(number, "cancelled", "done", "failed")
        assert job["state"] == "cancelled"
        assert "Traceback" not in " ".join(job["said"])


def test_jobs_that_have_ended_are_forgotten_beyond_a_bound(serving):
    running = serving.begin(TINY.format(seeds=ENDLESS), "long")
    for _ in range(jobs.MOST_ENDED + 2):
        serving.post(f"/api/jobs/{serving.begin('', 'next')}/cancel")
    assert [job["state"] for job in serving.state()["jobs"]] == ["cancelled"] * jobs.MOST_ENDED + ["running"]
    serving.post(f"/api/jobs/{running}/cancel")
    serving.until(running, "cancelled")


def test_news_are_waited_for(serving):
    before = serving.state()["version"]
    number = serving.begin("", "wrong")
    assert serving.ask(f"/api/state?after={before}").json["version"] > before
    serving.until(number, "failed")


def test_on_this_computer_nothing_runs_whose_plan_was_not_agreed_to(serving):
    agent_or_skip()
    text = TINY.format(seeds=1)
    for agreed in ({}, {"agreed": ""}, {"agreed": "A" * 22}):
        assert serving.post("/api/jobs", text, on="host", **agreed).status == 409
    plan = serving.post("/api/plan", text, on="host", name="tiny").json
    assert "runs: 1 (1 cell x 1 repeat on 1 target), at most 0.3 s a repeat of all cells" in plan["lines"]
    assert plan["lines"][-1] == "nothing was run, fetched or written"
    assert plan["notes"] == []
    assert serving.post("/api/jobs", text + "#", on="host", agreed=plan["agreed"]).status == 409, "of another text"
    assert serving.post("/api/jobs", text, on="host", agreed=plan["agreed"]).status == 409, "agreed to once"
    assert serving.post("/api/plan", text, on="sim").status == 422
    wrong = serving.post("/api/plan", "duration = 3", on="host", name="tiny")
    assert (wrong.status, "tiny.toml" in wrong.text) == (422, True)


def test_commands_of_the_shell_are_not_agreed_to_in_a_page(serving, tmp_path):
    agent_or_skip()
    mark = tmp_path / "mark"
    text = TINY.format(seeds=1) + f'bad = {{ load = "command", run = "touch {mark}" }}\n'
    plan = serving.post("/api/plan", text, on="host", name="tiny").json
    assert f"job bad runs: touch {mark}" in plan["lines"]
    assert "--trust" in plan["notes"][0]
    number = serving.begin(text, on="host", agreed=plan["agreed"], dirty="1")
    job = serving.until(number, "done", "failed", "cancelled")
    assert (job["state"], "--trust" in job["message"]) == ("failed", True)
    assert not mark.exists()


# How it ends.


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL], ids=lambda one: one.name
)
def test_what_it_runs_ends_with_it_and_nothing_is_left(tmp_path, number):
    serving = Serving(tmp_path / "served")
    running = serving.begin(TINY.format(seeds=ENDLESS), "long")
    serving.begin(TINY.format(seeds=ENDLESS), "waits")
    serving.until(running, "running", counted=True)
    (command,) = serving.commands()
    serving.process.send_signal(number)
    status = serving.close()
    if number == signal.SIGKILL:
        soon(lambda: not lives(command))
    assert (status, lives(command)) == (-number if number == signal.SIGKILL else 0, False), "it has waited for its run"
    said = (serving.folder / "said").read_text()
    assert "Traceback" not in said
    (results,) = (serving.folder / "results").iterdir()
    assert results.name.startswith("long-")
    done = Command(serving.folder)("report", results, "--csv")
    assert done.returncode == 0, "what is finished is whole"
    if number == signal.SIGKILL:
        # The next one tidies up.
        Serving(tmp_path / "served").close()
    assert not list(serving.temporary.glob("schedlab-serve-*"))


def test_a_server_in_the_background_of_a_script_ends_its_runs_too(tmp_path):
    serving = Serving(tmp_path, before=("sh", "-c", 'trap "" INT; exec "$0" "$@"'))
    running = serving.begin(TINY.format(seeds=ENDLESS), "long")
    serving.until(running, "running", counted=True)
    serving.process.send_signal(signal.SIGINT)
    assert serving.job(running)["state"] == "running", "its parent ignores Ctrl-C on its behalf"
    assert serving.post(f"/api/jobs/{running}/cancel").status == 202
    serving.until(running, "cancelled")
    assert serving.close() == 0


def test_what_it_starts_hears_ctrl_c_whatever_the_server_ignores():
    code = (
        "import signal as s; print(s.getsignal(s.SIGINT).__name__, *map(int, s.pthread_sigmask(s.SIG_UNBLOCK, {15})))"
    )
    words = [sys.executable, str(children.LEASH), "PARENT", sys.executable, "-c", code]
    start = f"import os, subprocess as s; s.run([{{'PARENT': str(os.getpid())}}.get(word, word) for word in {words!r}])"
    ignoring = ["sh", "-c", 'trap "" INT; exec "$0" "$@"', sys.executable, "-c", start]
    said = subprocess.run(ignoring, capture_output=True, text=True, check=True).stdout.split()
    assert said == ["default_int_handler", "2"], "and holds it back until it is taken up"


# Lines of progress.


def test_run_counts_in_lines_where_there_is_no_terminal(schedlab, small):
    said = schedlab("run", small, "--progress").stderr.splitlines()
    assert said[-1] == "6 of 6 runs"
    assert all(re.fullmatch(r"\d of 6 runs", line) for line in said)
    assert schedlab("-q", "run", small, "--progress", "--fresh").stderr == ""
    assert schedlab("run", small).stderr == ""


def test_ctrl_c_is_its_ordinary_end(schedlab):
    process = schedlab.start("serve", "--json")
    assert valid(json.loads(process.stdout.readline()))["schema"] == "schedlab/serve/1"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 0
