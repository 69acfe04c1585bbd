"""`schedlab man`: the manual pages, from what `--help` is made of."""

from pathlib import Path
from typing import Annotated

import typer

NAME = "man"
EXAMPLE = "schedlab man run | man -l -"


def verb(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="VERB", help="The verb; the command itself by default.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write all pages into this folder, as NAME.1.")] = None,
) -> None:
    """Print the manual page of a verb, or write all pages into a folder."""
    from schedlab._core import version
    from schedlab.cli import manual
    from schedlab.errors import UsageError
    from schedlab.system.writing import replace

    if out and words:
        raise UsageError("--out writes the pages of all verbs: leave out the name of a verb")
    number = version().partition("+")[0]
    if not out:
        print(manual.as_roff(_page(" ".join(words or [])), number), end="")
        return
    out.mkdir(parents=True, exist_ok=True)
    for name in ["", *_all()]:
        page = _page(name)
        replace(out / f"{page.path.replace(' ', '-')}.1", manual.as_roff(page, number).encode())


def _all() -> list[str]:
    """Every verb, those of groups included."""
    from schedlab.cli import calling, verbs

    inner = [f"{group} {name}" for group in verbs.GROUPS for name in calling.command(group).commands]
    return [*verbs.SUMMARIES, *inner]


def _page(name: str):
    from schedlab.cli import calling, manual
    from schedlab.errors import UsageError, nearest

    if not name:
        return manual.of_all()
    if name not in _all():
        raise UsageError(f"no such verb: {name!r}; {nearest(name, _all())}")
    return calling.page(name)
