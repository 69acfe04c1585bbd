"""The seal of a blind experiment: which letter is which cell, and a log that no eye reads by accident.

    rank of a cell  =  place of SHA-256(key, hash of the cell) among those of all cells; its letter is that of the rank
    key             =  16 random bytes, in the seal; without them no letter can be resolved

The seal lies in `.seals` next to the results. It keeps honest people honest: it hides, it does not encrypt.
"""

import base64
import hashlib
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab.specification import Cell
from schedlab.system import reading, writing

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
        """The cell as shown: under its letter."""
        letter = next(letter for letter, other in self.cells.items() if other.hash == cell.hash)
        seen = {"machine": {"name": "sealed"}, "workload": {name: {} for name in cell.scenario["workload"]}}
        return Cell(seen, {SETTING: letter}, self.hash(cell))

    def hash(self, cell: Cell) -> str:
        """A hash that cannot be recognised without the key."""
        return hashlib.sha256(self.key + b"blind" + cell.hash.encode()).hexdigest()


def letters(rank: int) -> str:
    """A, B, ... Z, AA, AB, ..."""
    text = ""
    rank += 1
    while rank:
        rank, letter = divmod(rank - 1, 26)
        text = chr(ord("A") + letter) + text
    return text


def key_in(path: Path) -> bytes:
    """The key of an experiment; made at first use."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        writing.replace(path, base64.b64encode(os.urandom(16)))
    return base64.b64decode(reading.data(path, reading.SMALL))


def write_seal(folder: Path, seal: Seal) -> None:
    """Put the seal into the folder of the results, in a form that no eye reads by accident."""
    cells = {letter: [cell.scenario, cell.factors, cell.hash, seal.hash(cell)] for letter, cell in seal.cells.items()}
    writing.replace(folder / "seal", encoded(cells))


def encoded(what: Any) -> bytes:
    """Something in a form that no eye reads by accident."""
    return base64.b64encode(zlib.compress(json.dumps(what).encode()))


def decoded(text: bytes) -> Any:
    """What `encoded` hid. ValueError if it is damaged, or as large as nothing that was hidden."""
    try:
        unpacker = zlib.decompressobj()
        found = unpacker.decompress(base64.b64decode(text, validate=True), reading.MANIFEST)
    except zlib.error as why:
        raise ValueError(why) from None
    if not unpacker.eof:
        raise ValueError(f"it is cut off, or holds more than {reading.MANIFEST >> 20} MiB")
    return json.loads(found)
