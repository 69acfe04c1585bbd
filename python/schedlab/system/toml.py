"""The text of an experiment as TOML: what `schedlab` writes, `Experiment.from_toml` reads."""

import json
from typing import Any


def toml(definition: dict[str, Any], head: str) -> str:
    """The text of an experiment, with comment lines before it."""
    lines = [f"# {line}".rstrip() for line in head.splitlines()]
    tables = {name: value for name, value in definition.items() if isinstance(value, dict)}
    lines += [f"{name} = {inline(value)}" for name, value in definition.items() if name not in tables]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(f"{_key(key)} = {inline(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def inline(value: Any) -> str:
    """A value in one line of TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {inline(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    # JSON leaves DEL as it is, which TOML does not allow.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else inline(name)
