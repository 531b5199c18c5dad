"""The port for the files of packs, and the one in memory for tests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from aragog.errors import BadInput
from aragog.urlstore.packs.pointers import NAME, index_name


class PackFile(NamedTuple):
    """A pack that is there."""

    name: str
    size: int
    """In bytes."""
    modified_ms: int
    """When it was put, by the clock of the store that has it."""


class PackFiles(Protocol):
    """
    Files that are put whole and never changed, each with an index beside it.

    Every method raises `ContentUnavailable` when the store does not answer, and `BadInput` for what
    is not a name of a pack.
    """

    def put(self, name: str, data: bytes, index: bytes) -> None:
        """
        Put a pack, then its index. When this returns a reader finds both, whatever process is
        killed. Safe to repeat with the same bytes.
        """

    def read(self, name: str, offset: int, length: int) -> bytes | None:
        """Bytes of a pack, with one request; None if it is not there, fewer where it ends."""

    def read_all(self, name: str) -> bytes | None:
        """A whole pack; None if it is not there."""

    def delete(self, name: str) -> None:
        """Remove a pack and its index, with all versions that a bucket keeps of them."""

    def packs(self) -> Iterator[PackFile]:
        """All packs, in the order of their names."""


def check_name(name: str) -> str:
    """`name`, if it is that of a pack; BadInput else, so no name leaves its folder."""
    if not NAME.fullmatch(name):
        raise BadInput(f"pack {name[:80]!r}: is no name of a pack")
    return name


class MemoryPacks:
    """The `PackFiles` port over a dict; threads may share it."""

    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}
        self.indexes: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def put(self, name: str, data: bytes, index: bytes) -> None:
        with self._lock:
            self.stored[check_name(name)] = bytes(data)
            self.indexes[index_name(name)] = bytes(index)

    def read(self, name: str, offset: int, length: int) -> bytes | None:
        pack = self.stored.get(check_name(name))
        return None if pack is None else pack[offset : offset + length]

    def read_all(self, name: str) -> bytes | None:
        return self.stored.get(check_name(name))

    def delete(self, name: str) -> None:
        with self._lock:
            self.stored.pop(check_name(name), None)
            self.indexes.pop(index_name(name), None)

    def packs(self) -> Iterator[PackFile]:
        for name, data in sorted(self.stored.items()):
            yield PackFile(name, len(data), 0)
