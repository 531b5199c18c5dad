"""
Stores files in a folder so that readers see each file completely or not at all.

A file is written completely under `<folder>/tmp` and then renamed. With two writers, the later
rename wins. Each thread of a killed process leaves at most one file in `tmp`; the next start
deletes files there that are over an hour old.

By default no write waits for the disk. After a power failure, files from the last seconds may be
lost or incomplete. Hashes detect this. With `fsync` every write waits for the disk (about 1 ms or
more).
"""

from __future__ import annotations

import errno
import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from aragog.errors import ConfigError, ContentUnavailable

TMP_AGE_S = 3600.0
MAX_PARTS = 1024
"""Maximum number of parts per system call (IOV_MAX on Linux)."""

REMEDIES = {
    errno.ENOSPC: "the disk is full: free some space or move data_dir",
    errno.EDQUOT: "the disk quota is used up: raise it or move data_dir",
    errno.EROFS: "the file system is read-only: remount it or move data_dir",
    errno.EACCES: "permission denied: the folder must belong to the user aragog runs as",
    errno.EMFILE: "too many open files: raise `ulimit -n`",
}


class FileFolder:
    """
    A folder that replaces its files atomically. Threads, processes and forks may share it.

    Args:
        folder: created if missing. Its file system must have atomic renames, as local ones and NFS
            do.
        fsync: wait for the disk at each write; see the module's docstring.

    Raises:
        ConfigError: the folder cannot be created.
    """

    def __init__(self, folder: Path, *, fsync: bool = False) -> None:
        self.folder = folder.absolute()
        self.fsync = fsync
        self._tmp = self.folder / "tmp"
        self._numbers = itertools.count()
        try:
            self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.mkdir(mode=0o700, exist_ok=True)
            _keep_private(self.folder)
            self._tmp.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"data_dir: cannot create {self._tmp}: {error.strerror}") from error
        self._sweep()

    def replace_file(self, path: Path, data: bytes | Sequence[bytes]) -> None:
        """
        Replace a file atomically.

        After an error, the file is unchanged, or replaced if the rename was already done.
        """
        number = next(self._numbers)
        tmp = self._tmp / f"{os.getpid()}-{threading.get_ident()}-{number}-{time.monotonic_ns()}"
        with self._translate_errors():
            try:
                self._write(tmp, [data] if isinstance(data, bytes) else data)
                self._move(tmp, path)
            except BaseException:
                with suppress(OSError):
                    tmp.unlink()
                raise

    def _write(self, path: Path, parts: Sequence[bytes]) -> None:
        # Path.open costs as much as the system calls themselves.
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            left = deque(memoryview(part) for part in parts if part)
            while left:
                # The last write before the disk is full may be short; the next one raises an error.
                drop_written(left, os.writev(file, list(islice(left, MAX_PARTS))))
            if self.fsync:
                os.fsync(file)
        finally:
            os.close(file)

    def _move(self, tmp: Path, path: Path) -> None:
        try:
            tmp.replace(path)
        except FileNotFoundError:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            tmp.replace(path)
        if self.fsync:
            # The rename is only durable once the folder itself is synced (fsync(2)).
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _sweep(self) -> None:
        """
        Delete what killed writers left.

        Running writers have no file older than an hour.
        """
        oldest = time.time() - TMP_AGE_S
        with suppress(OSError):
            for path in self._tmp.iterdir():
                with suppress(OSError):
                    if path.stat().st_mtime < oldest:
                        path.unlink()

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = REMEDIES.get(error.errno or 0) or error.strerror or str(error)
            raise ContentUnavailable(str(self.folder), reason) from error


def drop_written(left: deque[memoryview], count: int) -> None:
    """Remove the bytes that are already written from the remaining parts."""
    while count:
        first = left.popleft()
        if count < len(first):
            left.appendleft(first[count:])
            return
        count -= len(first)


def _keep_private(folder: Path) -> None:
    """Remove access that an old release or a copy may have given other users."""
    mode = folder.stat().st_mode & 0o777
    if mode & 0o077:
        with suppress(PermissionError):  # another user owns the folder and sets its permissions
            folder.chmod(mode & 0o700)
