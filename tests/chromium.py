"""A real browser under the control of a test: Chromium without a screen, asked over a pipe by its DevTools protocol.

No library is needed for it: a message is JSON and a zero byte, and the two ends are the descriptors 3 and 4.
"""

import fcntl
import json
import os
import select
import subprocess
import time
from pathlib import Path

from test_report import CHROMIUM, QUIET

#: How long a page may take for what a test waits for, s. A browser shares the machine with other tests.
PATIENCE = 60


def _pipe() -> list[int]:
    """A pipe whose ends have numbers above those that Chromium wants."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return moved


class Browser:
    """Chromium, with one page."""

    def __init__(self, folder: Path):
        """Start it with a profile of its own in the folder."""
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", *QUIET]
        command = [CHROMIUM, *options, f"--user-data-dir={folder / 'profile'}", "about:blank"]
        (asked, self._in), (self._out, answered) = _pipe(), _pipe()
        # The shell gives the ends their numbers.
        opened = f'exec "$@" 3<&{asked} 4>&{answered}'
        self.process = subprocess.Popen(
            ["bash", "-c", opened, "bash", *command],
            pass_fds=(asked, answered),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(asked), os.close(answered)
        self._rest, self._number, self.events = b"", 0, []
        self._session = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def close(self):
        """End it."""
        self._session = None
        try:
            self.ask("Browser.close")
            self.process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self._in), os.close(self._out)

    def ask(self, method: str, **parameters):
        """Ask for something of the protocol, and give what comes back."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        message |= {"sessionId": self._session} if self._session else {}
        data = memoryview(json.dumps(message).encode() + b"\0")
        while data:
            data = data[os.write(self._in, data) :]
        while True:
            found = self._next()
            if found.get("id") == self._number:
                assert "error" not in found, found
                return found["result"]
            self.events.append(found)

    def _next(self):
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            assert select.select([self._out], [], [], max(0, until - time.monotonic()))[0], (
                "the browser does not answer"
            )
            piece = os.read(self._out, 1 << 20)
            assert piece, "the browser has ended"
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def open(self, address: str):
        """Open a page, and wait until it is loaded."""
        self.ask("Page.navigate", url="about:blank")
        self.events.clear()
        self.ask("Page.navigate", url=address)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def value(self, expression: str):
        """What an expression is in the page; a promise is waited for."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, expression: str):
        """Wait until an expression is true in the page; gives its value."""
        end = time.monotonic() + PATIENCE
        while not (value := self.value(expression)):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.02)
        return value

    def window(self, width: int, height: int = 900, dark: bool = False):
        """Give the window a size and the page a theme."""
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        theme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.ask("Emulation.setEmulatedMedia", features=theme)

    def press(self, key: str, **more):
        """Press a key and release it."""
        codes = {"Tab": 9, "ArrowRight": 39, "ArrowLeft": 37, "Home": 36, " ": 32, "Enter": 13}
        known = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper())), **more}
        known |= {"text": key} if len(key) == 1 else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **known)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **{k: v for k, v in known.items() if k != "text"})

    def mouse(self, kind: str, x: float, y: float, **more):
        """Move the mouse, press its left button or release it."""
        button = {"button": "left", "buttons": 0 if kind == "mouseReleased" else 1, "clickCount": 1}
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **{**button, **more})

    def picture(self, path: Path, whole: bool = True):
        """Take a picture of the page."""
        import base64

        found = self.ask("Page.captureScreenshot", captureBeyondViewport=whole, format="png")
        path.write_bytes(base64.b64decode(found["data"]))

    def requests(self) -> list[str]:
        """The addresses that the page has asked for since it was opened."""
        self.value("0")
        asked = [e["params"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return [one["request"]["url"] for one in asked]

    def complaints(self) -> list[str]:
        """What the browser has complained about since the page was opened."""
        self.value("0")
        thrown = [e["params"]["exceptionDetails"] for e in self.events if e["method"] == "Runtime.exceptionThrown"]
        logged = [e["params"]["entry"] for e in self.events if e["method"] == "Log.entryAdded"]
        return [*map(str, thrown), *(one["text"] for one in logged if one["level"] in ("warning", "error"))]
