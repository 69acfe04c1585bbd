"""The drawn schedule of a page as a picture: who ran in which column, where the heads went, which requests hit.

The text of the page has the numbers; the picture has none, and is hidden from screen readers. A text of another form
has no picture.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

#: A picture is that wide and high, whatever is in it; it is stretched to its place.
WIDE, HIGH = 100.0, 40.0
#: Colours of tasks; more of them share these.
SERIES = 6
#: Requests of a cache in a row at most.
LONGEST = 16


@dataclass(frozen=True)
class Picture:
    """An SVG, and how it is read."""

    svg: Markup
    caption: str


def picture(text: str) -> Picture | None:
    """The picture of a drawn schedule; None if it has none."""
    forms = {
        _schedule: "A line for each task: thick while it runs, thin while it is ready.",
        _places: "Requests in the order of service, from left to right; higher places on the drive are further up.",
        _requests: "A request each, from left to right: a high bar is a hit, a low one a miss.",
        _counts: "Who is served, from left to right, and for how long.",
        _letters: "Who is served, from left to right.",
    }
    head = f'<svg class="drawing" viewBox="0 0 {WIDE:g} {HIGH:g}" preserveAspectRatio="none" aria-hidden="true">'
    found = ((form(text), caption) for form, caption in forms.items())
    return next((Picture(Markup(f"{head}{marks}</svg>"), caption) for marks, caption in found if marks), None)


def _schedule(text: str) -> str:
    """A lane for each task: `#` runs, `.` is ready."""
    lines = text.splitlines()
    begin = next((line.index("|") for line in lines if re.match(r" +\|", line)), None)
    if begin is None:
        return ""
    lanes = [line[begin:] for line in lines if re.match(r"\S+#\d+ ", line[:begin])]
    columns = max(map(len, lanes), default=0)
    return "".join(_lane(lane, place, len(lanes), columns) for place, lane in enumerate(lanes))


def _lane(lane: str, place: int, lanes: int, columns: int) -> str:
    high, wide = HIGH / lanes, WIDE / columns
    middle = high * (place + 0.5)
    marks = [_box(0, middle - 0.35 * high, WIDE, 0.7 * high, "ground")]
    for kind, share, name in ((r"\.+", 0.12, f"c{place % SERIES} ready"), ("#+", 0.7, f"c{place % SERIES}")):
        for run in re.finditer(kind, lane):
            length = wide * (run.end() - run.start())
            marks.append(_box(wide * run.start(), middle - share * high / 2, length, share * high, name))
    return "".join(marks)


def _places(text: str) -> str:
    """The way of the heads over a drive, request by request from left to right; writes have a colour of their own."""
    line = text.splitlines()[0] if text else ""
    way = [float(place) for place in re.findall(r"\d+", line.partition("      ")[0])] if "→" in line else []
    named = re.findall(r"\b([RW])(\d+)\b", line)
    places = way or [float(place) for _, place in named]
    if len(places) < 3:
        return ""
    low, high = min(places), max(places)
    x = [WIDE * (0.03 + 0.94 * k / (len(places) - 1)) for k in range(len(places))]
    y = [HIGH * (0.08 + 0.84 * (high - place) / (high - low)) for place in places]
    points = " ".join(f"{a:.2f},{b:.2f}" for a, b in zip(x, y, strict=True))
    kinds = [kind for kind, _ in named] or ["R"] * len(places)
    dots = (_dot(a, b, "c2" if kind == "W" else "c0") for a, b, kind in zip(x, y, kinds, strict=True))
    return f'<polyline class="way" points="{points}"/>{"".join(dots)}'


def _dot(x: float, y: float, name: str) -> str:
    """A line of no length with round ends: it stays round however the picture is stretched."""
    return f'<path class="dot {name}" d="M{x:.2f} {y:.2f}h0.001"/>'


def _requests(text: str) -> str:
    """The requests of a cache: full where they hit, low where they missed."""
    hits = re.search(r"^hit +(.*)$", text, re.MULTILINE)
    if not hits:
        return ""
    found = hits[1].split()
    wide = WIDE / max(LONGEST, len(found))
    # A miss is a third as high.
    return "".join(
        _box(wide * (place + 0.1), HIGH * (0 if hit else 2 / 3), 0.8 * wide, HIGH * (1 if hit else 1 / 3), name)
        for place, (hit, name) in enumerate(_named(found))
    )


def _named(found: Sequence[str]) -> Iterator[tuple[bool, str]]:
    for mark in found:
        yield mark == "*", "c0" if mark == "*" else "c4"


def _counts(text: str) -> str:
    """What is served in turn, by its amount: "16 reads  8 writes", "a  100 ms   b  100 ms"."""
    turns = [(float(count), kind) for count, kind in re.findall(r"(\d+) (reads|writes)", text)]
    turns = turns or [(float(length), owner) for owner, length in re.findall(r"\b(\w) +(\d+) ms", text)]
    if len(turns) < 2:
        return ""
    kinds, total, at, marks = sorted({kind for _, kind in turns}), sum(count for count, _ in turns), 0.0, []
    for count, kind in turns:
        row, wide = kinds.index(kind), WIDE * count / total
        marks.append(_box(at, HIGH * (0.12 + 0.46 * row), wide * 0.97, HIGH * 0.3, f"c{2 * row}"))
        at += wide
    return "".join(marks)


def _letters(text: str) -> str:
    """Who is served, a letter for each request: "a--a--a--a-- ... a--b"; a lane for each letter."""
    line = re.match(r"(?:[a-z-]*[a-z]-[a-z-]*|\.{3}| )+(?= )", text)
    if not line:
        return ""
    found, wide = line[0].rstrip(), WIDE / len(line[0].rstrip())
    owners = sorted({letter for letter in found if letter.isalpha()})
    return "".join(
        _box(
            wide * (place + 0.1),
            HIGH * (0.12 + 0.46 * owners.index(letter)),
            0.8 * wide,
            HIGH * 0.3,
            f"c{2 * owners.index(letter)}",
        )
        for place, letter in enumerate(found)
        if letter in owners
    )


def _box(x: float, y: float, wide: float, high: float, name: str) -> str:
    return f'<rect class="{name}" x="{x:.2f}" y="{y:.2f}" width="{wide:.2f}" height="{high:.2f}"/>'
