"""Heat maps, small multiples and shades: to be read in both themes, on common axes, with what is best marked."""

import re

import pytest
from test_pictures import APART, SIGHT, THEMES, contrast, distance, lab

from schedlab.pictures import chart, heat, swept
from schedlab.pictures.axes import levels
from schedlab.pictures.chart import Point, Series
from schedlab.pictures.heat import ACCEPTABLE, BEST, Scale, Tile
from schedlab.pictures.style import HEAT, INK

SLICES, COUNTS = ["1ms", "2ms", "4ms"], ["1", "2"]


def cells(**factors):
    """Cells of all combinations of these levels, as a manifest has them."""
    found = [{}]
    for name, values in factors.items():
        found = [{**one, name: value} for one in found for value in values]
    return [{"scenario": f"s{place}", "factors": one} for place, one in enumerate(found)]


def entries(of, metric, value):
    """Means of a metric: the cell's factors give the value."""
    return {
        (cell["scenario"], metric): {"mean": value(**cell["factors"]), "low": None, "high": None, "unit": "1"}
        for cell in of
    }


@THEMES
@pytest.mark.parametrize("sight", SIGHT)
def test_steps_of_a_heat_map_are_in_order_of_lightness_for_everyone(theme, sight):
    light = [lab(theme[name], sight)[0] for name in HEAT]
    assert light in (sorted(light), sorted(light, reverse=True))
    # Steps three apart are told apart at a glance; the numbers tell all.
    pairs = zip(HEAT, HEAT[3:], strict=False)
    assert all(distance(lab(theme[a], sight), lab(theme[b], sight)) >= APART for a, b in pairs)


@THEMES
def test_the_number_on_each_colour_can_be_read(theme):
    for ground, ink in zip(HEAT, INK, strict=True):
        assert contrast(theme[ground], theme[ink]) >= 4.5, ground


def test_numbers_rise_to_the_right_and_up_and_each_tile_has_its_value():
    tiles = [Tile(x, y, 10.0 * x + y, f"{x} {y}") for x in range(3) for y in range(2)]
    drawn = heat.heat(levels(["4ms", "1ms", "2ms"]), levels(COUNTS), tiles, ("x", "y", "v"), Scale.of([0, 21])).inner
    at = {
        tip: place
        for *place, tip in re.findall(r'<g><rect class="h\d" x="([\d.]+)" y="([\d.]+)".*?<title>(.*?)<', drawn)
    }
    x, y = ({tip: float(place[axis]) for tip, place in at.items()} for axis in (0, 1))
    assert x["1 0"] < x["2 0"] < x["0 0"]
    assert y["0 1"] < y["0 0"]
    assert re.findall(r'style="fill[^>]*>([\d.]+)<', drawn) == ["0", "1", "10", "11", "20", "21"]


def test_the_best_has_a_frame_and_the_acceptable_a_dot_and_the_legend_says_so():
    tiles = [Tile(0, 0, 1.0, "a", BEST), Tile(1, 0, 1.1, "b", ACCEPTABLE), Tile(2, 0, 9.0, "c")]
    drawn = heat.heat(levels(SLICES), levels(["x"]), tiles, ("x", "y", "v"), Scale.of([1, 9])).inner
    assert drawn.count('class="best"') == 2, "the tile's, and the legend's"
    assert drawn.count('class="dot') == 2
    assert ">best<" in drawn
    assert ">acceptable<" in drawn


def test_more_columns_than_fit_are_drawn_below_the_others():
    wide = [f"{n}ms" for n in range(1, 20)]
    tiles = [Tile(x, 0, x, str(x)) for x in range(19)]
    drawn = heat.heat(levels(wide), levels(["x"]), tiles, ("x", "y", "v"), Scale.of(range(19)))
    places = re.findall(r'<g><rect class="h\d" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"[^>]*/><text', drawn.inner)
    assert len(places) == 19
    assert all(float(x) + float(width) <= drawn.width for x, _, width in places)
    assert len({y for _, y, _ in places}) == 3


def test_a_scale_of_values_far_apart_is_logarithmic_and_equal_values_have_one_colour():
    assert Scale.of([1.0, 1000.0]).axis.log
    assert not Scale.of([1.0, 10.0]).axis.log
    assert not Scale.of([-1.0, 1000.0]).axis.log
    assert {Scale.of([5.0, 5.0]).step(5.0)} == {0}
    assert (Scale.of([0.0, 7.0]).step(0.0), Scale.of([0.0, 7.0]).step(7.0)) == (0, 6)


def test_two_factors_make_a_map_and_a_third_makes_one_for_each_of_its_levels():
    two = cells(slice=SLICES, count=COUNTS)
    found = swept.maps(two, ["m"], entries(two, "m", lambda slice, count: float(count)), {})
    assert [len(one.drawings) for one in found] == [1]
    three = cells(slice=SLICES, count=COUNTS, name=["a", "b", "c"])
    values = entries(three, "m", lambda slice, count, name: float(count) * ord(name))
    (figure,) = swept.maps(three, ["m"], values, {})
    assert [re.search(r'"heading"[^>]*>(\w+)<', one.inner)[1] for one in figure.drawings] == ["a", "b", "c"]
    ends = {tuple(re.findall(r'class="tick" [^>]*>(\d+)<', one.inner)[:2]) for one in figure.drawings}
    assert ends == {("97", "198")}, "one scale for all"


def test_names_alone_and_factors_that_follow_each_other_make_no_map():
    names = cells(one=["a", "b"], two=["c", "d"])
    assert swept.maps(names, ["m"], entries(names, "m", lambda one, two: 1.0), {}) == []
    together = [{"scenario": str(n), "factors": {"a": str(n), "b": str(10 * n)}} for n in range(3)]
    assert swept.maps(together, ["m"], entries(together, "m", lambda a, b: 1.0), {}) == []


def test_a_large_sweep_draws_some_of_its_levels_and_says_so():
    large = cells(slice=[f"{n}ms" for n in range(1, 101)], count=COUNTS)
    (figure,) = swept.maps(large, ["m"], entries(large, "m", lambda slice, count: float(count)), {})
    assert figure.points == "24 of 100 levels of slice"


def test_further_factors_make_small_multiples_on_common_axes():
    of = cells(slice=SLICES, count=COUNTS, nice=["0", "5", "10"])
    (figure,) = swept.of_metrics(of, ["m"], entries(of, "m", lambda slice, count, nice: 1.0 + float(nice)))
    assert len(figure.drawings) == 2
    assert [one.name.partition(":")[0] for one in figure.drawings] == ["count 1", "count 2"]
    ticks = [re.findall(r'class="tick"[^>]*>(.*?)<', one.inner) for one in figure.drawings]
    assert ticks[0] == ticks[1]


def test_acceptable_points_are_shaded_and_levels_that_every_curve_accepts():
    points = [Point(place, 1.0 + place, float("nan"), float("nan")) for place in range(3)]
    one, two = Series("a", points, accepted={0, 1}), Series("b", points, accepted={1})
    drawn = chart.chart(SLICES, [one, two], "slice", "y").inner
    halos = re.findall(r'class="halo" d="([^"]+)"', drawn)
    assert [path.count("L") for path in halos] == [1, 0]
    assert drawn.count('class="shade"') == 1
    plain = chart.chart(SLICES, [Series("a", points)], "slice", "y").inner
    assert "halo" not in plain
    assert "shade" not in plain


def test_acceptable_levels_with_one_between_that_is_not_are_two_shades():
    assert chart.runs([0, 1, 2, 3], {0, 1, 3}) == [[0, 1], [3]]
    assert chart.runs([2, 0, 1], {2, 0}) == [[2, 0]]
    assert chart.runs([0, 1], set()) == []
