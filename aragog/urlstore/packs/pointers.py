"""The location of a page's record in a pack."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from aragog.errors import CorruptContent

VERSION = "1"
DIGEST_CHARS = 32
"""Length of a digest: 128 bits of SHA-256 in hex."""

NAME = re.compile(r"\d{8}/\d{6}-[0-9a-f]{16}\.warc\.(?:zst|gz)")
"""Day, time of day and a random number. Files with other names are never opened."""


class PackPointer(NamedTuple):
    """The location of a record in a pack, with the digest of its bytes."""

    pack: str
    offset: int
    length: int
    """Length of the compressed record, in bytes."""
    digest: str
    """The first digits of the SHA-256 of the compressed record."""

    @classmethod
    def of(cls, pack: str, offset: int, *parts: bytes) -> PackPointer:
        """Return the pointer to a compressed record, which may be in parts."""
        return cls(pack, offset, sum(map(len, parts)), frame_digest(*parts))

    @classmethod
    def read(cls, cell: bytes) -> PackPointer:
        """
        Decode a pointer from a cell.

        Raises:
            CorruptContent: the pointer's format is unknown.
        """
        version, *parts = cell.decode("utf-8", "replace").split(" ")
        if version != VERSION or len(parts) < 4 or not NAME.fullmatch(parts[0]):
            raise CorruptContent(cell[:80].decode("utf-8", "replace"), "is not a pointer to a pack")
        return cls(parts[0], int(parts[1]), int(parts[2]), parts[3])

    def cell(self) -> bytes:
        return f"{VERSION} {self.pack} {self.offset} {self.length} {self.digest}".encode()

    @property
    def place(self) -> str:
        """The location as text for messages, such as `20261129/101502-….warc.zst+4096`."""
        return f"{self.pack}+{self.offset}"

    def check(self, frame: bytes) -> None:
        """
        Check that the bytes match the pointer.

        Raises:
            CorruptContent: length or digest differ.
        """
        if len(frame) != self.length or frame_digest(frame) != self.digest:
            raise CorruptContent(self.place, f"{len(frame)} bytes do not match their pointer")


def frame_digest(*parts: bytes) -> str:
    """Return the digest of a compressed record; about 1 µs per kilobyte."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:DIGEST_CHARS]


def index_name(pack: str) -> str:
    """Return the file name of a pack's index."""
    return pack.rpartition(".warc.")[0] + ".cdxj"
