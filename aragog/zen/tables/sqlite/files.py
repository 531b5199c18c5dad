"""The SQLite files under the cell tables: which there are, their transactions and errors."""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aragog.errors import ConfigError, StoreDamaged, StoreUnavailable
from aragog.zen.tables.sqlite.checkpoints import Checkpoints, CheckpointTimes
from aragog.zen.tables.sqlite.connections import (
    Connections,
    alone,
    open_file,
    share_mode,
)
from aragog.zen.tables.sqlite.health import REMEDY, Health, first_files

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_GENERATIONS = 256
_REOPEN = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
_MARKER = "shards"
"""The file that stores the number of files; also the lock under which they are opened."""


class Shards:
    """The files of one folder, `00.db` and on."""

    def __init__(self, folder: Path, count: int, checkpoints: CheckpointTimes) -> None:
        self.count = count
        self._checkpoint_times = checkpoints
        self._folder = folder
        self._mine = Connections()
        self._checkpoints: Checkpoints | None = None
        self._starting = threading.Lock()
        self._round = 0
        """Counts errors after which connections are opened anew."""
        self._check_folder()
        with alone(folder / _MARKER):
            self.health = Health(folder, count)

    def number(self, first_byte: int) -> int:
        """The file that holds rows whose key begins with `first_byte`."""
        return first_byte % self.count

    @contextmanager
    def reading(self, first_byte: int) -> Iterator[sqlite3.Connection]:
        """A connection to the file of `first_byte`; each statement sees committed data."""
        try:
            yield self.connection(first_byte)
        except sqlite3.Error as error:
            raise self.translated(error, first_byte) from error

    @contextmanager
    def writing(self, first_byte: int) -> Iterator[sqlite3.Connection]:
        """The same inside one transaction: committed at the end, rolled back on an exception."""
        number = first_byte % self.count
        self._refuse_damaged(number)
        try:
            db = self.connection(number)
            # IMMEDIATE: a plain BEGIN that writes later fails at once if another one has written.
            db.execute("BEGIN IMMEDIATE")
            try:
                self._refuse_damaged(number)  # again: a repair copies what it finds from now on
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise self.translated(error, number) from error
        self._after_write(number)

    def _refuse_damaged(self, number: int) -> None:
        if self.health.generation(number) & 1:
            raise self._damage(number, "set aside")

    def _damage(self, number: int, reason: str) -> StoreDamaged:
        return StoreDamaged(str(self.health.path(number)), f"is damaged ({reason}); {REMEDY}")

    def create(self) -> None:
        """Create every file; a damaged one is set aside, and the others stay in use."""
        for number in range(self.count):
            with suppress(StoreDamaged), self.reading(number):
                pass

    def identity(self) -> str:
        """The word in the file `identity`, which is created if missing."""
        path = self._folder / "identity"
        try:
            if not path.exists():
                with alone(self._folder / _MARKER):
                    if not path.exists():
                        fresh = path.with_suffix(".new")
                        fresh.write_text(secrets.token_hex(8), "ascii")
                        fresh.rename(path)
            return path.read_text("ascii")
        except (OSError, sqlite3.Error) as error:
            raise StoreUnavailable(f"sqlite ({path})", str(error)) from error

    def scrub(self) -> None:
        """
        Empty the logs, which hold old versions of rows, unless a reader keeps them open.

        Raises:
            StoreUnavailable: a reader kept one open for `BUSY_TIMEOUT_S`.
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
        """Close this thread's connections and end the checkpoint thread of this process."""
        if self._checkpoints is not None:
            self._checkpoints.stop()
            self._checkpoints = None
        self._mine.close()

    def connection(self, first_byte: int) -> sqlite3.Connection:
        """A connection to the file of `first_byte` for this thread; its errors are sqlite3's."""
        number = first_byte % self.count
        mine = self._mine.of_this_process()
        entry = mine.get(number)
        if entry is None or entry[1] != self._opening(number):
            self._forget(number)
            with alone(self._folder / _MARKER):
                opening = self._opening(number)
                path = self.health.path(number, opening % _GENERATIONS)
                share_mode(path)
                entry = mine[number] = open_file(path), opening
        return entry[0]

    def _opening(self, number: int) -> int:
        """The round and generation at which a usable connection was opened."""
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
        if checkpoints.behind[number]:
            with suppress(sqlite3.Error):  # what was written is committed; the next writer tries
                self.connection(number).execute("PRAGMA wal_checkpoint(RESTART)")
                checkpoints.behind[number] = False

    def translated(self, error: sqlite3.Error, first_byte: int) -> StoreUnavailable:
        """
        Translate an SQLite error into one that names the remedy.

        A damaged file is set aside. After a write to a read-only file or a disk error, all
        connections of this process are reopened at their next use: SQLite keeps a file that it
        opened as read-only read-only for the lifetime of the connection.
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
        where = f"sqlite ({self.health.path(number)})"
        if code & 0xFF == sqlite3.SQLITE_FULL:
            text = f"{error}: free some space; nothing acknowledged is lost"
            return StoreUnavailable(where, text)
        return StoreUnavailable(where, str(error))

    def _check_folder(self) -> None:
        try:
            self._folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder.mkdir(mode=0o700, exist_ok=True)
            existing = first_files(self._folder)
            marker = self._folder / _MARKER
            if not marker.exists():
                marker.write_text(f"{existing or self.count}\n", "ascii")
            count = int(marker.read_text("ascii") or self.count)
        except OSError as error:
            raise ConfigError(f"data_dir: {self._folder} cannot be written: {error}") from error
        if count != self.count:
            raise ConfigError(
                f"store.sqlite_shards: is {self.count}, but {self._folder} was made with {count}; "
                f"set it to {count}, or export the data and import them into a new folder"
            )
