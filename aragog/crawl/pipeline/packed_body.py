"""
Compresses fetched bodies for the spool, in the same format as the store uses.

A body is compressed once, by the process that fetched it. Its hash and size are those of the
uncompressed body. The store chooses codec, level and dictionary.
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
    """The compressed body."""
    sha256: str
    """The SHA-256 of the uncompressed body, in hex."""
    length_bytes: int
    """The size of the uncompressed body."""

    @property
    def needs_dictionary(self) -> bool:
        """True if it is compressed with a dictionary."""
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
