"""A picture that a notebook shows and that can be written to a file."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Picture:
    """An SVG document, for light and dark grounds."""

    svg: str

    def write(self, path: str | Path) -> None:
        """Write it as an SVG file."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        """Not the whole text."""
        return f"Picture(<svg of {len(self.svg)} characters>)"
