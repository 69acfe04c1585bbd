"""The server: what its addresses answer.

GET  /                      the lab; with ?token=... the cookie, and the same address without the token
     /results/NAME          the lab of results
     /reports/NAME          the report of results
     /traces/NAME           the page of a recording
     /api/state?after=N     results, recordings and jobs; waits a while for a version of the jobs other than N
POST /api/plan?name=&on=    what a run of the experiment in the body would do on this host, and a number to agree to it
     /api/jobs?name=&on=    runs the experiment in the body; on this host with agreed=; dirty=1: quiet or not
     /api/jobs/N/cancel     ends a job
"""

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from schedlab import _core
from schedlab._core import ScenarioError
from schedlab.run import effects, plan
from schedlab.serve import stored
from schedlab.serve.agreed import Plans
from schedlab.serve.children import Children
from schedlab.serve.jobs import Jobs
from schedlab.serve.pages import Page, Pages
from schedlab.serve.protocol import HTML, LOOPBACK, TEXT, Answer, Asked, Listener, Talk
from schedlab.serve.refused import Refused
from schedlab.system import escaped
from schedlab.targets.names import HOST

#: Seconds that a request for the state waits for news.
NEWS = 25.0
#: What is left of a name.
NAME = re.compile(r"[^A-Za-z0-9_-]+")
LONGEST_NAME = 40
JSON = "application/json"
#: A request that no other site's page can make without asking first, which is never permitted.
EXPERIMENT = "application/toml"
NUMBER = "[0-9]{1,18}"
COMMANDS = (
    "It runs commands of the shell. These are not agreed to in a page: save the experiment, read it, and run it once "
    "with schedlab run FILE --on host --trust."
)


@dataclass(frozen=True)
class Folders:
    """What is served: results, recordings if there are any, and a folder for files of a moment."""

    out: Path
    traces: Path | None
    own: Path


class Server(Listener):
    """All that a request can reach. It listens as soon as it is made, and answers once it has begun."""

    def __init__(self, port: int):
        """Listen to that port of loopback, or to a free one if it is 0."""
        super().__init__(port, Handler)

    def begin(
        self,
        pages: Pages,
        places: Callable[[], list[dict[str, Any]]],
        jobs: Jobs,
        children: Children,
        folders: "Folders",
    ) -> threading.Thread:
        """Answer from now on, in a thread."""
        self.pages, self.places, self.jobs, self.children, self.folders = pages, places, jobs, children, folders
        self.plans = Plans()
        thread = threading.Thread(target=self.serve_forever, name="server", daemon=True)
        thread.start()
        return thread

    @property
    def address(self) -> str:
        """Where a browser begins."""
        return f"http://{LOOPBACK}:{self.port}/?token={self.guard.token}"


class Handler(Talk):
    """What is answered."""

    server: Server

    def get(self, asked: "Asked") -> Answer:
        """A page, or the state."""
        pages = self.server.pages
        match asked.path:
            case [""]:
                return _page(pages.home())
            case ["results", name]:
                return _page(pages.results(name))
            case ["reports", name]:
                return _page(pages.report(name))
            case ["traces", name]:
                return _page(pages.recording(name))
            case ["api", "state"]:
                return self._state(asked.query.get("after", ""))
            case ["favicon.ico"]:
                return Answer(204, TEXT, b"")
        raise Refused(404, "there is no such page")

    def _state(self, after: str) -> Answer:
        known = int(after) if re.fullmatch(NUMBER, after) else None
        version, jobs = self.server.jobs.documents(known, NEWS)
        folders = self.server.folders
        results, more_results = stored.results(folders.out)
        recordings, more_recordings = stored.recordings(folders.traces) if folders.traces else ([], 0)
        return _json(
            200,
            {
                "version": version,
                "jobs": jobs,
                "out": str(folders.out),
                "results": results,
                "more_results": more_results,
                "traces": str(folders.traces) if folders.traces else None,
                "recordings": recordings,
                "more_recordings": more_recordings,
            },
        )

    def post(self, asked: "Asked") -> Answer:
        """Plan, run or cancel."""
        match asked.path:
            case ["api", "plan"]:
                return self._plan(*self._experiment(asked))
            case ["api", "jobs"]:
                name, on, text = self._experiment(asked)
                options = self._agreed(asked, text) if on == HOST else ()
                return _json(202, self.server.jobs.add(name, on, text, options).document())
            case ["api", "jobs", number, "cancel"] if re.fullmatch(NUMBER, number):
                self.body()
                if self.server.jobs.cancel(int(number)):
                    return _json(202, {"number": int(number)})
        raise Refused(404, "there is no such page")

    def _experiment(self, asked: "Asked") -> tuple[str, str, bytes]:
        """Its name, where it is to run, and its text."""
        if self.headers.get_content_type() != EXPERIMENT:
            raise Refused(415, f"an experiment is sent as {EXPERIMENT}")
        text, on = self.body(), asked.query.get("on", "")
        if on not in (known := [place["on"] for place in self.server.places()]):
            raise Refused(422, f"{escaped.escaped(on)!r} is no place to run from a page; there are: {', '.join(known)}")
        _refuse_files(text)
        name = NAME.sub("-", asked.query.get("name", "").removesuffix(".toml")).strip("-_")[:LONGEST_NAME]
        return name or "experiment", on, text

    def _plan(self, name: str, on: str, text: bytes) -> Answer:
        """What a run on this host would do, in the words of `schedlab run --dry-run`."""
        if on != HOST:
            raise Refused(422, "only a run on this computer has a plan to agree to")
        with TemporaryDirectory(prefix="plan-", dir=self.server.folders.own) as folder:
            file = Path(folder) / f"{name}.toml"
            file.write_bytes(text)
            found = self.server.children.asked(["run", file.name, "--on", on, "--dry-run"], file.parent)
        runs_commands = any(one["kind"] == effects.COMMAND for one in found["on"][on]["effects"])
        number = self.server.plans.add(text, () if runs_commands else ("--trust",))
        notes = [COMMANDS] if runs_commands else []
        return _json(200, {"agreed": number, "lines": plan.lines(found, Path(file.name)), "notes": notes})

    def _agreed(self, asked: "Asked", text: bytes) -> tuple[str, ...]:
        """The options of a run on this host, whose plan was shown and agreed to."""
        options = self.server.plans.agreed(asked.query.get("agreed", ""), text)
        return (*options, "--dirty") if asked.query.get("dirty") == "1" else options


def _refuse_files(text: bytes) -> None:
    """Refuse an experiment that names files of this computer: no page does, and what is wrong in one would be shown."""
    try:
        names = _core.files_of_experiment(text.decode(), "toml", [])
    except UnicodeDecodeError:
        raise Refused(422, "the experiment is not UTF-8") from None
    except ScenarioError:
        # The command says what is wrong with it.
        return
    if names:
        raise Refused(
            422, f"the experiment names files ({', '.join(names)}), which a page may not have read: schedlab run does"
        )


def _page(page: Page) -> Answer:
    return Answer(200, HTML, page.content, page.policy)


def _json(status: int, value: Any) -> Answer:
    return Answer(status, JSON, json.dumps(value, allow_nan=False).encode())
