"""Fits the mean memory of a buffer header to the one row of published.toml that is marked `use = "fit"`.

Run as `python -m schedlab.published.reproductions.irix_1999_nbuf.fit`. Of the powers of two that a header can carry, the one is
taken with which %rcache at the row's nbuf comes nearest to print, for four files of 75 MB. Before that, the server's rate is set
for each of them: so that its hits are 27 % of what is looked for where the files themselves find nothing, that is at the
smallest nbuf. Both values are then written by hand, into indy.toml and into the experiment files.
"""

import tempfile
import tomllib

from schedlab.experiment import Experiment
from schedlab.published import reproductions

FOLDER = reproductions.folder("irix-1999-nbuf")
BLOCKS_KIB = [16, 32, 64]
FLOOR = 27.0
SEEDS, ROUNDS = 8, 3


def predict(block_kib: int, pause_ms: float, headers: list[int], out: str) -> list[float]:
    """%rcache at these numbers of headers, with headers of that size and a server that pauses so long in the mean."""
    text = (FOLDER / "nbuf_4x75MB.toml").read_text(encoding="utf-8")
    blocks = 75 * 1024 // block_kib
    file = tomllib.loads(text.replace('"32KiB" }] } }', f'"{block_kib}KiB" }}] }} }}').replace("2400", str(blocks)))
    file["machine"] = {"preset": "indy", "files": {"block": f"{block_kib}KiB"}}
    file["workload"]["server"]["steps"][0]["sleep"]["exp"] = f"{pause_ms:.0f}ms"
    file["workload"]["server"]["steps"][2]["read"] = f"{block_kib}KiB"
    file["sweep"]["machine.files.cache_blocks"] = headers
    results = Experiment.from_dict({**file, "seeds": SEEDS, "metrics": ["rcache"]}).run(out)
    return [results.interval_at("rcache", {"machine.files.cache_blocks": str(n)}).mean for n in headers]


def main() -> None:
    """Print the server's pause and the prediction for every size of a header."""
    (row,) = reproductions.fit_rows("irix-1999-nbuf")
    with tempfile.TemporaryDirectory() as out:
        for block_kib in BLOCKS_KIB:
            pause_ms = 880.0
            for _ in range(ROUNDS):
                # Hits grow about in proportion to the requests, and what they are a share of with them.
                (floor,) = predict(block_kib, pause_ms, [75], out)
                pause_ms *= floor / FLOOR * (100 - FLOOR) / (100 - floor)
            floor, found = predict(block_kib, pause_ms, [75, row["nbuf"]], out)
            print(
                f"{block_kib} KiB, pause {pause_ms:.0f} ms: floor {floor:.1f} %, %rcache at {row['nbuf']} {found:.1f}, "
                f"published {row['percent']}"
            )


if __name__ == "__main__":
    main()
