"""The policies of the gallery: their entries in the engine's tables, and their pages as `make docs` writes them."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from schedlab import _core
from schedlab.errors import UsageError
from schedlab.system import reading

#: The families, and what each decides.
TITLES = {
    "schedulers": "Schedulers: who gets a processor",
    "elevators": "Elevators: which request a drive serves next",
    "caches": "Caches: which block is evicted",
    "reclaims": "Reclaim: which page is taken when memory is short",
}
#: The table of an experiment file that names a policy of the family.
FIELDS = {"schedulers": "scheduler", "elevators": "elevator", "caches": "cache", "reclaims": "reclaim"}
#: The heading of a page's drawn schedule.
SCHEDULE = "A schedule"


@dataclass(frozen=True)
class Policy:
    """A policy and its page, in Markdown."""

    family: str
    name: str
    summary: str
    year: int
    text: str

    @property
    def path(self) -> str:
        """Its page in the site."""
        return f"{self.family}/{self.name}.html"

    def block(self, kind: str) -> str:
        """The first block of that kind ("text", "toml") below the heading of the schedule; empty if there is none."""
        section = re.search(rf"^## {SCHEDULE}\n(.*?)(?=^## |\Z)", self.text, re.MULTILINE | re.DOTALL)
        found = section and re.search(rf"^```{kind}\n(.*?)^```$", section[1], re.MULTILINE | re.DOTALL)
        return found[1] if found else ""


def read(docs: Path) -> dict[str, list[Policy]]:
    """All policies by family, the oldest first. UsageError if the page of one is missing."""
    catalogue = json.loads(_core.catalogue())
    return {family: sorted(_family(docs, family, catalogue[family]), key=_age) for family in TITLES}


def _age(policy: Policy) -> tuple[int, str]:
    return policy.year, policy.name


def _family(docs: Path, family: str, entries: list[dict]) -> Iterator[Policy]:
    for entry in entries:
        name, file = entry["name"], docs / "policies" / family / f"{entry['name']}.md"
        if not file.is_file():
            raise UsageError(f"{file}: no page of {name}; make docs writes it")
        yield Policy(family, name, entry["summary"], entry["year"], reading.text(file, reading.SMALL))
