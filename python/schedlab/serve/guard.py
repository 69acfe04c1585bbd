"""Who may ask: only this computer's browser that was given the token.

    Host              127.0.0.1 or localhost with our port: names of others that point here are refused (DNS rebinding)
    Sec-Fetch-Site    a request that another site's page causes is refused, and one of another port of this computer
    token             in the address once, then in a cookie that no script can read and no other site's page can send;
                      compared in constant time
    Origin            of what changes something: ours

A cookie knows no ports: what else serves pages on 127.0.0.1, and is opened in the same browser, is sent it. A token is
of one server, and ends with it.
"""

import hmac
import secrets
from email.message import Message

from schedlab.serve.refused import Refused

#: Bytes of randomness in a token.
RANDOM = 32
NAMES = ("127.0.0.1", "localhost")
#: What a browser says of a request that a person or our own page has caused.
OWN_SITES = ("none", "same-origin")
LOCKED = "this server's pages need its token: open the address that schedlab serve has printed"


class Guard:
    """The rules of one server."""

    def __init__(self, port: int):
        """Draw a token."""
        self.token = secrets.token_urlsafe(RANDOM)
        self.hosts = tuple(f"{name}:{port}" for name in NAMES)
        #: Several servers on one computer: a browser keeps a cookie of each.
        self.cookie = f"schedlab-{port}"

    @property
    def set_cookie(self) -> str:
        """The header that gives the browser its cookie, until it is closed."""
        return f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"

    def is_token(self, given: str) -> bool:
        """Whether it is the token; how long that takes says nothing of it."""
        return hmac.compare_digest(given.encode(errors="replace"), self.token.encode())

    def check_host(self, headers: Message) -> str:
        """Refuse a request to another host; gives the host that was asked."""
        hosts = headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            raise Refused(403, f"this server is {self.hosts[0]}, and answers to no other name")
        return hosts[0]

    def check_reader(self, headers: Message) -> None:
        """Refuse a request without the token, or one that another page has caused."""
        if not is_own_site(headers):
            raise Refused(403, "another page has caused this request; " + LOCKED)
        if not any([self.is_token(value) for value in self._cookies(headers)]):
            raise Refused(403, LOCKED)

    def check_writer(self, headers: Message, host: str) -> None:
        """Refuse, of what changes something, also what comes from any other page."""
        if headers.get_all("Origin", []) != [f"http://{host}"]:
            raise Refused(403, "only this server's own page may ask for that")

    def _cookies(self, headers: Message) -> list[str]:
        """The values of the cookie: other servers on this computer may have set one of its name, and many of others."""
        pairs = (pair.strip().partition("=") for line in headers.get_all("Cookie", []) for pair in line.split(";"))
        return [value for name, _, value in pairs if name == self.cookie]


def is_own_site(headers: Message) -> bool:
    """Whether no other page has caused the request, as far as the browser says."""
    return headers.get("Sec-Fetch-Site", "none") in OWN_SITES
