"""The engine for pages, in node: it gives the numbers of the engine of the command, to the last bit.

`scripts/web-engine python/schedlab/lab/engine.wasm` builds it; without it, or without node, nothing is compared.
"""

import io
import json
import random
import shutil
import struct
import subprocess

import polars as pl
import pytest
from conftest import ROOT

from schedlab import _core, caches, matrix

ENGINE = ROOT / "python" / "schedlab" / "lab" / "engine.wasm"
ASK = ROOT / "scripts" / "ask_engine.mjs"
SCHEDULERS = [entry["name"] for entry in json.loads(_core.catalogue())["schedulers"]]
#: Loads of the matrix with all schedulers; examples, which have drives, memory, groups and locks, with their own.
LOADS = sorted(matrix.FOLDER.glob("*.toml"))
FILES = sorted((ROOT / "examples").glob("*.toml"))
#: A page does not know the computer in front of the user.
OF_HOST = [file for file in FILES if '"host"' in file.read_text()]
EXAMPLES = [file for file in FILES if file not in OF_HOST]
#: Enough for load averages, which come every five seconds.
DURATION = "6s"
SEED = 7

pytestmark = [
    pytest.mark.skipif(not shutil.which("node"), reason="node is not installed"),
    pytest.mark.skipif(not ENGINE.exists(), reason="there is no engine for pages: scripts/web-engine builds it"),
]


class Page:
    """The engine, asked as a page does."""

    def __init__(self):
        self.process = subprocess.Popen(
            ["node", ASK, ENGINE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def ask(self, do, **more):
        """The answer to a question."""
        self.process.stdin.write(json.dumps({"do": do, **more}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the engine stopped"
        return json.loads(line)


@pytest.fixture(scope="module")
def page():
    page = Page()
    yield page
    page.process.stdin.close()
    assert page.process.wait(timeout=60) == 0


def bits(value):
    """As `scripts/ask_engine.mjs` gives them."""
    return struct.pack(">d", value).hex()


def native(runs):
    """What the engine of the command makes of runs: metric, bits and unit of each row, and the warnings."""
    table = pl.read_ipc_stream(io.BytesIO(_core.run_batch(json.dumps(runs), 1)))
    found = [([], []) for _ in runs]
    for run, metric, unit, value, warning in table.select("run", "metric", "unit", "value", "warning").iter_rows():
        rows, warnings = found[run]
        if warning is None:
            rows.append([metric, bits(value), unit])
        else:
            warnings.append(warning)
    return found


def cells(file, *overrides, most):
    """The first cells of an experiment's file."""
    read = _core.read_experiment(file.read_text(), file.name, "toml", list(overrides), {})
    return json.loads(_core.expand(read, 0, most))


def equal(page, scenarios):
    """How many rows are equal in all of these runs: all, or the test fails."""
    runs = [{"scenario": scenario, "seed": SEED} for scenario in scenarios]
    compared = 0
    for run, (rows, warnings) in zip(runs, native(runs), strict=True):
        answer = page.ask("run", **run, spans=1000)
        assert "fault" not in answer, answer["fault"]
        name = run["scenario"]["scheduler"]["name"]
        for ours, theirs in zip(answer["rows"], rows, strict=True):
            assert ours == theirs, name
        assert answer["warnings"] == warnings, name
        compared += len(rows)
    return compared


def test_the_engine_is_built_from_the_sources_of_the_command(page):
    assert page.ask("catalog")["version"] == _core.version(), "build it again: scripts/web-engine"


def test_the_catalog_is_that_of_the_command(page):
    answer, own = page.ask("catalog"), json.loads(_core.catalogue())
    assert {family: answer[family] for family in own} == own


@pytest.mark.parametrize("load", LOADS, ids=lambda file: file.stem)
def test_every_scheduler_gives_the_same_numbers_on_a_load_of_the_matrix(page, load):
    fit = matrix.Load.of(load.stem, SCHEDULERS).schedulers
    scenarios = [cells(load, f"scheduler.name={name}", f"duration={DURATION}", most=1)[0]["scenario"] for name in fit]
    assert len(fit) >= len(SCHEDULERS) - 1
    assert equal(page, scenarios) > 50 * len(fit)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_resolves_and_runs_as_with_the_command(page, example):
    answer = page.ask("resolve", text=example.read_text(), label=example.name)
    found = cells(example, most=1000)
    assert [(cell["factors"], cell["scenario"]) for cell in answer["cells"]] == [
        (cell["factors"], cell["scenario"]) for cell in found
    ]
    shorter = cells(example, f"duration={DURATION}", most=4)
    assert equal(page, [cell["scenario"] for cell in shorter]) > 50


@pytest.mark.parametrize("example", OF_HOST, ids=lambda file: file.stem)
def test_the_computer_in_front_of_the_user_is_no_machine_of_a_page(page, example):
    fault = page.ask("resolve", text=example.read_text())["fault"]
    assert fault["field"].startswith("machine")
    assert '"host" is not a machine (known: ' in fault["message"]


def test_a_mistake_is_said_in_the_words_of_the_command(page):
    text = LOADS[0].read_text().replace("compute", "copmute")
    with pytest.raises(_core.ScenarioError) as refused:
        _core.read_experiment(text, "experiment.toml", "toml", [], {})
    fault = page.ask("resolve", text=text)["fault"]
    assert fault["message"] == str(refused.value)
    assert fault["message"].startswith(f"experiment.toml:{fault['line']}: ")


def test_faults_of_a_typed_reference_string_are_those_of_schedlab_cache(page, tmp_path):
    drawn = random.Random(5)
    names = [f"p{min(drawn.randrange(40), drawn.randrange(40))}" for _ in range(600)]
    (tmp_path / "names.txt").write_text("".join(f"{name}\n" for name in names))
    trace = caches.read(tmp_path / "names.txt")
    runs = caches.curves(trace, "all", ",".join(map(str, range(1, trace.objects + 1)))).runs
    answer = page.ask("references", text=" ".join(names), policies="all", frames=0)
    assert answer["frames"] == list(range(1, trace.objects + 1))
    expected = runs.group_by("policy", maintain_order=True).agg("misses").rows()
    assert [(one["policy"], one["faults"]) for one in answer["policies"]] == expected


def test_a_typed_set_of_bursts_runs_as_with_the_command(page):
    lists = ["P1 0 24\nP2 0 3 nice=5\nP3 1.5 3\nP4 2 6 -5", "B 0 6\nC 3 2\nA 3 2"]
    texts = [page.ask("bursts", text=one)["text"] for one in lists]
    overrides = [f"scheduler.name={name}" for name in SCHEDULERS]
    read = [_core.read_experiment(text, "list", "toml", [one], {}) for text in texts for one in overrides]
    assert equal(page, [json.loads(_core.expand(one, 0, 1))[0]["scenario"] for one in read]) > 50 * len(SCHEDULERS)


def test_the_memory_of_the_engine_does_not_grow_from_run_to_run(page):
    scenario = cells(LOADS[0], f"duration={DURATION}", most=1)[0]["scenario"]
    first = page.ask("run", scenario=scenario, seed=1, spans=100_000)["memory"]
    for seed in range(2, 200):
        last = page.ask("run", scenario=scenario, seed=seed, spans=100_000)["memory"]
    assert last <= 2 * first
