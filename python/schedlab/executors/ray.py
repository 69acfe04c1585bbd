"""Ray as a cluster: batches are tasks, which it sends to its workers and sends again when one dies."""

import logging
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from schedlab.errors import UsageError
from schedlab.executors import work
from schedlab.executors.address import WORD_SECONDS, knock
from schedlab.executors.sweep import Died
from schedlab.executors.work import Part
from schedlab.system import leftovers

#: Said before Ray is imported, unless the user says otherwise: nothing is reported to its makers.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0"}
#: The same for a cluster on this computer. With the first it listens to this computer alone; with the second, and a
#: token that is made for it, to its own user. Its workers are as nice as the command, where Ray makes them nicer by 15.
OWN = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token", "RAY_worker_niceness": "0"}
#: Above every level of Ray's messages: what matters is in its exceptions.
SILENT = logging.CRITICAL + 1
#: Seconds that an answer may take which no run has to be made for.
PATIENCE_SECONDS = 10.0
#: How often a connection through such a door is tried.
DOOR_TRIES = 2
#: Seconds between two looks at whether the cluster is still there.
LOOK_SECONDS = 5.0
#: What an address begins with through which computers outside of the cluster reach it.
CLIENT = "ray://"
#: Questions that every Ray answers, without and with that: methods of gRPC.
QUESTIONS = ("/ray.rpc.NodeInfoGcsService/CheckAlive", "/ray.rpc.RayletDriver/ClusterInfo")
#: How often a batch whose worker dies is made again.
AGAIN = 2
#: What folders of clusters that are started here are called; Ray's sockets in it must have short names.
FOLDER = "schedlab-ray-"
#: Memory for objects, bytes: batches and their rows are small.
OBJECTS = 80 << 20


class Ray:
    """The cluster at an address, or one of some workers on this computer. Tokens and TLS: from the environment."""

    name = "ray"

    def __init__(self, address: str | None, workers: int):
        """Nothing is started yet."""
        self._address, self._count = address, workers
        self._folder: Path | None = None
        self._looked, self._is_lost = time.monotonic(), False
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        if address is None:
            os.environ.update(OWN, RAY_AUTH_TOKEN=secrets.token_hex(32))
        import ray

        self._ray = ray
        self._make = ray.remote(work.make).options(max_retries=AGAIN)

    def connect(self) -> None:
        """Find the cluster, or start one."""
        ray = self._ray
        if self._address not in (None, "auto"):
            self._refuse_others()
        where = {"address": self._address} if self._address else self._started()
        quiet = {"logging_level": SILENT, "log_to_driver": False}
        _silence()
        # A busy cluster may fail to start the process behind its door in Ray's own time.
        tries = DOOR_TRIES if str(self._address).startswith(CLIENT) else 1
        for left in reversed(range(tries)):
            try:
                ray.init(**where, **quiet)
                return
            except Exception as why:
                if not left:
                    found = f"no cluster of Ray answers there ({_first_line(why)})"
                    raise UsageError(f"--executor ray: {self._address or 'this computer'}: {found}") from None

    def _refuse_others(self) -> None:
        """Refuse what is no Ray, or wants another token: Ray itself would try for a minute."""
        import grpc

        address = self._address.removeprefix(CLIENT)
        question = QUESTIONS[self._address.startswith(CLIENT)]
        if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
            return
        with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as there:
            try:
                there.unary_unary(question)(b"", timeout=WORD_SECONDS, metadata=_token())
            except grpc.RpcError as why:
                # To a question of an unknown client, the door to the cluster answers that it knows none.
                if why.code() != grpc.StatusCode.NOT_FOUND or question == QUESTIONS[0]:
                    raise UsageError(f"--address {self._address}: {_meaning(why.code().name)}") from None

    def _started(self) -> dict[str, Any]:
        """What a cluster on this computer, and for it alone, is made of."""
        leftovers.remove_left(Path(tempfile.gettempdir()).glob(f"{FOLDER}*"))
        self._folder = Path(tempfile.mkdtemp(prefix=FOLDER))
        leftovers.mark(self._folder)
        return {
            "address": "local",
            "num_cpus": self._count,
            "include_dashboard": False,
            "object_store_memory": OBJECTS,
            "_node_ip_address": "127.0.0.1",
            "_temp_dir": str(self._folder),
        }

    def engines(self) -> dict[str, str]:
        """The engine of each node that has processors."""
        ray = self._ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as Affinity

        nodes = [one for one in ray.nodes() if one["Alive"] and one["Resources"].get("CPU")]
        if not nodes:
            raise UsageError(f"--executor ray: {self._address or 'this computer'}: it has no workers")
        ask = ray.remote(work.engine)
        asked = {
            one["NodeManagerAddress"]: ask.options(
                num_cpus=0, max_retries=AGAIN, scheduling_strategy=Affinity(one["NodeID"], soft=False)
            ).remote()
            for one in nodes
        }
        try:
            return {node: str(ray.get(answer, timeout=3 * PATIENCE_SECONDS)) for node, answer in asked.items()}
        except ray.exceptions.RayError as why:
            raise UsageError(
                f"--executor ray: a worker cannot run schedlab; is it installed there? ({_last_line(why)})"
            ) from None

    def workers(self) -> int:
        """The processors of all nodes."""
        self._look()
        return int(self._asked(lambda: self._ray.cluster_resources().get("CPU", 0)))

    def submit(self, engine: str, parts: list[Part]) -> Any:
        """Have a batch made."""
        return self._asked(lambda: self._make.remote(engine, parts))

    def finished(self, given: list[Any], seconds: float) -> Iterable[Any]:
        """Those that are finished."""
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._look()
        first, _ = self._asked(lambda: self._ray.wait(given, num_returns=1, timeout=seconds))
        return self._asked(lambda: self._ray.wait(given, num_returns=len(given), timeout=0))[0] if first else []

    def _look(self) -> None:
        """Refuse a cluster whose head is gone: workers go on, questions wait, and after a minute Ray would end us."""
        self._looked = time.monotonic()
        try:
            if self._address not in (None, "auto"):
                knock(self.name, self._address)
        except UsageError as why:
            self._is_lost = True
            raise self._lost(why) from None

    def result(self, one: Any) -> Any:
        """What a batch gave."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(one, timeout=PATIENCE_SECONDS)
        except (errors.WorkerCrashedError, errors.OutOfMemoryError, errors.NodeDiedError) as why:
            raise Died(f"Ray tried {AGAIN + 1} times: {type(why).__name__}") from None
        except errors.RayTaskError as why:
            raise UsageError(f"--executor ray: a worker cannot take a batch ({_last_line(why)})") from None
        except (errors.RayError, ConnectionError, TimeoutError) as why:
            raise self._lost(why) from None

    def cancel(self, given: list[Any]) -> None:
        """They are not wanted any more."""
        for one in given:
            self._ray.cancel(one, force=True)

    def abandon(self) -> None:
        """No file stays."""
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def close(self) -> None:
        """Leave; end what was started. One that is lost cannot be left: Ray would wait for it."""
        if not self._is_lost:
            self._ray.shutdown()
        self.abandon()

    def _asked(self, question: Any) -> Any:
        try:
            return question()
        except (self._ray.exceptions.RayError, ConnectionError, TimeoutError, RuntimeError) as why:
            raise self._lost(why) from None

    def _lost(self, why: BaseException) -> UsageError:
        where = self._address or "this computer"
        return UsageError(
            f"--executor ray: the cluster of {where} is lost ({_first_line(why)}); finished runs are kept"
        )


def _silence() -> None:
    """What nodes report, as the death of a worker, Ray prints on standard output, whatever its levels: there are our
    tables.
    """
    with suppress(ImportError):
        from ray._private import worker

        worker.print_to_stdstream = lambda *_, **__: None


def _token() -> list[tuple[str, str]]:
    """The user's token, found as Ray finds it."""
    if os.environ.get("RAY_AUTH_MODE", "").lower() != "token":
        return []
    own = Path.home() / ".ray" / "auth_token"
    with suppress(OSError):
        token = os.environ.get("RAY_AUTH_TOKEN") or Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or own).read_text()
        return [("authorization", f"Bearer {token.strip()}")]
    return []


def _meaning(code: str) -> str:
    """What an answer that is none means."""
    if code in ("UNAUTHENTICATED", "PERMISSION_DENIED"):
        return "the cluster wants a token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"
    return f"what answers there is no cluster of ray ({code})"


def _first_line(why: BaseException) -> str:
    """What it says, up to its second line where the first one only announces it."""
    lines = str(why).strip().splitlines()
    said = " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1])
    return said[:200] or type(why).__name__


def _last_line(why: BaseException) -> str:
    """Of what a worker says, the end of its traceback."""
    return str(why).strip().rpartition("\n")[2][:200] or type(why).__name__
