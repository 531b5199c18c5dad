"""Zstandard compression of small values. Each thread has its own codecs."""

from __future__ import annotations

import threading

import zstandard

MAGIC = b"\x28\xb5\x2f\xfd"
"""The first bytes of compressed data."""

_HAS_CHECKSUM = 4
"""The bit in the frame header's descriptor for a checksum."""

ZstdError = zstandard.ZstdError


class _Codecs(threading.local):
    """zstandard's objects are not thread-safe, and are expensive to create."""

    def __init__(self) -> None:
        self.compressors: dict[tuple[int, bool], zstandard.ZstdCompressor] = {}
        self.decompressor = zstandard.ZstdDecompressor()


_codecs = _Codecs()


def compress(data: bytes, level: int, *, checksum: bool = False) -> bytes:
    """Compress data. Deterministic for the same options."""
    compressor = _codecs.compressors.get((level, checksum))
    if compressor is None:
        compressor = _codecs.compressors[level, checksum] = zstandard.ZstdCompressor(
            level=level, write_content_size=True, write_checksum=checksum
        )
    # Copy the bytes, because zstandard's result keeps a buffer of the input's size alive.
    return bytes(memoryview(compressor.compress(data)))


def content_size(frame: bytes) -> int | None:
    """Return the content size in a frame's header, or None."""
    try:
        size = zstandard.frame_content_size(frame)
    except ZstdError:
        return None
    return size if size >= 0 else None


def without_checksum(frame: bytes) -> bytes:
    """Return a frame from `compress` without its checksum (RFC 8878, section 3.1.1)."""
    if not frame.startswith(MAGIC) or not frame[4] & _HAS_CHECKSUM:
        return frame
    return b"".join([MAGIC, bytes([frame[4] & ~_HAS_CHECKSUM]), frame[5:-4]])


def end_of_frame(data: bytes, position: int) -> int:
    """
    Return the end of the frame at `position`, computed from its block lengths.

    See RFC 8878, section 3.1.1. If the last block is truncated, the result exceeds the data.

    Raises:
        IndexError: the data ends before the frame's last block starts.
    """
    descriptor = data[position + 4]
    single_segment = descriptor >> 5 & 1
    size_bytes = (single_segment, 2, 4, 8)[descriptor >> 6]
    position += 5 + (1 - single_segment) + (0, 1, 2, 4)[descriptor & 3] + size_bytes
    while True:
        header = data[position] | data[position + 1] << 8 | data[position + 2] << 16
        kind, length = header >> 1 & 3, header >> 3
        position += 3 + (1 if kind == 1 else length)
        if header & 1:
            return position + (4 if descriptor & _HAS_CHECKSUM else 0)


def is_checked(frame: bytes) -> bool:
    """Return True if the data is one complete frame that has a content size and a checksum."""
    try:
        if not frame.startswith(MAGIC) or not frame[4] & _HAS_CHECKSUM:
            return False
        has_size = frame[4] >> 5  # single-segment flag or size flag of the header
        return bool(has_size) and end_of_frame(frame, 0) == len(frame)
    except IndexError:
        return False


def decompress(data: bytes) -> bytes:
    """
    Decompress the output of `compress`.

    Raises:
        ZstdError: the data is damaged or was not compressed with zstd.
    """
    return _codecs.decompressor.decompress(data)
