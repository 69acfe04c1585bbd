"""The pictures: axes to scale and in order, labels that fit, colours that everyone can tell apart."""

import itertools
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedlab.pictures import axes, style
from schedlab.pictures.axes import level, levels
from schedlab.pictures.chart import COLOURS, SHAPES, WIDTH, Point, Series, chart, panels
from schedlab.pictures.swept import KEPT, distributions, figures, spread_over
from schedlab.pictures.tail import Percentile, longer, spelled, tail
from schedlab.results.tables import level_name

NAN = float("nan")


def marks(drawing, colour="s0"):
    """Where the marks of a series stand."""
    (part,) = re.findall(rf'<g class="{colour}"><polyline.*?</g></g>|<g class="{colour}"><g>.*?</g></g>', drawing.inner)
    return [
        (float(x), float(y)) for x, y in re.findall(r'<path class="mark" transform="translate\((\S+) (\S+)\)', part)
    ]


def labels(drawing, kind="tick"):
    """Words and where they stand, by their kind."""
    found = re.findall(rf'<text class="{kind}" x="([^"]+)" y="([^"]+)"(?: text-anchor="(\w+)")?>([^<]*)', drawing.inner)
    return [(words, float(x), float(y), anchor or "start") for x, y, anchor, words in found]


def extent(words, x, anchor):
    wide = axes.width(words)
    begin = {"start": x, "middle": x - wide / 2, "end": x - wide}[anchor]
    return begin, begin + wide


def drawn(names, means=None, **more):
    means = means or [1.0 + place for place in range(len(names))]
    points = [Point(place, mean, NAN, NAN) for place, mean in enumerate(means)]
    return chart(names, [Series("", points)], "x", "y", **more)


@pytest.mark.parametrize(
    ("text", "label", "value", "kind"),
    [
        ("500us", "500 us", 5e-4, "s"),
        ("24MiB", "24 MiB", 24 * 2**20, "B"),
        ("10%", "10 %", 10, "%"),
        ("-20", "-20", -20, ""),
        ("1000/s", "1000 /s", 1000, "/s"),
        ('{"exp":"500us"}', "exp(500 us)", 5e-4, "exp s"),
        ('{"uniform":["1ms","4ms"]}', "uniform(1 ms, 4 ms)", None, ""),
        ('{"name":"rsdl","rr_interval":20}', "rsdl rr_interval=20", None, ""),
        ('[{"sleep":"2s"},{"compute":{"exp":"2ms"}},"exit"]', "sleep 2 s, compute exp(2 ms), exit", None, ""),
        ('[{"broken', '[{"broken', None, ""),
        ("head", "head", None, ""),
        ("{broken", "{broken", None, ""),
    ],
)
def test_a_level_is_read_as_it_is_written_in_experiments(text, label, value, kind):
    found = level(text)
    assert (found.label, found.kind) == (label, kind)
    assert found.value == (None if value is None else pytest.approx(value))
    assert not text.startswith(("[{", '{"exp"')) or level_name(text) == label, "in tables, too"


def test_numbers_of_different_kinds_share_no_axis():
    assert all(one.value is None for one in levels(["1ms", "2 MiB"]))
    assert all(one.value is None for one in levels(["1ms", "unlimited"]))
    assert [one.value for one in levels(["0", "1ms"])] == [0, pytest.approx(1e-3)]


@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=9, unique=True), st.randoms())
def test_numbers_stand_in_order_and_to_scale(numbers, random):
    random.shuffle(numbers)
    drawing = drawn([str(number) for number in numbers])
    axis = axes.swept(numbers)
    scale = math.log if axis.log else float
    at = [x for x, _ in sorted(marks(drawing))]
    ordered = sorted(numbers)
    assert at == sorted(at)
    length = scale(ordered[-1]) - scale(ordered[0])
    for number, x in zip(ordered, at, strict=True):
        share = (scale(number) - scale(ordered[0])) / length
        assert x == pytest.approx(at[0] + share * (at[-1] - at[0]), abs=0.11)


@pytest.mark.parametrize(
    ("numbers", "log"),
    [
        ([1, 3, 5, 7, 10, 20, 30, 50, 70, 100], True),
        ([75, 600, 1200, 1800, 2400, 3000], False),
        ([100, 50, 36, 18], False),
        ([-20, 0, 20], False),
        ([0, 1, 1000], False),
    ],
)
def test_an_axis_is_logarithmic_where_that_keeps_settings_apart(numbers, log):
    assert axes.swept(numbers).log == log


@given(
    st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=8),
    st.booleans(),
)
def test_what_was_measured_stands_to_scale_too(means, named):
    names = [f"n{place}" if named else str(place) for place in range(len(means))]
    drawing = drawn(names, means)
    axis, _ = axes.measured(means)
    scale = math.log if axis.log else float
    # A single number is a name: there is no axis of one place.
    across = named or len(means) == 1
    at = [place[0 if across else 1] for place in marks(drawing)]
    low, high = min(means), max(means)
    if high > low * 1.001:
        first, last = at[means.index(low)], at[means.index(high)]
        for mean, place in zip(means, at, strict=True):
            share = (scale(mean) - scale(low)) / (scale(high) - scale(low))
            assert place == pytest.approx(first + share * (last - first), abs=0.11)


def test_no_line_joins_names_and_one_joins_numbers():
    assert "<polyline" not in drawn(["cfs", "eevdf", "bsd4"]).inner
    assert drawn(["1ms", "5ms", "2ms"]).inner.count("<polyline") == 1


def test_series_of_a_chart_stand_at_the_same_places():
    points = [Point(place, 1.0 + place, NAN, NAN) for place in range(3)]
    drawing = chart(["1ms", "2ms", "9ms"], [Series("a", points), Series("b", points)], "x", "y")
    assert [x for x, _ in marks(drawing, "s0")] == [x for x, _ in marks(drawing, "s1")]


def test_names_keep_their_order_from_top_to_bottom():
    names = ["zebra", "ape", "mole"]
    assert [words for words, _, _, _ in sorted(labels(drawn(names), "level"), key=lambda one: one[2])] == names


@given(
    st.lists(
        st.one_of(st.integers(0, 10**7).map(str), st.text("abcdefgh_", min_size=1, max_size=60)),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, COLOURS),
    st.lists(st.floats(0, 1e7), min_size=12, max_size=12),
)
def test_every_label_is_inside_the_drawing_and_touches_no_other(names, count, means):
    series = [
        Series(
            f"series {n} of the run", [Point(i, means[i], means[i] * 0.9, means[i] * 1.1) for i in range(len(names))]
        )
        for n in range(count)
    ]
    drawing = chart(names, series, "workload.request.gap.exp" * 3, "tasks.request.response.p99 [ms]" * 2)
    placed = []
    for kind in ("tick", "level", "name", "title"):
        for words, x, y, anchor in labels(drawing, kind):
            begin, end = extent(words, x, anchor)
            assert begin >= -0.6, words
            assert end <= WIDTH + 0.6, words
            assert 0 < y <= drawing.height
            for other, (first, last), level_of in placed:
                assert end <= first + 0.6 or last <= begin + 0.6 or abs(y - level_of) >= 8, (words, other)
            placed.append((words, (begin, end), y))


@pytest.mark.parametrize("largest", [1e-9, 0.03, 1, 85, 99.999, 100, 1e9])
def test_ticks_are_round_and_reach_the_largest(largest):
    steps = axes.ticks(largest)
    assert steps[0] == 0
    assert steps[-1] >= largest * 0.998
    assert 3 <= len(steps) <= 6


@given(st.floats(1e-9, 1e9), st.floats(1, 1e15))
def test_logarithmic_marks_reach_around_what_is_shown(low, ratio):
    found = axes.log_ticks(low, low * ratio)
    assert found[0] <= low * 1.002
    assert found[-1] >= low * ratio * 0.998
    assert 2 <= len(found) <= 9
    assert found == sorted(set(found))


def test_a_chart_of_nothing_and_of_one_seed_can_be_drawn():
    assert "<svg" in chart([], [], "", "y").embedded()
    assert "nan" not in drawn(["a"]).inner


def test_charts_of_one_metric_have_the_same_axis():
    series = [Series(str(n), [Point(0, 10.0**n, NAN, NAN), Point(1, 10.0**n, NAN, NAN)]) for n in range(8)]
    first, second = (chart(["1", "2"], part, "x", "y", among=series) for part in panels(series))
    ticks = [[words for words, x, *_ in labels(one) if x < 60] for one in (first, second)]
    assert ticks[0] == ticks[1]


def test_more_series_than_colours_take_more_charts():
    assert [len(part) for part in panels([Series(str(n), []) for n in range(14)])] == [6, 6, 2]


CELLS = [
    {"scenario": f"{n}{m}", "factors": {"scheduler.slice": n, "workload.io.gap.exp": m}}
    for n in ("1ms", "10ms", "5ms")
    for m in ("2ms", "4ms")
]


def means(names):
    return {
        (cell["scenario"], name): {
            "scenario": cell["scenario"],
            "metric": name,
            "unit": "s",
            "mean": 0.5 + 0.1 * place,
            "low": None,
            "high": None,
        }
        for name in names
        for place, cell in enumerate(CELLS)
    }


def test_a_chart_for_each_metric_and_a_tail_for_each_distribution():
    known = [
        "tasks.io.real",
        *(f"tasks.io.wait.{name}" for name in ("count", "mean", "min", "p50", "p99", "p999", "max")),
    ]
    found = figures(CELLS, ["tasks.io.real", "tasks.io.wait.p99"], known, means)
    maps = ["tasks.io.real by slice and gap.exp", "tasks.io.wait.p99 by slice and gap.exp"]
    assert [figure.title for figure in found] == ["real", "wait.p99", *maps, "tasks.io.wait: all percentiles"]
    assert [words for words, *_ in labels(found[0].drawings[0], "name")] == ["io, gap.exp 2 ms", "io, gap.exp 4 ms"]
    assert [figure.points for figure in found] == ["", "", "", "", KEPT]
    assert distributions(["tasks.io.wait.p99"], known) == {"tasks.io.wait": [*known[3:]]}


def test_of_many_cells_some_distributions_are_drawn_and_the_title_says_so():
    cells = [{"scenario": str(n), "on": "sim", "factors": {"scheduler.slice": f"{n}ms"}} for n in range(1, 101)]
    known = [f"wakeup_latency.{one}" for one in ("p50", "p99", "max", "count")]

    def means_of(names):
        value = {"unit": "s", "mean": 1.0, "low": None, "high": None}
        return {(cell["scenario"], name): value for cell in cells for name in names}

    found = figures(cells, known[:1], known, means_of)
    assert found[-1].title == "wakeup_latency: all percentiles of 40 of 100 cells"
    drawn = spread_over(cells, 40)
    assert (len(drawn), drawn[0], drawn[-1]) == (40, cells[0], cells[-1])
    assert drawn == sorted(drawn, key=cells.index)


def test_factors_that_were_swept_together_make_one_series():
    cells = [{"scenario": n, "factors": {"count": n, "gap": m}} for n, m in (("1", "a"), ("2", "b"), ("4", "c"))]
    entries = {(n, "real"): {"unit": "s", "mean": 1.0, "low": None, "high": None} for n in "124"}
    (figure,) = figures(cells, ["real"], ["real"], lambda names: entries)
    assert len(marks(figure.drawings[0])) == 3


def test_percentiles_stand_by_the_share_that_is_longer():
    curve = [Percentile(spelled(name), longer(name, 1e6), value, NAN, NAN) for name, value in PERCENTILES.items()]
    at = dict(zip(PERCENTILES, marks(tail([("", curve)], "wait [ms]")), strict=True))
    step = at["p90"][1] - at["p99"][1]
    assert step > 10
    assert at["p99"][1] - at["p999"][1] == pytest.approx(step, abs=0.11)
    assert at["p999"][1] - at["max"][1] == pytest.approx(3 * step, abs=0.3)
    assert at["min"][1] - at["p90"][1] == pytest.approx(step, abs=0.11)
    assert at["p99"][0] - at["p90"][0] == pytest.approx(at["p999"][0] - at["p99"][0], abs=0.11)


PERCENTILES = {"min": 0.5, "p50": 1.0, "p90": 2.0, "p99": 20.0, "p999": 200.0, "max": 300.0}


def test_a_percentile_beyond_the_last_of_few_values_is_the_largest():
    assert longer("p999", 100) == longer("max", 100) == 0.01
    assert (longer("min", 9), longer("mean", 9), spelled("p999"), spelled("p90")) == (1.0, None, "p99.9", "p90")


# Colours, as people with and without red-green blindness see them.

#: Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
SIGHT = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}
#: Two colours at this CIEDE2000 distance are distinguished at a glance; 2.3 is just noticeable.
APART = 18.0


def linear(hexadecimal):
    channels = [int(hexadecimal[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def lab(colour, sight):
    seen = [min(1.0, max(0.0, sum(a * b for a, b in zip(row, linear(colour), strict=True)))) for row in SIGHT[sight]]
    to_xyz = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
    white = (0.95047, 1.0, 1.08883)
    xyz = [sum(a * b for a, b in zip(row, seen, strict=True)) / w for row, w in zip(to_xyz, white, strict=True)]
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one, other):
    """CIEDE2000 of two colours in Lab."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    chroma = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    g = 0.5 * (1 - math.sqrt(chroma**7 / (chroma**7 + 25**7)))
    a1, a2 = a1 * (1 + g), a2 * (1 + g)
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = math.degrees(math.atan2(b1, a1)) % 360, math.degrees(math.atan2(b2, a2)) % 360
    turn = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    hue = h1 + h2 if c1 * c2 == 0 else (h1 + turn / 2) % 360
    lightness, c = (l1 + l2) / 2, (c1 + c2) / 2
    cos = lambda degrees: math.cos(math.radians(degrees))  # noqa: E731
    t = 1 - 0.17 * cos(hue - 30) + 0.24 * cos(2 * hue) + 0.32 * cos(3 * hue + 6) - 0.2 * cos(4 * hue - 63)
    s_l = 1 + 0.015 * (lightness - 50) ** 2 / math.sqrt(20 + (lightness - 50) ** 2)
    d_l, d_c = (l2 - l1) / s_l, (c2 - c1) / (1 + 0.045 * c)
    d_h = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2)) / (1 + 0.015 * c * t)
    rotation = -2 * math.sqrt(c**7 / (c**7 + 25**7)) * math.sin(math.radians(60 * math.exp(-(((hue - 275) / 25) ** 2))))
    return math.sqrt(d_l**2 + d_c**2 + d_h**2 + rotation * d_c * d_h)


@pytest.mark.parametrize(
    ("one", "other", "known"),
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ],
)
def test_the_distance_is_that_of_the_published_examples(one, other, known):
    assert distance(one, other) == pytest.approx(known, abs=1e-4)


def contrast(one, other):
    bright, dark = sorted((0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in map(linear, (one, other))), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


THEMES = pytest.mark.parametrize("theme", [style.LIGHT, style.DARK], ids=["light", "dark"])


@THEMES
@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("family", [style.SERIES, style.STATES, style.VERDICTS], ids=["series", "states", "verdicts"])
def test_colours_that_mean_something_differ_for_everyone(theme, sight, family):
    for one, other in itertools.combinations(family, 2):
        apart = distance(lab(theme[one], sight), lab(theme[other], sight))
        assert apart >= APART, f"{one} and {other}: {apart:.1f}"


@THEMES
def test_marks_and_words_stand_out_from_their_ground(theme):
    for ground in ("bg", "card"):
        assert all(contrast(theme[name], theme[ground]) >= 3 for name in style.SERIES)
        assert all(contrast(theme[name], theme[ground]) >= 4.5 for name in ("ink", "dim", *style.VERDICTS))


def test_each_colour_of_a_series_has_a_shape_of_its_own():
    assert len(set(SHAPES)) == len(SHAPES) == COLOURS
