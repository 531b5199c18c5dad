"""The interface to pack files, and an in-memory implementation for tests."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from aragog.errors import BadInput
from aragog.urlstore.packs.pointers import NAME, index_name


class PackFile(NamedTuple):
    """An existing pack."""

    name: str
    size: int
    modified_ms: int
    """When the file was stored, by the storage server's clock."""


class PackFiles(Protocol):
    """
    Stores pack files, each with an index. They are never changed.

    Every method raises `ContentUnavailable` if the store does not respond, and `BadInput` for an
    invalid pack name.
    """

    def put(self, name: str, data: bytes | Sequence[bytes], index: bytes) -> None:
        """
        Store a pack and its index, in any order. The pack's bytes may be in parts.

        When this returns, both survive a killed process; after an error, only one may be stored.
        Safe to repeat with the same bytes.
        """

    def read(self, name: str, offset: int, length: int) -> bytes | None:
        """
        Read part of a pack with one request.

        Returns fewer bytes at the pack's end, and None if the pack does not exist.
        """

    def read_all(self, name: str) -> bytes | None:
        """Return a complete pack, or None if it does not exist."""

    def read_index(self, name: str) -> bytes | None:
        """Return a pack's index, or None if it does not exist."""

    def delete(self, name: str) -> None:
        """Delete a pack and its index, with all versions that a bucket keeps of them."""

    def packs(self) -> Iterator[PackFile]:
        """Return all packs, sorted by name."""


def check_name(name: str) -> str:
    """
    Return `name` if it is a valid pack name.

    Raises:
        BadInput: the name could refer to a file outside the packs' folder.
    """
    if not NAME.fullmatch(name):
        raise BadInput(f"pack {name[:80]!r}: is not a valid pack name")
    return name


def in_one_piece(data: bytes | Sequence[bytes]) -> bytes:
    """Return a pack's bytes in one piece; `data` may be in parts."""
    return data if isinstance(data, bytes) else b"".join(data)


class MemoryPacks:
    """Implements the `PackFiles` port in memory; threads may share it."""

    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}
        self.indexes: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def put(self, name: str, data: bytes | Sequence[bytes], index: bytes) -> None:
        with self._lock:
            self.stored[check_name(name)] = in_one_piece(data)
            self.indexes[index_name(name)] = bytes(index)

    def read(self, name: str, offset: int, length: int) -> bytes | None:
        pack = self.stored.get(check_name(name))
        return None if pack is None else pack[offset : offset + length]

    def read_all(self, name: str) -> bytes | None:
        return self.stored.get(check_name(name))

    def read_index(self, name: str) -> bytes | None:
        return self.indexes.get(index_name(check_name(name)))

    def delete(self, name: str) -> None:
        with self._lock:
            self.stored.pop(check_name(name), None)
            self.indexes.pop(index_name(name), None)

    def packs(self) -> Iterator[PackFile]:
        for name, data in sorted(self.stored.items()):
            yield PackFile(name, len(data), 0)
