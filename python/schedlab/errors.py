"""Errors that the user can correct, or whose message says how to go on. The command line shows only the message."""


class UsageError(Exception):
    """A request that does not exist or cannot be met; the message says what is allowed."""


class Interrupted(Exception):
    """The user stopped a sweep; finished runs are kept.

    `done` and `total` count runs; `folder` holds what is kept.
    """

    def __init__(self, done: int, total: int, folder):
        """Keep the numbers and word the message."""
        runs = "run" if total == 1 else "runs"
        super().__init__(
            f"stopped after {done} of {total} {runs}; they are kept in {folder}. The same command goes on from there."
        )
        self.done, self.total, self.folder = done, total, folder


class Stopped(Exception):
    """The user stopped work of which nothing is kept."""


def nearest(name: str, known) -> str:
    """Word a hint at the known name that was probably meant, or list them all."""
    from difflib import get_close_matches

    known = list(known)
    close = get_close_matches(name, known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"there are: {', '.join(known)}" if known else "there are none"


def closest(name: str, known) -> str:
    """Return the one of some known names that looks most like `name`: first of all, that begins as it does."""
    from difflib import SequenceMatcher

    def likeness(one: str) -> tuple[int, float]:
        same = next((i for i, (a, b) in enumerate(zip(name, one, strict=False)) if a != b), min(len(name), len(one)))
        return same, SequenceMatcher(None, name, one).ratio()

    return max(known, key=likeness)
