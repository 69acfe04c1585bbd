"""Plans of runs on this host that were shown, and to which a person may agree: each once, and only for its text."""

import hashlib
import secrets
import threading
from collections import OrderedDict

from schedlab.serve.refused import Refused

#: Plans that can be agreed to, the last ones.
PLANS = 16


class Plans:
    """Plans that were shown: which of them a person may agree to, and with which options they are run then."""

    def __init__(self) -> None:
        """None yet."""
        self._lock = threading.Lock()
        self._all: OrderedDict[str, tuple[str, tuple[str, ...]]] = OrderedDict()

    def add(self, text: bytes, options: tuple[str, ...]) -> str:
        """Remember a plan; gives the number that agrees to it."""
        number = secrets.token_urlsafe(16)
        with self._lock:
            self._all[number] = (hashlib.sha256(text).hexdigest(), options)
            while len(self._all) > PLANS:
                self._all.popitem(last=False)
        return number

    def agreed(self, number: str, text: bytes) -> tuple[str, ...]:
        """The options of the plan of this text. A plan is agreed to once."""
        with self._lock:
            digest, options = self._all.pop(number, ("", ()))
        if digest != hashlib.sha256(text).hexdigest():
            raise Refused(409, "this is not the experiment whose plan was shown: look at its plan, and agree to that")
        return options
