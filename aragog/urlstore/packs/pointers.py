"""The location of a page's record in a pack. Pure."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from aragog.errors import CorruptContent

VERSION = "1"
DIGEST_CHARS = 32
"""128 bits of SHA-256 in hex: enough against damage and deliberate collisions."""

NAME = re.compile(r"\d{8}/\d{6}-[0-9a-f]{16}\.warc\.(?:zst|gz)")
"""Pack names: the day, the time of day and a random number. Other names are never opened."""


class PackPointer(NamedTuple):
    """A record in a pack; only matches the bytes that it was made for."""

    pack: str
    """The pack's name."""
    offset: int
    length: int
    """Length of the compressed record, in bytes."""
    digest: str
    """The first digits of the SHA-256 of the compressed record."""

    @classmethod
    def of(cls, pack: str, offset: int, frame: bytes) -> PackPointer:
        """The pointer to a compressed record."""
        return cls(pack, offset, len(frame), frame_digest(frame))

    @classmethod
    def read(cls, cell: bytes) -> PackPointer:
        """
        Read the pointer in a cell.

        Raises:
            CorruptContent: its format is unknown to this version.
        """
        version, *parts = cell.decode("utf-8", "replace").split(" ")
        if version != VERSION or len(parts) < 4 or not NAME.fullmatch(parts[0]):
            raise CorruptContent(cell[:80].decode("utf-8", "replace"), "is no pointer to a pack")
        return cls(parts[0], int(parts[1]), int(parts[2]), parts[3])

    def cell(self) -> bytes:
        """The pointer as stored in the node."""
        return f"{VERSION} {self.pack} {self.offset} {self.length} {self.digest}".encode()

    @property
    def place(self) -> str:
        """The location as text, for messages: `20261129/101502-….warc.zst+4096`."""
        return f"{self.pack}+{self.offset}"

    def check(self, frame: bytes) -> None:
        """
        Check that the bytes are those that the pointer was made for.

        Raises:
            CorruptContent: they are not.
        """
        if len(frame) != self.length or frame_digest(frame) != self.digest:
            raise CorruptContent(self.place, f"{len(frame)} bytes do not match their pointer")


def frame_digest(frame: bytes) -> str:
    """The digest of a compressed record; about 1 µs per kilobyte."""
    return hashlib.sha256(frame).hexdigest()[:DIGEST_CHARS]


def index_name(pack: str) -> str:
    """The name of a pack's index."""
    return pack.rpartition(".warc.")[0] + ".cdxj"
