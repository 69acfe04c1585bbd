"""Results in a notebook: the verdict, its table, the charts, and the table of means, light and dark by themselves."""

from collections.abc import Sequence
from html import escape

from schedlab.pictures.swept import Figure
from schedlab.results import verdict
from schedlab.results.best import Judged
from schedlab.results.tables import html_table
from schedlab.system.escaped import escaped
from schedlab.tables import Table

#: Charts that a cell shows; `Results.plot` has the others.
MOST_CHARTS = 6
GRID = "display: grid; gap: 8px; grid-template-columns: repeat(auto-fill, minmax(300px, 1fr))"


def html(judged: Judged, figures: Sequence[Figure], table: Table, title: str, notes: Sequence[str]) -> str:
    """The output of a notebook's cell."""
    lines = "".join(f"<li>{escape(escaped(line))}</li>" for line in verdict.lines(judged))
    bests = verdict.table(judged).shortened()[0]
    drawings = [drawing for figure in figures for drawing in figure.drawings]
    charts = "".join(drawing.document() for drawing in drawings[:MOST_CHARTS])
    left = len(drawings) - MOST_CHARTS
    more = [*notes, *([f"{left} more pictures: plot(METRIC)"] if left > 0 else [])]
    return (
        f"<p><b>{escape(escaped(title))}</b></p><ul>{lines}</ul>"
        + (html_table(bests) if bests.rows else "")
        + f'<div style="{GRID}">{charts}</div>'
        + html_table(table, "", more)
    )
