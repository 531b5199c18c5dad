"""
Open SQLite files, and keep the connections of each thread.

A connection belongs to one thread of one process: it is opened when first needed and never used
after a fork, where it would break SQLite's locks.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aragog.zen.tables.sqlite.layout import LAYOUTS

BUSY_TIMEOUT_S = 30.0
_CACHE_KIB = 1024
"""For one connection: eight threads of a worker hold 128, so 8 MiB each took a gigabyte."""


class Connections(threading.local):
    """The connections of one thread, by file."""

    def __init__(self) -> None:
        self.pid = 0
        self.open: dict[int, tuple[sqlite3.Connection, int]] = {}
        """With the round and generation that each was opened at."""
        self.abandoned: list[dict[int, tuple[sqlite3.Connection, int]]] = []

    def of_this_process(self) -> dict[int, tuple[sqlite3.Connection, int]]:
        pid = os.getpid()
        if self.pid != pid:
            # Kept, not closed: closing a connection inherited by a fork drops the parent's locks.
            self.abandoned.append(self.open)
            self.pid, self.open = pid, {}
        return self.open

    def close(self) -> None:
        for db, _ in self.of_this_process().values():
            db.close()
        self.open.clear()


@contextmanager
def alone(marker: Path) -> Iterator[None]:
    """
    Let one thread of one process at a time open files of a folder; about 20 µs.

    Creating a file and switching it to a write-ahead log fail at once with "database is locked" if
    two processes do it together: SQLite does not wait there, for any busy timeout.
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
            # Unlocked explicitly: a process forked meanwhile has the same open file.
            fcntl.flock(lock, fcntl.LOCK_UN)


def share_mode(path: Path) -> None:
    """
    Reset the mode of the log and its index to the mode of their file.

    SQLite creates them with the file's current mode; if it was read-only then, they would keep it
    read-only permanently.
    """
    for side in (Path(f"{path}-wal"), Path(f"{path}-shm")):
        with suppress(OSError):
            if os.access(path, os.W_OK) and not os.access(side, os.W_OK):
                side.chmod(path.stat().st_mode & 0o777)


def open_file(path: Path) -> sqlite3.Connection:
    """A connection to a file, which is created with its tables if missing."""
    with suppress(OSError):  # SQLite reports the problem; its other files take the mode of this one
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
        # What is taken down must not stay in free pages; costs nothing that can be measured.
        db.execute("PRAGMA secure_delete=ON")
        db.execute("PRAGMA wal_autocheckpoint=0")
        db.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        for layout in LAYOUTS.values():
            db.execute(layout.schema)
    except BaseException:
        db.close()
        raise
    return db
