"""
Page content in a folder: `<folder>/<first two digits>/<key>`, one file per object.

`aragog.urlstore.content.file_folder` describes what survives a kill or a power failure.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from aragog.urlstore.content.file_folder import FileFolder
from aragog.urlstore.content.object_format import (
    KEY,
    StoredContent,
    check_key,
    check_prefix,
    header,
    unframe,
)
from aragog.urlstore.content_port import ContentPut


class FolderContent(FileFolder):
    """Implements `ContentStore` in a folder. Threads, processes and forks may share it."""

    def put(self, key: str, body: bytes, meta: Mapping[str, str]) -> None:
        """
        See `ContentStore.put`. After an error, the object has either its old or its new content,
        never a mix.
        """
        self.replace_file(self._path(key), [header(body, meta), body])

    def put_many(self, puts: Sequence[ContentPut]) -> None:
        for put in puts:
            self.put(*put)

    def get(self, key: str) -> StoredContent | None:
        path = self._path(key)
        with self._translate_errors():
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                return None
        return unframe(key, data)

    def delete(self, key: str) -> None:
        with self._translate_errors():
            self._path(key).unlink(missing_ok=True)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """See `ContentStore.keys`. Holds the names of one two-digit folder at a time in memory."""
        check_prefix(prefix)
        for number in range(256):
            shard = f"{number:02x}"
            if shard.startswith(prefix[:2]):
                yield from self._names(shard, prefix)

    def _names(self, shard: str, prefix: str) -> list[str]:
        with self._translate_errors():
            try:
                names = os.listdir(self.folder / shard)  # noqa: PTH208 - Path objects cost 10x
            except FileNotFoundError:
                return []
        return sorted(name for name in names if name.startswith(prefix) and KEY.fullmatch(name))

    def _path(self, key: str) -> Path:
        return self.folder / f"{check_key(key)[:2]}/{key}"
