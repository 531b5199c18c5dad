"""Zstandard compression of small values. Pure; threads have codecs of their own."""

from __future__ import annotations

import threading

import zstandard

MAGIC = b"\x28\xb5\x2f\xfd"
"""What compressed data begin with."""

ZstdError = zstandard.ZstdError


class _Codecs(threading.local):
    """zstandard's objects must not be shared by threads, and are expensive to create."""

    def __init__(self) -> None:
        self.compressors: dict[tuple[int, bool], zstandard.ZstdCompressor] = {}
        self.decompressor = zstandard.ZstdDecompressor()


_codecs = _Codecs()


def compress(data: bytes, level: int, *, checksum: bool = False) -> bytes:
    """`data` compressed; the same bytes for the same data and options."""
    compressor = _codecs.compressors.get((level, checksum))
    if compressor is None:
        compressor = _codecs.compressors[level, checksum] = zstandard.ZstdCompressor(
            level=level, write_content_size=True, write_checksum=checksum
        )
    # A copy, because zstandard's result keeps a buffer of the size of the input.
    return bytes(memoryview(compressor.compress(data)))


def decompress(data: bytes) -> bytes:
    """
    Decompress the output of `compress`.

    Raises:
        ZstdError: the data are damaged or were not compressed with zstd.
    """
    return _codecs.decompressor.decompress(data)
