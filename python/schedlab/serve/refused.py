"""What becomes of a request that is not answered as it was meant: a status of HTTP, and why, for a person to read."""


class Refused(Exception):
    """`status` is 403 for who may not ask, 404 for what is not there; else as HTTP has it."""

    def __init__(self, status: int, why: str):
        """Keep both."""
        super().__init__(why)
        self.status = status
