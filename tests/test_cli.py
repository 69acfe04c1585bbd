"""The command as a user meets it."""

import json
import os
import re
from pathlib import Path

import pytest
from conftest import ROOT, valid

from schedlab.cli import describe
from schedlab.system import printing

VERBS = [
    "new",
    "lint",
    "run",
    "matrix",
    "cache",
    "host",
    "list",
    "describe",
    "reproduce",
    "report",
    "schema",
    "parity",
    "judge",
    "unseal",
    "watch",
    "time",
    "diagnose",
    "record",
    "attend",
]
FAMILIES = [
    "schedulers",
    "elevators",
    "caches",
    "reclaims",
    "workloads",
    "machines",
    "drives",
    "metrics",
    "steps",
    "reproductions",
    "results",
]


def refused(done, *words):
    """Exit 2, one message on stderr that holds the words, nothing on stdout."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_verb_has_an_example(schedlab, verb):
    done = schedlab(verb, "--help")
    assert done.returncode == 0
    assert f"Example: schedlab {verb}" in done.stdout
    assert "--json" in done.stdout


def test_help_names_every_verb(schedlab):
    done = schedlab("--help")
    assert all(re.search(rf"\b{verb}\b", done.stdout) for verb in VERBS)


def test_version_names_the_engine(schedlab):
    assert re.fullmatch(r"schedlab \d+\.\d+\.\d+\+[0-9a-f]{8}\n", schedlab("--version").stdout)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_list_is_valid_json_with_names(schedlab, family):
    entries = schedlab.json("list", family)[family]
    assert all(entry["name"] for entry in entries)
    if family != "results":
        assert entries


def test_list_without_a_family_has_them_all(schedlab):
    assert list(schedlab.json("list")) == ["schema", *FAMILIES]
    assert "minix" in schedlab("list").stdout


def test_every_listed_name_can_be_described(schedlab, capsys, monkeypatch):
    """By the verb in this process: one for each of some hundred names would take minutes."""
    monkeypatch.setattr(printing, "_verb", "describe")
    listed = schedlab.json("list")
    for family in FAMILIES[:-1]:
        for entry in listed[family]:
            describe.verb(entry["name"], json=True)
            assert valid(json.loads(capsys.readouterr().out))["page"].strip(), entry["name"]


def test_describe_shows_the_page_and_the_parameters(schedlab):
    shown = schedlab("describe", "minix").stdout
    assert "slice" in shown
    assert "100ms" in shown


def test_a_name_of_several_families_is_described_in_each(schedlab):
    families = [
        family for family in FAMILIES[:-2] if "fifo" in {e["name"] for e in schedlab.json("list", family)[family]}
    ]
    assert families[:2] == ["schedulers", "elevators"]
    described = schedlab.json("describe", "fifo")
    assert [entry["family"] for entry in described["entries"]] == families
    assert schedlab("describe", "fifo").stdout.count("References") >= len(families)


def test_the_processors_of_a_machine_are_drawn_in_lines_for_any_terminal(schedlab):
    drawn = schedlab("describe", "opteron_6272").stdout
    assert "64 processors: 8 nodes, 8 last-level caches, 32 cores" in drawn
    assert re.search(r"node 7\s+cache 7 +\[56 57\] \[58 59\] \[60 61\] \[62 63\]", drawn)
    assert re.search(r"distances +0 +1 +2 +3 +4 +5 +6 +7\s+0 +10 +16 +16 +22", drawn)
    assert re.search(r"SMT +2 +2 +0 +SHARE_CPUCAPACITY SHARE_LLC\s+MC +8 +4 +0-1 +SHARE_LLC\s+NUMA 16", drawn)
    for name in ("xeon_6226r", "epyc_7452", "opteron_6272", "thinkpad_x13s"):
        drawing = schedlab("describe", name, "--markdown").stdout.split("```text\n")[1].split("```")[0]
        assert max(map(len, drawing.splitlines())) <= 78


def test_a_program_reads_threads_caches_nodes_and_capacities_of_a_machine(schedlab):
    epyc = schedlab.json("describe", "epyc_7452")["info"]["topology"]
    assert (epyc["processors"], epyc["thread_speed"], epyc["distances"]) == (64, 0.62, [[10]])
    caches = [cache for node in epyc["nodes"] for cache in node["caches"]]
    assert [len(cache["cores"]) for cache in caches] == [4] * 8
    assert caches[1]["cores"][0] == {"core": 4, "capacity": 1024, "priority": 0, "processors": [4, 36]}
    small = schedlab.json("describe", "thinkpad_x13s")["info"]["topology"]
    assert [core["capacity"] for core in small["nodes"][0]["caches"][0]["cores"]] == [490] * 4 + [1024] * 4
    assert small["thread_speed"] is None
    levels = [(domain["level"], len(domain["groups"]), domain["flags"]) for domain in small["domains"]]
    assert levels == [("MC", 8, ["SHARE_LLC", "ASYM_CPUCAPACITY"])]
    assert [(domain["level"], domain["groups"][0]) for domain in epyc["domains"]] == [
        ("SMT", [0]),
        ("MC", [0, 32]),
        ("PKG", [0, 1, 2, 3, 32, 33, 34, 35]),
    ]


def test_the_host_is_described_as_a_machine_with_the_processors_that_its_kernel_reports(schedlab):
    described = schedlab.json("describe", "host")
    assert described["family"] == "machines"
    assert described["info"]["text"].startswith('name = "host"\n')
    online = Path("/sys/devices/system/cpu/online")
    if not online.exists() or os.sysconf("SC_NPROCESSORS_ONLN") == 1:
        pytest.skip("this kernel reports one processor, of which there is nothing to draw")
    assert described["info"]["topology"]["processors"] == os.sysconf("SC_NPROCESSORS_ONLN")


def test_a_run_prints_a_row_for_each_cell_and_keeps_its_results(schedlab, small):
    done = schedlab("run", small)
    assert done.returncode == 0, done.stderr
    assert re.search(r"100ms .*±.*±", done.stdout)
    assert re.search(r"18ms .*±.*±", done.stdout)
    folders = list((schedlab.folder / "results").iterdir())
    assert [bool(re.fullmatch(r"small-[0-9a-f]{8}", folder.name)) for folder in folders] == [True]


def test_run_as_json_has_mean_and_bounds_of_every_metric(schedlab, small):
    document = schedlab.json("run", small)
    assert document["runs"] == {"total": 6, "computed": 6, "known": 0, "skipped": 0}
    for cell in document["cells"]:
        assert list(cell["factors"]) == ["scheduler.slice"]
        real = cell["metrics"]["tasks.io.real"]
        assert real["low"] <= real["mean"] <= real["high"]
        assert real["n"] == 3
        assert real["unit"] == "s"


def test_set_overrides_a_swept_field(schedlab, small):
    document = schedlab.json("run", small, "--set", "scheduler.slice=36ms", "--seeds", "2")
    assert len(document["cells"]) == 1
    assert document["runs"]["total"] == 2


def test_without_metrics_a_useful_few_are_shown(schedlab, small):
    small.write_text("\n".join(line for line in small.read_text().splitlines() if not line.startswith("metrics")))
    shown = schedlab.json("run", small)["cells"][0]["metrics"]
    assert {"tasks.io.real", "tasks.io.user", "tasks.io.sys", "context_switches", "wakeup_latency.p99"} <= shown.keys()


def test_pictures_are_written(schedlab, small):
    done = schedlab("run", small, "--trace", "out.json", "--gantt", "out.svg")
    assert done.returncode == 0, done.stderr
    assert json.loads((schedlab.folder / "out.json").read_text())["traceEvents"]
    assert (schedlab.folder / "out.svg").read_text().rstrip().endswith("</svg>")
    assert schedlab("run", small, "--gantt", "out.txt").returncode == 0
    assert "io" in (schedlab.folder / "out.txt").read_text()


def test_a_picture_that_cannot_be_written_is_refused(schedlab, small):
    refused(schedlab("run", small, "--gantt", "no/such/folder.svg"), "no/such/folder.svg")
    refused(schedlab("run", small, "--gantt", "out.png"), "out.png", ".svg")
    refused(schedlab("run", small, "--on", "host", "--trust", "--gantt", "out.svg"), "--on sim,host")
    assert not (schedlab.folder / "no").exists()


def test_a_missing_file_is_named(schedlab):
    refused(schedlab("run", "nothing.toml"), "nothing.toml")
    refused(schedlab("run", "."), ".")


def test_a_wrong_experiment_names_line_field_value_and_nearest(schedlab, small):
    small.write_text(small.read_text().replace('name = "minix"', 'name = "minux"'))
    refused(schedlab("run", small), "small.toml:", "scheduler.name", "minux", "minix")


def test_a_scheduler_for_one_processor_is_refused_on_two(schedlab, small):
    two = 'machine = { preset = "uniform", processors = 2 }'
    small.write_text(small.read_text().replace('machine = "at_286"', two))
    said = ("small.toml:", "scheduler.name", "minix is for one processor", "machine.processors = 1")
    refused(schedlab("run", small), *said)


def test_text_that_is_not_toml_or_not_unicode_is_refused(schedlab, small):
    small.write_bytes(b"question = [\xff\xfe")
    refused(schedlab("run", small), "small.toml")


def test_wrong_options_are_refused(schedlab, small):
    refused(schedlab("run", small, "--set", "scheduler.slice=36"), "36")
    refused(schedlab("run", small, "--seeds", "0"), "--seeds")
    refused(schedlab("run", small, "--threads", "0"), "--threads")
    refused(schedlab("run", small, "--on", "moon"), "moon", "sim, host")
    refused(schedlab("run", small, "--frobnicate"), "--frobnicate")
    refused(schedlab("frobnicate"), "frobnicate")


def test_unknown_names_are_refused_with_the_nearest(schedlab):
    refused(schedlab("describe", "minnix"), "minnix", "minix")
    refused(schedlab("list", "scheduler"), "schedulers")
    refused(schedlab("reproduce", "minix-1991"), "minix-1990")
    refused(schedlab("report", "nothing"), "nothing")


def test_a_fault_of_schedlab_is_one_line_and_debug_shows_where(schedlab, small, tmp_path):
    broken = tmp_path / "broken"
    (broken / "polars").mkdir(parents=True)
    (broken / "polars" / "__init__.py").write_text("raise RuntimeError('planted')")
    compared = ["run", small, "--baseline", "scheduler.slice=100ms"]
    done = schedlab(*compared, env={"PYTHONPATH": str(broken)})
    assert done.returncode == 70
    assert done.stderr.count("\n") == 1
    assert "planted" in done.stderr
    assert "SCHEDLAB_DEBUG=1" in done.stderr
    done = schedlab(*compared, env={"PYTHONPATH": str(broken), "SCHEDLAB_DEBUG": "1"})
    assert done.returncode != 0
    assert "Traceback" in done.stderr


def test_schema_is_a_json_schema_and_the_one_in_the_repository(schedlab):
    done = schedlab("schema")
    assert json.loads(done.stdout)["properties"]["scheduler"]
    assert schedlab("schema", "-o", "schema.json").returncode == 0
    assert (schedlab.folder / "schema.json").read_text() == done.stdout
    assert (ROOT / "schema" / "experiment.json").read_text() == done.stdout, "run: make docs"


def test_results_are_listed(schedlab, small):
    schedlab("run", small)
    (entry,) = schedlab.json("list", "results")["results"]
    assert (entry["cells"], entry["seeds"]) == (2, 3)
    assert entry["name"].startswith("small-")


def imported(done):
    return set(re.findall(r"\|\s+([\w.]+)$", done.stderr, re.MULTILINE))


def test_quick_verbs_import_no_engine_of_tables(schedlab):
    """Start-up stays short because nothing heavy is imported; the time itself depends on the machine."""
    modules = imported(schedlab("list", env={"PYTHONPROFILEIMPORTTIME": "1"}))
    assert "typer" in modules
    assert not {"polars", "duckdb", "scipy", "numpy", "jinja2", "rich.markdown", "schedlab.cli.run"} & modules


def test_the_help_of_all_verbs_imports_none_of_them(schedlab):
    modules = imported(schedlab("--help", env={"PYTHONPROFILEIMPORTTIME": "1"}))
    of_cli = {name for name in modules if name.startswith("schedlab.cli.")}
    assert of_cli == {f"schedlab.cli.{name}" for name in ("verbs", "manual")}
    assert not {"typer", "rich", "polars", "numpy", "schedlab._core"} & modules


@pytest.mark.parametrize("verb", ["run", "guest", "lint"])
def test_the_help_of_a_verb_imports_no_other_and_no_library_that_draws(schedlab, verb):
    modules = imported(schedlab(verb, "--help", env={"PYTHONPROFILEIMPORTTIME": "1"}))
    verbs = {f"schedlab.cli.{name.replace('list', 'list_').replace('time', 'time_')}" for name in VERBS}
    assert modules & verbs <= {f"schedlab.cli.{verb}"}
    assert not {"rich", "polars", "numpy", "schedlab._core"} & modules
