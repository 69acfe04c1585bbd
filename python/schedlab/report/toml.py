"""An experiment's definition as the text of an experiment file, which gives the same definition again."""

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def text(definition: Mapping[str, Any]) -> str:
    """The file: plain fields first, then a section for each table."""
    known = {name: value for name, value in definition.items() if value is not None}
    plain = [f"{_key(name)} = {_value(value)}" for name, value in known.items() if not isinstance(value, Mapping)]
    sections = []
    for name, table in known.items():
        if isinstance(table, Mapping):
            fields = [f"{_key(field)} = {_value(value)}" for field, value in table.items() if value is not None]
            sections.append("\n".join([f"[{_key(name)}]", *fields]))
    return "\n\n".join(["\n".join(plain), *sections]).strip() + "\n"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _string(name)


def _value(value: Any) -> str:
    """A value on one line: tables within tables are inline."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(name)} = {_value(one)}" for name, one in value.items() if one is not None)
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return _string(value) if isinstance(value, str) else json.dumps(value)


def _string(words: str) -> str:
    """A basic string: as JSON writes it, but that TOML has no DEL in it either."""
    return json.dumps(words, ensure_ascii=False).replace("\x7f", "\\u007F")
