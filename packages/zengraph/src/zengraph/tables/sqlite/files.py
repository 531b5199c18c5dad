"""
The SQLite files behind the cell tables.

A connection belongs to one thread. It is opened on first use and never used after a fork, because
that would break SQLite's locks.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from zengraph._remedies import DEFAULT, Remedies
from zengraph.errors import InvalidConfig, StoreDamaged, StoreUnavailable
from zengraph.tables import FORMAT
from zengraph.tables.sqlite.checkpoints import Checkpoints, CheckpointTimes
from zengraph.tables.sqlite.file_locks import find_holder, lock_file
from zengraph.tables.sqlite.health import Health, count_files, has_state
from zengraph.tables.sqlite.layouts import page_bytes, schemas

BUSY_TIMEOUT_S = 30.0
LOCK_WAIT_S = 10.0
"""
How long (s) to wait for another process to create a folder's files. That normally takes well under
a second.
"""
_CACHE_KIB = 1024
"""
A connection's page cache. A worker's eight threads keep 128 connections, so 8 MiB each would add up
to a gigabyte.
"""


class Connections(threading.local):
    """One thread's connections, by file."""

    def __init__(self) -> None:
        self.pid = 0
        self.open: dict[int, tuple[sqlite3.Connection, int]] = {}
        """Connections by file number, each with the `_opening_number` at which it was opened."""
        self.abandoned: list[dict[int, tuple[sqlite3.Connection, int]]] = []

    def of_this_process(self) -> dict[int, tuple[sqlite3.Connection, int]]:
        pid = os.getpid()
        if self.pid != pid:
            # Keep them, because closing an inherited connection would drop the parent's locks.
            self.abandoned.append(self.open)
            self.pid, self.open = pid, {}
        return self.open

    def close(self) -> None:
        for db, _ in self.of_this_process().values():
            db.close()
        self.open.clear()


def share_mode(path: Path) -> None:
    """
    Give the log and its index the mode of their file.

    SQLite creates them with the file's mode. If the file was read-only at that time, they would
    stay read-only, and the database would never be writable.
    """
    for side in (Path(f"{path}-wal"), Path(f"{path}-shm")):
        with suppress(OSError):
            if os.access(path, os.W_OK) and not os.access(side, os.W_OK):
                side.chmod(path.stat().st_mode & 0o777)


def open_file(
    path: Path, form: int, busy_s: float = BUSY_TIMEOUT_S, new_page_bytes: int | None = None
) -> sqlite3.Connection:
    """
    Open a file; create it with this format's tables if missing.

    An existing file keeps its page size. A new one gets `new_page_bytes`, or its format's default.

    Two processes must not create the same file at the same time: see `StoreFiles.connection`.
    """
    with suppress(OSError):  # SQLite reports errors below
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
    db = sqlite3.connect(
        path,
        timeout=busy_s,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    try:
        db.execute(f"PRAGMA page_size={new_page_bytes or page_bytes(form)}")
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        # Deleted content must not remain in free pages. This costs nothing measurable.
        db.execute("PRAGMA secure_delete=ON")
        db.execute("PRAGMA wal_autocheckpoint=0")
        db.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        for schema in schemas(form):
            db.execute(schema)
    except BaseException:
        db.close()
        raise
    return db


def _exists(path: Path) -> bool:
    """Return True if the file uses a write-ahead log (bytes 18 and 19 are 2)."""
    try:
        with path.open("rb", buffering=0) as file:
            return file.read(20)[18:] == b"\x02\x02"
    except OSError:
        return False


_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_GENERATIONS = 256
_REOPEN = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
_MARKER = "shards"
"""This file contains the number of files, and is the lock for creating them."""
_FORMAT = "format"
"""
This file contains the data's format (`Tables.format`). Programs reject formats that they do not
know.
"""


class StoreFiles:
    """
    The files of one folder: `00.db`, `01.db` and so on.

    Args:
        folder: created if missing.
        count: the number of files.
        checkpoints: when logs are moved into files.
        waits_s: how long to wait for another writer of a file, and for another process to create
            the files.
        remedies: names of commands and settings for error messages.
    """

    def __init__(
        self,
        folder: Path,
        count: int,
        checkpoints: CheckpointTimes,
        waits_s: tuple[float, float] = (BUSY_TIMEOUT_S, LOCK_WAIT_S),
        remedies: Remedies = DEFAULT,
    ) -> None:
        self.count = count
        self.form = FORMAT
        """The data's format."""
        self._words = remedies
        self._busy_s, self._lock_s = waits_s
        self._checkpoint_times = checkpoints
        self.folder = folder
        self._mine = Connections()
        self._checkpoints: Checkpoints | None = None
        self._starting = threading.Lock()
        self._round = 0
        """Counts errors that require connections to be reopened."""
        self._check_folder()
        try:
            with nullcontext() if has_state(folder) else self._lock_exclusively():
                self.health = Health(folder, count, remedies)
        except sqlite3.Error as error:
            raise StoreUnavailable(f"sqlite ({folder})", str(error)) from error

    def number(self, first_byte: int) -> int:
        """Return the number of the file for keys that begin with `first_byte`."""
        return first_byte % self.count

    @contextmanager
    def reading(self, first_byte: int) -> Iterator[sqlite3.Connection]:
        """Yield a connection to the file of `first_byte`. Each statement sees committed data."""
        try:
            yield self.connection(first_byte)
        except sqlite3.Error as error:
            raise self.translate(error, first_byte) from error

    @contextmanager
    def writing(self, first_byte: int) -> Iterator[sqlite3.Connection]:
        """Like `reading`, in a transaction, which an exception rolls back."""
        number = first_byte % self.count
        self._refuse_damaged(number)
        try:
            db = self.connection(number)
            # IMMEDIATE, because after BEGIN the first write fails if another connection has
            # committed since the transaction's first read.
            db.execute("BEGIN IMMEDIATE")
            try:
                # Check again under the lock, because a repair that is copying the file would miss
                # this write.
                self._refuse_damaged(number)
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise self.translate(error, number) from error
        self._after_write(number)

    def _refuse_damaged(self, number: int) -> None:
        if self.health.generation(number) & 1:
            raise self._damage(number, "set aside")

    def _damage(self, number: int, reason: str) -> StoreDamaged:
        return StoreDamaged(
            str(self.health.path(number)), f"is damaged ({reason}); {self.health.remedy}"
        )

    def create(self) -> None:
        """Create every file. A damaged file is set aside (`health`); the others stay in use."""
        for number in range(self.count):
            with suppress(StoreDamaged), self.reading(number):
                pass

    def identity(self) -> str:
        """Return the store's random id, from the file `identity`, created if missing."""
        path = self.folder / "identity"
        try:
            if not path.exists():
                with self._lock_exclusively():
                    if not path.exists():
                        fresh = path.with_suffix(".new")
                        fresh.write_text(secrets.token_hex(8), "ascii")
                        fresh.rename(path)
            return path.read_text("ascii")
        except (OSError, sqlite3.Error) as error:
            raise StoreUnavailable(f"sqlite ({path})", str(error)) from error

    def scrub(self) -> None:
        """
        Truncate the logs, which contain old versions of rows.

        Raises:
            StoreUnavailable: a reader kept a log open for `BUSY_TIMEOUT_S`.
        """
        for number in range(self.count):
            if self.health.generation(number) & 1:
                continue
            with self.reading(number) as db:
                ((busy, *_),) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            if busy:
                where = f"sqlite ({self.health.path(number)})"
                raise StoreUnavailable(
                    where, "a reader prevents its log from being emptied; try again"
                )

    def close(self) -> None:
        """Close this thread's connections and stop this process's checkpoint thread."""
        if self._checkpoints is not None:
            self._checkpoints.stop()
            self._checkpoints = None
        self._mine.close()

    def connection(self, first_byte: int) -> sqlite3.Connection:
        """
        Return this thread's connection to the file of `first_byte`.

        Raises sqlite3's own errors.
        """
        number = first_byte % self.count
        mine = self._mine.of_this_process()
        entry = mine.get(number)
        if entry is None or entry[1] != self._opening_number(number):
            self._forget(number)
            entry = mine[number] = self._open_connection(number)
        return entry[0]

    def _open_connection(self, number: int) -> tuple[sqlite3.Connection, int]:
        """
        Open a connection to a file. Returns it with the current value of `_opening_number`.

        An existing file is opened without the lock, so a suspended process that holds the lock does
        not block the others. Creating a file and switching it to a write-ahead log need the lock:
        if two processes do that at once, both fail with "database is locked", despite the busy
        timeout. Opening can fail the same way while the last other connection is closing; then it
        is tried again under the lock.
        """
        opening = self._opening_number(number)
        path = self.health.path(number, opening % _GENERATIONS)
        share_mode(path)
        if _exists(path):
            try:
                return open_file(path, self.form, self._busy_s), opening
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
        with self._lock_exclusively():
            return open_file(path, self.form, self._busy_s), opening

    def _lock_exclusively(self) -> AbstractContextManager[None]:
        return lock_file(self.folder / _MARKER, wait_s=self._lock_s)

    def _opening_number(self, number: int) -> int:
        """Return a number that changes when connections to this file must be reopened."""
        return self._round * _GENERATIONS + self.health.generation(number)

    def _forget(self, number: int) -> None:
        """Close this thread's connection to a file; the next call opens it again."""
        entry = self._mine.of_this_process().pop(number, None)
        if entry is not None:
            entry[0].close()

    def _after_write(self, number: int) -> None:
        checkpoints = self._checkpoints
        if checkpoints is None or checkpoints.pid != os.getpid():
            with self._starting:
                checkpoints = self._checkpoints
                if checkpoints is None or checkpoints.pid != os.getpid():
                    checkpoints = self._checkpoints = Checkpoints(
                        self.health, self.count, self._checkpoint_times
                    )
        checkpoints.written[number] = True
        if checkpoints.log_is_long[number]:
            with suppress(sqlite3.Error):  # the write is committed; the next writer tries again
                self.connection(number).execute("PRAGMA wal_checkpoint(RESTART)")
                checkpoints.log_is_long[number] = False

    def translate(self, error: sqlite3.Error, first_byte: int) -> StoreUnavailable:
        """
        Return an error that names the remedy for an SQLite error.

        A damaged file is set aside. After a disk error or a write to a read-only file, this process
        reopens all connections at their next use, because a connection opened read-only stays
        read-only.
        """
        number = first_byte % self.count
        code = getattr(error, "sqlite_errorcode", 0)
        if code & 0xFF in _DAMAGE or code == sqlite3.SQLITE_IOERR_CORRUPTFS:
            entry = self._mine.of_this_process().get(number)
            opened_at = entry[1] % _GENERATIONS if entry else self.health.generation(number)
            self._forget(number)
            self.health.set_aside(number, opened_at, str(error))
            return self._damage(number, str(error))
        if code & 0xFF in _REOPEN:
            self._round += 1
        path = self.health.path(number)
        where = f"sqlite ({path})"
        if code & 0xFF == sqlite3.SQLITE_BUSY:
            # Writers hold their lock on the -shm file.
            who = find_holder(Path(f"{path}-shm"), path)
            return StoreUnavailable(where, f"{error} by {who}")
        if code & 0xFF == sqlite3.SQLITE_FULL:
            text = f"{error}: free some space; nothing acknowledged is lost"
            return StoreUnavailable(where, text)
        return StoreUnavailable(where, str(error))

    def _check_folder(self) -> None:
        try:
            self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.mkdir(mode=0o700, exist_ok=True)
            existing = count_files(self.folder)
            marker = self.folder / _MARKER
            self.form = self._read_form(is_new=not existing and not marker.exists())
            if not marker.exists():
                marker.write_text(f"{existing or self.count}\n", "ascii")
            count = int(marker.read_text("ascii") or self.count)
        except OSError as error:
            raise InvalidConfig(
                f"{self._words.folder}: {self.folder} cannot be written: {error}"
            ) from error
        if count != self.count:
            raise InvalidConfig(
                f"{self._words.shards}: is {self.count}, but {self.folder} was made with {count}; "
                f"set it to {count}, or export the data and import them into a new folder"
            )

    def _read_form(self, *, is_new: bool) -> int:
        """
        Return the data's format. Raises InvalidConfig if a newer release wrote it.

        A folder with data but no format file has format 1. In a new folder, the format file is
        written before the marker, so that no process takes it for an old folder.
        """
        path = self.folder / _FORMAT
        if not path.exists():
            fresh = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
            fresh.write_text(f"{FORMAT if is_new else 1}\n", "ascii")
            fresh.replace(path)
        found = int(path.read_text("ascii") or 1)  # empty while an earlier version is writing it
        if found > FORMAT:
            raise InvalidConfig(
                f"{self._words.folder}: {self.folder} has format {found}, written by a later "
                f"version of {self._words.program}; this one reads up to {FORMAT}: install the "
                "later one, or restore a backup made before the upgrade"
            )
        return found
