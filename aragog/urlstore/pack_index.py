"""Builds a pack's CDXJ index from its bytes, and new packs from existing records. No I/O."""

from __future__ import annotations

from collections.abc import Iterable

from aragog.errors import CorruptContent
from aragog.urlstore import cdxj
from aragog.urlstore.packs import frames
from aragog.urlstore.packs.frames import Compression
from aragog.urlstore.packs.pointers import index_name
from aragog.urlstore.warc_records import capture_of, read_record, warcinfo_record


def pack_index(name: str, data: bytes) -> tuple[bytes, str | None]:
    """Return the index for a pack's bytes, and a description of any damage (None if intact)."""
    lines: list[str] = []
    problem = None
    try:
        for frame, record in frames.records(data):
            block = read_record(record)
            if block.kind != "warcinfo":
                lines.append(cdxj.line(capture_of(block, frame.offset, len(frame.data), name)))
    except CorruptContent as error:
        problem = error.reason
    return index_bytes(lines), problem


def pack_of(name: str, records: Iterable[bytes], at_ms: int) -> bytes:
    """Return a pack that consists of a new `warcinfo` record and these compressed records."""
    compression: Compression = "gzip" if name.endswith(".gz") else "zstd"
    first = frames.compress(warcinfo_record(name, at_ms), compression)
    return b"".join([first, *records])


def index_of(name: str) -> str:
    """Return the file name of a pack's index."""
    return index_name(name)


def index_bytes(lines: list[str]) -> bytes:
    """Return an index file with these lines, sorted."""
    return "".join(sorted(lines, key=str.encode)).encode()
