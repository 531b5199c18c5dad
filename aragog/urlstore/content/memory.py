"""The in-memory content store for tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from aragog.urlstore.content.object_format import StoredContent, check_key, check_prefix
from aragog.urlstore.content_port import ContentPut


class MemoryContent:
    """Implements the `ContentStore` port in memory; threads may share it."""

    def __init__(self) -> None:
        self._objects: dict[str, StoredContent] = {}

    def put(self, key: str, body: bytes, meta: Mapping[str, str]) -> None:
        self._objects[check_key(key)] = StoredContent(bytes(body), dict(meta))

    def put_many(self, puts: Sequence[ContentPut]) -> None:
        for put in puts:
            self.put(*put)

    def get(self, key: str) -> StoredContent | None:
        stored = self._objects.get(check_key(key))
        return stored and StoredContent(stored.body, dict(stored.meta))

    def delete(self, key: str) -> None:
        self._objects.pop(check_key(key), None)

    def keys(self, prefix: str = "") -> Iterator[str]:
        check_prefix(prefix)
        yield from sorted(key for key in self._objects if key.startswith(prefix))
