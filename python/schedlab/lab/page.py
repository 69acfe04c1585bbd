"""Puts template, scripts, simulator and experiment into one file."""

import json
from pathlib import Path

from schedlab import _core
from schedlab.errors import UsageError
from schedlab.lab.given import Given
from schedlab.lab.made import Made, made, packed
from schedlab.pictures.style import DARK, LIGHT, variables
from schedlab.system.escaped import escaped
from schedlab.system.writing import replace

#: Bytes of a page at most.
LARGEST = 2_500_000


def write(given: Given, path: Path) -> int:
    """Write the page, whole or not at all; gives its size in bytes."""
    page = content(given, made())
    if len(page) > LARGEST:
        raise UsageError(f"{path}: the page would have {len(page)} bytes; at most {LARGEST} are allowed")
    replace(path, page)
    return len(page)


def content(given: Given, parts: Made) -> bytes:
    """The page, from what it is made of."""
    return escaped(_text(given, parts)).encode()


def _text(given: Given, parts: Made) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("schedlab.lab"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("lab.html").render(
        title=given.experiment.question or given.name,
        file=given.file,
        notes=given.notes,
        stored_note=_note(given),
        served=given.served is not None,
        engine=_core.version(),
        light=variables(LIGHT),
        dark=variables(DARK),
        given=_safe(given.document()),
        schema=packed(json.dumps(json.loads(_core.schema()), separators=(",", ":")).encode()),
        worker=parts.worker,
        module=parts.engine,
        script=parts.page,
    )


def _safe(document: dict) -> str:
    """JSON that is no markup, whatever texts it has."""
    return json.dumps(document, allow_nan=False).replace("<", "\\u003c")


def _note(given: Given) -> str:
    if not given.stored:
        return ""
    left = given.stored["left"]
    return f"Stored in {given.stored['folder']}.{f' Not in this page: {left}.' if left else ''}"
