"""Tables as text of a given width.

The first form that fits is taken:

    wide          a line for each row; headings and sentences are wrapped between words
    alternative   the same numbers arranged otherwise by the caller: jobs as rows
    dotted        as wide, with the names of metrics broken after their dots
    transposed    a line for each column, a column for each row
    split         several such tables one below the other, the key columns in each of them
    records       a line for each cell, a block for each row

A heading is never broken inside a word, but after the dots of a metric's name; a number never at all. A line is
longer than the width only if a single heading word or cell is.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from schedlab.system.escaped import escaped
from schedlab.tables.table import Cell, Column, Table
from schedlab.tables.width import cell_len

#: A line: pieces of text with their styles.
Line = list[tuple[str, str]]

#: Blanks left of a table, between columns, and before the value of a record that is printed below its name.
MARGIN, GAP, INDENT = 2, 3, 4
#: A column of sentences is no narrower than this while another form fits.
NARROWEST_PROSE = 24
TITLE, RULE = "bold", "─"


def lines(table: Table, width: int, alternatives: Sequence[Sequence[Table]] = ()) -> list[Line]:
    """The table as lines for `width` columns of a terminal; `alternatives` hold the same numbers as other tables."""
    title = [[(part, TITLE)] for part in wrapped(_clean(table.title), width)] if table.title else []
    # No column: of the metrics that were asked for, no run has any, and nothing was swept.
    body = _body(table, width, alternatives) if table.columns else []
    return [*title, *([[]] if title else []), *body]


def _body(table: Table, width: int, alternatives: Sequence[Sequence[Table]]) -> list[Line]:
    if _fits(table, width):
        return _wide(table, width)
    for parts in alternatives:
        if all(_fits(part, width) for part in parts):
            return _joined(_wide(part, width) for part in parts)
    dotted = table.but(columns=[one.but(dotted=not one.key) for one in table.columns])
    if _fits(dotted, width):
        return _wide(dotted, width)
    if not any(column.prose for column in table.columns):
        # A column takes its gap and a sign at least: a table of many rows need not be turned to see that.
        if len(table.rows) * (GAP + 1) < width and _fits(turned := transposed(table), width):
            return _wide(turned, width)
        parts = list(split(dotted, width))
        if all(_fits(part, width) for part in parts):
            return _joined(_wide(part, width) for part in parts)
    return _records(table, width)


def text(line: Line) -> str:
    """A line without its styles."""
    return "".join(piece for piece, _ in line)


def transposed(table: Table) -> Table:
    """A row for each column that is no key, and a column for each row, headed by its keys."""
    keys = [place for place, column in enumerate(table.columns) if column.key]
    values = [place for place in range(len(table.columns)) if place not in keys]
    heads = ["\n".join(_clean(row[place].text) for place in keys) or "value" for row in table.rows]
    label = Column("\n".join(_clean(table.columns[place].heading) for place in keys), key=True, solid=True)
    rows = [[Cell(table.columns[place].heading), *(row[place] for row in table.rows)] for place in values]
    return Table([label, *(Column(head, numeric=True, solid=True) for head in heads)], rows)


def split(table: Table, width: int) -> Iterator[Table]:
    """The table in parts that fit, as far as they can: the key columns in each, the others in their order."""
    keys = [place for place, column in enumerate(table.columns) if column.key]
    least = [_least(table, place) for place in range(len(table.columns))]
    part: list[int] = []
    for place in (place for place in range(len(table.columns)) if place not in keys):
        places = [*keys, *part, place]
        if part and sum(least[one] for one in places) + _frame(len(places)) > width:
            yield table.chosen([*keys, *part])
            part = []
        part.append(place)
    yield table.chosen([*keys, *part])


#: A word with the blanks before it; and a part of a name with its dot, where another part follows.
WORD = r"(\s*)(\S+)"
NAME_PART = r"(\s*)([^\s.]{2,}\.(?=[^\W\d])|\S+)"


def wrapped(text: str, width: int, unbroken: str = WORD) -> list[str]:
    """The text in lines of at most `width`, broken between words only."""
    done: list[str] = []
    for blanks, part in re.findall(unbroken, text):
        glue = " " if blanks else ""
        if done and cell_len(done[-1]) + len(glue) + cell_len(part) <= width:
            done[-1] += f"{glue}{part}"
        else:
            done.append(part)
    return done or [""]


def _clean(text: str) -> str:
    """Text of others in one line."""
    return " ".join(escaped(text).split()) if any(sign in text for sign in "\n\r\t") else escaped(text)


def _heading(column: Column, width: int) -> list[str]:
    """A heading in lines."""
    if column.solid:
        return column.heading.split("\n")
    return wrapped(_clean(column.heading), width, NAME_PART if column.dotted else WORD)


def _least(table: Table, place: int) -> int:
    """The narrowest that a column can be without a broken word."""
    column = table.columns[place]
    texts = [_clean(row[place].text) for row in table.rows]
    natural = max(map(cell_len, texts), default=0)
    if column.prose:
        longest = max((cell_len(word) for text in texts for word in text.split()), default=0)
        natural = min(natural, max(longest, NARROWEST_PROSE))
    return max([natural, *map(cell_len, _heading(column, 0))])


def _natural(table: Table, place: int) -> int:
    heading = max(map(cell_len, _heading(table.columns[place], 1 << 16)))
    return max([heading, *(cell_len(_clean(row[place].text)) for row in table.rows)])


def _frame(count: int) -> int:
    """What the blanks of a table take: its margin, the gaps, and the end of the rule."""
    return MARGIN + GAP * (count - 1) + 1


def _fits(table: Table, width: int) -> bool:
    count = len(table.columns)
    return sum(_least(table, place) for place in range(count)) + _frame(count) <= width


def _widths(table: Table, width: int) -> list[int]:
    """The widths of columns: natural if they fit, else the room beyond the least goes to the narrowest wishes first."""
    count = len(table.columns)
    widths = [_least(table, place) for place in range(count)]
    wishes = [_natural(table, place) - least for place, least in enumerate(widths)]
    left = width - _frame(count) - sum(widths)
    for done, place in enumerate(sorted(range(count), key=lambda place: wishes[place])):
        more = max(0, min(wishes[place], left // (count - done)))
        widths[place], left = widths[place] + more, left - more
    return widths


def _wide(table: Table, width: int) -> list[Line]:
    widths = _widths(table, width)
    heads = [_heading(column, columns) for column, columns in zip(table.columns, widths, strict=True)]
    height = max(map(len, heads))
    # A heading of fewer lines is placed next to the rule.
    heads = [[""] * (height - len(head)) + head for head in heads]
    done = [_line(table, widths, [(part, "") for part in parts]) for parts in zip(*heads, strict=True)]
    done.append([(" " + RULE * (sum(widths) + _frame(len(widths)) - 1), "")])
    for row in table.rows:
        fields = [
            wrapped(_clean(cell.text), columns) if column.prose else [_clean(cell.text)]
            for column, cell, columns in zip(table.columns, row, widths, strict=True)
        ]
        for parts in zip_longest(*fields, fillvalue=""):
            done.append(_line(table, widths, [(part, cell.style) for part, cell in zip(parts, row, strict=True)]))
    return done


def _line(table: Table, widths: list[int], pieces: Line) -> Line:
    """Pieces of text in columns."""
    line: Line = [(" " * MARGIN, "")]
    for column, width, (piece, style) in zip(table.columns, widths, pieces, strict=True):
        room = " " * (width - cell_len(piece))
        line += [(room, ""), (piece, style)] if column.numeric else [(piece, style), (room, "")]
        line.append((" " * GAP, ""))
    return _stripped(line)


def _stripped(line: Line) -> Line:
    """A line without blanks at its end."""
    while line and not line[-1][0].strip():
        line.pop()
    return [*line[:-1], (line[-1][0].rstrip(), line[-1][1])] if line else line


def _records(table: Table, width: int) -> list[Line]:
    """A block for each row: name and value in a line, or the value below the name where that does not fit."""
    names = [_clean(column.heading) for column in table.columns]
    label = max(map(cell_len, names))
    room = width - MARGIN - label - GAP
    inline = all(_least(table, place) <= room for place in range(len(names)))
    blocks = []
    for row in table.rows:
        block: list[Line] = []
        for column, name, cell in zip(table.columns, names, row, strict=True):
            value = _clean(cell.text)
            if inline:
                parts = wrapped(value, room) if column.prose else [value]
                heads = [name, *[""] * (len(parts) - 1)]
                for head, part in zip(heads, parts, strict=True):
                    blanks = " " * (label - cell_len(head) + GAP)
                    block.append(_stripped([(" " * MARGIN + head + blanks, ""), (part, cell.style)]))
            else:
                block += [_indented(part, MARGIN, width, "") for part in wrapped(name, width - MARGIN) if part]
                parts = wrapped(value, width - INDENT) if column.prose else [value]
                block += [_indented(part, INDENT, width, cell.style) for part in parts]
        blocks.append(block)
    return _joined(blocks)


def _indented(text: str, indent: int, width: int, style: str) -> Line:
    """Indented as far as the width allows."""
    return _stripped([(" " * max(0, min(indent, width - cell_len(text))), ""), (text, style)])


def _joined(blocks) -> list[Line]:
    """Blocks with an empty line between them."""
    done: list[Line] = []
    for block in blocks:
        done += [[], *block] if done else block
    return done
