"""The width that tables are laid out for, and that of texts."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Where neither COLUMNS nor a terminal states a width: in a pipe, in a file.
DEFAULT = 100
#: Signs of width one that tables have, besides those of Latin scripts.
SINGLE = frozenset("–—…±−─│≤≥×µ√")


def of_output(stream: Any) -> int:
    """COLUMNS if it is set, else the width of the terminal that `stream` writes to, else 100."""
    given = os.environ.get("COLUMNS", "")
    # The limit keeps a mistyped number from becoming a line of gigabytes.
    if given.isascii() and given.isdigit() and 0 < int(given) <= 1 << 16:
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns or DEFAULT
    except (OSError, ValueError, AttributeError):
        return DEFAULT


def cell_len(text: str) -> int:
    """How many columns of a terminal a text takes. The library that knows is asked about unusual ones only."""
    if (text.isascii() and text.isprintable()) or all(map(_is_single, text)):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _is_single(sign: str) -> bool:
    return " " <= sign <= "~" or "\xae" <= sign < "\u0300" or sign in SINGLE
