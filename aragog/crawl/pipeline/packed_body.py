"""
Compresses fetched bodies for the spool, in the store's format.

A body is compressed once, by the process that fetched it. The store chooses codec, level and
dictionary.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol

from aragog.urlstore.compression import compress, decompress, dictionary_id


@dataclass(frozen=True, slots=True)
class PackedBody:
    """A fetched body, as stored in the spool."""

    blob: bytes
    sha256: str
    """SHA-256 of the uncompressed body, in hex."""
    length_bytes: int
    """Size of the uncompressed body."""

    @property
    def needs_dictionary(self) -> bool:
        return bool(dictionary_id(self.blob))


class BodyCodec(Protocol):
    """Compresses bodies for the spool and reads them (`aragog.urlstore.bodies.Bodies`)."""

    def compress(self, body: bytes) -> bytes:
        """Compress a body as the store will keep it."""

    def decompress(self, blob: bytes) -> bytes:
        """Decompress a body. Raises `CorruptContent` if it is damaged or not `readable`."""

    def readable(self, blob: bytes | None) -> bytes | None:
        """Return the compressed body, or None if its dictionary was deleted in the meantime."""


class PlainBodies:
    """Implements `BodyCodec` without dictionaries."""

    def compress(self, body: bytes) -> bytes:
        return compress(body)

    def decompress(self, blob: bytes) -> bytes:
        return decompress(blob)

    def readable(self, blob: bytes | None) -> bytes | None:
        return blob


PLAIN = PlainBodies()


def pack(body: bytes, bodies: BodyCodec = PLAIN) -> PackedBody:
    """Compress a body, and compute its hash and size."""
    return PackedBody(bodies.compress(body), hashlib.sha256(body).hexdigest(), len(body))
