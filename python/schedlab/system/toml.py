"""Values as TOML: the text of an experiment file from its definition, which gives the same definition again."""

import json
from typing import Any


def text(definition: dict[str, Any]) -> str:
    """The file: plain fields first, then a section for each table. What is None is left out."""
    known = {name: found for name, found in definition.items() if found is not None}
    lines = [f"{key(name)} = {value(found)}" for name, found in known.items() if not isinstance(found, dict)]
    for name, table in known.items():
        if isinstance(table, dict):
            fields = [f"{key(field)} = {value(found)}" for field, found in table.items() if found is not None]
            lines += ["", f"[{key(name)}]", *fields]
    return "\n".join(lines).lstrip("\n") + "\n"


def headed(definition: dict[str, Any], head: str) -> str:
    """The file with comment lines before it."""
    return "\n".join(f"# {line}".rstrip() for line in head.splitlines()) + "\n" + text(definition)


def key(name: str) -> str:
    """A key, quoted where it has to be."""
    plain = name.replace("_", "").replace("-", "")
    return name if name and (plain == "" or plain.isalnum()) and name.isascii() else value(name)


def value(found: Any) -> str:
    """A value on one line: tables within tables are inline."""
    if isinstance(found, dict):
        inner = ", ".join(f"{key(name)} = {value(one)}" for name, one in found.items() if one is not None)
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(found, list):
        return f"[{', '.join(map(value, found))}]"
    # A basic string is as JSON writes it, but that TOML has no DEL in it either.
    return json.dumps(found, ensure_ascii=False).replace("\x7f", "\\u007F")
