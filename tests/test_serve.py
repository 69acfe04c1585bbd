"""`schedlab serve`: who may ask for what, and what is shown."""

# Fixtures are imported, and named by arguments.
# ruff: noqa: F401, F811

import json
import re
import select
import shutil
import socket
import threading
import time
from contextlib import ExitStack, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest
from conftest import valid
from labpage import with_page
from serving import EXPERIMENT, TINY, Serving, serving, soon
from test_start import imported

from schedlab.lab.given import LONGEST
from schedlab.serve import protocol

pytestmark = with_page

NAMES = ("Cache-Control", "Content-Security-Policy", "Referrer-Policy", "X-Content-Type-Options", "X-Frame-Options")


# How it begins.


def test_it_says_where_it_is_in_one_line(serving):
    about = valid(serving.about)
    assert about["address"] == f"http://127.0.0.1:{about['port']}/?token={serving.token}"
    assert about["pid"] == serving.process.pid
    assert Path(about["out"]) == serving.folder / "results"
    assert len(serving.token) * 6 >= 128, "as many bits of base64url"


def test_a_token_is_of_one_server(serving, tmp_path):
    other = Serving(tmp_path)
    try:
        assert other.token != serving.token
        assert other.ask("/", headers={"Cookie": f"schedlab-{other.port}={serving.token}"}).status == 403
    finally:
        other.close()


def test_it_listens_to_loopback_alone(serving):
    sockets = {str(link.readlink()) for link in Path(f"/proc/{serving.process.pid}/fd").iterdir()}
    lines = [
        line.split() for kind in ("tcp", "tcp6") for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]
    ]
    heard = [line[1] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in sockets]
    assert heard == [f"0100007F:{serving.port:04X}"]


def test_a_port_that_is_taken_is_named(schedlab, serving):
    done = schedlab("serve", "--port", serving.port)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr == f"error: --port {serving.port}: another program listens to it; leave out --port for a free one\n"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.toml"], "none.toml: No such file"),
        (["--set", "frob=1"], "frob: unknown field"),
        (["--traces", "none"], "--traces none: there is no such folder"),
        (["--out", "file"], "--out file: is no folder"),
        (["--port", "70000"], "'--port': 70000 is out of range: 0 to 65535"),
    ],
)
def test_what_is_wrong_is_refused_in_a_line_before_anything_is_served(schedlab, words, said):
    (schedlab.folder / "file").touch()
    done = schedlab("serve", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr.splitlines()[0]


def test_no_other_verb_needs_a_server(schedlab):
    found = imported(schedlab, "list", "metrics")
    assert not {name for name in found if name.startswith(("schedlab.serve", "http.server", "socketserver"))}


# Who may ask.


def test_the_token_becomes_a_cookie_and_leaves_the_address(serving):
    first = serving.ask(f"/?token={serving.token}", headers={})
    assert (first.status, first.headers["Location"], first.body) == (303, "/", b"")
    cookie, *attributes = first.headers["Set-Cookie"].split("; ")
    assert sorted(attributes) == ["HttpOnly", "Path=/", "SameSite=Strict"]
    assert serving.ask("/", headers={"Cookie": cookie}).status == 200
    # Cookies of other servers on this computer come along.
    assert serving.ask("/", headers={"Cookie": f'a={{"b": 1}}; schedlab-{serving.port}=x; {cookie}; c'}).status == 200


def test_a_browser_that_another_page_has_sent_asks_for_the_lab_itself(serving):
    first = serving.ask(f"/?token={serving.token}", headers={"Sec-Fetch-Site": "cross-site"})
    assert (first.status, first.headers["Location"]) == (200, None)
    assert 'content="0;url=/"' in first.text
    assert serving.token not in first.text


PAGES = ["/", "/results/{results}", "/reports/{results}", "/traces/player.txt", "/api/state", "/favicon.ico", "/none"]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    "kind", ["none", "wrong", "empty", "query", "other name", "host", "two hosts", "no host", "site", "port"]
)
def test_nothing_is_shown_without_the_token_nor_under_another_name(serving, page, kind):
    page = page.format(results=serving.results)
    name, wrong = f"schedlab-{serving.port}", "A" * len(serving.token)
    given = {
        "none": {},
        "wrong": {"Cookie": f"{name}={wrong}"},
        "empty": {"Cookie": f"{name}="},
        "query": {},
        "other name": {"Cookie": f"schedlab={serving.token}"},
        "host": serving.own | {"Host": f"evil.example:{serving.port}"},
        "two hosts": serving.own | {"Host": f"{serving.host}, evil.example"},
        "no host": serving.own | {"Host": ""},
        "site": serving.cookie | {"Sec-Fetch-Site": "cross-site"},
        "port": serving.cookie | {"Sec-Fetch-Site": "same-site"},
    }[kind]
    if kind == "query":
        page += f"?token={wrong}" if page == "/" else f"?token={serving.token}"
    for method in ("GET", "HEAD"):
        answer = serving.ask(page, method, given)
        assert (answer.status, answer.headers["Set-Cookie"]) == (403, None)
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert serving.token not in answer.text


@pytest.mark.parametrize("path", ["/api/jobs?on=sim", "/api/plan?on=host", "/api/jobs/1/cancel"])
@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "http://127.0.0.1:1", "https://{host}", "http://{host}/"]
)
def test_only_the_servers_own_page_may_change_anything(serving, path, origin):
    headers = serving.cookie | ({"Origin": origin.format(host=serving.host)} if origin else {})
    before = len(serving.state()["jobs"])
    answer = serving.ask(path, "POST", headers | EXPERIMENT, TINY.format(seeds=1).encode())
    assert answer.status == 403
    assert serving.ask(path, "POST", serving.own | {"Cookie": ""} | EXPERIMENT, b"").status == 403
    assert len(serving.state()["jobs"]) == before


def test_every_answer_says_what_its_page_may_do(serving):
    asked = [serving.ask(path.format(results=serving.results)) for path in (*PAGES, "/?token=no")]
    asked += [serving.ask("/", headers={}), serving.ask("/", "PUT"), serving.post("/api/jobs", "", on="moon")]
    assert {answer.status for answer in asked} == {200, 204, 403, 404, 422, 501}
    for answer in asked:
        assert all(answer.headers[name] for name in NAMES)
        assert (answer.headers["Cache-Control"], answer.headers["Referrer-Policy"]) == ("no-store", "no-referrer")
        assert not [name for name in answer.headers if name.startswith("Access-Control")]
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'")
        assert "script-src 'unsafe" not in policy
        assert "frame-ancestors 'none'" in policy


# What is no request.


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /\r\n\r\n", b"403"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"403"),
        (b"GET / HTTP/2.0\r\n\r\n", b"505"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(200)) + b"\r\n", b"431"),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * protocol.HEAD + b"\r\n\r\n", b"431"),
        (b"GET /" + b"y" * protocol.HEAD + b" HTTP/1.1\r\n\r\n", b"431"),
        (b"GET /" + b"y" * 3 * protocol.HEAD + b" HTTP/1.1\r\n\r\n", b"431"),
        (b"POST /api/jobs HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n", b"417"),
    ],
)
def test_what_is_no_request_is_refused(serving, head, status):
    answer = serving.raw(head)
    assert status in answer.partition(b"\r\n")[0]
    assert serving.token.encode() not in answer
    assert answer.startswith(b"HTTP/1.1 ")
    assert serving.ask("/api/state").status == 200, "and others are answered"


def test_a_body_is_taken_up_to_the_editors_limit(serving):
    assert protocol.BODY == LONGEST
    assert serving.post("/api/jobs", b"#" * (protocol.BODY + 1), on="sim").status == 413
    assert serving.post("/api/jobs", b"#" * (3 * protocol.BODY), on="sim").status == 413
    number = serving.post("/api/jobs", b"#" * protocol.BODY, on="sim").json["number"]
    assert serving.until(number, "failed")["message"]


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"Transfer-Encoding": "chunked"}, 411),
        ({"Content-Length": "-1"}, 411),
        ({"Content-Length": "1" * 30}, 411),
        ({"Content-Length": "5", "Content-Type": "text/plain"}, 415),
        ({"Content-Length": "5", "Content-Type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_a_body_says_what_it_is_and_how_long(serving, more, status):
    head = {"Host": serving.host} | serving.own | EXPERIMENT | more
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    answer = serving.raw(f"POST /api/jobs?on=sim HTTP/1.1\r\n{lines}\r\n12345".encode())
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())


def connect(serving) -> socket.socket:
    return socket.create_connection(("127.0.0.1", serving.port), 5)


def test_connections_beyond_the_bound_are_not_kept(serving):
    beyond = 8
    some = [connect(serving) for _ in range(protocol.CONNECTIONS + beyond)]
    try:
        # Later than that, the others are closed since they say nothing.
        closed = soon(
            lambda: len(found := select.select(some, [], [], 0)[0]) >= beyond and found, protocol.PATIENCE / 2
        )
        assert closed == some[:beyond], "the oldest"
        assert {one.recv(1) for one in closed} == {b""}
    finally:
        for one in some:
            one.close()


def test_connections_without_the_token_take_no_place_from_those_with_it(serving):
    """All places are taken, and each connection goes on to send a byte of a head."""
    with ExitStack() as stack:
        mine = HTTPConnection("127.0.0.1", serving.port, timeout=5)
        stack.callback(mine.close)
        mine.request("GET", "/api/state", headers=serving.own)
        assert mine.getresponse().read()
        own = mine.sock
        some = [stack.enter_context(connect(serving)) for _ in range(2 * protocol.CONNECTIONS)]
        for one in some:
            with suppress(ConnectionError):
                one.send(b"G")
        mine.request("GET", "/api/state", headers=serving.own)
        assert mine.getresponse().read()
        assert mine.sock is own, "the same connection"
        assert serving.ask("/api/state").status == 200, "and a new one"


class Reads(protocol.Talk):
    def post(self, asked):
        return protocol.plain(200, self.body().decode())


@pytest.fixture
def patience(monkeypatch):
    """A listener that waits for a second, in this process."""
    monkeypatch.setattr(protocol, "PATIENCE", 1.0)
    listener = protocol.Listener(0, Reads)
    thread = threading.Thread(target=listener.serve_forever, args=(0.01,))
    thread.start()
    yield listener
    listener.shutdown()
    thread.join()
    listener.server_close()


@pytest.mark.parametrize("part", ["line", "head", "body"])
def test_a_request_that_comes_byte_by_byte_has_an_end(patience, part):
    host = f"127.0.0.1:{patience.port}"
    lines = [f"Host: {host}", f"Origin: http://{host}", f"Cookie: {patience.guard.cookie}={patience.guard.token}"]
    head = "\r\n".join(["POST /api/jobs HTTP/1.1", *lines, "Content-Length: 1000"])
    begins = {"line": "", "head": head, "body": f"{head}\r\n\r\n"}[part]
    began, found = time.monotonic(), b""
    with socket.create_connection(("127.0.0.1", patience.port), 10) as connection, suppress(ConnectionError):
        connection.sendall(begins.encode())
        while not select.select([connection], [], [], 0.1)[0]:
            connection.send(b"x")
            assert time.monotonic() < began + 10, "it is still listened to"
        found = connection.recv(1000)
    assert time.monotonic() > began + 0.9
    assert found.partition(b"\r\n")[0] == (b"HTTP/1.1 408 Request Timeout" if part == "body" else b"")


# What is shown.


OUTSIDE = [
    "../secret.txt", "%2e%2e/secret.txt", "..;/secret.txt", "..%2fsecret.txt", "%2e%2e%2fsecret.txt", "..%5csecret.txt",
    "%252e%252e%252fsecret.txt",
    "..%c0%afsecret.txt", "%2Fetc%2Fpasswd", "/etc/passwd", ".", "..", "%2e%2e", ".hidden", "link.txt",
    "player.txt/", "player.txt%00",
    "", "none", "%ff", "outside", "linked", "player.txt%2f..%2f..%2fsecret.txt",
]  # fmt: skip


@pytest.mark.parametrize("kind", ["traces", "results", "reports"])
@pytest.mark.parametrize("name", OUTSIDE)
def test_no_name_leads_out_of_the_folders(serving, kind, name):
    for method in ("GET", "POST"):
        answer = serving.ask(f"/{kind}/{name}", method)
        assert answer.status == 404
        assert len(answer.text.splitlines()) == 1


def test_results_and_recordings_are_listed_and_their_pages_open(serving):
    state = serving.state()
    (one,) = [result for result in state["results"] if result["name"] == serving.results]
    assert (one["question"], one["cells"], one["on"]) == ("What does a hog leave?", 1, ["sim"])
    assert (one["lab"], one["fault"]) == (True, "")
    assert "outside" not in {result["name"] for result in state["results"]}
    assert [one["name"] for one in state["recordings"]] == ["player.txt"]
    lab = serving.ask(f"/results/{serving.results}")
    stored = json.loads(re.search(r'<script type="application/json" id="given">(.*?)</script>', lab.text, re.DOTALL)[1])
    assert stored["stored"]["cells"][0]["metrics"]["tasks.hog.share"]["n"] == 2
    assert "sim" in [place["on"] for place in stored["served"]["places"]]
    assert "What does a hog leave?" in serving.ask(f"/reports/{serving.results}").text
    recording = serving.ask("/traces/player.txt")
    assert "What happened in player.txt" in recording.text
    assert "script-src 'sha256-" in recording.headers["Content-Security-Policy"]


def test_damaged_results_are_named_and_the_others_listed(serving):
    folder = serving.folder / "results" / "broken-01234567"
    folder.mkdir()
    (folder / "manifest.json").write_text("{")
    try:
        (one,) = [result for result in serving.state()["results"] if result["name"] == folder.name]
        assert "is damaged" in one["fault"]
        answer = serving.ask(f"/reports/{folder.name}")
        assert (answer.status, "is damaged" in answer.text) == (422, True)
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def changed(serving):
    """Results with another manifest: what writes fields into it, and gives their name."""
    folder = serving.folder / "results" / "changed-01234567"
    shutil.copytree(serving.folder / "results" / serving.results, folder)

    def change(**fields: str) -> str:
        file = folder / "manifest.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | fields))
        return folder.name

    yield change
    shutil.rmtree(folder)


@pytest.mark.parametrize("field", ["name", "question"])
def test_half_of_a_character_in_results_is_damage(serving, schedlab, changed, field):
    name = changed(**{field: "\ud800x"})
    for kind in ("results", "reports"):
        answer = serving.ask(f"/{kind}/{name}")
        assert (answer.status, "is damaged (half of a character" in answer.text) == (422, True)
    done = schedlab("lab", serving.folder / "results" / name, "-o", "lab.html")
    assert (done.returncode, "is damaged (half of a character" in done.stderr) == (2, True)
    (one,) = [result for result in serving.state()["results"] if result["name"] == name]
    assert "is damaged" in one["fault"]
    # Both halves are a character.
    assert serving.ask(f"/results/{changed(**{field: chr(0x1F427)})}").status == 200


def test_a_long_question_is_listed_by_its_beginning(serving, changed):
    whole = "Which of them? " * 200_000
    name = changed(question=whole)
    answer = serving.ask("/api/state")
    (one,) = [result for result in answer.json["results"] if result["name"] == name]
    assert (whole.startswith(one["question"][:-1]), one["question"][-1]) == (True, "…")
    assert 100 < len(one["question"]) <= 300
    assert len(answer.body) < 20_000
