"""All files of the gallery: index, pages of policies, the sources that these link to, the lab, engine and script."""

import json
import posixpath
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from schedlab import _core
from schedlab.errors import UsageError
from schedlab.gallery import drawing, links, live, markup, policies
from schedlab.gallery.policies import SCHEDULE, TITLES, Policy
from schedlab.lab import given
from schedlab.lab import page as lab
from schedlab.lab.made import GALLERY, made
from schedlab.pictures.style import DARK, LIGHT, variables
from schedlab.system import reading
from schedlab.system.writing import replace

#: What a folder that holds a gallery has in its index: no other folder with files in it is written into.
MARK = b'<meta name="generator" content="schedlab gallery">'
INDEX, STYLE, ENGINE, SCRIPT = "index.html", "style.css", "engine.js", "gallery.js"
#: Where the live schedule of a page without a drawn one stands: before this section.
BEFORE = "Cost"
#: What in the sources is shown as a page.
SHOWN = (".rs", ".toml")


def write(docs: Path, into: Path) -> Mapping[str, bytes]:
    """Write the site into a folder that is empty, new, or holds one already; gives its files."""
    if into.exists() and not _is_ours(into):
        raise UsageError(f"{into}: has other files; name a folder that is empty, or that holds a gallery")
    site = built(docs)
    if wrong := links.broken(site):
        raise UsageError("\n".join(["links of the gallery lead nowhere:", *wrong]))
    # Pages of policies that are gone go, too.
    shutil.rmtree(into, ignore_errors=True)
    for path, content in site.items():
        (into / path).parent.mkdir(parents=True, exist_ok=True)
        replace(into / path, content)
    return site


def _is_ours(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    index = folder / INDEX
    return not any(folder.iterdir()) or (index.is_file() and MARK in reading.data(index, reading.MANIFEST))


def built(docs: Path) -> dict[str, bytes]:
    """The content of every file, by its path."""
    return Builder(docs).site()


class Builder:
    """Makes a site of the pages in a folder of documentation."""

    def __init__(self, docs: Path):
        """Read the pages."""
        self.root = docs.resolve().parent
        self.families = policies.read(docs)
        #: Files of the sources that pages link to, by their pages in the site.
        self.sources: dict[str, Path] = {}
        self.environment = Environment(
            loader=PackageLoader("schedlab.gallery"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
        )

    def site(self) -> dict[str, bytes]:
        """All of it."""
        parts = made(GALLERY)
        site = {INDEX: self._index()}
        for family in self.families.values():
            for place, policy in enumerate(family):
                site[policy.path] = self._page(policy, family[place - 1 : place], family[place + 1 : place + 2])
        site |= {path: self._source(path, file) for path, file in self.sources.items()}
        engine = {"worker": parts.worker, "packed": parts.engine}
        return site | {
            STYLE: self._rendered(STYLE, light=variables(LIGHT), dark=variables(DARK)),
            ENGINE: f"var schedlab = {json.dumps(engine)};\n".encode(),
            SCRIPT: parts.page.encode(),
            links.LAB: _lab(),
        }

    def _index(self) -> bytes:
        shelves = [
            (family, title, [(policy, drawing.picture(policy.block("text"))) for policy in self.families[family]])
            for family, title in TITLES.items()
        ]
        every = [policy for _, _, shelf in shelves for policy, _ in shelf]
        years = [policy.year for policy in every]
        return self._rendered(
            INDEX,
            up="",
            shelves=shelves,
            count=len(every),
            first=min(years),
            last=max(years),
            mark=Markup(MARK.decode()),
        )

    def _page(self, policy: Policy, before: Sequence[Policy], after: Sequence[Policy]) -> bytes:
        shown = live.of(policy)
        parts = markup.sections(policy.text, self._link(policy), _drawn(policy))
        headings = [part.heading for part in parts]
        return self._rendered(
            "policy.html",
            up="../",
            policy=policy,
            title=TITLES[policy.family],
            parts=parts,
            # The last of these that a page has: its drawn schedule, or what stands before the costs.
            runs_after=SCHEDULE if SCHEDULE in headings else headings[headings.index(BEFORE) - 1],
            live=shown,
            load=live.LOADS[policy.family],
            given=Markup(json.dumps(shown.document()).replace("<", "\\u003c")),
            lab=f"../{links.LAB}" + ("" if shown.refused else live.address(shown.text, shown.set)),
            before=next(iter(before), None),
            after=next(iter(after), None),
        )

    def _link(self, policy: Policy) -> Callable[[str], str | None]:
        """Where links of a page lead: other policies, sources, and other sites."""
        folder = f"docs/policies/{policy.family}"

        def to(target: str) -> str | None:
            if target.startswith(("https:", "#")):
                return target
            name, _, place = target.partition("#")
            path = posixpath.normpath(posixpath.join(folder, name))
            found = self._pages.get(path) or self._sourced(path)
            return found and f"../{found}" + (f"#{place}" if place else "")

        return to

    @property
    def _pages(self) -> dict[str, str]:
        """The pages of policies in the site, by their files."""
        pages = {"docs/policies/README.md": INDEX}
        for family in self.families.values():
            pages |= {f"docs/policies/{policy.family}/{policy.name}.md": policy.path for policy in family}
        return pages

    def _sourced(self, path: str) -> str | None:
        """The page of a file of the sources; none is made of what lies outside of them."""
        file = self.root / path
        if path.startswith("..") or not path.endswith(SHOWN) or not file.is_file():
            return None
        page = f"source/{path}.html"
        self.sources[page] = file
        return page

    def _source(self, page: str, file: Path) -> bytes:
        lines = reading.text(file, reading.SMALL).splitlines()
        return self._rendered(
            "source.html", up="../" * page.count("/"), path=str(file.relative_to(self.root)), lines=lines
        )

    def _rendered(self, template: str, **values: Any) -> bytes:
        return self.environment.get_template(template).render(**values, engine=_core.version()).encode()


def _drawn(policy: Policy) -> str:
    """The picture below a drawn schedule. That of a scheduler is live."""
    picture = drawing.picture(policy.block("text")) if policy.family != "schedulers" else None
    if not picture:
        return ""
    return f'<div class="drawn {policy.family}">{picture.svg}</div>\n<p class="dim">{picture.caption}</p>\n'


def _lab() -> bytes:
    """The page that opens with any setting."""
    with tempfile.TemporaryDirectory(prefix="schedlab-") as folder:
        path = Path(folder) / links.LAB
        lab.write(given.built_in(), path)
        return path.read_bytes()
