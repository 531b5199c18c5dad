"""Compression, hashes and keys of page content; fast enough to run before content is sent. Pure."""

from __future__ import annotations

import hashlib

from aragog.errors import CorruptContent
from aragog.urlstore import zstd
from aragog.urlstore.records import ContentWrite

ZSTD_LEVEL = 3
"""57 KB of HTML takes 0.25 ms and shrinks to a fifth."""


def compress(body: bytes) -> bytes:
    """
    Compress `body` with zstd, including its checksum; deterministic.

    Records in packs use the same frame, so a body is compressed only once.
    """
    return zstd.compress(body, ZSTD_LEVEL, checksum=True)


def object_bytes(compressed: bytes) -> bytes:
    """
    A compressed body as stored in an object: without the checksum.

    Its hash is that of the object, which must be the same for every version of aragog.
    """
    return zstd.without_checksum(compressed)


def decompress(data: bytes) -> bytes:
    """
    Decompress the output of `compress`.

    Raises:
        CorruptContent: the data is damaged, or was not compressed with zstd.
    """
    try:
        return zstd.decompress(data)
    except zstd.ZstdError as error:
        raise CorruptContent("", f"cannot be decompressed: {error}") from error


def content_hash(data: bytes) -> str:
    """The SHA-256 of content in hex, either of a body or of the compressed bytes in an object."""
    return hashlib.sha256(data).hexdigest()


def stored_hash(content: ContentWrite) -> str:
    """A node's hash for a body stored as an object: of the compressed bytes."""
    return content_hash(object_bytes(content.body))


def body_hash(content: ContentWrite) -> str:
    """A node's hash for a body stored in a pack: of the body itself."""
    if content.packed is not None:
        return content.packed.digest
    if content.digest is not None:
        return content.digest
    return content_hash(decompress(content.body))


def body_bytes(content: ContentWrite) -> int:
    """
    The size of a body before compression, read from its frame.

    Raises:
        CorruptContent: it was not compressed with zstd.
    """
    size = zstd.content_size(content.body)
    return len(decompress(content.body)) if size is None else size


def content_key(url: str) -> str:
    """The content store's key of a canonical URL: its SHA-256 in hex."""
    return hashlib.sha256(url.encode()).hexdigest()
