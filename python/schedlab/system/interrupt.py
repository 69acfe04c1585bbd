"""Ctrl-C, so that nothing is torn: work goes on in a second thread while this one listens."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future

#: Seconds within which Ctrl-C takes effect.
HEARD_SECONDS = 0.05


@contextmanager
def ctrl_c() -> Iterator[threading.Event]:
    """Turn Ctrl-C into a flag, looked at between two steps: nothing is torn, whatever library is at work just then.

    Only the main thread may say what Ctrl-C does; elsewhere the flag is never set.
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def instead_of_ending(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` when Ctrl-C or a signal to end comes, for work that then comes to its end by itself."""
    before = {number: signal.signal(number, lambda *_: stop()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def deaf() -> None:
    """Do not hear Ctrl-C in this thread, nor in what it starts: a terminal sends it to all processes of a command."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def result(future: "Future", stop: threading.Event) -> Any:
    """What comes of it; KeyboardInterrupt as soon as `stop` is set."""
    from concurrent.futures import wait

    while not wait([future], timeout=HEARD_SECONDS).done:
        if stop.is_set():
            raise KeyboardInterrupt
    return future.result()


def until_stopped(stop: threading.Event, work: Callable, *arguments: Any) -> Any:
    """Do `work` in a second thread and give its result; KeyboardInterrupt as soon as `stop` is set, without it."""
    from concurrent.futures import ThreadPoolExecutor, wait

    worker = ThreadPoolExecutor(1, "schedlab")
    try:
        future = worker.submit(work, *arguments)
        while not stop.is_set() and not wait([future], timeout=HEARD_SECONDS).done:
            pass
        if stop.is_set():
            raise KeyboardInterrupt
        return future.result()
    finally:
        worker.shutdown(wait=False, cancel_futures=True)
