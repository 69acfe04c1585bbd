"""Every JSON document that the command prints has a version, and is as its schema in schema/output says.

Command.json (conftest.py) holds the documents of all tests to their schemas. Here are the verbs: none is without.
"""

import json
import re
import shutil

import jsonschema
import pytest
from conftest import ROOT, SCHEMAS, agent_or_skip, page_or_skip, strict, valid

from schedlab.cli import calling, verbs

#: A recording of a kernel, as `perf script` prints it.
KERNEL = ROOT / "examples" / "traces" / "player.txt"
DESKTOP = ROOT / "examples" / "attention" / "desktop.toml"
TRACE = ROOT / "tests" / "traces" / "skewed.csv"

#: For each verb with --json the names of its documents, the words that print one, and what they need; or no words, and
#: the file of the test that prints it.
PRINTED = {
    "new": [("new", ["new", "fresh.toml"], "")],
    "lint": [("lint", ["lint", "small.toml"], "")],
    "run": [("run", ["run", "small.toml"], ""), ("plan", ["run", "small.toml", "--dry-run"], "")],
    "compare": [("compare", ["compare", "results/small", "results/other", "--within", "2%"], "")],
    "tune": [("tune", ["tune", "small.toml", "--goal", "interactive", "--budget", "30"], "")],
    "matrix": [("matrix", ["matrix", "fifo", "--loads", "hogs", "--seeds", "2"], "")],
    "cache": [
        ("cache", ["cache", TRACE, "--policy", "lru,arc"], ""),
        ("cache", ["cache", TRACE, "--policy", "lru", "--bytes", "--sizes", "64KiB,1%"], ""),
        ("cache", ["cache", TRACE, "--policy", "lru", "--sizes", "80%", "--sample", "0.5"], ""),
    ],
    "trace": [
        ("trace", ["trace", KERNEL], ""),
        ("trace-against", ["trace", KERNEL, "--against", KERNEL], ""),
    ],
    "whatif": [
        ("whatif", ["whatif", KERNEL, "--seeds", "2"], ""),
        ("whatif-sweep", ["whatif", KERNEL, "--seeds", "2", "--sweep", "scheduler.slice=1ms,2ms"], ""),
    ],
    "list": [("list", ["list"], ""), ("list", ["list", "metrics"], "")],
    "describe": [
        ("describe", ["describe", name], "")
        for name in ("fifo", "run_wait", "uniform", "xeon_6226r", "host", "compute", "minix-1990")
    ],
    "reproduce": [
        ("reproduce", ["reproduce", "irix-1999-slice", "--seeds", "2"], ""),
        ("reproduce", ["reproduce", *["irix-1999-slice"] * 2, "--seeds", "2"], ""),
        ("reproduce-kernels", ["reproduce", "irix-1999-slice", "--on", "guest:6.1"], "guest"),
    ],
    "report": [("report", ["report", "results/small"], "")],
    "lab": [("lab", ["lab", "small.toml"], "page")],
    "serve": [("serve", [], "tests/test_serve.py")],
    "parity": [
        ("parity", ["parity", "--only", "two_hogs", "--repeats", "1", "--dirty", "--quiet-below", "100"], "agent"),
        (
            "parity-switches",
            ["parity", "--on", "guest", "--switches", "--only", "two_equal", "--kernel", "6.1"],
            "guest",
        ),
        ("parity-processors", ["parity", "--on", "sim:cfs", "--only", "unpinning_8", "--repeats", "2"], ""),
    ],
    "judge": [("run", [], "tests/test_judge.py")],
    "unseal": [("unseal", [], "tests/test_judge.py")],
    "watch": [("watch", ["watch", "--every", "20ms"], "agent")],
    "time": [("time", ["time"], "agent"), ("time", ["time", "--repeat", "2"], "agent")],
    "diagnose": [("diagnose", ["diagnose", "--for", "200ms", "--every", "50ms"], "agent")],
    "record": [("record", [], "tests/test_record_kernel.py")],
    "attend": [
        ("attend", ["attend", "--layout", DESKTOP, "--dry-run"], "agent"),
        ("attend", ["attend", "--layout", DESKTOP, "--for", "300ms", "--socket", "own/s"], "agent"),
    ],
    "advise": [("advise", [], "tests/test_advise.py")],
    "guest list": [("guest-list", ["guest", "list", "--here"], "")],
    "guest fetch": [("guest-fetch", ["guest", "fetch"], "guest")],
    "guest boot": [("guest-boot", ["guest", "boot", "6.1"], "guest")],
    "guest build": [("guest-build", ["guest", "build", "fifo.bpf.c"], "guest")],
    "host check": [("host-check", ["host", "check", "--look", "50ms"], "agent")],
    "host tunables": [("host-tunables", ["host", "tunables"], "agent")],
    "host apply": [
        ("host-plan", ["host", "apply", "--dry-run", "swappiness=10"], "agent"),
        ("host-apply", [], "tests/test_host.py"),
    ],
    "host confirm": [("host-confirm", [], "tests/test_host.py")],
    "host restore": [("host-restore", ["host", "restore", "--dry-run"], "agent")],
    "host unit": [("host-unit", ["host", "unit"], "agent")],
    "host save": [("host-save", ["host", "save", "web.toml", "swappiness=10"], "agent")],
    "host files": [("host-files", [], "tests/test_profiles.py")],
    "host install": [("host-install", [], "tests/test_profiles.py")],
    "host installed": [("host-installed", [], "tests/test_profiles.py")],
    "host uninstall": [("host-uninstall", [], "tests/test_profiles.py")],
    "host diff": [("host-diff", [], "tests/test_profiles.py")],
    "host watch": [("host-watch", [], "tests/test_profiles.py")],
    "memory record": [("memory-record", ["memory", "record", "--for", "100ms"], "agent")],
    "memory show": [("memory-show", [], "tests/test_memory.py")],
    "memory suggest": [("memory-suggest", [], "tests/test_memory.py")],
    "memory drift": [("memory-drift", [], "tests/test_memory.py")],
    "memory replay": [("memory-replay", [], "tests/test_memory.py")],
}
#: Documents that are printed by no verb of its own: an error, what all have in common, and a line of `watch --json`.
OTHERS = {"error", "document", "samples"}
#: Its JSON is a schema itself.
SCHEMA_ITSELF = "schema"


def with_json():
    """Every verb, those of groups included, that takes --json."""
    inner = [f"{group} {name}" for group in verbs.GROUPS for name in calling.command(group).commands]
    for verb in [*(verb for verb in verbs.SUMMARIES if verb not in verbs.GROUPS), *inner]:
        if any("--json" in term for _, entries in calling.page(verb).sections for term, _ in entries):
            yield verb


def test_every_verb_that_prints_json_is_here_and_every_schema_is_of_one():
    assert set(with_json()) == {*PRINTED, SCHEMA_ITSELF}
    names = {name for cases in PRINTED.values() for name, _, _ in cases}
    assert {path.stem for path in SCHEMAS.glob("*.json")} == names | OTHERS


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.stem)
def test_a_schema_is_one_and_names_its_version(path):
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"]
    forms = schema.get("anyOf", [schema])
    versions = [form["properties"]["schema"].get("const") for form in forms if "schema" in form["properties"]]
    assert set(versions) == ({None} if path.stem == "document" else {f"schedlab/{path.stem}/1"})


def needs(what, schedlab):
    """Skip where it is not to be had; gives the words that only then are known."""
    if what == "page":
        page_or_skip()
    if what in ("agent", "guest"):
        agent_or_skip()
    if what == "guest":
        from test_guest import booting

        booting("6.1")


CASES = [
    pytest.param(name, words, what, id=" ".join(map(str, words[:3])))
    for cases in PRINTED.values()
    for name, words, what in cases
    if words
]


@pytest.mark.parametrize(("name", "words", "what"), CASES)
def test_a_document_has_its_version_and_is_as_its_schema_says(schedlab, small, name, words, what):
    needs(what, schedlab)
    if words[0] in ("report", "compare"):
        schedlab("run", small)
    if words[0] == "compare":
        shutil.copy(small, schedlab.folder / "other.toml")
        schedlab("run", "other.toml", "--set", "scheduler.ready_at=head")
    if words == ["guest", "fetch"]:
        from schedlab.targets.guest import kernels

        words = [*words, kernels.fetched()[-1].image]
    if words[:2] == ["guest", "build"]:
        from test_guest import booting

        booting("6.17")
        for file in (ROOT / "examples" / "schedulers").iterdir():
            shutil.copy(file, schedlab.folder)
    command = {"watch": ["--", "sleep", "0.1"], "time": ["--", "true"]}.get(words[0], [])
    if command:
        done = schedlab(*words, "--json", *command)
        assert done.returncode == 0, done.stderr
        document = valid(json.loads(done.stdout))
    else:
        document = schedlab.json(*words)
    assert document["schema"] == f"schedlab/{name}/1"
    assert next(iter(document)) == "schema"


def test_every_line_of_watch_is_as_the_schema_says(schedlab):
    agent_or_skip()
    asked = ["--nice", "--tasks", "3", "--every", "20ms", "--for", "60ms"]
    header, *samples = map(json.loads, schedlab("watch", "--json", *asked).stdout.splitlines())
    assert valid(header)["schema"] == "schedlab/samples/1"
    assert samples
    for sample in samples:
        valid(sample, "samples")


def test_the_schema_of_experiments_is_one(schedlab):
    jsonschema.Draft202012Validator.check_schema(json.loads(schedlab("schema", "--json").stdout))


def test_the_page_on_the_command_line_names_every_document():
    text = (ROOT / "docs" / "command-line.md").read_text()
    assert {path.stem for path in SCHEMAS.glob("*.json")} <= set(re.findall(r"`([a-z-]+)`", text))


def test_a_field_that_no_schema_has_is_found():
    closed = strict(json.loads((SCHEMAS / "report.json").read_text()))
    document = {"schema": "schedlab/report/1", "result": "a", "page": "b", "verdict": []}
    jsonschema.Draft202012Validator(closed).validate(document)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(closed).validate(document | {"more": 1})


@pytest.mark.parametrize(
    ("verb", "file"), [(verb, what) for verb, cases in PRINTED.items() for _, words, what in cases if not words]
)
def test_what_is_not_run_here_is_run_by_the_tests_that_are_named(verb, file):
    words = ", ".join(f'"{word}"' for word in verb.split())
    assert f"({words}, " in (ROOT / file).read_text()
