"""
The SQLite files under the cell tables: connections, transactions, checkpoints, errors.

A connection belongs to one thread of one process: it is opened when first needed and never carried
over a fork, where it would break SQLite's locks. Checkpoints run in one background thread a
process, so that no writer pays for one; where the write-ahead log grows past 256 MB all the same,
writers wait for a checkpoint that empties it, which slows them to what the disk can take.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aragog.errors import ConfigError, CorruptRow, StoreUnavailable
from aragog.zen.tables.sqlite_layout import LAYOUTS

BUSY_TIMEOUT_S = 30.0
CHECKPOINT_EVERY_S = 1.0
CHECKPOINT_PAST_BYTES = 4 * 1024 * 1024
RESTART_PAST_BYTES = 256 * 1024 * 1024
_CACHE_KIB = 8 * 1024
_MARKER = "shards"
"""The file that tells how many there are; also the lock under which they are opened."""


class Shards:
    """The files of one folder, `00.db` and on."""

    def __init__(self, folder: Path, count: int) -> None:
        self.count = count
        self._folder = folder
        self._paths = [folder / f"{number:02x}.db" for number in range(count)]
        self._mine = _Connections()
        self._checkpoints: _Checkpoints | None = None
        self._starting = threading.Lock()
        self._check_folder()

    def number(self, first_byte: int) -> int:
        """Which file holds rows whose key begins with `first_byte`."""
        return first_byte % self.count

    @contextmanager
    def reading(self, first_byte: int) -> Iterator[sqlite3.Connection]:
        """A connection to the file of `first_byte`; each statement sees what is committed."""
        try:
            yield self.connection(first_byte)
        except sqlite3.Error as error:
            raise self.translated(error) from error

    @contextmanager
    def writing(self, first_byte: int) -> Iterator[sqlite3.Connection]:
        """The same inside one transaction: committed at the end, undone when the block raises."""
        number = first_byte % self.count
        try:
            db = self.connection(number)
            # IMMEDIATE: a plain BEGIN that writes later fails at once when another has written.
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise self.translated(error) from error
        self._after_write(number)

    def create(self) -> None:
        for number in range(self.count):
            with self.reading(number):
                pass

    def close(self) -> None:
        """Close this thread's connections and end the checkpoint thread of this process."""
        if self._checkpoints is not None:
            self._checkpoints.stop()
            self._checkpoints = None
        self._mine.close()

    def connection(self, first_byte: int) -> sqlite3.Connection:
        """A connection to the file of `first_byte` for this thread; its errors are sqlite3's."""
        number = first_byte % self.count
        mine = self._mine.of_this_process()
        db = mine.get(number)
        if db is None:
            with _alone(self._folder / _MARKER):
                db = mine[number] = _open(self._paths[number])
        return db

    def _after_write(self, number: int) -> None:
        checkpoints = self._checkpoints
        if checkpoints is None or checkpoints.pid != os.getpid():
            with self._starting:
                checkpoints = self._checkpoints
                if checkpoints is None or checkpoints.pid != os.getpid():
                    checkpoints = self._checkpoints = _Checkpoints(self._paths)
        checkpoints.written[number] = True
        if checkpoints.behind[number]:
            self.connection(number).execute("PRAGMA wal_checkpoint(RESTART)")
            checkpoints.behind[number] = False

    def translated(self, error: sqlite3.Error) -> Exception:
        """The error that tells who must act."""
        return _ours(error, self._folder)

    def _check_folder(self) -> None:
        try:
            self._folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder.mkdir(mode=0o700, exist_ok=True)
            there = sum(1 for _ in self._folder.glob("[0-9a-f][0-9a-f].db"))
            marker = self._folder / _MARKER
            if not marker.exists():
                marker.write_text(f"{there or self.count}\n", "ascii")
            made = int(marker.read_text("ascii") or self.count)
        except OSError as error:
            raise ConfigError(f"data_dir: {self._folder} cannot be written: {error}") from error
        if made != self.count:
            raise ConfigError(
                f"store.sqlite_shards: is {self.count}, but {self._folder} was made with {made}; "
                f"set it to {made}, or export the data and import them into a new folder"
            )


class _Connections(threading.local):
    """The connections of one thread, by file."""

    def __init__(self) -> None:
        self.pid = 0
        self.open: dict[int, sqlite3.Connection] = {}
        self.abandoned: list[dict[int, sqlite3.Connection]] = []

    def of_this_process(self) -> dict[int, sqlite3.Connection]:
        pid = os.getpid()
        if self.pid != pid:
            # Kept, not closed: closing a connection inherited over a fork drops the parent's locks.
            self.abandoned.append(self.open)
            self.pid, self.open = pid, {}
        return self.open

    def close(self) -> None:
        for db in self.of_this_process().values():
            db.close()
        self.open.clear()


class _Checkpoints:
    """One background thread that moves finished transactions from the logs into the files."""

    def __init__(self, paths: list[Path]) -> None:
        self.pid = os.getpid()
        self.written = [False] * len(paths)
        self.behind = [False] * len(paths)
        self._paths = paths
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self.pid == os.getpid():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(CHECKPOINT_EVERY_S):
            for number, path in enumerate(self._paths):
                if self.written[number]:
                    self.written[number] = False
                    self._checkpoint(number, path)

    def _checkpoint(self, number: int, path: Path) -> None:
        try:
            size = Path(f"{path}-wal").stat().st_size
            self.behind[number] = size > RESTART_PAST_BYTES
            if size > CHECKPOINT_PAST_BYTES:
                db = sqlite3.connect(path, isolation_level=None)
                db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                db.close()
        except (sqlite3.Error, OSError):
            # Another process checkpoints, or the disk is full: writers will say so.
            self.written[number] = True


@contextmanager
def _alone(marker: Path) -> Iterator[None]:
    """
    Let one thread of one process at a time open files of a folder; about 20 µs.

    Making a file, and its switch to a write-ahead log, fails at once with "database is locked"
    when two do it together: SQLite does not wait there, whatever the busy timeout.
    """
    try:
        lock = marker.open("rb")
    except OSError as error:
        raise sqlite3.OperationalError(str(error)) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            # Not left to closing: a process forked meanwhile has the same open file.
            fcntl.flock(lock, fcntl.LOCK_UN)


def _open(path: Path) -> sqlite3.Connection:
    with suppress(OSError):  # SQLite says what is wrong; its other files take the mode of this one
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
    db = sqlite3.connect(
        path,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    try:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute("PRAGMA wal_autocheckpoint=0")
        db.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        for layout in LAYOUTS.values():
            db.execute(layout.schema)
    except BaseException:
        db.close()
        raise
    return db


def _ours(error: sqlite3.Error, folder: Path) -> Exception:
    """The error that tells who must act."""
    where = f"sqlite ({folder})"
    if (
        isinstance(error, sqlite3.DatabaseError)
        and not isinstance(
            error, sqlite3.OperationalError | sqlite3.IntegrityError | sqlite3.InterfaceError
        )
        and type(error) is sqlite3.DatabaseError
    ):
        return CorruptRow("sqlite", str(folder), str(error))
    if "full" in str(error):
        return StoreUnavailable(where, f"{error}: free some space; nothing acknowledged is lost")
    return StoreUnavailable(where, str(error))
