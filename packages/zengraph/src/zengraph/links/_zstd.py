"""Zstandard compression of small values. Each thread has its own codecs."""

from __future__ import annotations

import threading

import zstandard

MAGIC = b"\x28\xb5\x2f\xfd"
"""The first bytes of compressed data."""

ZstdError = zstandard.ZstdError


class _Codecs(threading.local):
    """A thread's own codecs. Threads must not share them, and creating them is expensive."""

    def __init__(self) -> None:
        self.compressors: dict[int, zstandard.ZstdCompressor] = {}
        self.decompressor = zstandard.ZstdDecompressor()


_codecs = _Codecs()


def compress(data: bytes, level: int) -> bytes:
    """Compress `data`. Equal data and levels always give equal bytes."""
    compressor = _codecs.compressors.get(level)
    if compressor is None:
        compressor = _codecs.compressors[level] = zstandard.ZstdCompressor(
            level=level, write_content_size=True
        )
    # Copy it, because zstandard's result keeps a buffer as large as its input.
    return bytes(memoryview(compressor.compress(data)))


def decompress(data: bytes) -> bytes:
    """
    Decompress the output of `compress`.

    Raises:
        ZstdError: the data is damaged or was not compressed with zstd.
    """
    return _codecs.decompressor.decompress(data)
