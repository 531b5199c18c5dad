"""
Compresses fetched bodies for the spool, in the same format as the store uses.

A body is compressed once, where it was fetched. Its hash and size are those of the uncompressed
body. `aragog.urlstore.compression` chooses codec and level.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from aragog.urlstore.compression import compress


@dataclass(frozen=True, slots=True)
class PackedBody:
    """A fetched body, as stored in the spool."""

    blob: bytes
    """The compressed body."""
    sha256: str
    """The SHA-256 of the uncompressed body, in hex."""
    length_bytes: int
    """The size of the uncompressed body."""


def pack(body: bytes) -> PackedBody:
    """Compress a body, and compute its hash and size."""
    return PackedBody(compress(body), hashlib.sha256(body).hexdigest(), len(body))
