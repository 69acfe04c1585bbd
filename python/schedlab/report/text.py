"""A result as Markdown for a pull request: the verdict, the best of each metric, and the rest folded away."""

from collections.abc import Sequence

from schedlab.report import method
from schedlab.report.warnings import gathered
from schedlab.results import Results, predicted, verdict
from schedlab.results.best import Judged
from schedlab.tables import Table, formats
from schedlab.tables.formats import meant_as_text
from schedlab.units import counted

#: More rows of the best are folded away, too.
MOST_ROWS = 12


def markdown(results: Results, judged: Judged) -> str:
    """The whole text."""
    foreseen = results.predictions(judged.question.within)
    said = [*predicted.lines(foreseen), *verdict.lines(judged)]
    lines = [f"- {meant_as_text(line)}" for line in said]
    parts = [f"**{meant_as_text(results.manifest['question'] or results.name)}**", "\n".join(lines)]
    bests = verdict.table(judged)
    if bests.rows:
        text, left = _table(bests)
        parts.append(text if len(bests.rows) <= MOST_ROWS else _folded("The best in each metric and load", text, left))
    if foreseen:
        parts.append(_folded("Predicted against measured", *_table(predicted.table(foreseen))))
    table = results.summary_tables()[0]
    parts.append(_folded(counted(len(table.rows), "cell"), *_table(table)))
    if said := [
        *results.notes,
        *(f"{text} ({counted(runs, 'run')})" for text, runs in gathered(results.warnings).items()),
    ]:
        parts.append(_folded(counted(len(said), "warning"), "\n".join(f"- {meant_as_text(one)}" for one in said)))
    how = [f"- {meant_as_text(part)}: {meant_as_text(words)}" for part, words in method.rows(results, judged)]
    name, text = method.file(results)
    again = f"`{name}`, run by `{method.command(results)}`:\n\n{_fenced(text)}"
    parts.append(_folded("Method", "\n".join(how), again))
    return "\n\n".join(parts) + "\n"


def _table(table: Table) -> tuple[str, str]:
    """A table and what it leaves out."""
    shown, left = table.shortened()
    return formats.markdown(shown).strip(), left


def _folded(title: str, *parts: str) -> str:
    """What a reader opens. Markdown within HTML needs empty lines around it."""
    inner: Sequence[str] = [part for part in parts if part]
    return "\n\n".join([f"<details><summary>{title}</summary>", *inner, "</details>"])


def _fenced(text: str) -> str:
    """A block that no line of the text ends."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}toml\n{text}{fence}"
