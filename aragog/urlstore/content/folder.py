"""
Page content in a folder: `<folder>/<first two digits>/<key>`, one file an object.

A file is written completely under `<folder>/tmp` and then renamed, so a reader gets the old object
or the new one, and of two writers the later rename wins. A process killed in the middle leaves at
most a file in `tmp`, which the next start deletes once it is an hour old.

Power loss: by default no write waits for the disk, so bodies of the last seconds may be lost or
torn, like the last transactions of SQLite; the hash in the header reveals this, and the page is
fetched again. With `fsync` every put waits for the disk (about 1 ms and more).
"""

from __future__ import annotations

import errno
import itertools
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from aragog.errors import ConfigError, ContentUnavailable
from aragog.urlstore.content.checksums import (
    KEY,
    StoredContent,
    check_key,
    check_prefix,
    header,
    unframe,
)
from aragog.urlstore.content_port import ContentPut

TMP_AGE_S = 3600.0

REMEDIES = {
    errno.ENOSPC: "the disk is full: free some space or move data_dir",
    errno.EDQUOT: "the disk quota is used up: raise it or move data_dir",
    errno.EROFS: "the file system is read-only: remount it or move data_dir",
    errno.EACCES: "permission denied: the folder must belong to the user aragog runs as",
    errno.EMFILE: "too many open files: raise `ulimit -n`",
}


class FolderContent:
    """
    The `ContentStore` port over a folder. Threads and processes may share it, forks too.

    Args:
        folder: made if missing. Renames must be atomic there: a local file system, or NFS.
        fsync: wait for the disk at each put; see the module's docstring.

    Raises:
        ConfigError: the folder cannot be made.
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
            raise ConfigError(f"data_dir: cannot make {self._tmp}: {error.strerror}") from error
        self._sweep()

    def put(self, key: str, body: bytes, meta: Mapping[str, str]) -> None:
        """Safe to repeat; after an error the object is the old one or, past the rename, the new."""
        path = self._path(key)
        number = next(self._numbers)
        tmp = self._tmp / f"{os.getpid()}-{threading.get_ident()}-{number}-{time.monotonic_ns()}"
        with self._our_errors():
            try:
                self._write(tmp, header(body, meta) + body)
                self._move(tmp, path)
            except BaseException:
                with suppress(OSError):
                    tmp.unlink()
                raise

    def put_many(self, puts: Sequence[ContentPut]) -> None:
        for put in puts:
            self.put(*put)

    def get(self, key: str) -> StoredContent | None:
        path = self._path(key)
        with self._our_errors():
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                return None
        return unframe(key, data)

    def delete(self, key: str) -> None:
        with self._our_errors():
            self._path(key).unlink(missing_ok=True)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """The keys in order. Takes memory for the names of one two-digit folder at a time."""
        check_prefix(prefix)
        for number in range(256):
            shard = f"{number:02x}"
            if shard.startswith(prefix[:2]):
                yield from self._names(shard, prefix)

    def _names(self, shard: str, prefix: str) -> list[str]:
        with self._our_errors():
            try:
                names = os.listdir(self.folder / shard)  # noqa: PTH208 - Path objects cost 10x
            except FileNotFoundError:
                return []
        return sorted(name for name in names if name.startswith(prefix) and KEY.fullmatch(name))

    def _path(self, key: str) -> Path:
        return self.folder / f"{check_key(key)[:2]}/{key}"

    def _write(self, path: Path, data: bytes) -> None:
        # Not Path.open, which costs as much as the system calls.
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            left = memoryview(data)
            while left:
                # A write may be short just before the disk is full; the next one raises the error.
                left = left[os.write(file, left) :]
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
            # The rename itself is in the folder's data (fsync(2)).
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _sweep(self) -> None:
        """Remove files of killed writers; those of running writers are younger than an hour."""
        oldest = time.time() - TMP_AGE_S
        with suppress(OSError):
            for path in self._tmp.iterdir():
                with suppress(OSError):
                    if path.stat().st_mtime < oldest:
                        path.unlink()

    @contextmanager
    def _our_errors(self) -> Iterator[None]:
        """OSError becomes ContentUnavailable with a remedy."""
        try:
            yield
        except OSError as error:
            reason = REMEDIES.get(error.errno or 0) or error.strerror or str(error)
            raise ContentUnavailable(str(self.folder), reason) from error


def _keep_private(folder: Path) -> None:
    """Take from others what an earlier release, or a copy, let them do in the folder."""
    mode = folder.stat().st_mode & 0o777
    if mode & 0o077:
        with suppress(PermissionError):  # it belongs to somebody else, who decides
            folder.chmod(mode & 0o700)
