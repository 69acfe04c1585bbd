"""Published results, rebuilt: one folder a report, and how to find it. `schedlab.published.reproduction` computes them.

A folder holds `published.toml` (what was printed), experiment files (how we ask again), `rows.toml` (which computed
number is compared with which printed one, and how far it may be off) and `claims.py` (a check for every claim in words).
"""

import re
import tomllib
from pathlib import Path

from schedlab.errors import UsageError, nearest

_HERE = Path(__file__).parent


def names() -> list[str]:
    """Every report, as the user writes it: `minix-1990`. In the order of their years."""
    found = [file.parent.name.replace("_", "-") for file in _HERE.glob("*/published.toml")]
    return sorted(found, key=lambda name: (re.search(r"\d{4}", name)[0], name))


def folder(name: str) -> Path:
    """The folder of a report, which may also be named as its folder is; the error names the nearest that exists."""
    if name.replace("_", "-") not in names():
        raise UsageError(f"no such reproduction: {name!r}; {nearest(name, names())}")
    return _HERE / name.replace("-", "_")


def published(name: str) -> dict:
    """What the report printed."""
    return tomllib.loads((folder(name) / "published.toml").read_text(encoding="utf-8"))


def fit_rows(name: str) -> list[dict]:
    """The printed rows that free values may be set by: those marked `use = "fit"`. All that a fit.py may read."""
    return [row for row in _rows(published(name)) if row.get("use") == "fit"]


def _rows(printed: dict) -> list[dict]:
    """Every `[[row]]`, and those of named lists as `[[q1.row]]`."""
    return printed.get("row", []) + [row for part in printed.values() if isinstance(part, dict) for row in _rows(part)]


def title(name: str) -> str:
    """One line: what the report is about."""
    return published(name)["title"]


def page(name: str) -> str:
    """The report as Markdown: source and claims."""
    report = published(name)
    claims = "\n".join(f"- **{claim['id']}**: {claim['text']}" for claim in report.get("claim", []))
    command = f"    schedlab reproduce {name} --html {name}.html"
    return f"# {name}: {report['title']}\n\n{report['source']}\n\n## Claims\n\n{claims}\n\n## Check them\n\n{command}\n"
