"""
File locks with a timeout, whose error names the process that holds the lock.

A suspended process (SIGSTOP, a debugger, a frozen container) keeps its locks. Processes that wait
for them must time out and report which process to resume or kill.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_LOCKS = Path("/proc/locks")
_FIRST_WAIT_S = 0.000_1
_MAX_WAIT_S = 0.05
_STOPPED = {"T": "is stopped", "t": "was stopped by a debugger"}


@contextmanager
def lock_file(path: Path, *, wait_s: float) -> Iterator[None]:
    """
    Lock a file, creating it if missing. Takes about 20 µs if the lock is free.

    Two threads of a process exclude each other as well.

    Raises:
        sqlite3.OperationalError: the file cannot be opened, or others held the lock for all of
            `wait_s`. The message names the process.
    """
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        try:  # in a read-only folder, an existing file can still be locked
            number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise sqlite3.OperationalError(str(error)) from error
    with os.fdopen(number, "rb") as file:
        if not _take(file, wait_s):
            raise sqlite3.OperationalError(
                f"{path} was locked for {wait_s:g} s by {find_holder(path)}"
            )
        try:
            yield
        finally:
            # Closing the file might not unlock it, because a forked process may share the lock.
            fcntl.flock(file, fcntl.LOCK_UN)


def _take(file: IO[bytes], wait_s: float) -> bool:
    until_s, pause_s = time.monotonic() + wait_s, _FIRST_WAIT_S
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if time.monotonic() >= until_s:
            return False
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _MAX_WAIT_S)


def find_holder(*paths: Path) -> str:
    """
    Describe the processes that hold write locks of these files, for a message.

    Reads Linux's `/proc/locks`. Returns "another process" if the system or a container does not
    show the owner.
    """
    files = {found.st_ino for path in paths if (found := _read_stat(path))}
    try:
        lines = [line.split() for line in _LOCKS.read_text("ascii").splitlines()]
    except OSError:
        lines = []
    # 1: FLOCK  ADVISORY  WRITE 4711 fd:01:1573 0 EOF; for a waiting process, the second word is
    # "->".
    pids = {
        int(words[4])
        for words in lines
        if len(words) > 5
        and words[1] != "->"
        and words[3] == "WRITE"
        and int(words[5].rpartition(":")[2]) in files
    } - {0, -1}
    return " and ".join(_describe_process(pid) for pid in sorted(pids)) or "another process"


def _read_stat(path: Path) -> os.stat_result | None:
    with suppress(OSError):
        return path.stat()
    return None


def _describe_process(pid: int) -> str:
    if pid == os.getpid():
        return "another thread of this process"
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return f"process {pid}"
    text = f"process {pid} ({' '.join(' '.join(words).split())[:80]})"
    return f"{text}, which {_STOPPED[state]}: resume or end it" if state in _STOPPED else text
