"""No published row that was kept back is read by a fit."""

import ast

import pytest

from schedlab.published import reproductions
from schedlab.published.reproduction import Report

REPORTS = sorted(reproductions.folder("minix-1990").parent.glob("*/fit.py"))


@pytest.mark.parametrize("name", reproductions.names())
def test_only_rows_marked_for_it_are_given_to_a_fit(name):
    printed = reproductions._rows(reproductions.published(name))
    rows = reproductions.fit_rows(name)
    assert all(row["use"] == "fit" for row in rows)
    assert len(rows) == sum(row.get("use") == "fit" for row in printed)
    assert all(spec.use == "fit" for spec in Report.load(name).fit_rows)


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.parent.name)
def test_no_fit_reads_another_row(path):
    assert _other_reads(path.read_text()) == []


@pytest.mark.parametrize(
    "line",
    [
        'reproductions.published("a")',
        'Report.load("a").rows',
        "reproductions._rows({})",
        '(FOLDER / "published.toml").read_text()',
        "from schedlab.published.reproductions import published",
        'reproduce("a")',
    ],
)
def test_a_fit_that_reads_another_row_is_found(line):
    assert _other_reads(f'"""Reads the fit rows of published.toml."""\n{line}\n')


def _other_reads(text: str) -> list[str]:
    """What of a module could read a published row that is kept back: its rows come from `fit_rows` alone."""
    tree = ast.parse(text)
    documented = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.FunctionDef)]
    docstrings = {id(node.body[0].value) for node in documented if ast.get_docstring(node)}
    return [ast.unparse(node) for node in ast.walk(tree) if id(node) not in docstrings and _reads_others(node)]


def _reads_others(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="spec"), attr="published"):
            return False
        case ast.Attribute(attr=name):
            return name in ("rows", "_rows", "published", "reproduce")
        case ast.Name(id=name) | ast.alias(name=name):
            return name in ("_rows", "published", "reproduce")
        case ast.Constant(value=str(value)):
            return "published.toml" in value
    return False
