"""Packs in a folder: `<folder>/packs/<day>/<time>-<number>.warc.zst`, each next to its index."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from aragog.urlstore.content.file_folder import FileFolder
from aragog.urlstore.pack_files import PackFile, check_name
from aragog.urlstore.packs.pointers import NAME, index_name

FOLDER = "packs"


class FolderPacks(FileFolder):
    """Implements `PackFiles` in a folder. Threads, processes and forks may share it."""

    def put(self, name: str, data: bytes | Sequence[bytes], index: bytes) -> None:
        check_name(name)
        self.replace_file(self._path(name), data)
        self.replace_file(self._path(index_name(name)), index)

    def read(self, name: str, offset: int, length: int) -> bytes | None:
        with self._translate_errors():
            try:
                file = os.open(self._path(check_name(name)), os.O_RDONLY)
            except FileNotFoundError:
                return None
            try:
                return os.pread(file, length, offset)
            finally:
                os.close(file)

    def read_all(self, name: str) -> bytes | None:
        return self._read_file(check_name(name))

    def read_index(self, name: str) -> bytes | None:
        return self._read_file(index_name(check_name(name)))

    def delete(self, name: str) -> None:
        path = self._path(check_name(name))
        with self._translate_errors():
            self._path(index_name(name)).unlink(missing_ok=True)
            path.unlink(missing_ok=True)
        with suppress(OSError):  # fails while the day's folder has other packs
            path.parent.rmdir()

    def packs(self) -> Iterator[PackFile]:
        for day in self._names(self.folder / FOLDER):
            for file in self._names(self.folder / FOLDER / day):
                if not NAME.fullmatch(name := f"{day}/{file}"):
                    continue
                with suppress(FileNotFoundError):  # the pack was deleted after it was listed
                    found = self._path(name).stat()
                    yield PackFile(name, found.st_size, found.st_mtime_ns // 1_000_000)

    def _read_file(self, name: str) -> bytes | None:
        with self._translate_errors():
            try:
                return self._path(name).read_bytes()
            except FileNotFoundError:
                return None

    def _names(self, folder: Path) -> list[str]:
        with self._translate_errors():
            try:
                return sorted(os.listdir(folder))  # noqa: PTH208 - Path objects cost 10x
            except (FileNotFoundError, NotADirectoryError):
                return []

    def _path(self, name: str) -> Path:
        return self.folder / FOLDER / name
