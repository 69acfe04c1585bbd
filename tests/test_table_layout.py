"""Tables of results, laid out for any width: no broken header, no cut number, no line longer than it has to be."""

import csv
import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from schedlab.tables import Cell, Column, Table, formats, layout, width
from schedlab.tables.table import rows_of

#: What names of metrics, policies and jobs consist of; the wide characters take two columns of a terminal.
WORD = st.text("abcxyz._0189日本é", min_size=1, max_size=14)
HEADING = st.lists(WORD, min_size=1, max_size=3).map(" ".join)
NUMBER = st.builds("{:.4g} ± {:.2g}".format, st.floats(0.001, 1e6), st.floats(0.001, 1e3))
UNIT = st.sampled_from(["", "ms", "s", "%", "MiB"])


@st.composite
def tables(draw) -> Table:
    """Keys, then numbers and sentences, some rows of each."""
    keys = [Column(draw(HEADING), key=True) for _ in range(draw(st.integers(0, 3)))]
    kinds = draw(st.lists(st.sampled_from(["number", "number", "text", "prose"]), min_size=1, max_size=8))
    if "prose" in kinds and draw(st.booleans()):
        kinds = [kind for kind in kinds if kind != "prose"] or ["number"]
    others = [Column(draw(HEADING), draw(UNIT), numeric=kind == "number", prose=kind == "prose") for kind in kinds]
    cells = {"number": NUMBER, "text": WORD, "prose": st.lists(WORD, max_size=12).map(" ".join)}
    rows = [
        [*(draw(WORD) for _ in keys), *(draw(cells[kind]) for kind in kinds)] for _ in range(draw(st.integers(1, 6)))
    ]
    return Table.of_texts([*keys, *others], rows, draw(st.sampled_from(["", "What does a hog do to a job?"])))


def shown(table: Table, columns: int, others=()) -> list[str]:
    return [layout.text(line) for line in layout.lines(table, columns, others)]


def unbreakable(table: Table) -> list[str]:
    """Words of headings, whole cells, words of sentences."""
    found = [word for column in table.columns for word in column.heading.split()] + table.title.split()
    for row in table.rows:
        for column, cell in zip(table.columns, row, strict=True):
            found += cell.text.split() if column.prose else [cell.text]
    return found


def has_whole(lines: list[str], text: str) -> bool:
    """Whether a text is in a line with blanks or nothing on either side."""
    return any(re.search(rf"(?<!\S){re.escape(text)}(?!\S)", line) for line in lines)


def has_parts(lines: list[str], parts: list[str]) -> bool:
    """Whether a name's parts are all there, in their order, as many in a line as fit."""
    ways = range(1, len(parts) + 1)
    return not parts or any(has_whole(lines, "".join(parts[:n])) and has_parts(lines, parts[n:]) for n in ways)


@settings(max_examples=400)
@given(tables(), st.integers(20, 200))
def test_nothing_is_broken_and_no_line_is_longer_than_the_width_or_what_cannot_be_broken(table, columns):
    lines = shown(table, columns)
    longest = max(map(cell_len, unbreakable(table)))
    assert max(map(cell_len, lines)) <= max(columns, longest)
    for text in unbreakable(table):
        assert has_parts(lines, [part for _, part in re.findall(layout.NAME_PART, text)]), text
    assert all(line == line.rstrip() for line in lines)


@settings(max_examples=200)
@given(tables(), st.integers(20, 200))
def test_every_number_is_printed_once_for_each_cell_with_it(table, columns):
    lines = " ".join(shown(table, columns))
    numeric = [place for place, column in enumerate(table.columns) if column.numeric]
    texts = [row[place].text for row in table.rows for place in numeric]
    for text in set(texts):
        assert len(re.findall(rf"(?<!\S){re.escape(text)}(?!\S)", lines)) == texts.count(text)


@settings(max_examples=200)
@given(tables(), st.integers(20, 200))
def test_a_unit_is_printed_in_headings_only(table, columns):
    numbers = [Column(c.name, "parsec" if c.numeric else "", c.numeric, c.key, c.prose) for c in table.columns]
    lines = shown(Table(numbers, table.rows), columns)
    stated = sum(line.count("[parsec]") for line in lines)
    # Records name each field in each block; every other form says a unit once for each column.
    assert stated in {sum(c.numeric for c in numbers), sum(c.numeric for c in numbers) * len(table.rows)}


METRICS = ["tasks.io.real", "tasks.io.user", "tasks.hog.share", "context_switches"]
SWEEP = Table.of_texts(
    [Column("scheduler.slice", key=True), *(Column(name, "ms", numeric=True) for name in METRICS)],
    [["100ms", "20.050 ± 0.017", "1 ± 0", "94.0 ± 0.1", "1 ± 0"], ["18ms", "4 ± 0", "1 ± 0", "79 ± 0", "1 ± 0"]],
)


def test_what_fits_is_a_line_a_row():
    assert shown(SWEEP, 200)[0].replace(" [ms]", "").split() == ["scheduler.slice", *METRICS]
    assert [line.split()[0] for line in shown(SWEEP, 200)[2:]] == ["100ms", "18ms"]


def test_units_go_below_their_names_before_a_table_changes_its_form():
    lines = shown(SWEEP, 92)
    assert lines[0].split() == METRICS
    assert lines[1].split() == ["scheduler.slice", *["[ms]"] * 4]


def test_what_does_not_fit_is_transposed():
    lines = shown(SWEEP, 60)
    assert lines[0].split() == ["scheduler.slice", "100ms", "18ms"]
    assert [line.split("  ")[1] for line in lines[2:]] == [f"{name} [ms]" for name in METRICS]


def test_several_keys_have_lines_of_their_own_when_transposed():
    keys = [Column("scheduler.name", key=True), Column("scheduler.slice", key=True)]
    rows = [["minix", "100ms", *["1.25 ± 0.75"] * 4], ["cfs with groups", "18ms", *["2 ± 1"] * 4]]
    lines = shown(Table.of_texts([*keys, *SWEEP.columns[1:]], rows), 66)
    assert lines[0].split() == ["scheduler.name", "minix", "cfs", "with", "groups"]
    assert lines[1].split() == ["scheduler.slice", "100ms", "18ms"]


def test_many_rows_that_do_not_fit_are_split_with_their_keys_in_each_part():
    many = Table(SWEEP.columns, [*SWEEP.rows] * 5)
    lines = shown(many, 50)
    heads = [line.split() for line in lines if "scheduler.slice" in line or "tasks." in line]
    assert heads == [
        ["tasks.io.real", "tasks.io."],
        ["scheduler.slice", "[ms]", "user", "[ms]"],
        ["tasks.hog.", "context_switches"],
        ["scheduler.slice", "share", "[ms]", "[ms]"],
    ]
    assert sum(line.split()[:1] == ["18ms"] for line in lines) == 5 * 2


def test_where_keys_leave_no_room_each_row_is_a_block():
    lines = shown(Table(SWEEP.columns, [*SWEEP.rows] * 5), 24)
    assert lines[:4] == ["  scheduler.slice", "    100ms", "  tasks.io.real [ms]", "    20.050 ± 0.017"]
    assert lines.count("") == 9


def test_jobs_are_rows_where_they_fit_and_columns_do_not():
    jobs = Table.of_texts([Column("job", key=True), Column("real", "ms", numeric=True)], [["io", "20"], ["hog", "3"]])
    assert shown(SWEEP, 40, [[jobs]])[0].split() == ["job", "real", "[ms]"]
    assert shown(SWEEP, 200, [[jobs]])[0].split()[0] == "scheduler.slice"


def test_control_characters_and_line_ends_in_cells_cannot_break_a_line():
    lines = shown(Table.of_texts([Column("a\nb", key=True), Column("x", numeric=True)], [["1\n2\x1b[2J", "3\t4"]]), 80)
    assert lines == ["  a b            x", " " + "─" * 18, r"  1 2\x1b[2J   3 4"]


def test_the_width_is_that_of_columns_then_of_the_terminal_then_100(monkeypatch):
    class Terminal(io.StringIO):
        def fileno(self):
            return 1

    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("os.get_terminal_size", lambda file: __import__("os").terminal_size((77, 24)))
    assert width.of_output(Terminal()) == 77
    assert width.of_output(io.StringIO()) == 100
    monkeypatch.setenv("COLUMNS", "55")
    assert width.of_output(Terminal()) == 55
    for wrong in ("0", "-3", "wide", "", "9" * 30):
        monkeypatch.setenv("COLUMNS", wrong)
        assert width.of_output(io.StringIO()) == 100, wrong


@settings(deadline=None)
@given(tables())
def test_csv_is_read_back_with_the_same_texts(table):
    head, *rows = csv.reader(io.StringIO(formats.csv(table)))
    assert head == [column.heading for column in table.columns]
    assert rows == [[cell.text for cell in row] for row in table.rows]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_csv_has_numbers_in_full_precision(values):
    table = Table([Column("x", plain=("x [s]", "n"))], [[Cell("rounded", (value, 3))] for value in values])
    head, *rows = csv.reader(io.StringIO(formats.csv(table)))
    assert head == ["x [s]", "n"]
    assert [float(row[0]) for row in rows] == values
    assert {row[1] for row in rows} == {"3"}


@settings(deadline=None)
@given(tables(), st.sampled_from(["|", "\\", "a|b", "`x`", "*y*", "<b>", "\\|"]))
def test_every_line_of_markdown_has_the_same_columns(table, hostile):
    table = Table(table.columns, [*table.rows, [Cell(hostile) for _ in table.columns]])
    lines = formats.markdown(table).strip().splitlines()
    for line in lines:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == len(table.columns) + 1


def test_markdown_shows_names_as_they_are():
    text = formats.markdown(Table.of_texts([Column("tasks.io.run_wait.mean", "ms", numeric=True)], [["1 ± 0"]], "Why?"))
    assert text == "**Why?**\n\n| tasks.io.run_wait.mean [ms] |\n| ---: |\n| 1 ± 0 |\n"


@pytest.mark.parametrize("text", ["", "one", "one two three four five"])
def test_words_are_wrapped_whole(text):
    assert " ".join(layout.wrapped(text, 9)) == text
    assert max(map(len, layout.wrapped(text, 9))) <= 9


@given(st.integers(0, 500))
def test_a_table_of_many_rows_is_shown_by_its_ends(rows):
    table = Table.of_texts([Column("row", key=True), Column("value", numeric=True)], [[n, n] for n in range(rows)])
    short, left = table.shortened()
    shown = [row[0].text for row in short.rows]
    if rows <= 200:
        assert (short, left) == (table, "")
    else:
        assert shown == [*map(str, range(20)), "…", *map(str, range(rows - 20, rows))]
        assert left == f"{rows - 40} of {rows} rows are not shown"


def test_of_a_large_table_only_the_rows_that_are_read_are_made():
    made = []
    table = Table([Column("n")], rows_of(range(20_000), lambda n: made.append(n) or [Cell(str(n))]))
    short, left = table.shortened()
    assert [cell.text for (cell,) in short.rows] == [*map(str, range(20)), "…", *map(str, range(19_980, 20_000))]
    assert (len(made), left) == (40, "19,960 of 20,000 rows are not shown")
    assert formats.csv(table).count("\n") == 20_001
