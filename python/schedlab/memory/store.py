"""The database of peaks: SQLite, in one file, with a log next to it while it is in use (WAL).

Its size is bounded by programs and not by time: the constants below say how many programs, classes and versions are
distinguished, and how many runs of a class are kept one by one, the last ones; a histogram has all of them. What finds
no room is counted as `(other)`. No program has a name that begins with a bracket (`classes.named`): those are ours.

One recording writes at a time (`locked`); any number read meanwhile. A transaction is one second of lines: a recorder
that is killed, or finds the disk full, leaves the transactions before.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schedlab.errors import UsageError
from schedlab.system import reading

#: What the file's head says: "SLmm", and the version of the tables.
APPLICATION, VERSION = 0x534C6D6D, 2
#: Programs, classes of one program and of all, versions of one program, kept runs of a class, kept gaps.
PROGRAMS, CLASSES, ALL_CLASSES, VERSIONS, KEPT, GAPS = 2048, 64, 8192, 256, 2048, 1024
#: A histogram's buckets: this many for each doubling, so one is 4.4 % wide.
PER_DOUBLING = 16
#: How long a reader waits for a writer, and a recording at a time: meanwhile the agent's lines wait in its pipe.
WAIT_SECONDS, LOOK_SECONDS = 5.0, 0.1

TABLES = """
CREATE TABLE program (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE class (
    id INTEGER PRIMARY KEY, program INTEGER NOT NULL REFERENCES program, text TEXT NOT NULL,
    n INTEGER NOT NULL DEFAULT 0, polled INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0,
    peak INTEGER NOT NULL DEFAULT 0, mapped INTEGER NOT NULL DEFAULT 0, first_ns INTEGER NOT NULL, last_ns INTEGER NOT
    NULL, UNIQUE (program, text)) STRICT;
CREATE TABLE version (
    id INTEGER PRIMARY KEY, program INTEGER NOT NULL REFERENCES program, identity TEXT NOT NULL, number INTEGER NOT
    NULL, first_ns INTEGER NOT NULL, UNIQUE (program, identity)) STRICT;
CREATE TABLE histogram (
    class INTEGER NOT NULL REFERENCES class, version INTEGER NOT NULL, bucket INTEGER NOT NULL, n INTEGER NOT NULL,
    PRIMARY KEY (class, version, bucket)) STRICT, WITHOUT ROWID;
CREATE TABLE run (
    class INTEGER NOT NULL REFERENCES class, slot INTEGER NOT NULL, time_ns INTEGER NOT NULL, version INTEGER NOT NULL,
    peak INTEGER NOT NULL, elapsed_ns INTEGER NOT NULL, polled INTEGER NOT NULL,
    PRIMARY KEY (class, slot)) STRICT, WITHOUT ROWID;
CREATE TABLE recording (
    id INTEGER PRIMARY KEY, begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, how TEXT NOT NULL, every_ns INTEGER,
    processes INTEGER NOT NULL, unknown INTEGER NOT NULL, gaps INTEGER NOT NULL, program_gaps INTEGER NOT NULL,
    own_ns INTEGER) STRICT;
CREATE TABLE gap (slot INTEGER PRIMARY KEY, recording INTEGER NOT NULL, time_ns INTEGER NOT NULL, what TEXT NOT NULL)
STRICT;
"""


def usual() -> Path:
    """The file that is used unless another is named."""
    named = os.environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(named):
        return Path(named) / "schedlab" / "memory.db"
    if os.geteuid() == 0:
        return Path("/var/lib/schedlab/memory.db")
    return Path.home() / ".local" / "state" / "schedlab" / "memory.db"


def bucket(peak: int) -> int:
    """The bucket of a peak: buckets are equal shares of a doubling, as wide as `upper` says."""
    top = max(peak, 1).bit_length() - 1
    return next(at for at in range(top * PER_DOUBLING - 1, (top + 2) * PER_DOUBLING) if peak <= upper(at))


def upper(bucket: int) -> int:
    """The largest peak of a bucket."""
    whole, part = divmod(bucket, PER_DOUBLING)
    return int(2.0 ** (whole + (part + 1) / PER_DOUBLING))


class Locked(Exception):
    """Another program kept the database locked for too long; the message says for how long, and what is lost."""


@contextmanager
def said(path: Path) -> Iterator[None]:
    """Have what SQLite finds wrong with a file, or a lock without end, said in one line."""
    try:
        yield
    except Locked as why:
        raise UsageError(f"{path}: {why}") from None
    except sqlite3.DatabaseError as why:
        text = str(why)
        if "locked" in text or "busy" in text:
            raise UsageError(f"{path}: is in use; try again when the other command has ended") from None
        if "full" in text:
            raise UsageError(f"{path}: the disk is full; what was stored before is kept") from None
        if "readonly" in text or "unable to open" in text or "I/O" in text:
            raise UsageError(f"{path}: cannot be used: {text}") from None
        raise UsageError(
            f"{path}: is damaged or no database of schedlab memory ({text}); name another with --db"
        ) from None


@contextmanager
def read(path: Path) -> Iterator[sqlite3.Connection]:
    """A database to read from."""
    if not path.exists():
        raise UsageError(f"{path}: there is no such database; schedlab memory record writes one")
    reading.refuse_unusual(path)
    with said(path):
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=WAIT_SECONDS)
        try:
            _refuse_foreign(connection, path)
            # What is read belongs together, whatever is written meanwhile.
            connection.execute("BEGIN")
            yield connection
        except (TypeError, ValueError, OverflowError) as why:
            raise UsageError(
                f"{path}: holds what schedlab memory does not store ({why}); name another with --db"
            ) from None
        finally:
            connection.close()


@contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """A database to write to, made if it is not there; refused while another recording writes to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        reading.refuse_unusual(path)
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{path}: another recording writes to it; name another file with --db") from None
        with said(path):
            connection = _opened(path)
            try:
                yield connection
            finally:
                connection.close()
    finally:
        os.close(lock)


def begun(connection: sqlite3.Connection) -> bool:
    """Begin a transaction; False if another program has one that writes."""
    connection.execute(f"PRAGMA busy_timeout = {LOOK_SECONDS * 1000:.0f}")
    try:
        connection.execute("BEGIN IMMEDIATE")
        return True
    except sqlite3.OperationalError as why:
        if why.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    finally:
        connection.execute(f"PRAGMA busy_timeout = {WAIT_SECONDS * 1000:.0f}")


def _opened(path: Path) -> sqlite3.Connection:
    # It names the programs of all users.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)
    try:
        if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            connection.execute("PRAGMA journal_mode = WAL")
            heads = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
            connection.executescript(f"BEGIN IMMEDIATE; {heads} {TABLES} COMMIT;")
        _refuse_foreign(connection, path)
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection
    except BaseException:
        connection.close()
        raise


def _refuse_foreign(connection: sqlite3.Connection, path: Path) -> None:
    application, version = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    if application != APPLICATION:
        raise UsageError(f"{path}: is no database of schedlab memory; name another with --db")
    if version != VERSION:
        raise UsageError(
            f"{path}: has tables of version {version}, and this schedlab knows {VERSION}; name another with --db"
        )
