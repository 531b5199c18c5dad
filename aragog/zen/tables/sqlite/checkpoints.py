"""
Move finished transactions from the write-ahead logs into the SQLite files, in the background.

One thread a process does it, so that writers do not wait. If a log still grows past 256 MB, writers
wait for a checkpoint that empties it, which slows them to the speed of the disk.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path

from aragog.zen.tables.sqlite.health import Health


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointTimes:
    """When the transactions of a log are moved into its file."""

    every_s: float = 1.0
    past_bytes: int = 4 * 1024 * 1024
    """Size of the log from which the background thread moves them."""
    restart_past_bytes: int = 256 * 1024 * 1024
    """Size of the log from which a writer waits until all are moved, and empties the log."""


class Checkpoints:
    """One background thread that moves finished transactions from the logs into the files."""

    def __init__(self, health: Health, count: int, times: CheckpointTimes) -> None:
        self._times = times
        self.pid = os.getpid()
        self.written = [False] * count
        self.behind = [False] * count
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
            size = Path(f"{path}-wal").stat().st_size
            self.behind[number] = size > self._times.restart_past_bytes
            if size > self._times.past_bytes:
                db = sqlite3.connect(path, isolation_level=None)
                db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                db.close()
        except (sqlite3.Error, OSError):
            # Another process checkpoints, or the disk is full: writers will report that.
            self.written[number] = True
