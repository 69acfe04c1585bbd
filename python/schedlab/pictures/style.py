"""The colours of every picture and page, in both themes; tests hold them apart for red-green blind readers."""

#: Series of a chart. Each has a shape of its own too (`chart.SHAPES`).
SERIES = ("s0", "s1", "s2", "s3", "s4", "s5")
#: What a task or a processor does in a drawn schedule; as in `crates/traces/src/gantt/svg.rs`.
STATES = ("user", "system", "ready", "wait", "idle", "io")
#: Verdicts, which stand in words too.
VERDICTS = ("good", "bad", "fair")
#: Steps of a heat map from the least to the most, and the ink that is read on each.
HEAT = ("h0", "h1", "h2", "h3", "h4", "h5", "h6")
INK = ("i0", "i1", "i2", "i3", "i4", "i5", "i6")

LIGHT = {
    "bg": "#fdfdfc",
    "ink": "#1d1f23",
    "dim": "#5b616a",
    "line": "#dcdee1",
    "card": "#f5f5f3",
    "good": "#0a6a8a",
    "bad": "#7a0a2a",
    "fair": "#886b00",
    "s0": "#1740b0",
    "s1": "#b87a00",
    "s2": "#7a2400",
    "s3": "#857af2",
    "s4": "#7a7678",
    "s5": "#2a1a24",
    "user": "#2458a8",
    "system": "#84260a",
    "ready": "#eeb422",
    "wait": "#9c98c0",
    "idle": "#dde6ea",
    "io": "#86806f",
    "h0": "#f6f7f2",
    "h1": "#e9eec9",
    "h2": "#f8dc8c",
    "h3": "#f6b556",
    "h4": "#e98a3c",
    "h5": "#b0450f",
    "h6": "#6d2405",
    "i0": "#1d1f23",
    "i1": "#1d1f23",
    "i2": "#1d1f23",
    "i3": "#1d1f23",
    "i4": "#1d1f23",
    "i5": "#ffffff",
    "i6": "#ffffff",
}
DARK = {
    "bg": "#16181b",
    "ink": "#e6e7e9",
    "dim": "#a2a9b3",
    "line": "#34383e",
    "card": "#1e2124",
    "good": "#62c4e8",
    "bad": "#f0603c",
    "fair": "#fff2a0",
    "s0": "#9a78fa",
    "s1": "#ffe14a",
    "s2": "#e0561a",
    "s3": "#bccfff",
    "s4": "#868584",
    "s5": "#f6ffee",
    "user": "#7db8ff",
    "system": "#c47f1c",
    "ready": "#fff0a0",
    "wait": "#6c7888",
    "idle": "#342c5c",
    "io": "#6e2c1c",
    "h0": "#1b1e21",
    "h1": "#2b2a1c",
    "h2": "#45371a",
    "h3": "#6d4a14",
    "h4": "#ba771c",
    "h5": "#e0953a",
    "h6": "#ffd590",
    "i0": "#e6e7e9",
    "i1": "#e6e7e9",
    "i2": "#f0eee8",
    "i3": "#ffffff",
    "i4": "#0c0d0e",
    "i5": "#0c0d0e",
    "i6": "#0c0d0e",
}


def variables(colours: dict[str, str]) -> str:
    """The colours as declarations of a style sheet."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


#: The rules of a chart; colours are those of the page or of the file around it.
CHART = (
    """.chart text { font: 11px system-ui, sans-serif; fill: var(--ink); }
.chart { color: var(--ink); } .chart .tick { fill: var(--dim); } .chart .grid { stroke: var(--line); }
.chart .join { stroke: currentColor; stroke-width: 1.5; fill: none; opacity: .6; }
.chart .bar { stroke: currentColor; stroke-width: 1.4; fill: none; } .chart .mark { fill: currentColor; }
.chart .published { fill: none; stroke: currentColor; stroke-width: 1.6; }
.chart .halo { stroke: currentColor; stroke-width: 11; stroke-linecap: round; stroke-linejoin: round; fill: none; }
.chart .halo { opacity: .3; }
.chart .shade { fill: var(--dim); opacity: .16; } .chart .heading { font-weight: 600; }
.chart .level { paint-order: stroke; stroke: var(--card); stroke-width: 3; }
.chart .best { fill: none; stroke: var(--ink); stroke-width: 2; } .chart .dot { stroke: none; }
"""
    + " ".join(f".chart .{name} {{ color: var(--{name}); }}" for name in SERIES)
    + "\n"
    + " ".join(f".chart .{name} {{ fill: var(--{name}); }}" for name in (*HEAT, *INK))
    + "\n"
)
