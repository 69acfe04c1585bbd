"""The claims of the report, each checked: a function per id, with underscores for dashes."""

from collections.abc import Mapping

from schedlab.reproduction import Finding, Lab, Row

SLICES = ["100ms", "50ms", "36ms", "18ms"]


def bunnell_idle_flat(rows: Mapping[str, Row], lab: Lab) -> Finding:
    times = [rows[f"io.idle.real@{slice}"].predicted for slice in SLICES]
    return Finding.that(
        max(times) - min(times) <= 1.0, f"idle I/O job: {min(times):.1f} to {max(times):.1f} s over quanta 100 to 18 ms"
    )
