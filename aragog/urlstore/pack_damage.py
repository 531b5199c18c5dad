"""
Finds the records of a damaged pack with its index.

Records follow each other without a separator, so a damaged one hides where the next one begins. The
index has the location and the URL of each record.
"""

from __future__ import annotations

from collections.abc import Sequence

from aragog.errors import CorruptContent
from aragog.urlstore.cdxj import Capture, read_line
from aragog.urlstore.packs import frames
from aragog.urlstore.packs.dictionaries import (
    Dictionary,
    begins_with_dictionary,
    dictionary_of,
    frame_bytes,
)
from aragog.urlstore.warc_records import WarcBlock

MAX_INFO_BYTES = 1024
"""More than a compressed `warcinfo` record, the only one that is not in the index."""


def located(pack: bytes, index: bytes) -> list[Capture] | None:
    """
    Return the locations of a pack's records, in order.

    Returns None if the index is damaged, or does not have all records.
    """
    try:
        lines = index.decode().splitlines()
        captures = sorted(map(read_line, lines), key=lambda one: one.offset)
    except ValueError:
        return None
    if not captures:
        return None
    ends = [one.offset + one.length for one in captures]
    nexts = [*(one.offset for one in captures[1:]), len(pack)]
    return captures if ends == nexts and not _hides_records(pack, captures[0].offset) else None


def beginnings_at(
    pack: bytes, captures: Sequence[Capture]
) -> tuple[Dictionary | None, list[frames.Beginning]]:
    """
    Return the pack's dictionary, and the beginnings of the records at these locations.

    If the dictionary is damaged, it is None, and records compressed with it are damaged too. A
    damaged record has its type and its first URL only. Nobody can read it, so it does not matter
    that a page stored under another of its URLs is not found.
    """
    try:
        dictionary = dictionary_of(pack)
    except CorruptContent:
        dictionary = None
    return dictionary, [_beginning(pack, one, dictionary) for one in captures]


def _beginning(pack: bytes, capture: Capture, dictionary: Dictionary | None) -> frames.Beginning:
    end = capture.offset + capture.length
    frame = frames.Frame(capture.offset, pack[capture.offset : end])
    try:
        return frames.beginning_at(frame, dictionary)
    except CorruptContent:
        kind = "revisit" if capture.mime == "warc/revisit" else "response"
        fields = {"warc-type": kind, "warc-target-uri": capture.url}
        return frames.Beginning(frame, b"", WarcBlock(fields, b"", b""), 0)


def _hides_records(pack: bytes, first: int) -> bool:
    """Return True if readable records may precede the first one in the index."""
    try:
        dictionary_of(pack)
    except CorruptContent:  # without it, no record can be read
        return False
    head_bytes = frame_bytes(pack) if begins_with_dictionary(pack) else 0
    return first - head_bytes > MAX_INFO_BYTES
