"""The options that the verbs of a host share."""

from pathlib import Path
from typing import Annotated

import typer

#: This computer, among hosts.
HOST = "host"

Journal = Annotated[Path | None, typer.Option("--journal", help="Folder of the journal.")]
On = Annotated[str, typer.Option("--on", help="host, or another: host@NAME, over ssh.")]
