"""The width that tables are laid out for."""

import os
from typing import Any

#: Where neither COLUMNS nor a terminal states a width: in a pipe, in a file.
DEFAULT = 100


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
