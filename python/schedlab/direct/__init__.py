"""The verbs that mostly wait for the agent start without the others' libraries: `time`, `watch`, `diagnose`, `record`,
`attend`.

options.py    their options, as far as they are beyond doubt
timed.py, watched.py, diagnosed.py, recorded.py, attended.py    what each does; `cli` calls the same functions
"""

from __future__ import annotations

import os
import sys

from schedlab.direct.options import read
from schedlab.system.printing import begin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

_MODULES = {
    "time": "schedlab.direct.timed",
    "watch": "schedlab.direct.watched",
    "diagnose": "schedlab.direct.diagnosed",
    "record": "schedlab.direct.recorded",
    "attend": "schedlab.direct.attended",
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
    return lambda: _module(verb).run(**arguments)


def _module(verb: str) -> ModuleType:
    """As importlib has it, which itself would be imported for this."""
    __import__(_MODULES[verb])
    return sys.modules[_MODULES[verb]]
