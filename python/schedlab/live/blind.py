"""Blind experiments: whoever watches and judges knows the settings by letters only, until the verdict is written down.

    rank of a cell  =  place of SHA-256(key, hash of the cell) among those of all cells; its letter is that of the rank
    key             =  16 random bytes, in the seal; without them no letter can be told

The seal lies in `.seals` beside the results. It keeps honest people honest: it hides, it does not encrypt.
"""

import base64
import hashlib
import json
import os
import threading
import zlib
from collections.abc import Generator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from schedlab import store
from schedlab.errors import UsageError
from schedlab.experiment import Cell, Experiment
from schedlab.live.runs import LOG, LiveHost
from schedlab.runner import Chunk, Run, folder_hash

#: The one factor of a blind experiment.
SETTING = "setting"
FOLDER = ".seals"


@dataclass(frozen=True)
class Seal:
    """What a blind experiment hides: the cells by letter."""

    cells: dict[str, Cell]
    key: bytes

    @classmethod
    def of(cls, cells: list[Cell], key: bytes) -> "Seal":
        """Gives each cell its letter."""
        ranked = sorted(cells, key=lambda cell: hashlib.sha256(key + cell.hash.encode()).digest())
        return cls({letters(rank): cell for rank, cell in enumerate(ranked)}, key)

    def blind(self, cell: Cell) -> Cell:
        """The cell as everybody may see it."""
        letter = next(letter for letter, other in self.cells.items() if other.hash == cell.hash)
        seen = {"machine": {"name": "sealed"}, "workload": {name: {} for name in cell.scenario["workload"]}}
        return Cell(seen, {SETTING: letter}, self.hash(cell))

    def hash(self, cell: Cell) -> str:
        """A hash that nobody can recognise."""
        return hashlib.sha256(self.key + b"blind" + cell.hash.encode()).hexdigest()


def letters(rank: int) -> str:
    """A, B, ... Z, AA, AB, ..."""
    text = ""
    rank += 1
    while rank:
        rank, letter = divmod(rank - 1, 26)
        text = chr(ord("A") + letter) + text
    return text


class Blind:
    """A live host whose settings nobody is told."""

    def __init__(self, host: LiveHost, experiment: Experiment, out: Path):
        """Finds the seal of this experiment under `out`, or makes one."""
        self.host = replace(host, conditions=replace(host.conditions, sealed=True))
        self.name, self.engine = host.name, host.engine
        cells = host.cells(experiment.cells())
        path = out / FOLDER / f"{experiment.name}-{folder_hash({cell.hash: self.engine for cell in cells})}"
        self.seal = Seal.of(cells, _key(path))

    def cells(self, cells: list[Cell]) -> list[Cell]:
        """The cells under their letters, in the order of these: that of the file would tell."""
        return [self.seal.blind(cell) for cell in self.seal.cells.values()]

    def describe(self) -> dict:
        """That it is blind, and where its seal is not."""
        return self.host.describe() | {"blind": True}

    def seen(self) -> dict:
        """It tells nothing of the settings."""
        return self.host.seen()

    def ahead(self, pending: list[Run]) -> list:
        """Nothing, as of any host."""
        return []

    def runs(self, pending: list[Run], folder: Path, stop: threading.Event) -> Generator[Chunk, None, None]:
        """Have the true cells run, and tell of the blind ones."""
        seen = {run[0].hash: run[0] for run in pending}
        known = {self.seal.hash(cell): cell for cell in self.seal.cells.values()}
        true = [
            (replace(known[cell.hash], hash=cell.hash, factors=cell.factors, on=cell.on), seed)
            for cell, seed in pending
        ]
        write_seal(folder, self.seal)
        for chunk, table in self.host.runs(true, folder, stop):
            yield [(seen[cell.hash], seed) for cell, seed in chunk], _without_words(table)


def _without_words(table: pl.DataFrame) -> pl.DataFrame:
    """Warnings name settings: they stay in the sealed log."""
    warned = table["warning"].drop_nulls().len()
    numbers = table.filter(pl.col("warning").is_null())
    if not warned:
        return numbers
    text = "there are warnings; they name settings and so are sealed until the verdict"
    return pl.concat([numbers, pl.DataFrame([(0, None, None, None, text)], schema=table.schema, orient="row")])


def _key(path: Path) -> bytes:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        store.replace(path, base64.b64encode(os.urandom(16)))
    return base64.b64decode(path.read_bytes())


def write_seal(folder: Path, seal: Seal) -> None:
    """Put the seal into the folder of the results, in a form that no eye reads by accident."""
    cells = {letter: [cell.scenario, cell.factors, cell.hash, seal.hash(cell)] for letter, cell in seal.cells.items()}
    store.replace(folder / "seal", closed(cells))


def closed(what: Any) -> bytes:
    """Something in a form that no eye reads by accident."""
    return base64.b64encode(zlib.compress(json.dumps(what).encode()))


def opened(text: bytes) -> Any:
    """What `closed` hid."""
    return json.loads(zlib.decompress(base64.b64decode(text)))


def unseal(folder: Path, verdict: str) -> dict[str, dict[str, str]]:
    """Write the verdict down, then put every setting back under its own name. Gives the factors by letter.

    Stopped half way, it can be done again. Raises `UsageError` where nothing is sealed.
    """
    manifest = store.read_manifest(folder)
    seal = folder / "seal"
    if not manifest or not seal.exists():
        raise UsageError(
            f"{folder} is not a folder of sealed results; make one with: schedlab run FILE --on host --blind"
        )
    if not verdict.strip():
        raise UsageError("--verdict: say first which letter is better, and how sure you are; then the seal is opened")
    cells = opened(seal.read_bytes())
    manifest.setdefault("blind", {"verdict": verdict, "at": datetime.now(UTC).isoformat(timespec="seconds")})
    manifest["blind"]["letters"] = {letter: factors for letter, (_, factors, _, _) in cells.items()}
    store.write_manifest(folder, manifest)
    true = {blind: (letter, factors, hash) for letter, (_, factors, hash, blind) in cells.items()}
    for file in sorted(folder.glob("runs-*.parquet")):
        store.replace(file, store.parquet(_named(store.read([file]), true)))
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
    store.write_manifest(folder, manifest)
    seal.unlink()
    return manifest["blind"]["letters"]


def _named(rows: pl.DataFrame, true: dict[str, tuple[str, dict[str, str], str]]) -> pl.DataFrame:
    """The rows with the factors and hashes of their true cells."""
    if not rows["scenario"].is_in(list(true)).any():
        return rows
    table = pl.DataFrame([{"scenario": blind, "true": hash, **factors} for blind, (_, factors, hash) in true.items()])
    rows = rows.join(table, on="scenario", how="left", maintain_order="left")
    return rows.with_columns(scenario=pl.col("true")).drop("true")


def _open_log(log: Path) -> None:
    lines = log.read_bytes().splitlines() if log.exists() else []
    plain = [line if line.startswith(b"{") else json.dumps(opened(line)).encode() for line in lines]
    store.replace(log, b"".join(line + b"\n" for line in plain))
