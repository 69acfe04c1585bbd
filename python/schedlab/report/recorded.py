"""The page about a recording of a kernel: a timeline that zooms, distributions, the worst waits with their places.

The page has every run of the recording (`crates/explain/src/packed.rs`), packed; its script (`timeline.js`) draws
them.
"""

import base64
import gzip
import tempfile
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from schedlab.pictures import wakers
from schedlab.report import page
from schedlab.tables import Table
from schedlab.traces import shown
from schedlab.traces.asked import Question, explain
from schedlab.units import digits

#: How well the runs are packed: more takes long and gains little.
LEVEL = 6


def explained(path: Path, question: Question, perfetto: Path | None, html: Path, top: int) -> dict[str, Any]:
    """Read a recording as `explain` does, and write the page about it."""
    with tempfile.TemporaryDirectory(prefix="schedlab-") as folder:
        runs = Path(folder) / "runs"
        found = explain(path, question, perfetto, runs)
        write(found, path, runs.read_bytes(), html, top)
    return found


def write(found: dict[str, Any], recording: Path, runs: bytes, path: Path, top: int) -> None:
    """Write the page. `runs` is the timeline as the engine gives it; tables have `top` rows."""
    tables = _tables(found, top)
    contents = [
        ("timeline-of-runs", "Timeline"),
        ("distributions", "Waits and runs of a task"),
        ("worst", "The worst waits"),
        *((name, part["title"]) for name, part in tables.items()),
    ]
    page.write(
        "recorded.html",
        path,
        title=f"What happened in {recording.name}",
        head=shown.head(recording, found),
        warnings=[*shown.losses(found), *found["warnings"]],
        contents=contents,
        worst={"table": page.of_table(shown.worst(found)), "places": list(_places(found))},
        tables=tables,
        notes=[line for line in shown.notes(found, top) if not line.startswith("warning: ")],
        runs=base64.b64encode(gzip.compress(runs, LEVEL, mtime=0)).decode(),
        script=(files("schedlab.report") / "templates" / "timeline.js").read_text("utf-8"),
        basis="Numbers are of this one recording: there is no interval. Times are counted from its first event.",
    )


def _places(found: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """Where each of the worst waits is, ns."""
    for one in found["worst_waits"]:
        yield {
            "pid": one["pid"],
            "from": round(one["from_s"] * 1e9),
            "to": round(one["to_s"] * 1e9),
            "words": f"{one['comm']}:{one['pid']} {digits(one['wait_us'])} us",
        }


def _tables(found: dict[str, Any], top: int) -> dict[str, dict[str, Any]]:
    rows = found["tasks"][:top]
    groups = [row | {"pid": None} for row in found["groups"].values()]
    picture = wakers.drawn(found["wakers"])
    parts: dict[str, tuple[str, Table]] = {
        "tasks": ("Tasks by run time", shown.tasks(rows, "")),
        **({"groups": ("Groups", shown.tasks(groups, ""))} if groups else {}),
        "latency": ("Wakeup latency", shown.waits([*groups, *rows])),
        "blocked": ("Blocked, and waiting after preemption", shown.sleeps([*groups, *rows])),
        "processors": ("Processors", shown.processors(found)),
        **({"drives": ("Drives", shown.drives(found))} if found["drives"] else {}),
        "wakers": ("Who wakes whom", shown.wakers(found, top)),
    }
    made = {name: {"title": title, "table": page.of_table(table)} for name, (title, table) in parts.items()}
    if picture:
        made["wakers"] |= {"picture": picture, "caption": "By names. " + wakers.CAPTION}
    return made
