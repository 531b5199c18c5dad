"""Compresses and hashes page content, and computes content keys. No I/O."""

from __future__ import annotations

import hashlib

import zstandard

from aragog.errors import CorruptContent
from aragog.urlstore import zstd
from aragog.urlstore.records import ContentWrite

ZSTD_LEVEL = 3
"""The zstd level. It compresses 57 KB of HTML to a fifth in 0.25 ms."""


def compress(body: bytes) -> bytes:
    """
    Compress `body` with zstd and its checksum. Deterministic.

    Records in packs use the same frame, so a body is compressed only once.
    """
    return zstd.compress(body, ZSTD_LEVEL, checksum=True)


def object_bytes(compressed: bytes) -> bytes:
    """
    Return the bytes that an object stores for a compressed body, that is, without the checksum.

    These bytes determine the object's hash, so all versions of aragog must return the same ones.
    """
    return zstd.without_checksum(compressed)


def dictionary_id(frame: bytes) -> int:
    """
    Return the id of a frame's dictionary, or 0 if it has none or the bytes are not a zstd frame.

    Raises:
        CorruptContent: the frame's header is damaged.
    """
    if not frame.startswith(zstd.MAGIC):
        return 0
    try:
        return zstandard.get_frame_parameters(frame).dict_id
    except zstandard.ZstdError as error:
        raise CorruptContent("", f"is not a frame: {error}") from error


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
    """Return the hex SHA-256 of a body, or of the compressed bytes in an object."""
    return hashlib.sha256(data).hexdigest()


def stored_hash(content: ContentWrite) -> str:
    """Return the hash of a body in an object, computed from the compressed bytes."""
    return content_hash(object_bytes(content.body))


def body_hash(content: ContentWrite) -> str:
    """Return the hash of a body in a pack, computed from the uncompressed body."""
    if content.packed is not None:
        return content.packed.digest
    if content.digest is not None:
        return content.digest
    return content_hash(decompress(content.body))


def body_bytes(content: ContentWrite) -> int:
    """
    Return a body's uncompressed size, from its zstd frame.

    Raises:
        CorruptContent: the body was not compressed with zstd.
    """
    size = zstd.content_size(content.body)
    return len(decompress(content.body)) if size is None else size


def content_key(url: str) -> str:
    """Return a canonical URL's key in the content store: the URL's SHA-256 in hex."""
    return hashlib.sha256(url.encode()).hexdigest()
