"""The picture of acceptable ranges: bars over what is acceptable, levels to scale, labels that are whole and apart."""

import itertools
import math
import re
import shutil
import subprocess
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedlab.pictures import axes
from schedlab.pictures.ranges import BEYOND, COMMON, LIMIT, MEAN, WIDTH, Curve, Field, ranges, wrapped
from schedlab.pictures.style import SERIES

NAN = float("nan")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def curve(acceptable, means=None, name="tasks.io.real", unit="s", half=0.01, **more):
    means = means or [1.0 + 0.1 * at for at in range(len(acceptable))]
    lows, highs = [one - half for one in means], [one + half for one in means]
    given = {"best": 0, "limit": means[0] * 1.05} | more
    return Curve(name, unit, means, lows, highs, acceptable=acceptable, **given)


def field(*curves, positions=(0.001, 0.002, 0.005, 0.02, 0.1), labels=None, **more):
    labels = labels or [f"{1000 * one:g}ms" for one in positions]
    common = [all(marks) for marks in zip(*(one.acceptable for one in curves), strict=True)]
    given = {"logarithmic": True, "chosen": 1, "least": 1} | more
    return Field("scheduler.slice", labels, positions, curves=curves, common=common, **given)


WIDE, SHORT = curve([True, True, True, False, True]), curve([False, True, True, False, False], name="tasks.hog.share")
SLICES = field(WIDE, SHORT, notes=["at 2ms: +1.8 % of tasks.io.real", "at 5ms: +2.6 % of tasks.hog.share"])


def parsed(drawing):
    """The drawing as an SVG file, without the name of the language."""
    return ElementTree.fromstring(drawing.document().replace(' xmlns="http://www.w3.org/2000/svg"', ""))


def titled(element):
    return element.findtext("title") or ""


def bars(drawing):
    """Bars over acceptable levels: whose, over what, and from where to where."""
    found = []
    for one in parsed(drawing).iter("rect"):
        if match := re.fullmatch(r"acceptable to (.*): (.*)", titled(one)):
            begin = float(one.get("x"))
            found.append((match[1], match[2], begin, begin + float(one.get("width"))))
    return found


def rings(drawing):
    """Rings at levels that are not acceptable: whose, and at which level."""
    found = [re.fullmatch(r"not acceptable to (.*): (.*)", titled(one)) for one in parsed(drawing).iter("circle")]
    return [(one[1], one[2]) for one in found if one]


def marks(drawing, at):
    """Where the levels of the curve at this place stand, by their labels."""
    (series,) = [
        one
        for place, one in enumerate(
            one for one in parsed(drawing) if one.tag == "g" and one.find("g/title") is not None
        )
        if place == at
    ]
    found = {}
    for point in series.findall("g"):
        place = re.search(r"translate\((\S+) (\S+)\)", point.findall("path")[-1].get("transform"))
        found[titled(point).partition(":")[0]] = (float(place[1]), float(place[2]))
    return found


def words(drawing):
    """All labels with their extents."""
    found = []
    for one in parsed(drawing).iter("text"):
        text, x, y = one.text, float(one.get("x")), float(one.get("y"))
        wide = axes.width(text)
        begin = {"start": x, "middle": x - wide / 2, "end": x - wide}[one.get("text-anchor", "start")]
        found.append((text, begin, begin + wide, y))
    return found


def uprights(drawing):
    """Vertical lines over all panels: where, from where to where, and whether they are dashed."""
    found = []
    for one in parsed(drawing).findall("path"):
        if match := re.fullmatch(r"M(\S+) (\S+)V(\S+)", one.get("d")):
            found.append((*map(float, match.groups()), one.get("stroke-dasharray") is not None))
    return found


def test_the_picture_is_a_file_and_part_of_a_page_with_its_content_in_words():
    drawing = ranges(SLICES)
    root = parsed(drawing)
    assert root.get("role") == "img"
    assert titled(root) == "acceptable levels of scheduler.slice: 2ms to 5ms; chosen: 2ms"
    assert root.findtext("desc").startswith(titled(root))
    assert root.findtext("desc").endswith("at 2ms: +1.8 % of tasks.io.real. at 5ms: +2.6 % of tasks.hog.share")
    assert ElementTree.fromstring(drawing.embedded()).get("aria-label") == titled(root)


def test_names_with_signs_of_the_language_are_spelled_out():
    strange = field(curve([True, True], name='a < "b" & c'), positions=None, labels=["<x>", "y & z"], notes=["1 < 2"])
    assert [text for text, *_ in words(ranges(strange)) if text in ("<x>", "y & z", "1 < 2")] == [
        "<x>",
        "y & z",
        "1 < 2",
    ]


def test_each_counter_has_bars_where_it_accepts_levels_and_the_last_row_where_all_do():
    drawing = ranges(SLICES)
    assert [(whose, what) for whose, what, *_ in bars(drawing)] == [
        ("tasks.io.real", "1ms to 5ms"),
        ("tasks.io.real", "100ms"),
        ("tasks.hog.share", "2ms to 5ms"),
        ("all counters", "2ms to 5ms"),
    ]
    assert sorted(rings(drawing)) == [
        ("all counters", "100ms"),
        ("all counters", "1ms"),
        ("all counters", "20ms"),
        ("tasks.hog.share", "100ms"),
        ("tasks.hog.share", "1ms"),
        ("tasks.hog.share", "20ms"),
        ("tasks.io.real", "20ms"),
    ]


def test_a_bar_covers_its_levels_and_no_other():
    drawing = ranges(SLICES)
    at = {label: x for label, (x, _) in marks(drawing, 0).items()}
    for _, what, begin, end in bars(drawing):
        low, high = what.split(" to ")[0], what.split(" to ")[-1]
        covered = [label for label, x in at.items() if begin <= x <= end]
        assert covered[0] == low
        assert covered[-1] == high
        assert (at[low] - begin, end - at[high]) == pytest.approx((BEYOND, BEYOND), abs=0.11)


@given(st.lists(st.booleans(), min_size=2, max_size=9))
def test_bars_and_rings_are_at_each_level_once(accepted):
    positions = [2.0**at for at in range(len(accepted))]
    drawing = ranges(field(curve(accepted), positions=positions, chosen=0, least=0))
    at = {label: x for label, (x, _) in marks(drawing, 0).items()}
    over = [(begin, end) for whose, _, begin, end in bars(drawing) if whose == "tasks.io.real"]
    found = [any(begin <= x <= end for begin, end in over) for x in at.values()]
    assert found == accepted
    assert len([one for one in rings(drawing) if one[0] == "tasks.io.real"]) == accepted.count(False)


@pytest.mark.parametrize("logarithmic", [True, False])
def test_levels_stand_in_order_and_to_scale_and_at_the_same_place_in_each_panel(logarithmic):
    drawing = ranges(replace(SLICES, logarithmic=logarithmic))
    first, second = marks(drawing, 0), marks(drawing, 1)
    x = [place for place, _ in first.values()]
    assert x == [place for place, _ in second.values()] == sorted(x)
    scale = math.log if logarithmic else float
    values = [scale(one) for one in SLICES.positions]
    for value, place in zip(values, x, strict=True):
        share = (value - values[0]) / (values[-1] - values[0])
        assert place == pytest.approx(x[0] + share * (x[-1] - x[0]), abs=0.11)
    assert any("log scale" in text for text, *_ in words(drawing)) == logarithmic


def test_an_axis_that_has_zero_is_not_logarithmic():
    drawing = ranges(field(curve([True] * 3), positions=[0.0, 1.0, 2.0], labels=["0", "1", "2"]))
    x = [place for place, _ in marks(drawing, 0).values()]
    assert x[1] - x[0] == pytest.approx(x[2] - x[1], abs=0.11)


def test_names_keep_their_order_and_have_a_bar_each_and_no_line_joins_them():
    names = field(WIDE, positions=None, labels=["zebra", "ape", "mole", "cat", "dog"])
    drawing = ranges(names)
    assert [label for label, _ in sorted(marks(drawing, 0).items(), key=lambda one: one[1])] == list(names.labels)
    assert [what for whose, what, *_ in bars(drawing) if whose != "all counters"] == ["zebra", "ape", "mole", "dog"]
    assert parsed(drawing).find(".//polyline") is None
    assert parsed(ranges(SLICES)).find(".//polyline") is not None
    assert drawing.name == "acceptable levels of scheduler.slice: zebra or ape or mole or dog; chosen: ape"


def test_names_without_room_are_numbered_and_listed():
    labels = [f"the policy of the name {at} with parameters" for at in range(5)]
    counter = curve([True] * 5, [20.0 + at for at in range(5)])
    shown = [text for text, *_ in words(ranges(field(counter, positions=None, labels=labels)))]
    assert [text for text in shown if text in labels] == labels
    assert [shown.count(str(at + 1)) for at in range(5)] == [2] * 5


def test_the_interval_the_limit_and_the_best_level_stand_to_scale():
    means = [2.0, 1.0, 3.0]
    drawing = ranges(field(curve([False, True, False], means, best=1, limit=1.5, half=0.25), positions=[1.0, 2.0, 3.0]))
    root = parsed(drawing)
    at = marks(drawing, 0)
    y = [place for _, place in at.values()]
    per_unit = y[0] - y[2]
    assert y[1] - y[0] == pytest.approx(per_unit, abs=0.11)
    (limit,) = [
        one
        for one in root.iter("path")
        if "H" in (one.get("d") or "")
        and one.get("d").startswith("M")
        and one.get("stroke-dasharray")
        and "0h" not in one.get("d")
    ]
    assert float(re.search(r"M\S+ (\S+)H", limit.get("d"))[1]) == pytest.approx(y[1] - 0.5 * per_unit, abs=0.11)
    ends = [re.fullmatch(r"M(\S+) (\S+)h6m-3 0V(\S+)m-3 0h6", one.get("d")) for one in root.iter("path")]
    spans = [sorted((float(one[2]), float(one[3]))) for one in ends if one]
    assert len(spans) == 3
    for place, (high, low) in zip(y, spans, strict=True):
        assert (high, low) == pytest.approx((place - 0.25 * per_unit, place + 0.25 * per_unit), abs=0.11)
    (best,) = [one for one in root.iter("path") if titled(one).startswith("best")]
    assert best.get("transform") == "translate({:.1f} {:.1f})".format(*list(at.values())[1])


@pytest.mark.parametrize(
    ("given", "words_of_it"),
    [
        (curve([True] * 5, limit=1.05), "acceptable: ≤ 1.05 s"),
        (curve([True] * 5, [5.0, 4.0, 3.0, 2.0, 1.0], limit=4.5, unit="1/s"), "acceptable: ≥ 4.5 1/s"),
        (curve([True] * 5, limit=1.0), "acceptable: ≤ 1 s"),
        (curve([True] * 5, [5.0, 4.0, 3.0, 2.0, 1.0], limit=5.0, unit="1"), "acceptable: ≥ 5"),
        (curve([True] * 5, [2e-3] * 5, limit=2.5e-3, half=0.0), "acceptable: ≤ 2.5 ms"),
        (curve([True] * 5, [3.0 * 2**20] * 5, limit=3.5 * 2**20, unit="B", half=0.0), "acceptable: ≤ 3.5 MiB"),
    ],
)
def test_the_limit_is_said_in_a_readable_unit_with_the_side_that_is_acceptable(given, words_of_it):
    shown = [text for text, *_ in words(ranges(field(given)))]
    assert words_of_it in shown


def test_the_chosen_level_is_marked_through_all_panels():
    drawing = ranges(SLICES)
    x, _ = marks(drawing, 0)["2ms"]
    lines = uprights(drawing)
    assert {place for place, *_ in lines} == {x}
    assert not any(dashed for *_, dashed in lines)
    heights = [y for at in (0, 1) for _, y in marks(drawing, at).values()]
    assert all(any(top <= y <= bottom for _, top, bottom, _ in lines) for y in heights)
    assert "chosen: 2ms" in [text for text, *_ in words(drawing)]


def test_no_line_through_the_panels_crosses_words():
    long = curve([True] * 5, name="tasks.request.response.p99 (workload.count = 64)")
    for chosen, width in itertools.product(range(5), (330, WIDTH)):
        drawing = ranges(field(long, WIDE, chosen=chosen), width)
        for x, top, bottom, _ in uprights(drawing):
            for text, begin, end, y in words(drawing):
                assert not (begin < x < end and top < y - 2 and y - 8 < bottom), text


def test_without_a_common_level_the_one_of_least_cost_is_marked_and_the_conflict_said():
    one, other = curve([True, True, False, False, False]), curve([False, False, False, True, True])
    drawing = ranges(field(one, other, chosen=4, least=2, notes=["a and b accept no level in common"]))
    shown = [text for text, *_ in words(drawing)]
    assert {
        "chosen: 100ms",
        "of least cost: 5ms",
        "no level is acceptable to all counters",
        "a and b accept no level in common",
    } <= {*shown}
    at = marks(drawing, 0)
    assert {(x, dashed) for x, _, _, dashed in uprights(drawing)} == {(at["100ms"][0], False), (at["5ms"][0], True)}
    assert [whose for whose, *_ in bars(drawing)] == ["tasks.io.real"] * 2
    assert drawing.name.startswith("acceptable levels of scheduler.slice: none")
    same = [text for text, *_ in words(ranges(field(one, other, chosen=2, least=2)))]
    assert "chosen, of least cost: 5ms" in same


def test_the_colours_of_means_limits_and_common_levels_are_three_of_the_palette():
    assert len({SERIES[place] for place in (MEAN, LIMIT, COMMON)}) == 3
    groups = [one.get("class") for one in parsed(ranges(SLICES)).iter("g") if one.get("class")]
    assert {*groups} == {SERIES[place] for place in (MEAN, LIMIT, COMMON)}


LABELS = st.lists(st.text("abcdefgh_=0123", min_size=1, max_size=50), min_size=1, max_size=10, unique=True)


@given(
    LABELS,
    st.booleans(),
    st.lists(st.floats(1e-9, 1e9), min_size=30, max_size=30),
    st.text("abcdef. ", min_size=1, max_size=90).filter(str.strip),
    st.sampled_from(["s", "B", "1", "1/s"]),
    st.integers(0, 9),
    st.integers(0, 9),
    st.sampled_from([330, WIDTH]),
)
def test_every_label_is_inside_the_picture_and_touches_no_other(
    labels, named, numbers, name, unit, chosen, least, width
):
    count = len(labels)
    positions = None if named else sorted({*numbers[:count]})
    labels = labels if named else [f"{one:.4g}" for one in positions]
    count = len(labels)
    curves = [
        curve([numbers[at] > 1 for at in range(count)], numbers[10 : 10 + count], name, unit, limit=numbers[20]),
        curve([numbers[at] < 9 for at in range(count)], numbers[20 : 20 + count], name[:9] or "a", unit),
    ]
    given = field(
        *curves, positions=positions, labels=labels, chosen=chosen % count, least=least % count, notes=[name, name * 3]
    )
    drawing = ranges(given, width)
    placed = []
    for text, begin, end, y in words(drawing):
        assert begin >= -0.6, text
        assert end <= width + 0.6, text
        assert 0 < y <= drawing.height
        for other, first, last, level in placed:
            assert end <= first + 0.6 or last <= begin + 0.6 or abs(y - level) >= 8, (text, other)
        placed.append((text, begin, end, y))


@given(st.text("ab c", max_size=200), st.integers(40, 300))
def test_a_wrapped_text_has_all_its_words_and_no_row_is_too_wide(text, room):
    rows = wrapped(text, room)
    assert all(axes.width(row) <= max(room, axes.width("1234")) for row in rows)
    if all(axes.width(word) <= room for word in text.split()):
        assert " ".join(rows).split() == text.split()


@pytest.mark.parametrize(
    "given",
    [
        curve([True], [7.0]),
        curve([True] * 5, [7.0] * 5, half=0.0),
        curve([True] * 5, [0.0] * 5, half=0.0),
        curve([True] * 5, [1.0, NAN, math.inf, 2.0, 3.0], half=NAN),
        curve([False] * 5, [NAN] * 5, limit=NAN),
        curve([True] * 5, [-3.0, -2.0, -1.0, 0.0, 1.0], limit=-2.0),
        curve([True] * 5, [1e5 + 1e-4 * at for at in range(5)], half=0.0, limit=1e5 + 2e-4, unit="1"),
    ],
    ids=["one level", "flat", "zero", "gaps", "nothing", "negative", "nearly flat"],
)
def test_odd_counters_can_be_drawn(given):
    count = len(given.means)
    drawing = ranges(field(given, positions=[1.0, 2.0, 4.0, 8.0, 16.0][:count], chosen=0, least=0))
    numbers = re.findall(r'(?:x|y|x1|x2|y1|y2|cx|cy|width|height|points|d|transform)="([^"]*)"', drawing.inner)
    assert not [one for one in numbers if "nan" in one or "inf" in one]
    texts = [text for text, begin, *_ in words(drawing)]
    assert not [text for text in texts if text in ("nan", "inf")]
    ticks = [
        one.text
        for one in parsed(drawing).iter("text")
        if one.get("class") == "tick" and one.get("text-anchor") == "end"
    ]
    assert len(ticks) == len({*ticks}), "marks of an axis differ"


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; the picture is parsed in any case")
def test_a_browser_draws_the_picture(tmp_path):
    source, picture = tmp_path / "ranges.svg", tmp_path / "ranges.png"
    source.write_text(ranges(SLICES).document())
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    subprocess.run(
        [*command, f"--screenshot={picture}", "--window-size=1000,1000", source.as_uri()], capture_output=True
    )
    assert picture.stat().st_size > 20_000, "more than an empty page"
