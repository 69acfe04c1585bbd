"""The colours of every picture and page, in both themes; tests hold them apart for red-green blind readers."""

#: Series of a chart. Each has a shape of its own too (`chart.SHAPES`).
SERIES = ("s0", "s1", "s2", "s3", "s4", "s5")
#: What a task or a processor does in a drawn schedule; as in `crates/traces/src/gantt/svg.rs`.
STATES = ("user", "system", "ready", "wait", "idle", "io")
#: Verdicts, which stand in words too.
VERDICTS = ("good", "bad", "fair")

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
"""
    + " ".join(f".chart .{name} {{ color: var(--{name}); }}" for name in SERIES)
    + "\n"
)
