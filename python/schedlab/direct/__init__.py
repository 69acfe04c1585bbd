"""The verbs that mostly wait for the agent (`time`, `watch`, `diagnose`) start without the libraries of the others.

options.py    their options, as far as they are beyond doubt
timed.py, watched.py, diagnosed.py    what each does; `cli` calls the same functions
"""

import os
from collections.abc import Callable
from functools import partial
from importlib import import_module

from schedlab.direct.options import read
from schedlab.system.printing import begin

_MODULES = {
    "time": "schedlab.direct.timed",
    "watch": "schedlab.direct.watched",
    "diagnose": "schedlab.direct.diagnosed",
}
#: Set while a shell completes a command.
COMPLETING = "_SCHEDLAB_COMPLETE"


def chosen(words: list[str]) -> Callable[[], int] | None:
    """What to do for these words of a command line; None if they are for the command's own parser."""
    found = None if COMPLETING in os.environ else read(words)
    if found is None:
        return None
    verb, arguments = found
    begin(verb)
    return partial(import_module(_MODULES[verb]).run, **arguments)
