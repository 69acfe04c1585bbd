"""Simulated runs on clusters: the same bytes wherever they were made and whatever dies, or clear words.
Long, because two libraries are tested with true processes on loopback, and what a sweep does with a made-up one.
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from conftest import COMMAND, ROOT, Command

from schedlab import Experiment, UsageError, _core
from schedlab.executors import batches, cluster, executor, outcome, sweep, work
from schedlab.executors.cluster import Cluster
from schedlab.targets import simulator

#: One of the policies draws: cells with one run, and one with a run for each seed.
MIXED = """
machine = { preset = "uniform", processors = 1 }
seeds = 12
duration = "200ms"
scheduler = { name = "fifo" }
[workload]
steady = { count = 3, steps = [{ compute = "3ms" }, { sleep = "2ms" }], passes = "forever" }
[sweep]
"scheduler.name" = ["fifo", "lottery", "round_robin", "stride"]
"""
NAMES = ("ray", "dask")
#: Some 30 ms a run: long enough for something to happen between the first and the last.
SLOW = ["--set", "scheduler.name=eevdf", "--set", "duration=40s", "--seeds", "160"]
TOKEN = "0123456789abcdef" * 4


@pytest.fixture
def mixed(tmp_path):
    path = tmp_path / "mixed.toml"
    path.write_text(MIXED)
    return path


def tables(folder: Path) -> dict[str, bytes]:
    """The files of results in a folder, without its name."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*.parquet"))}


class Threads:
    """A cluster of threads that may die, be other programs, or come back in any order."""

    name = "threads"

    def __init__(self, make=work.make, count=3, engine=None, chance=None):
        self.make, self.count, self.engine, self.chance = make, count, engine, chance or random.Random(1990)
        self.sent, self.results, self.closed, self.cancelled = [], {}, 0, 0

    def connect(self):
        pass

    def engines(self):
        return {"here": self.engine or _core.version()}

    def workers(self):
        return self.count

    def submit(self, engine, parts):
        self.sent.append(parts)
        one = len(self.sent)
        try:
            self.results[one] = self.make(engine, parts)
        except sweep.Died as why:
            self.results[one] = why
        return one

    def finished(self, given, seconds):
        return self.chance.sample(given, self.chance.randint(1, len(given)))

    def result(self, one):
        found = self.results.pop(one)
        if isinstance(found, Exception):
            raise found
        return found

    def cancel(self, given):
        self.cancelled += len(given)

    def abandon(self):
        self.abandoned = True

    def close(self):
        self.closed += 1


def on(library) -> Cluster:
    return Cluster(library.name, None, lambda: library)


@pytest.mark.parametrize("seed", range(8))
def test_results_are_the_same_bytes_in_whatever_order_batches_come_back(mixed, tmp_path, seed):
    experiment = Experiment.from_toml(mixed)
    here = experiment.run(tmp_path / "here")
    with on(Threads(chance=random.Random(seed), count=1 + seed)) as there:
        results = experiment.run(tmp_path / "there", executor=there)
    assert tables(tmp_path / "there") == tables(tmp_path / "here")
    assert results.computed == here.computed


def test_a_scenario_that_draws_nothing_is_not_made_for_every_seed(mixed, tmp_path):
    library = Threads(count=1)
    with on(library) as there:
        Experiment.from_toml(mixed, set=["seeds=400"]).run(tmp_path, executor=there)
    made = {}
    for scenario, seeds in (part for parts in library.sent for part in parts):
        name = json.loads(scenario)["scheduler"]["name"]
        made[name] = made.get(name, 0) + len(seeds)
    assert made["lottery"] == 400
    # The first run of a scenario may go with further ones, which the worker leaves out.
    assert made["fifo"] < 10


def test_one_cluster_serves_several_sweeps_and_is_left_once(mixed, tmp_path):
    library = Threads()
    experiment = Experiment.from_toml(mixed)
    with on(library) as there:
        experiment.run(tmp_path, executor=there)
        assert experiment.run(tmp_path, executor=there).computed == 0
        experiment.replace(seeds=13).run(tmp_path, executor=there)
        assert library.closed == 0
    assert library.closed == 1


def test_a_search_has_its_runs_made_there_too(small, tmp_path):
    experiment = Experiment.from_toml(small).replace(
        sweep={}, goal={"minimize": ["tasks.io.real"]}, space={"scheduler.slice": {"low": "17ms", "high": "500ms"}}
    )
    library = Threads()
    with on(library) as there:
        found = experiment.tune(40, tmp_path / "there", executor=there)
    assert library.sent
    here = experiment.tune(40, tmp_path / "here")
    assert (found.chosen, found.spent) == (here.chosen, here.spent)
    assert tables(tmp_path / "there") == tables(tmp_path / "here")


def deadly(seed_of_death):
    def make(engine, parts):
        if any(seed == seed_of_death for _, seeds in parts for seed in seeds):
            raise sweep.Died("3 times")
        return work.make(engine, parts)

    return make


def test_the_run_that_ends_workers_is_named_and_the_ones_before_it_are_kept(mixed, tmp_path):
    experiment = Experiment.from_toml(mixed, set=["scheduler.name=lottery", "seeds=200"]).replace(sweep={})
    with (
        on(Threads(deadly(150), count=2)) as there,
        pytest.raises(
            UsageError, match=r"seed 150 of the scenario with machine uniform, scheduler lottery and jobs steady"
        ),
    ):
        experiment.run(tmp_path, executor=there)
    assert experiment.replace(seeds=149).run(tmp_path).computed == 0


def test_a_run_that_is_refused_ends_the_sweep_with_the_words_that_it_has_here(mixed, tmp_path):
    def some_refused(engine, parts):
        return work.make(engine, [(text if seed < 30 else "{}", [seed]) for text, seeds in parts for seed in seeds])

    experiment = Experiment.from_toml(mixed, set=["scheduler.name=lottery", "seeds=60"]).replace(sweep={})
    with on(Threads(some_refused)) as there, pytest.raises(_core.ScenarioError, match="missing field") as why:
        experiment.run(tmp_path, executor=there)
    with pytest.raises(_core.ScenarioError) as here:
        _core.run_batch('[{"scenario": {}, "seed": 1}]', 1)
    assert str(why.value).split(" at ")[0].removeprefix("scenario") in str(here.value)
    assert experiment.replace(seeds=29).run(tmp_path).computed == 0


def test_a_cluster_that_is_lost_loses_nothing_that_is_finished(mixed, tmp_path, monkeypatch):
    monkeypatch.setattr(simulator, "CHUNK_SECONDS", 1000.0)
    experiment = Experiment.from_toml(mixed, set=["scheduler.name=lottery", "seeds=5000"]).replace(sweep={})
    library = Threads(count=1)
    whole = library.result

    def result(one):
        if one == 9:
            raise UsageError("the cluster is lost")
        return whole(one)

    library.result = result
    with on(library) as there, pytest.raises(UsageError, match="the cluster is lost"):
        experiment.run(tmp_path, executor=there)
    before = sum(len(seeds) for parts in library.sent[:7] for _, seeds in parts)
    assert experiment.replace(seeds=before).run(tmp_path).computed == 0


def spoiled(**changes):
    return lambda engine, parts: work.make(engine, parts) | changes


def other_rows(engine, parts):
    done = work.make(engine, parts)
    return done | {"rows": work.make(engine, [*parts, *parts])["rows"]}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda engine, parts: None, "TypeError"),
        (lambda engine, parts: "rows", "TypeError"),
        (lambda engine, parts: {}, "KeyError"),
        (spoiled(rows=b""), "gave what is no result"),
        (spoiled(rows=b"garbage" * 100), "gave what is no result"),
        (spoiled(rows="text"), "gave what is no result"),
        (spoiled(runs=1 << 40), "a number of runs that is not the batch's"),
        (spoiled(runs=-1), "a number of runs that is not the batch's"),
        (spoiled(runs=True), "a number of runs that is not the batch's"),
        (spoiled(runs=0), "fewer runs than the batch has"),
        (spoiled(seconds=float("nan")), "a time that is none"),
        (spoiled(seconds=-1.0), "a time that is none"),
        (spoiled(refused=7), "a failure without words"),
        (other_rows, "rows of more runs|rows of other runs"),
        (
            lambda engine, parts: work.make(engine, parts) | {"rows": work.make(engine, parts)["rows"][:-400]},
            "no result",
        ),
    ],
)
def test_what_is_no_result_is_refused_and_never_kept(mixed, tmp_path, make, words):
    experiment = Experiment.from_toml(mixed, set=["scheduler.name=lottery"]).replace(sweep={})
    with on(Threads(make)) as there, pytest.raises(UsageError, match=words):
        experiment.run(tmp_path, executor=there)
    assert tables(tmp_path) == {}


def test_bytes_that_are_cut_anywhere_are_refused(mixed):
    scenario = json.dumps(Experiment.from_toml(mixed).cells()[1].scenario)
    parts = [(scenario, [1, 2, 3])]
    whole = work.make(_core.version(), parts)
    assert outcome.checked(whole, _core.version(), parts).runs == 3
    chance = random.Random(1990)
    for _ in range(200):
        rows = bytearray(whole["rows"])
        for _ in range(chance.randint(1, 8)):
            rows[chance.randrange(len(rows))] = chance.randrange(256)
        # What is still a table of these runs may be believed; nothing else happens.
        with suppress(outcome.Garbage):
            outcome.checked(whole | {"rows": bytes(rows)}, _core.version(), parts)


def test_another_engine_is_refused_before_anything_is_computed_and_later_too(mixed, tmp_path):
    experiment = Experiment.from_toml(mixed)
    for library, sent in (
        (Threads(engine="0.0.1 (other)"), 0),
        (Threads(lambda *_: {"engine": "0.0.1 (other)"}), None),
    ):
        with on(library) as there, pytest.raises(UsageError, match=r"engines differ: .*0\.0\.1 \(other\)"):
            experiment.run(tmp_path, executor=there)
        assert sent is None or len(library.sent) == sent
        assert library.closed == 1
        assert tables(tmp_path) == {}


def test_a_worker_with_another_engine_computes_nothing(mixed):
    found = work.make("0.0.1 (other)", [("no scenario", [1])])
    assert found == {"engine": _core.version()}


def test_a_cluster_that_loses_all_its_workers_is_not_waited_for_for_ever(mixed, tmp_path, monkeypatch):
    monkeypatch.setattr(sweep, "COUNT_SECONDS", 0.0)
    monkeypatch.setattr(sweep, "WITHOUT_WORKERS_SECONDS", 0.2)
    with on(Threads(count=0)) as there, pytest.raises(UsageError, match="no worker is left"):
        Experiment.from_toml(mixed).run(tmp_path, executor=there)


def test_what_is_under_way_is_cancelled_when_a_sweep_ends_early(mixed, tmp_path):
    library = Threads()
    library.finished = lambda given, seconds: time.sleep(seconds) or []
    stop = threading.Event()
    runs = [(cell, seed) for cell in Experiment.from_toml(mixed).cells() for seed in range(1, 9)]
    with on(library) as there:
        threading.Timer(0.2, stop.set).start()
        with pytest.raises(KeyboardInterrupt):
            list(simulator.Simulator(1, executor=there).runs(runs, tmp_path, stop))
    assert library.cancelled == sweep.FOR_EACH * library.count


def test_ctrl_c_is_heard_while_a_cluster_is_looked_for(mixed, tmp_path):
    library, held, stop = Threads(), threading.Event(), threading.Event()
    library.connect = held.wait
    threading.Timer(0.2, stop.set).start()
    runs = [(Experiment.from_toml(mixed).cells()[0], 1)]
    with on(library) as there, pytest.raises(KeyboardInterrupt):
        list(simulator.Simulator(1, executor=there).runs(runs, tmp_path, stop))
    held.set()
    assert (library.abandoned, library.closed, library.sent) == (True, 0, [])


def test_what_is_finished_when_ctrl_c_comes_is_taken_at_once_and_kept(mixed, tmp_path):
    class Slow:
        """Four runs are finished, and then no more."""

        ahead = 512

        @contextmanager
        def sweep(self, stop):
            try:
                yield self
            finally:
                self.over = True

        def put(self, text, seeds):
            stop.set()

        def wait(self, seconds):
            return 4, 10

        def take(self):
            return 4, b"rows"

    stop, runs = threading.Event(), [(Experiment.from_toml(mixed).cells()[0], seed) for seed in range(10)]
    slow = Slow()
    chunks = simulator.Simulator(1, executor=slow).runs(runs, tmp_path, stop)
    assert next(chunks) == (runs[:4], b"rows")
    with pytest.raises(KeyboardInterrupt):
        next(chunks)
    assert slow.over is True


def filled(*scenarios):
    queue = batches.Queue()
    for text, count in scenarios:
        queue.put(text, list(range(1, count + 1)))
    return queue


def test_batches_grow_to_half_a_second_and_shrink_at_the_end():
    queue = filled(("a", 1000))
    first = queue.next(2)
    assert (first.first, first.count) == (0, 1)
    queue.learn(first, [False], 0.010)
    sizes = []
    while batch := queue.next(2):
        sizes.append(batch.count)
    assert sizes[0] == 50
    assert sizes == sorted(sizes, reverse=True)
    assert (sizes[-1], sum(sizes)) == (1, 999)


def test_further_runs_of_a_scenario_go_out_only_where_nothing_else_is_needed():
    queue = filled(("a", 3), ("b", 2))
    first, second, third = queue.next(1), queue.next(1), queue.next(1)
    assert [(one.first, one.parts[0][0].text) for one in (first, second, third)] == [(0, "a"), (3, "b"), (1, "a")]
    assert queue.learn(first, [True], 0.1) == [2]
    assert queue.put("b", [3]) == []
    assert third.is_continued
    assert not first.is_continued


def test_short_scenarios_share_a_batch():
    queue = filled(*((f"s{number}", 1) for number in range(100)))
    queue.learn(queue.next(1), [None], 0.001)
    assert len(queue.next(1).parts) > 10


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "address",
    ["", "x", "host:", "host:0", "host:65536", "http://host:1", "tcp:/host:1", "a b:1", "[::1]", "host:1/x", "::1:80"],
)
def test_an_address_of_another_form_is_refused(name, address):
    with pytest.raises(UsageError, match=r"no address of a cluster of .*; it is .*HOST"):
        cluster.cluster(name, address)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--executor", "rai"], "did you mean 'ray'?"),
        (["--address", "tcp://127.0.0.1:1"], "--address is that of a cluster: add --executor"),
        (["--executor", "ray", "--on", "host"], "--executor is for simulated runs: those on host are made where it is"),
        (
            ["--executor", "dask", "--on", "sim,guest:6.1"],
            "--executor is for simulated runs: those on guest:6.1 are made",
        ),
        (["--executor", "dask", "--address", "a:1", "--threads", "2"], "leave out one of them"),
        (["--executor", "dask", "--address", "what"], "no address of a cluster of dask; it is tcp://HOST:8786"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_is_done(schedlab, small, options, words):
    for verb in ("run", "tune"):
        options = [one for one in options if verb == "run" or one != "sim,guest:6.1"]
        done = schedlab(verb, small, *options)
        assert done.returncode == 2
        assert words in done.stderr or verb == "tune"
        assert not (schedlab.folder / "results").exists()


def test_a_library_that_is_not_installed_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(cluster.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'schedlab\[ray\]'"):
        cluster.cluster("ray")


def test_only_simulated_targets_go_to_a_cluster(mixed):
    class Elsewhere:
        name = "host"

    with pytest.raises(UsageError, match="those on host are made where it is"):
        Experiment.from_toml(mixed).run(targets=[Elsewhere()], executor=on(Threads()))


@contextmanager
def silent_server(greeting=b""):
    """Takes connections, says something or nothing, and waits."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held = []

        def serve():
            with suppress(OSError):
                while True:
                    held.append(server.accept()[0])
                    held[-1].sendall(greeting)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        for one in held:
            one.close()


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.mark.parametrize("form", [("dask", "tcp://{}"), ("ray", "{}"), ("ray", "ray://{}")], ids=lambda form: form[1])
def test_where_no_cluster_answers_the_command_says_so_within_ten_seconds(schedlab, small, form):
    name, address = form
    nobody = address.format(f"127.0.0.1:{closed_port()}")
    with silent_server() as mute, silent_server(b"HTTP/1.1 400 Bad Request\r\n\r\n") as other:
        wrong = [address.format(f"127.0.0.1:{port}") for port in (mute, other)]
        for one in (nobody, *wrong):
            began = time.monotonic()
            done = schedlab("run", small, "--executor", name, "--address", one)
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr.startswith(f"error: --address {one}: ")
            assert done.stderr.count("\n") == 1, "and nothing else"
            assert time.monotonic() - began < 10


# True clusters.


def children(pid: int) -> set[int]:
    """All processes below one."""
    found = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found.update(map(int, task.read_text().split()))
    return found.union(*(children(one) for one in found)) if found else found


def alive(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def listening(pids: set[int]) -> set[str]:
    """The addresses at which these processes take connections, as /proc/net has them."""
    sockets = set()
    for pid in pids:
        for file in Path(f"/proc/{pid}/fd").glob("*"):
            with suppress(OSError):
                sockets.add(os.readlink(file))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                found.add(words[1].partition(":")[0])
    return found


#: 127.0.0.1, and as an address of IPv6.
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}


def is_worker(pid: int, name: str) -> bool:
    """Whether a process makes runs, of the library's own ones."""
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
        return b"ray::make" in words if name == "ray" else b"spawn_main" in words
    return False


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return found


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The slow sweep's results, made by this process's threads."""
    folder = tmp_path_factory.mktemp("expected")
    assert Command(folder)("run", ROOT / "examples" / "desktop.toml", *SLOW).returncode == 0
    return tables(folder / "results")


@pytest.fixture(scope="module", params=NAMES)
def hurt(request, tmp_path_factory):
    """A sweep on a local cluster one of whose two workers is killed in the middle: what was seen then, and after."""
    folder, temporary = tmp_path_factory.mktemp("hurt"), Path(f"/tmp/t{os.getpid()}{request.param}")
    temporary.mkdir()
    before = {file.name for file in Path("/tmp").iterdir()} | {temporary.name}
    command = [COMMAND, "run", ROOT / "examples" / "desktop.toml", *SLOW, "--executor", request.param, "--threads", "2"]
    environment = os.environ | {"TMPDIR": str(temporary), "HOME": str(folder)}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for(lambda: list(folder.glob("results/*/runs-*.parquet")) or process.poll() is not None)
    all_of_it = children(process.pid)
    where = listening({process.pid, *all_of_it})
    workers = [pid for pid in sorted(all_of_it) if is_worker(pid, request.param)]
    os.kill(workers[0], signal.SIGKILL)
    later = children(process.pid)
    out, said = process.communicate(timeout=120)
    wait_for(lambda: not any(map(alive, all_of_it | later)), 15)
    left = [str(file) for file in temporary.iterdir()] + [
        file.name
        for file in Path("/tmp").iterdir()
        if file.name.startswith(("ray", "dask")) and file.name not in before
    ]
    left += [file.name for file in folder.iterdir() if file.name != "results"]
    temporary.rmdir()
    return {
        "status": process.returncode,
        "out": out,
        "said": said,
        "folder": folder,
        "where": where,
        "left": left,
        "workers": workers,
    }


def test_a_worker_that_is_killed_loses_nothing_and_nothing_is_there_twice(hurt, expected):
    assert (hurt["status"], hurt["said"]) == (0, "")
    assert len(hurt["workers"]) == 2
    assert tables(hurt["folder"] / "results") == expected


def test_a_cluster_on_this_computer_is_for_it_alone_and_leaves_nothing(hurt):
    assert hurt["where"]
    assert hurt["where"] <= LOOPBACK
    assert hurt["left"] == []


@pytest.mark.parametrize("name", NAMES)
def test_ctrl_c_keeps_what_is_done_leaves_nothing_and_the_same_command_goes_on(schedlab, name, expected):
    command = [COMMAND, "run", ROOT / "examples" / "desktop.toml", *map(str, SLOW)]
    process = subprocess.Popen(
        [*command, "--executor", name, "--threads", "2"],
        cwd=schedlab.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: list(schedlab.folder.glob("results/*/runs-*.parquet")) or process.poll() is not None)
    all_of_it = children(process.pid)
    # As a terminal does: to all processes of the command.
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.count("\n") == 1
    assert "are kept in results/desktop-" in said
    wait_for(lambda: not any(map(alive, all_of_it)), 15)
    done = schedlab("run", ROOT / "examples" / "desktop.toml", *SLOW, "--resume")
    assert "known before" in done.stdout
    assert "(0 known before)" not in done.stdout
    assert tables(schedlab.folder / "results") == expected


#: What a worker of another schedlab says, while the file is there.
PLANTED = """
from pathlib import Path
from schedlab import _core
own = _core.version()
_core.version = lambda: Path({file!r}).read_text() if Path({file!r}).exists() else own
"""


@contextmanager
def started(folder, *commands, ready):
    """Programs with a planted version that run until the end, each after the one before is ready."""
    (folder / "plant").mkdir()
    (folder / "plant" / "sitecustomize.py").write_text(PLANTED.format(file=str(folder / "version")))
    environment = os.environ | {"PYTHONPATH": str(folder / "plant"), "RAY_USAGE_STATS_ENABLED": "0"}
    processes = []
    try:
        for command in commands:
            with open(folder / "log", "a") as log:
                processes.append(subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log))
            wait_for(lambda: ready((folder / "log").read_text(), len(processes)))
        yield
    finally:
        below = set().union(*(children(one.pid) for one in processes))
        for one in reversed(processes):
            one.send_signal(signal.SIGTERM)
        for one in processes:
            with suppress(subprocess.TimeoutExpired):
                one.wait(15)
            one.kill()
            one.wait()
        for pid in filter(alive, below):
            os.kill(pid, signal.SIGKILL)


def answers(*ports) -> bool:
    for port in ports:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            continue
        return False
    return True


def dask_cluster(folder):
    port = closed_port()
    python = [sys.executable, "-m"]
    scheduler = [
        *python,
        "distributed.cli.dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--no-dashboard",
    ]
    worker = [
        *python,
        "distributed.cli.dask_worker",
        f"tcp://127.0.0.1:{port}",
        "--nthreads",
        "2",
        "--no-nanny",
        "--no-dashboard",
    ]
    worker += ["--local-directory", str(folder)]
    return started(
        folder, scheduler, worker, ready=lambda said, count: answers(port) and (count == 1 or "Registered to" in said)
    ), [
        f"tcp://127.0.0.1:{port}",
        f"127.0.0.1:{port}",
    ]


def ray_cluster(folder):
    port, door = closed_port(), 20000 + os.getpid() % 5000
    head = [Path(sys.executable).with_name("ray"), "start", "--head", "--block", "--port", str(port), "--num-cpus", "2"]
    head += ["--node-ip-address", "127.0.0.1", "--ray-client-server-port", str(door), "--include-dashboard=false"]
    head += ["--temp-dir", f"/tmp/t{os.getpid()}", "--disable-usage-stats"]
    return started(folder, head, ready=lambda *_: answers(port, door)), [f"127.0.0.1:{port}", f"ray://127.0.0.1:{door}"]


@pytest.mark.parametrize(("name", "made"), [("dask", dask_cluster), ("ray", ray_cluster)], ids=["dask", "ray"])
def test_a_cluster_is_found_by_its_address_and_refused_if_its_engine_is_another(
    schedlab, mixed, tmp_path, monkeypatch, name, made
):
    for variable, value in (
        ("RAY_AUTH_MODE", "token"),
        ("RAY_AUTH_TOKEN", TOKEN),
        ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0"),
    ):
        monkeypatch.setenv(variable, value)
    schedlab("run", mixed, "--out", "here")
    cluster_of_processes, addresses = made(tmp_path)
    with cluster_of_processes:
        for number, address in enumerate(addresses):
            done = schedlab("run", mixed, "--executor", name, "--address", address, "--out", f"there{number}")
            assert (done.returncode, done.stderr) == (0, "")
            assert tables(tmp_path / f"there{number}") == tables(tmp_path / "here")
        if name == "ray":
            done = schedlab(
                "run", mixed, "--executor", name, "--address", address, "--fresh", env={"RAY_AUTH_TOKEN": TOKEN[::-1]}
            )
            assert done.returncode == 2
            assert "the cluster wants a token: set RAY_AUTH_MODE=token" in done.stderr
        (tmp_path / "version").write_text("0.0.1 (planted)")
        done = schedlab("run", mixed, "--executor", name, "--address", addresses[0], "--out", "never")
        assert done.returncode == 2
        assert "engines differ" in done.stderr
        assert "has 0.0.1 (planted)" in done.stderr
        assert done.stderr.count("\n") == 1
        assert tables(tmp_path / "never") == {}
    if name == "ray":
        subprocess.run(["rm", "-rf", f"/tmp/t{os.getpid()}"], check=True)


@pytest.mark.parametrize(
    ("name", "made", "head"),
    [("dask", dask_cluster, b"dask_scheduler"), ("ray", ray_cluster, b"gcs_server")],
    ids=["dask", "ray"],
)
def test_a_cluster_whose_head_dies_is_refused_in_a_line_and_what_is_finished_is_kept(tmp_path, name, made, head):
    cluster_of_processes, addresses = made(tmp_path)
    with cluster_of_processes:
        words = [
            COMMAND,
            "run",
            ROOT / "examples" / "desktop.toml",
            *SLOW,
            "--executor",
            name,
            "--address",
            addresses[0],
        ]
        process = subprocess.Popen(
            words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
        )
        wait_for(lambda: list(tmp_path.glob("results/*/runs-*.parquet")) or process.poll() is not None)
        heads = [one for one in children(os.getpid()) if head in Path(f"/proc/{one}/cmdline").read_bytes()]
        assert heads
        for one in heads:
            os.kill(one, signal.SIGKILL)
        out, said = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert f"--executor {name}: the " in said
    assert "is lost" in said
    assert "finished runs are kept" in said
    # Of a batch that cannot be taken back Ray's part in C++ has a line of its own, whatever its levels.
    assert len([line for line in said.splitlines() if not line.startswith("[20")]) == 1
    assert list(tmp_path.glob("results/*/runs-*.parquet"))


def test_what_an_executor_is_holds_for_each(mixed):
    """Both have what the simulator asks for."""
    for one in (executor.Executor, cluster.Cluster):
        assert {"sweep", "ahead"} <= set(dir(one))
