"""A page's Markdown as HTML, section by section. Links to what the site does not have become plain text."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from schedlab.gallery.policies import SCHEDULE

#: Where a link of a page leads in the site, as an address; None if nowhere.
Link = Callable[[str], str | None]


@dataclass(frozen=True)
class Section:
    """A heading of the second level with its place in the address, and what is below it. The first has no heading."""

    heading: str
    id: str
    html: str


def sections(text: str, link: Link, drawn: str = "") -> list[Section]:
    """The parts of a page below its title. `drawn` is HTML that stands below the drawn schedule."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    # What is no text of the page: a comment says how it was made, and the title stands above.
    tokens = reader.parse(re.sub(r"\A(<!--.*?-->\s*)?# [^\n]*\n", "", text, flags=re.DOTALL))
    found = []
    for heading, own in _parts(tokens):
        if heading == SCHEDULE and drawn:
            _put(own, drawn)
        _lay_tables(own)
        _lead(own, link)
        found.append(Section(heading, anchor(heading), reader.renderer.render(own, reader.options, {})))
    return found


def anchor(heading: str) -> str:
    """The place of a heading in the address, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _parts(tokens: Sequence[Token]) -> Iterator[tuple[str, list[Token]]]:
    begins = [place for place, token in enumerate(tokens) if token.type == "heading_open" and token.tag == "h2"]
    yield "", list(tokens[: begins[0] if begins else len(tokens)])
    for begin, end in pairwise([*begins, len(tokens)]):
        yield tokens[begin + 1].content, list(tokens[begin + 3 : end])


def _put(tokens: list[Token], drawn: str) -> None:
    """Put HTML behind the first block of text."""
    place = next(place for place, token in enumerate(tokens) if token.type == "fence" and token.info == "text")
    tokens.insert(place + 1, Token("html_block", "", 0, content=drawn))


def _lay_tables(tokens: Sequence[Token]) -> None:
    """Each cell brings its heading along, for narrow windows, where a row is a block."""
    headings: list[str] = []
    column = 0
    for place, token in enumerate(tokens):
        if token.type == "table_open":
            headings = []
        elif token.type == "tr_open":
            column = 0
        elif token.type == "th_open":
            token.attrSet("scope", "col")
            headings.append(tokens[place + 1].content)
        elif token.type == "td_open":
            token.attrSet("data-h", headings[column])
            column += 1
        elif token.type in ("fence", "code_block"):
            # A wide text scrolls in its place, by the keyboard, too.
            token.attrSet("tabindex", "0")


def _lead(tokens: Sequence[Token], link: Link) -> None:
    for token in tokens:
        if token.children:
            token.children = list(_led(token.children, link))


def _led(children: Sequence[Token], link: Link) -> Iterator[Token]:
    dropped = False
    for token in children:
        if token.type == "link_open":
            to = link(str(token.attrGet("href")))
            dropped = to is None
            if to is not None:
                token.attrSet("href", to)
        if not (dropped and token.type in ("link_open", "link_close")):
            yield token
