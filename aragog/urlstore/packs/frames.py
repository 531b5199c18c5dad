"""
Compressed records: each is a zstd frame or a gzip member of its own. Pure.

A reader tells the two apart by their first bytes, so both may lie in one store.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from typing import Literal, NamedTuple

from aragog.errors import CorruptContent
from aragog.urlstore import zstd
from aragog.urlstore.packs.dictionaries import Dictionary, dictionary_of

Compression = Literal["zstd", "gzip"]

SUFFIXES: dict[Compression, str] = {"zstd": ".warc.zst", "gzip": ".warc.gz"}
ZSTD_LEVEL = 3
GZIP_LEVEL = 6
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_MEMBER_BYTES = 65_536


class Frame(NamedTuple):
    """A compressed record of a pack."""

    offset: int
    data: bytes


def compress(record: bytes, compression: Compression) -> bytes:
    """
    One record, compressed; the same bytes for the same record.

    A zstd frame has its content's size and checksum, as the specification demands.
    """
    if compression == "gzip":
        return gzip.compress(record, GZIP_LEVEL, mtime=0)
    return zstd.compress(record, ZSTD_LEVEL, checksum=True)


def decompress(frame: bytes, dictionary: Dictionary | None = None) -> bytes:
    """
    The record in a frame of a pack with that dictionary; None: without one.

    Raises:
        CorruptContent: the bytes are damaged or not compressed, or need another dictionary.
    """
    try:
        if frame.startswith(zstd.MAGIC):
            return zstd.decompress(frame) if dictionary is None else dictionary.decompress(frame)
        return gzip.decompress(frame)
    except (zstd.ZstdError, zlib.error, OSError, EOFError) as error:
        raise CorruptContent("", f"cannot be decompressed: {error}") from error


def records(pack: bytes) -> Iterator[tuple[Frame, bytes]]:
    """
    The frames of a whole pack, in order, each with its record.

    Raises:
        CorruptContent: it is cut off or damaged; what was yielded before is whole.
    """
    dictionary = dictionary_of(pack)
    for frame in split(pack):
        yield frame, decompress(frame.data, dictionary)


def split(pack: bytes) -> Iterator[Frame]:
    """
    The frames of a whole pack, in order, without skippable frames (dictionaries).

    Raises:
        CorruptContent: it is cut off or damaged; what was yielded before is whole.
    """
    at = 0
    while at < len(pack):
        end = _end_of_frame(pack, at)
        if int.from_bytes(pack[at : at + 4], "little") not in _SKIPPABLE:
            yield Frame(at, pack[at:end])
        at = end


def _end_of_frame(pack: bytes, at: int) -> int:
    magic = pack[at : at + 4]
    if magic == zstd.MAGIC:
        end = _end_of_zstd(pack, at)
    elif int.from_bytes(magic, "little") in _SKIPPABLE:
        end = at + 8 + int.from_bytes(pack[at + 4 : at + 8], "little")
    else:
        end = _end_of_member(pack, at)
    if end > len(pack):
        raise CorruptContent("", f"is cut off in the record at {at}")
    return end


def _end_of_zstd(pack: bytes, at: int) -> int:
    """Where a zstd frame ends, by the lengths of its blocks (RFC 8878, section 3.1.1)."""
    try:
        descriptor = pack[at + 4]
        single_segment = descriptor >> 5 & 1
        size_bytes = (single_segment, 2, 4, 8)[descriptor >> 6]
        at += 5 + (1 - single_segment) + (0, 1, 2, 4)[descriptor & 3] + size_bytes
        while True:
            block = int.from_bytes(pack[at : at + 3], "little")
            kind, length = block >> 1 & 3, block >> 3
            at += 3 + (1 if kind == 1 else length)
            if at > len(pack):
                raise CorruptContent("", "is cut off in a record")
            if block & 1:
                return at + 4 * (descriptor >> 2 & 1)
    except IndexError:
        raise CorruptContent("", f"is cut off in the record at {at}") from None


def _end_of_member(pack: bytes, at: int) -> int:
    """Where a gzip member ends."""
    member = zlib.decompressobj(wbits=31)
    view = memoryview(pack)
    fed = at
    try:
        while not member.eof and fed < len(pack):
            member.decompress(view[fed : fed + _MEMBER_BYTES])
            fed = min(fed + _MEMBER_BYTES, len(pack))
    except zlib.error as error:
        raise CorruptContent("", f"is no record at {at}: {error}") from error
    if not member.eof:
        raise CorruptContent("", f"is cut off in the record at {at}")
    return fed - len(member.unused_data)
