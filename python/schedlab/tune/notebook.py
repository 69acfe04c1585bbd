"""A tuning as a cell of a notebook: the verdict, the front and the acceptable ranges."""

from dataclasses import dataclass, fields
from html import escape
from typing import Self

from schedlab.pictures import front as fronts
from schedlab.results.tables import html_table
from schedlab.system.escaped import escaped
from schedlab.tune import drawn, summary
from schedlab.tune.tuning import Tuning


@dataclass(frozen=True)
class Tuned(Tuning):
    """What a tuning found, as `Experiment.tune` gives it."""

    @classmethod
    def of(cls, found: Tuning) -> Self:
        """The same, to be shown."""
        return cls(**{one.name: getattr(found, one.name) for one in fields(found)})

    def _repr_html_(self) -> str:
        first, *others = [escape(escaped(line)) for line in summary.words(self)]
        parts = [f"<p><b>{first}</b></p>", *(f"<p>{line}</p>" for line in others)]
        counters = drawn.counters(self)
        if self.front and len(counters) > 1:
            parts.append(fronts.single(counters, drawn.dots(self)).document())
        if drawn.measured(self):
            parts.append(drawn.picture(self).svg)
        if self.front:
            table = summary.front_table(self)
            parts.append(html_table(table, table.title, summary.notes(self)))
        return "\n".join(parts)

    def __repr__(self) -> str:
        """The verdict, and not every run."""
        return f"Tuned({summary.words(self)[0]!r})"
