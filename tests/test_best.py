"""The verdict on a result: planted values with a known best, equal cells, a conflict, one seed, missing values."""

import random

import polars as pl
import pytest

from schedlab import Experiment
from schedlab.results import Results, best, verdict
from schedlab.results.frames import parquet

TINY = """
question = "Which slice?"
machine = "uniform"
seeds = {seeds}
duration = "100ms"
metrics = ["tasks.a.real", "tasks.a.share"]
[scheduler]
name = "round_robin"
[workload]
a = {{ count = 2, steps = [{{ compute = {{ exp = "10ms" }} }}] }}
[goal]
minimize = ["tasks.a.real"]
maximize = ["tasks.a.share"]
[sweep]
{sweep}
"""
SLICES = '"scheduler.slice" = ["1ms", "2ms", "5ms", "10ms", "20ms"]'
LOADS = SLICES + '\n"workload.a.count" = [1, 2]'
REAL, SHARE = "tasks.a.real", "tasks.a.share"


@pytest.fixture
def planted(tmp_path):
    """Results whose values of both metrics are what two functions of the factors, the seed and chance give."""

    def plant(real, share=lambda **of: None, sweep=SLICES, seeds=10, draw=1):
        # A folder of results by its experiment; what it has is replaced.
        text = TINY.format(seeds=seeds, sweep=sweep)
        made = Experiment.from_text(text, "planted").run(out=tmp_path / f"results-{draw}")
        rng, rows = random.Random(draw), []
        for cell in made.manifest["cells"]:
            own = {name.rpartition(".")[2]: level for name, level in cell["factors"].items()}
            for seed in made.seeds:
                for metric, value in ((REAL, real), (SHARE, share)):
                    found = value(**own, seed=seed, noise=rng.gauss(0, 1))
                    if found is not None:
                        rows.append(_row(made, cell, seed, metric, found))
        (file,) = made.folder.glob("runs-*.parquet")
        file.write_bytes(parquet(pl.DataFrame(rows, schema=made.frame.schema)))
        return Results.open(made.folder)

    return plant


def _row(made, cell, seed, metric, value):
    engine = made.manifest["versions"]["engine"]
    unit = "s" if metric == REAL else "%"
    about = {"experiment": made.name, "scenario": cell["scenario"], "engine": engine, "seed": seed}
    return about | {"metric": metric, "unit": unit, "value": float(value), **cell["factors"], "seeded": True}


def levels(found, metric=REAL):
    """The acceptable slices of a metric."""
    (one,) = [one for one in found.bests if one.metric == metric]
    return [cell["factors"]["scheduler.slice"] for cell in one.acceptable]


def test_a_planted_best_is_found_with_its_gain_and_the_range_around_it(planted):
    means = {"1ms": 20, "2ms": 10, "5ms": 10, "10ms": 10.02, "20ms": 15}
    found = planted(lambda slice, seed, noise: means[slice] + seed + 0.1 * noise).judged()
    (one,) = [one for one in found.bests if one.metric == REAL]
    assert one.cell["factors"]["scheduler.slice"] in ("2ms", "5ms", "10ms")
    assert levels(found) == ["2ms", "5ms", "10ms"]
    assert (one.gain["verdict"], one.gain["relative"]) == ("real", pytest.approx(-10 / 25.5, abs=0.01))
    (line,) = [line for line in verdict.lines(found) if line.startswith(REAL)]
    assert "lower by 39" in line
    assert "than slice=1ms: real; acceptable: slice=2ms to 10ms" in line


def test_the_first_of_equal_cells_is_named_and_all_are_acceptable(planted):
    found = planted(lambda slice, seed, noise: 10 + seed).judged()
    assert levels(found) == ["1ms", "2ms", "5ms", "10ms", "20ms"]
    (one,) = [one for one in found.bests if one.metric == REAL]
    assert one.cell is one.group.base
    assert "acceptable: all 5 cells" in " ".join(verdict.lines(found))


def test_of_equal_cells_the_true_best_is_hardly_ever_called_worse(planted):
    missing = 0
    for draw in range(1, 41):
        found = planted(lambda slice, seed, noise: 10 + noise, seeds=8, draw=draw).judged()
        missing += len(levels(found)) < 5
    # Of 40 experiments in which nothing differs, two may by chance call a cell worse; ten would be another rule.
    assert missing < 10


def test_metrics_without_an_acceptable_setting_in_common_are_a_conflict(planted):
    place = {"1ms": 1, "2ms": 2, "5ms": 3, "10ms": 4, "20ms": 5}
    found = planted(
        lambda slice, seed, noise: place[slice] + 0.01 * noise, lambda slice, seed, noise: place[slice] + 0.01 * noise
    ).judged()
    first = verdict.lines(found)[0]
    assert first == f"no setting is acceptable in all metrics: {REAL} and {SHARE} have no acceptable setting in common"


def test_a_conflict_of_several_loads_is_named_once(planted):
    place = {"1ms": 1, "2ms": 2, "5ms": 3, "10ms": 4, "20ms": 5}
    value = lambda slice, count, seed, noise: int(count) * place[slice] + 0.01 * noise  # noqa: E731
    first = verdict.lines(planted(value, value, sweep=LOADS).judged())[0]
    assert first == (
        f"no setting is acceptable in all metrics and loads: {REAL} and {SHARE} have no acceptable setting in common"
    )


def test_what_is_acceptable_in_all_metrics_comes_first(planted):
    place = {"1ms": 1, "2ms": 1, "5ms": 1, "10ms": 4, "20ms": 5}
    other = {"1ms": 1, "2ms": 4, "5ms": 4, "10ms": 4, "20ms": 5}
    found = planted(
        lambda slice, seed, noise: place[slice] + 0.01 * noise,
        lambda slice, seed, noise: 5 + 0.01 * noise if slice in ("5ms", "20ms") else other[slice] + 0.01 * noise,
    ).judged()
    assert verdict.lines(found)[0] == "acceptable in all metrics: slice=5ms"


def test_only_cells_in_which_the_conditions_hold_may_be_best(planted):
    means = {"1ms": 100, "2ms": 50, "5ms": 51, "10ms": 110, "20ms": 120}
    results = planted(
        lambda slice, seed, noise: means[slice] + 0.01 * noise,
        lambda slice, seed, noise: 5.0 if slice == "2ms" and seed == 3 else 50.0,
    )
    results.manifest["experiment"]["goal"]["keep"] = ["tasks.a.share >= 10"]
    found = results.judged()
    (one,) = [one for one in found.bests if one.metric == REAL]
    assert one.cell["factors"]["scheduler.slice"] == "5ms"
    assert levels(found) == ["5ms"]
    assert "tasks.a.share >= 10: holds in every run of 4 of 5 cells, only these may be best" in verdict.lines(found)
    results.manifest["experiment"]["goal"]["keep"] = ["tasks.a.share >= 90"]
    (one,) = [one for one in results.judged().bests if one.metric == REAL]
    assert one.cell["factors"]["scheduler.slice"] == "2ms"


def test_one_seed_names_the_least_but_claims_nothing(planted):
    found = planted(lambda slice, seed, noise: 10 + noise, seeds=1).judged()
    said = verdict.lines(found)
    assert any(line.startswith(f"{REAL}: lowest with slice=") for line in said)
    assert not any("real;" in line or "acceptable" in line for line in said)
    assert "one run of each cell: whether a difference is chance cannot be told; --seeds 10" in said


def test_a_cell_without_a_value_is_named_and_not_acceptable(planted):
    found = planted(lambda slice, seed, noise: None if slice == "2ms" else 10 + noise).judged()
    assert "2ms" not in levels(found)
    assert f"{REAL}: 1 of 5 cells have no value, and are not judged" in verdict.lines(found)


def test_a_cell_with_some_of_its_values_is_named(planted):
    found = planted(lambda slice, seed, noise: None if slice == "2ms" and seed < 3 else 10 + noise).judged()
    assert any(
        line.startswith(f"{REAL}: 1 of 5 cells have values of some of their runs only") for line in verdict.lines(found)
    )


def test_cells_with_unequal_repeats_are_compared_over_those_that_they_share(planted):
    """Seeds differ by ten times as much as slices; 10ms has only those seeds in which all are slow."""
    slow = lambda slice, seed: 30 - seed + (0.5 if slice != "10ms" else 0.0)  # noqa: E731
    found = planted(lambda slice, seed, noise: None if slice == "10ms" and seed > 6 else slow(slice, seed)).judged()
    assert [one.cell["factors"]["scheduler.slice"] for one in found.bests if one.metric == REAL] == ["10ms"]


def test_a_cell_that_a_search_gave_up_is_neither_best_nor_acceptable(planted):
    found = planted(lambda slice, seed, noise: None if slice == "10ms" and seed > 1 else 30 + 0.1 * noise).judged()
    assert "10ms" not in levels(found)
    assert "1ms" in levels(found)


def test_what_so_few_repeats_cannot_show_to_be_worse_is_not_acceptable(planted):
    """Of 2ms all differences from the best are equal, so that no test can judge two of them."""
    offset = {"1ms": 0.0, "2ms": 9000.0}
    found = planted(lambda slice, seed, noise: 10 + seed + offset.get(slice, noise), seeds=2).judged()
    (one,) = [one for one in found.bests if one.metric == REAL]
    assert "2ms" not in [cell["factors"]["scheduler.slice"] for cell in one.acceptable or []]


def test_runs_that_others_spoilt_are_counted_in_the_verdict(planted):
    results = planted(lambda slice, seed, noise: 10 + noise)
    scenario = results.manifest["cells"][0]["scenario"]
    texts = {"void in 3 of 3 attempts, so there are no numbers": [1], "disturbed in 3 of 3 attempts": [2, 3]}
    results.manifest["warnings"] += [{"scenario": scenario, "warning": t, "seeds": s} for t, s in texts.items()]
    said = verdict.lines(results.judged())
    assert {"1 run void, see the warnings", "2 runs disturbed, see the warnings"} <= set(said)


def test_values_that_the_end_of_a_run_cut_off_are_counted_in_the_verdict(tmp_path):
    text = """
machine = "uniform"
seeds = 2
duration = "200ms"
metrics = ["wakeup_latency.p99"]
[scheduler]
name = "round_robin"
[workload]
a = { count = 9, steps = [{ compute = { exp = "10ms" } }, { sleep = "3ms" }], passes = "forever" }
[sweep]
"scheduler.slice" = ["10ms", "20ms"]
"""
    results = Experiment.from_text(text, "cut").run(tmp_path)
    of = [line for line in verdict.lines(results.judged()) if "cut values off" in line]
    assert len(of) == 1
    assert of[0].startswith("wakeup_latency.p99: the end of the run cut values off in ")


def test_each_load_has_a_best_setting_of_its_own(planted):
    def real(slice, count, seed, noise):
        return {"1": 10, "2": 100}[count] + 5 * (slice != ("2ms" if count == "1" else "10ms")) + 0.01 * noise

    found = planted(real, sweep=LOADS).judged()
    assert found.given == ["workload.a.count"]
    chosen = {one.group.base["factors"]["workload.a.count"]: found.named(one.cell) for one in found.bests}
    assert chosen == {"1": "slice=2ms", "2": "slice=10ms"}
    (line,) = [line for line in verdict.lines(found) if line.startswith(REAL)]
    assert "slice=2ms where a.count=1; slice=10ms where a.count=2" in line


def test_with_a_bound_what_is_worse_by_less_is_acceptable(planted):
    means = {"1ms": 100, "2ms": 101, "5ms": 101, "10ms": 110, "20ms": 120}
    results = planted(lambda slice, seed, noise: means[slice] + 0.01 * noise)
    assert levels(results.judged()) == ["1ms"]
    assert levels(results.judged(within=0.05)) == ["1ms", "2ms", "5ms"]


def test_a_baseline_decides_what_is_compared_with_what(planted):
    means = {"1ms": 100, "2ms": 50, "5ms": 90, "10ms": 110, "20ms": 120}
    found = planted(lambda slice, seed, noise: means[slice] + 0.01 * noise).judged("scheduler.slice=20ms")
    (one,) = found.bests
    assert one.gain["relative"] == pytest.approx(-70 / 120, rel=0.01)
    assert found.base == "slice=20ms"


def test_of_one_cell_the_main_numbers_are_said_in_a_sentence(planted):
    found = planted(lambda seed, noise: 10.0, lambda seed, noise: 50.0, sweep="")
    assert verdict.lines(found.judged()) == [f"{REAL} is 10 ± 0 s, {SHARE} is 50 ± 0 %"]


@pytest.mark.parametrize(
    ("factors", "given"),
    [
        ({"scheduler.slice": "12", "workload.a.count": "12"}, ["workload.a.count"]),
        ({"scheduler.name": "12", "on": "12"}, ["on"]),
        ({"on": "12"}, []),
        ({"workload.a.count": "12", "workload.a.arrivals.poisson": "12"}, ["workload.a.arrivals.poisson"]),
        ({"workload.a.count": "12", "machine": "12"}, []),
    ],
)
def test_what_is_given_is_the_work_the_place_and_the_arrivals(factors, given):
    levels = [{}]
    for name, values in factors.items():
        levels = [{**one, name: value} for one in levels for value in values]
    cells = [{"scenario": str(place), "factors": one} for place, one in enumerate(levels)]
    assert len(best.groups(cells)) == 2 ** len(given)
    assert all(len({cell["factors"][name] for cell in one.cells}) == 1 for one in best.groups(cells) for name in given)
