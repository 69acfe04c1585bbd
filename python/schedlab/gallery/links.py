"""Whether the files of a site lead somewhere: every href, every src and every place within a page.

Nothing may be fetched from elsewhere: a page may link to another site, but not load anything of it.
"""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import unquote

from schedlab.gallery import live

#: The page that takes any setting in its address.
LAB = "lab.html"


@dataclass
class _Page(HTMLParser):
    """The links of a page, and the places that it has."""

    links: list[tuple[str, str]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)

    def __post_init__(self):
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src"):
                self.links.append((tag, value or ""))
            elif name == "id" and value:
                self.places.append(value)


def broken(site: Mapping[str, bytes]) -> list[str]:
    """A line for each link that leads nowhere, and each place that a page has twice."""
    pages = {path: _read(content.decode()) for path, content in site.items() if path.endswith(".html")}
    found = []
    for path, page in pages.items():
        twice = {place for place in page.places if page.places.count(place) > 1}
        found += [f"{path}: has the place #{place} twice" for place in sorted(twice)]
        for tag, link in page.links:
            wrong = _wrong(path, tag, link, site, pages)
            found += [f'{path}: "{link[:80]}" {wrong}'] if wrong else []
    return found


def _read(text: str) -> _Page:
    page = _Page()
    page.feed(text)
    page.close()
    return page


def _wrong(path: str, tag: str, link: str, site: Mapping[str, bytes], pages: Mapping[str, _Page]) -> str:
    """What is wrong with a link; empty if nothing."""
    if re.match(r"[A-Za-z][A-Za-z+.-]*:|//", link):
        return "" if tag == "a" and link.startswith("https:") else "would be loaded from elsewhere"
    name, _, place = link.partition("#")
    to = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(name))) if name else path
    if to not in site:
        return "leads to no file"
    if not place or place in pages[to].places:
        return ""
    return _setting(place) if to == LAB else "leads to no place of that page"


def _setting(place: str) -> str:
    try:
        live.specified(*live.setting(place))
    except ValueError as why:
        return f"is no setting of the lab: {why}"
    return ""
