"""Results as polars frames, for scripts and notebooks: the command itself reads by column."""

import io
from collections.abc import Collection, Iterable
from pathlib import Path

import polars as pl

from schedlab.errors import UsageError
from schedlab.results import store
from schedlab.system import reading

#: Columns of every results file, before the columns of the factors (which are text, as the user wrote them).
COLUMNS = {
    "experiment": pl.String,
    "scenario": pl.String,
    "engine": pl.String,
    "seed": pl.UInt64,
    "metric": pl.String,
    "unit": pl.String,
    "value": pl.Float64,
}
#: Whether a run depends on its seed, in the last column. Files of before do not say.
SEEDED = "seeded"


def read(
    files: Iterable[Path], scenarios: Collection[str] | None = None, seeds: Collection[int] | None = None
) -> pl.DataFrame:
    """The rows of results files; files of different experiments may have different factors."""
    frames = [pl.DataFrame(schema=COLUMNS)]
    for file in files:
        try:
            reading.refuse_unusual(file)
            frame = pl.read_parquet(file, glob=False)
            if missing := [name for name, kind in COLUMNS.items() if frame.schema.get(name) != kind]:
                raise ValueError(f"its columns are not those of results: {', '.join(missing)}")
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as why:
            raise UsageError(store.damaged(file, why)) from None
        seeded = pl.col(SEEDED).fill_null(True) if SEEDED in frame.columns else pl.lit(True)
        frame = frame.with_columns(seeded.alias(SEEDED))
        if scenarios is not None and seeds is not None:
            asked = pl.col("seed").is_in(list(seeds)) | ~pl.col(SEEDED)
            frame = frame.filter(pl.col("scenario").is_in(list(scenarios)), asked)
        frames.append(frame)
    whole = pl.concat(frames, how="diagonal_relaxed")
    return whole.select(pl.exclude(SEEDED), pl.col(SEEDED) if len(frames) > 1 else pl.lit(True).alias(SEEDED))


def parquet(frame: pl.DataFrame) -> bytes:
    """The rows as a file."""
    text = io.BytesIO()
    frame.rechunk().write_parquet(text)
    return text.getvalue()


def stream(frame: pl.DataFrame) -> bytes:
    """The rows of a run as the store takes them."""
    text = io.BytesIO()
    frame.rechunk().write_ipc_stream(text, compat_level=pl.CompatLevel.oldest())
    return text.getvalue()
