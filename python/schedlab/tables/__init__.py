"""Tables of results: what they hold, and how they are laid out for a terminal, as CSV and as Markdown.

table.py      columns with their units, and cells: a text to read and the plain values behind it
layout.py     text of a given width: wide, transposed, split or as records, and never a broken word
width.py      the width to lay out for: COLUMNS, the terminal's, or 100
formats.py    CSV and Markdown
"""

from schedlab.tables.table import Cell, Column, Table

__all__ = ["Cell", "Column", "Table"]
