"""
Move finished transactions from the write-ahead logs into the SQLite files.

One thread per process moves them, so that writers need not wait. A page that was changed several
times is moved only once. In a large file, that takes more transactions, because they change more
different pages. So the thread lets a large file's log grow longer. If a log still grows past
256 MB, writers wait until all of it has been moved. That slows them to the disk's speed.

SQLite overwrites a fully moved log from its start but never shrinks the file. So the file's size
shows only how large the log once was. Its frames (one for each written page) show how much is in
use.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path

from zengraph.tables.sqlite.health import Health

_FILE_SHARE = 16
_HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointTimes:
    """When a log's transactions are moved into its file."""

    every_s: float = 1.0
    past_bytes: int = 4 * 1024 * 1024
    """The background thread moves them when more than this many bytes are left."""
    large_past_bytes: int = 16 * 1024 * 1024
    """The same for a large file: a sixteenth of the file, between `past_bytes` and this number."""
    restart_past_bytes: int = 256 * 1024 * 1024
    """With more than this many bytes of a log in use, a writer waits until everything is moved."""

    def most_left(self, file_bytes: int) -> int:
        """Return how many bytes of a log may be left before they are moved to a file of a size."""
        return max(self.past_bytes, min(file_bytes // _FILE_SHARE, self.large_past_bytes))


@dataclass(frozen=True, slots=True)
class LogUse:
    """The frames written since SQLite last started to overwrite the log."""

    salts: bytes = b""
    """A random number that changes when the log restarts; every frame contains it."""
    frames: int = 0
    frame_bytes: int = 0


def log_use(path: Path) -> LogUse:
    """
    Find how much of a write-ahead log is in use, by reading about 16 of its frames.

    Section 4.1 of sqlite.org/fileformat2.html describes the format. The `-shm` file next to the log
    contains the number of frames, but SQLite locks that file, and a process that closes any handle
    of a file loses all of its locks on the file. SQLite never locks the log, so reading the log is
    safe.

    Raises:
        OSError: the log does not exist, or cannot be read.
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
    """One background thread that moves finished transactions from logs into files."""

    def __init__(self, health: Health, count: int, times: CheckpointTimes) -> None:
        self._times = times
        self._moved: dict[int, tuple[bytes, int]] = {}
        """
        For each file, its log's salts at this thread's last checkpoint, and the number of moved
        frames.
        """
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
            if left * use.frame_bytes > self._times.most_left(path.stat().st_size):
                db = sqlite3.connect(path, isolation_level=None)
                ((_, _, moved),) = db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                db.close()
                self._moved[number] = use.salts, max(0, moved)  # -1: another process is running one
        except (sqlite3.Error, OSError):
            # Another process is running a checkpoint, or the disk is full. Try again later; writers
            # report a full disk.
            self.written[number] = True
