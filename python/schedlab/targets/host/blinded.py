"""Blind experiments: settings are shown as letters until the verdict is written down (`schedlab unseal`)."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from schedlab.errors import UsageError
from schedlab.results import frames, store
from schedlab.results.manifest import read_manifest, write_manifest
from schedlab.specification import Cell, Specification
from schedlab.system import reading, writing
from schedlab.targets.host.seal import FOLDER, SETTING, Seal, decoded, key_in, write_seal
from schedlab.targets.host.target import Host
from schedlab.targets.target import LOG, Run, Session


class BlindedHost:
    """The host with its settings hidden under letters."""

    repeatable = False

    def __init__(self, host: Host, experiment: Specification, out: Path):
        """Finds the seal of this experiment under `out`, or makes one."""
        self.host = replace(host, conditions=replace(host.conditions, sealed=True))
        self.name, self.engine = host.name, host.engine
        cells = host.cells(experiment.cells())
        path = out / FOLDER / f"{experiment.name}-{store.folder_hash({cell.hash: self.engine for cell in cells})}"
        self.seal = Seal.of(cells, key_in(path))

    def cells(self, cells: list[Cell]) -> list[Cell]:
        """The cells under their letters, in the order of the letters: that of the file would reveal the settings."""
        return [self.seal.blind(cell) for cell in self.seal.cells.values()]

    def ignores(self, experiment: Specification) -> list[str]:
        """As any host; what is swept is never among it."""
        return self.host.ignores(experiment)

    def describe(self) -> dict:
        """That it is blind, and where its seal is not."""
        return self.host.describe() | {"blind": True}

    def seen(self) -> dict:
        """What was seen of the host; it reveals no setting."""
        return self.host.seen()

    def ahead(self, pending: list[Run]) -> list:
        """As of any host."""
        return self.host.ahead([(self.true(cell), seed) for cell, seed in pending])

    @contextmanager
    def session(self, pending: list[Run], folder: Path, stop: threading.Event) -> Iterator["_Sealed"]:
        """Run the true cells, and report them as the blind ones."""
        write_seal(folder, self.seal)
        with self.host.session([(self.true(cell), seed) for cell, seed in pending], folder, stop) as session:
            yield _Sealed(session, self)

    def true(self, cell: Cell) -> Cell:
        """What is to run under a letter; it still goes by that."""
        known = next(one for one in self.seal.cells.values() if self.seal.hash(one) == cell.hash)
        return known.but(hash=cell.hash, factors=cell.factors, on=cell.on)


@dataclass(frozen=True)
class _Sealed:
    """A host at work under letters."""

    session: Session
    blind: BlindedHost

    @property
    def machine(self) -> str:
        return self.session.machine

    @property
    def processors(self) -> int:
        return self.session.processors

    def run(self, cell: Cell, seed: int) -> pl.DataFrame:
        """The numbers of the true cell."""
        return _without_words(self.session.run(self.blind.true(cell), seed))


def _without_words(table: pl.DataFrame) -> pl.DataFrame:
    """Warnings name settings: they stay in the sealed log."""
    warned = table["warning"].drop_nulls().len()
    numbers = table.filter(pl.col("warning").is_null())
    if not warned:
        return numbers
    text = "there are warnings; they name settings and so are sealed until the verdict"
    return pl.concat([numbers, pl.DataFrame([(0, None, None, None, text)], schema=table.schema, orient="row")])


def unseal(folder: Path, verdict: str) -> dict[str, dict[str, str]]:
    """Write the verdict down, then put every setting back under its own name. Gives the factors by letter.

    Stopped half way, it can be done again. Raises `UsageError` where nothing is sealed.
    """
    manifest = read_manifest(folder)
    seal = folder / "seal"
    if not manifest or not seal.exists():
        raise UsageError(
            f"{folder} is not a folder of sealed results; make one with: schedlab run FILE --on host --blind"
        )
    if not verdict.strip():
        raise UsageError("--verdict: say first which letter is better, and how sure you are; then the seal is opened")
    cells = _cells(seal)
    manifest.setdefault("blind", {"verdict": verdict, "at": datetime.now(UTC).isoformat(timespec="seconds")})
    manifest["blind"]["letters"] = {letter: factors for letter, (_, factors, _, _) in cells.items()}
    write_manifest(folder, manifest)
    true = {blind: (letter, factors, hash) for letter, (_, factors, hash, blind) in cells.items()}
    for file in store.files(folder):
        writing.replace(file, frames.parquet(_named(frames.read([file]), true)))
    _open_log(folder / LOG)
    scenarios = {hash: scenario for scenario, _, hash, _ in cells.values()}
    manifest["machines"] = []
    for cell in manifest["cells"]:
        letter, factors, hash = true.get(cell["scenario"], (None, None, cell["scenario"]))
        if letter:
            cell |= {"scenario": hash, "factors": {SETTING: letter, **factors}}
        definition = dict(scenarios[hash])
        machine = definition.pop("machine")
        if machine not in manifest["machines"]:
            manifest["machines"].append(machine)
        cell |= {"definition": definition, "machine": manifest["machines"].index(machine)}
    for warning in manifest["warnings"]:
        warning["scenario"] = true.get(warning["scenario"], (None, None, warning["scenario"]))[2]
    write_manifest(folder, manifest)
    seal.unlink()
    return manifest["blind"]["letters"]


def _cells(seal: Path) -> dict[str, list]:
    """The contents of a seal: scenario, factors, and both hashes, by letter."""
    try:
        cells = decoded(reading.data(seal, reading.MANIFEST))
    except (ValueError, RecursionError) as why:
        raise UsageError(f"{seal} is damaged ({why}); without it the letters stand for nothing") from None
    kinds = (dict, dict, str, str)
    whole = isinstance(cells, dict) and all(
        isinstance(cell, list) and len(cell) == len(kinds) and all(map(isinstance, cell, kinds))
        for cell in cells.values()
    )
    if not whole or not all(isinstance(scenario.get("machine"), dict) for scenario, *_ in cells.values()):
        raise UsageError(f"{seal} is damaged (it is no seal's text); without it the letters stand for nothing")
    return cells


def _named(rows: pl.DataFrame, true: dict[str, tuple[str, dict[str, str], str]]) -> pl.DataFrame:
    """The rows with the factors and hashes of their true cells."""
    if not rows["scenario"].is_in(list(true)).any():
        return rows
    table = pl.DataFrame([{"scenario": blind, "true": hash, **factors} for blind, (_, factors, hash) in true.items()])
    rows = rows.join(table, on="scenario", how="left", maintain_order="left")
    return rows.with_columns(scenario=pl.col("true")).drop("true")


def _open_log(log: Path) -> None:
    lines = reading.data(log, reading.LOG).splitlines() if log.exists() else []
    try:
        plain = [line if line.startswith(b"{") else json.dumps(decoded(line)).encode() for line in lines]
    except (ValueError, RecursionError) as why:
        raise UsageError(f"{log} is damaged ({why}); move it away, and unseal again") from None
    writing.replace(log, b"".join(line + b"\n" for line in plain))
