"""The CDXJ index of a pack, made from its bytes. Pure."""

from __future__ import annotations

from aragog.errors import CorruptContent
from aragog.urlstore import cdxj
from aragog.urlstore.packs import frames
from aragog.urlstore.page_records import capture_of, read_record


def pack_index(name: str, data: bytes) -> tuple[bytes, str | None]:
    """The index of a pack, and what is wrong with the pack; None: nothing is."""
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


def index_bytes(lines: list[str]) -> bytes:
    """The lines of an index in order."""
    return "".join(sorted(lines, key=str.encode)).encode()
