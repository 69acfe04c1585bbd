"""The simulator next to kernels: ratios with intervals, misses by name, and spots on the diagonal or off it."""

import random
import re

import polars as pl
import pytest
from test_best import REAL, SHARE, TINY, _row
from test_report import look, with_browser

from schedlab import Experiment
from schedlab.pictures.predicted import Spot, predicted
from schedlab.report import measured, text
from schedlab.results import Results, manifest
from schedlab.results import predicted as foreseen
from schedlab.results.frames import parquet

PLACES = {"1ms": "sim", "2ms": "host"}
SWEEP = '"scheduler.slice" = ["1ms", "2ms"]\n"workload.a.count" = [1, 2]'


@pytest.fixture
def planted(tmp_path):
    """Results of a simulator and a host: cells of two slices that say to be of two places."""

    def plant(value, seeds=8):
        made = Experiment.from_text(TINY.format(seeds=seeds, sweep=SWEEP), "planted").run(out=tmp_path / "results")
        for cell in made.manifest["cells"]:
            cell["on"] = PLACES[cell["factors"].pop("scheduler.slice")]
            cell["factors"] = {"on": cell["on"], **cell["factors"]}
        manifest.write_manifest(made.folder, made.manifest | {"places": {"sim": {}, "host": {"noisy": True}}})
        rng, rows = random.Random(7), []
        for cell in made.manifest["cells"]:
            on, count = cell["factors"].values()
            for seed in made.seeds:
                for metric in (REAL, SHARE):
                    found = value(on, count, metric) * (1 + (on == "host") * 0.01 * rng.gauss(0, 1))
                    rows.append(_row(made, cell, seed, metric, found))
        (file,) = made.folder.glob("runs-*.parquet")
        kinds = {name: pl.String for name in ("experiment", "scenario", "engine", "metric", "unit", "on")}
        frame = pl.DataFrame(rows, schema_overrides=kinds | {"seed": pl.UInt64, "workload.a.count": pl.String})
        file.write_bytes(parquet(frame))
        return Results.open(made.folder)

    return plant


def off(on, count, metric):
    """The host takes half as long again in one of four numbers."""
    return 10.0 * int(count) * (1.5 if (on, count, metric) == ("host", "2", REAL) else 1.0)


def test_a_miss_is_named_with_its_ratio_and_nothing_else_is(planted):
    found = planted(off).predictions()
    missed = [one for one in found if one.missed]
    assert [(one.metric, one.measured["factors"]["workload.a.count"]) for one in missed] == [(REAL, "2")]
    assert missed[0].ratio == pytest.approx(1.5, abs=0.02)
    assert missed[0].low < 1.5 < missed[0].high
    assert {one.verdict for one in found if not one.missed} == {"not shown"}
    (line,) = foreseen.lines(found)
    assert re.match(rf"measured / predicted: 1 of 4 are missed: {REAL} on=host, a.count=2, 1\.\d+ \[", line)


def test_what_is_off_by_less_than_the_bound_is_not_missed(planted):
    found = planted(lambda on, count, metric: 10.0 * int(count) * (1.05 if on == "host" else 1.0))
    assert all(one.missed for one in found.predictions())
    assert not any(one.missed for one in found.predictions(within=0.1))


def test_of_one_kind_of_place_nothing_was_predicted(small, tmp_path):
    results = Experiment.from_toml(small).run(out=tmp_path / "results")
    assert results.predictions() == []
    assert foreseen.lines([]) == []


def test_the_page_and_the_text_have_the_misses_first_and_a_table_of_the_ratios(planted, tmp_path, monkeypatch):
    results = planted(off)
    monkeypatch.setattr(measured, "_schedule", lambda results: {"id": "s", "title": "", "picture": "", "origin": ""})
    measured.write(results, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    first = re.search(r'<ul class="first-lines">\s*<li>(.*?)</li>', page)[1]
    assert "1 of 4 are missed" in first
    assert page.count('id="predicted-host-') == 4
    assert page.count('<figure id="predicted-') == 2
    said = text.markdown(results, results.judged())
    assert "1 of 4 are missed" in said.splitlines()[2]
    assert "| measured / predicted |" in said


def test_equal_numbers_lie_on_the_diagonal_and_more_predicted_above_it():
    nan = float("nan")
    spots = [Spot("same", (5.0, nan, nan), (5.0, nan, nan)), Spot("more", (5.0, 4.0, 6.0), (9.0, 8.0, 10.0))]
    drawn = predicted([("host", spots)], "real [s]").inner
    x0, y0, x1, y1 = map(float, re.search(r'class="join" d="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)"', drawn).groups())
    at = [tuple(map(float, one)) for one in re.findall(r"translate\(([\d.]+) ([\d.]+)\)", drawn)[1:]]
    height = lambda x: y0 + (x - x0) * (y1 - y0) / (x1 - x0)  # noqa: E731
    assert at[0][1] == pytest.approx(height(at[0][0]), abs=0.2)
    assert at[1][1] < height(at[1][0]) - 10


@with_browser
@pytest.mark.parametrize("width", [360, 1280])
def test_a_browser_shows_it_at_any_width(planted, tmp_path, monkeypatch, width):
    monkeypatch.setattr(measured, "_schedule", lambda results: {"id": "s", "title": "", "picture": "", "origin": ""})
    measured.write(planted(off), tmp_path / "page.html")
    assert look(tmp_path / "page.html", width) == []
