"""The rows of a run that was made on a real kernel."""

from collections.abc import Iterable, Mapping

import polars as pl

#: Their columns, as the runner takes them.
ROW = {"run": pl.UInt32, "metric": pl.String, "unit": pl.String, "value": pl.Float64, "warning": pl.String}


def rows(numbers: Iterable[Mapping], warnings: Iterable[str]) -> pl.DataFrame:
    """The rows of a run as the runner takes them: numbers first, then warnings."""
    values = [(0, row["metric"], row["unit"], row["value"], None) for row in numbers]
    return pl.DataFrame([*values, *((0, None, None, None, text) for text in warnings)], schema=ROW, orient="row")
