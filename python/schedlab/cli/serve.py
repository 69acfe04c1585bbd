"""`schedlab serve`: the lab's page from a server on this computer, with results, recordings, the host and guests."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.lab import Overrides, What, about

if TYPE_CHECKING:
    from schedlab.serve.server import Server

NAME = "serve"
EXAMPLE = "schedlab serve examples/response.toml --traces recordings"


def verb(
    what: What = None,
    set: Overrides = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 0,
    out: Annotated[Path, typer.Option("--out", help="The folder of results, shown and written to.")] = Path("results"),
    traces: Annotated[
        Path | None, typer.Option("--traces", metavar="FOLDER", help="A folder of recordings, shown by their pages.")
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address and open no browser; also without a screen.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the address as one line of JSON; opens no browser.")
    ] = False,
) -> None:
    """Open the lab from a server on this computer: results, recordings, runs on the host and in guests.

    It listens to 127.0.0.1 alone and answers only a browser that has the printed address, whose token is new each
    time. Ctrl-C ends it and its runs; what a run has set is put back.
    """
    from schedlab.serve import serving

    tell = _document if json else _words
    serving.serve(
        lambda: about(what, set or [], out), port, out, traces, not (no_browser or json), lambda server: tell(server)
    )


def _document(server: "Server") -> None:
    import os

    from schedlab.system import escaped
    from schedlab.system.printing import versioned

    traces = server.folders.traces
    found = {"address": server.address, "port": server.port, "pid": os.getpid()}
    print(
        escaped.json(versioned(found | {"out": str(server.folders.out), "traces": traces and str(traces)})), flush=True
    )


def _words(server: "Server") -> None:
    from schedlab.system.terminal import say

    print(server.address, flush=True)
    say("the lab, for a browser on this computer that is given this address; Ctrl-C ends it and its runs")
