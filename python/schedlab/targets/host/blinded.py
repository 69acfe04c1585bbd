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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from schedlab.errors import UsageError
from schedlab.experiment import Cell, Experiment
from schedlab.results import store
from schedlab.results.manifest import read_manifest
from schedlab.run.order import Run, Session
from schedlab.run.runner import folder_hash
from schedlab.system import reading
from schedlab.targets.host.target import LOG, LiveHost

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

    repeatable = False

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

    def ignores(self, experiment: Experiment) -> list[str]:
        """As any host; what is swept is never among it."""
        return self.host.ignores(experiment)

    def describe(self) -> dict:
        """That it is blind, and where its seal is not."""
        return self.host.describe() | {"blind": True}

    def seen(self) -> dict:
        """It tells nothing of the settings."""
        return self.host.seen()

    def ahead(self, pending: list[Run]) -> list:
        """As of any host."""
        return self.host.ahead([(self.true(cell), seed) for cell, seed in pending])

    @contextmanager
    def session(self, pending: list[Run], folder: Path, stop: threading.Event) -> Iterator["_Sealed"]:
        """Have the true cells run, and tell of the blind ones."""
        write_seal(folder, self.seal)
        with self.host.session([(self.true(cell), seed) for cell, seed in pending], folder, stop) as session:
            yield _Sealed(session, self)

    def true(self, cell: Cell) -> Cell:
        """What is to run under a letter; it still goes by that."""
        known = next(one for one in self.seal.cells.values() if self.seal.hash(one) == cell.hash)
        return replace(known, hash=cell.hash, factors=cell.factors, on=cell.on)


@dataclass(frozen=True)
class _Sealed:
    """A host at work under letters."""

    session: Session
    blind: Blind

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


def _key(path: Path) -> bytes:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        store.replace(path, base64.b64encode(os.urandom(16)))
    return base64.b64decode(reading.data(path, reading.SMALL))


def write_seal(folder: Path, seal: Seal) -> None:
    """Put the seal into the folder of the results, in a form that no eye reads by accident."""
    cells = {letter: [cell.scenario, cell.factors, cell.hash, seal.hash(cell)] for letter, cell in seal.cells.items()}
    store.replace(folder / "seal", closed(cells))


def closed(what: Any) -> bytes:
    """Something in a form that no eye reads by accident."""
    return base64.b64encode(zlib.compress(json.dumps(what).encode()))


def opened(text: bytes) -> Any:
    """What `closed` hid. ValueError if it is damaged, or as large as nothing that was hidden."""
    try:
        unpacker = zlib.decompressobj()
        found = unpacker.decompress(base64.b64decode(text, validate=True), reading.MANIFEST)
    except zlib.error as why:
        raise ValueError(why) from None
    if not unpacker.eof:
        raise ValueError(f"it is cut off, or holds more than {reading.MANIFEST >> 20} MiB")
    return json.loads(found)


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


def _cells(seal: Path) -> dict[str, list]:
    """What stands in a seal: scenario, factors, and both hashes, by letter."""
    try:
        cells = opened(reading.data(seal, reading.MANIFEST))
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
        plain = [line if line.startswith(b"{") else json.dumps(opened(line)).encode() for line in lines]
    except (ValueError, RecursionError) as why:
        raise UsageError(f"{log} is damaged ({why}); move it away, and unseal again") from None
    store.replace(log, b"".join(line + b"\n" for line in plain))
