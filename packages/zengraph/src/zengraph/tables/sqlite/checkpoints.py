"""
When finished transactions are moved from the write-ahead logs into the SQLite files.

One thread a process moves them, so that writers do not wait. If a log still grows past 256 MB,
writers wait for a checkpoint of all of it, which slows them to the speed of the disk.

SQLite writes a log from its start again when all of it has been moved, and never makes the file
smaller. So the file's size says what the log once held; what it holds now is read from its frames.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path

from zengraph.tables.sqlite.health import Health

_HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointTimes:
    """When the transactions of a log are moved into its file."""

    every_s: float = 1.0
    past_bytes: int = 4 * 1024 * 1024
    """Bytes of a log not yet moved, from which the background thread moves them."""
    restart_past_bytes: int = 256 * 1024 * 1024
    """Bytes in use of a log from which a writer waits until all are moved."""


@dataclass(frozen=True, slots=True)
class LogUse:
    """The frames of a log that were written since it was last started anew."""

    salts: bytes = b""
    """Drawn anew with each start; each frame of it has them."""
    frames: int = 0
    frame_bytes: int = 0


def log_use(path: Path) -> LogUse:
    """
    Read what is in use of a write-ahead log, from about 16 of its frames.

    The format is section 4.1 of sqlite.org/fileformat2.html. The index beside the log (`-shm`)
    has the number, but SQLite locks that file, and a process that closes a file loses all of its
    locks on it. The log is never locked.

    Raises:
        OSError: the log does not exist, or it cannot be read.
    """
    with path.open("rb", buffering=0) as log:
        header = log.read(_HEADER_BYTES)
        if len(header) < _HEADER_BYTES:
            return LogUse()
        salts, frame_bytes = header[16:24], int.from_bytes(header[8:12]) + _FRAME_HEADER_BYTES
        low, high = 0, (os.fstat(log.fileno()).st_size - _HEADER_BYTES) // frame_bytes
        while low < high:
            middle = (low + high) // 2
            log.seek(_HEADER_BYTES + middle * frame_bytes + 8)
            if log.read(len(salts)) == salts:
                low = middle + 1
            else:
                high = middle
    return LogUse(salts, low, frame_bytes)


class Checkpoints:
    """One background thread that moves finished transactions from the logs into the files."""

    def __init__(self, health: Health, count: int, times: CheckpointTimes) -> None:
        self._times = times
        self._moved: dict[int, tuple[bytes, int]] = {}
        """By file: the salts of its log when this thread last moved it, and the frames moved."""
        self.pid = os.getpid()
        self.written = [False] * count
        self.log_is_long = [False] * count
        self._health = health
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self.pid == os.getpid():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._times.every_s):
            for number, written in enumerate(self.written):
                if written and not self._health.generation(number) & 1:
                    self.written[number] = False
                    self._checkpoint(number, self._health.path(number))

    def _checkpoint(self, number: int, path: Path) -> None:
        try:
            use = log_use(Path(f"{path}-wal"))
            self.log_is_long[number] = use.frames * use.frame_bytes > self._times.restart_past_bytes
            salts, moved = self._moved.get(number, (b"", 0))
            left = use.frames - (moved if salts == use.salts else 0)
            if left * use.frame_bytes > self._times.past_bytes:
                db = sqlite3.connect(path, isolation_level=None)
                ((_, _, moved),) = db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                db.close()
                self._moved[number] = use.salts, max(0, moved)  # -1: another process moves it
        except (sqlite3.Error, OSError):
            # Another process checkpoints, or the disk is full: writers will report that.
            self.written[number] = True
