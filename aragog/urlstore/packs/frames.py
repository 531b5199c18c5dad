"""
Compressed records. Each is a gzip member, or one or more zstd frames. No I/O.

Their first bytes distinguish the two, so a store may contain both. In a page's record, the body is
a separate frame, as compressed by the fetch process. It follows a frame with the headers, and
precedes one with the end of the record. "Zstandard Compression for WARC Files 1.0" allows this.
Revisits are a single frame, and so are records that `pack_upkeep` compressed with a dictionary.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

from aragog.errors import CorruptContent
from aragog.urlstore import zstd
from aragog.urlstore.packs.dictionaries import Dictionary, dictionary_of
from aragog.urlstore.warc_records import RECORD_END, RecordHead, WarcBlock, read_beginning

Compression = Literal["zstd", "gzip"]

SUFFIXES: dict[Compression, str] = {"zstd": ".warc.zst", "gzip": ".warc.gz"}
ZSTD_LEVEL = 3
GZIP_LEVEL = 6
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_MEMBER_BYTES = 65_536


class Frame(NamedTuple):
    """A compressed record in a pack: all of its zstd frames, or its gzip member."""

    offset: int
    data: bytes


def compress(record: bytes, compression: Compression) -> bytes:
    """
    Compress one record. Deterministic.

    A zstd frame includes its content size and a checksum, as the specification requires.
    """
    if compression == "gzip":
        return gzip.compress(record, GZIP_LEVEL, mtime=0)
    return zstd.compress(record, ZSTD_LEVEL, checksum=True)


def compress_around(
    head: RecordHead, body: bytes, compression: Compression, dictionary: Dictionary | None = None
) -> tuple[bytes, ...]:
    """
    Build a record around a compressed body (`compression.compress`).

    If a dictionary is given, the body must have been compressed with it.

    Returns the parts of the record, one of which is the body. Joining them would copy the body,
    which costs more than everything else if it is large.

    A body is recompressed for gzip, or if it has no checksum (older versions stored none).

    Raises:
        CorruptContent: the body is damaged. Only detected if the body is recompressed.
    """
    if compression != "zstd" or not zstd.is_checked(body):
        return (compress(head.with_body(_decompress_all(body, None)), compression),)
    if dictionary is not None:
        return dictionary.compress(head.encoded), body, dictionary.frame_of(RECORD_END)
    return compress(head.encoded, compression), body, _end_frame()


@cache
def _end_frame() -> bytes:
    return compress(RECORD_END, "zstd")


def decompress(frame: bytes, dictionary: Dictionary | None = None) -> bytes:
    """
    Decompress a pack's record with this dictionary, or without one if None.

    Raises:
        CorruptContent: the bytes are damaged or not compressed, or need another dictionary.
    """
    try:
        if frame.startswith(zstd.MAGIC):
            return _decompress_all(frame, dictionary)
        return gzip.decompress(frame)
    except (zstd.ZstdError, zlib.error, OSError, EOFError) as error:
        raise CorruptContent("", f"cannot be decompressed: {error}") from error


class Beginning(NamedTuple):
    """A compressed record whose beginning was decompressed."""

    frame: Frame
    data: bytes
    """The whole record, or its first zstd frame, with its fields and HTTP head."""
    block: WarcBlock
    """The fields and HTTP head, without the body."""
    raw_bytes: int
    """The size of the whole record, decompressed."""


def beginning_at(frame: Frame, dictionary: Dictionary | None) -> Beginning:
    """
    Return the beginning of one complete compressed record.

    Raises:
        CorruptContent: the beginning of the record is damaged.
    """
    data = decompress(frame.data[: _end_of_frame(frame.data, 0)], dictionary)
    block, raw_bytes = read_beginning(data)
    return Beginning(frame, data, block, raw_bytes)


def beginnings(pack: bytes, dictionary: Dictionary | None) -> Iterator[Beginning]:
    """
    Yield the compressed records of a complete pack, in order. Bodies stay compressed.

    Args:
        pack: its bytes.
        dictionary: the dictionary of the pack (`dictionary_of`).

    Raises:
        CorruptContent: the pack is truncated, or the beginning of a record is damaged. Damage in a
            body is not detected.
    """
    at = 0
    while at < len(pack):
        end = _end_of_frame(pack, at)
        if int.from_bytes(pack[at : at + 4], "little") in _SKIPPABLE:
            at = end
            continue
        data = decompress(pack[at:end], dictionary)
        block, raw_bytes = read_beginning(data)
        left = raw_bytes - len(data)
        begin, at = at, end
        while left > 0:
            if at >= len(pack):
                raise CorruptContent("", f"is cut off in the record at {begin}")
            end = _end_of_frame(pack, at)
            left, at = left - _content_size(pack[at:end], dictionary), end
        yield Beginning(Frame(begin, pack[begin:at]), data, block, raw_bytes)


def records(pack: bytes) -> Iterator[tuple[Frame, bytes]]:
    """
    Yield the records of a complete pack, in order, each compressed and decompressed.

    Raises:
        CorruptContent: the pack is truncated or damaged; records yielded before are intact.
    """
    dictionary = dictionary_of(pack)
    for one in beginnings(pack, dictionary):
        is_whole = len(one.data) == one.raw_bytes
        yield one.frame, one.data if is_whole else decompress(one.frame.data, dictionary)


def split(pack: bytes) -> Iterator[Frame]:
    """
    Yield the compressed records of a complete pack, without skippable frames (dictionaries).

    Raises:
        CorruptContent: the pack is truncated or damaged; records yielded before are intact.
    """
    return (frame for frame, _ in records(pack))


def _decompress_all(data: bytes, dictionary: Dictionary | None) -> bytes:
    """Return the contents of one or more zstd frames."""
    of_one = zstd.decompress if dictionary is None else dictionary.decompress
    try:
        end = zstd.end_of_frame(data, 0)
        if end >= len(data):
            return of_one(data)
        parts = [of_one(data[:end])]
        while end < len(data):
            at, end = end, zstd.end_of_frame(data, end)
            parts.append(of_one(data[at:end]))
    except (IndexError, zstd.ZstdError) as error:
        raise CorruptContent("", f"cannot be decompressed: {error}") from error
    return b"".join(parts)


def _content_size(frame: bytes, dictionary: Dictionary | None) -> int:
    """Return the size of a frame's contents, from its header if possible."""
    size = zstd.content_size(frame) if frame.startswith(zstd.MAGIC) else None
    return len(decompress(frame, dictionary)) if size is None else size


def _end_of_frame(pack: bytes, at: int) -> int:
    magic = pack[at : at + 4]
    if magic == zstd.MAGIC:
        end = _end_of_zstd(pack, at)
    elif int.from_bytes(magic, "little") in _SKIPPABLE:
        end = at + 8 + int.from_bytes(pack[at + 4 : at + 8], "little")
    else:
        end = _end_of_member(pack, at)
    if end > len(pack):
        raise CorruptContent("", f"is truncated in the record at {at}")
    return end


def _end_of_zstd(pack: bytes, at: int) -> int:
    try:
        return zstd.end_of_frame(pack, at)
    except IndexError:
        raise CorruptContent("", f"is truncated in the record at {at}") from None


def _end_of_member(pack: bytes, at: int) -> int:
    member = zlib.decompressobj(wbits=31)
    view = memoryview(pack)
    fed = at
    try:
        while not member.eof and fed < len(pack):
            member.decompress(view[fed : fed + _MEMBER_BYTES])
            fed = min(fed + _MEMBER_BYTES, len(pack))
    except zlib.error as error:
        raise CorruptContent("", f"has no record at {at}: {error}") from error
    if not member.eof:
        raise CorruptContent("", f"is truncated in the record at {at}")
    return fed - len(member.unused_data)
