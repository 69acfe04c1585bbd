r"""Text of others on its way to a screen: control characters are shown, not obeyed.

    ESC [ 2 J                        \x1b[2J
    U+202E (right-to-left override)  \u202e
    a byte that is no UTF-8          \xff       (in names of files)

Line ends and tabs stay. Everything that the command prints goes through here: `streams` for whatever is printed,
`json` for documents, where an escape must be one of JSON's own.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

#: As a regular expression.
_OBEYED = (
    "["
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # C0 but tab and line ends, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # what turns the direction of text
    "\u2028\u2029"  # line ends of Unicode
    "\ud800-\udfff"  # as which Python keeps the bytes of a file's name that are no UTF-8
    "]|\r(?!\n)"
)
#: Where Python keeps such bytes.
_BYTES = range(0xDC80, 0xDD00)


def escaped(text: str) -> str:
    """The text, with every control character as an escape of Python's."""
    return text if _is_plain(text) else _pattern().sub(_escape, text)


def _is_plain(text: str) -> bool:
    """Whether it has beyond doubt nothing to be escaped: whatever is obeyed cannot be printed."""
    return text.replace("\n", "").replace("\t", "").isprintable()


def _pattern() -> re.Pattern:
    import re

    return re.compile(_OBEYED)


def _escape(found: re.Match) -> str:
    code = ord(found[0])
    code = code - 0xDC00 if code in _BYTES else code
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def json(value: Any, indent: int | None = None) -> str:
    """The value as a JSON document that is safe to show and means the same."""
    from json import dumps

    return of_json(dumps(value, indent=indent, ensure_ascii=False, allow_nan=False))


def of_json(text: str) -> str:
    """The text of a JSON document of others, safe to show and meaning the same; line ends between documents stay."""
    return text if _is_plain(text) else _pattern().sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class _Shown:
    """A stream to which nothing is written but escaped text."""

    def __init__(self, stream: Any):
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(escaped(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class streams:
    """Have all that is printed escaped. What is drawn with colours goes to `raw`, its texts escaped one by one."""

    def __enter__(self) -> None:
        """From here."""
        self._before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = (_Shown(stream) if stream else stream for stream in self._before)

    def __exit__(self, *_: object) -> None:
        """Up to here."""
        for name, stream in zip(("stdout", "stderr"), self._before, strict=True):
            if isinstance(getattr(sys, name), _Shown):
                setattr(sys, name, stream)


def raw(stream: Any) -> Any:
    """The stream itself, for what draws with colours."""
    return stream.stream if isinstance(stream, _Shown) else stream
