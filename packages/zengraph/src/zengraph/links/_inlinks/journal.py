"""
Rows of the link journal. A row contains link changes of a batch of sources.

A row begins with a line of JSON: for each source a list [source, at_ms, change, added, changed,
removed]. The last three are lengths of compressed blobs, which follow. A new source's blob of added
lines is the same as in its outlinks cell, so it is compressed only once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson

from zengraph.errors import CorruptRow
from zengraph.links._outlinks import compress_links, decompress_links

COLUMN = b"l:v"


@dataclass(frozen=True, slots=True)
class Entry:
    """A source's link changes."""

    source: str
    at_ms: int
    change: bytes
    """The change's name. The source's outlinks cell contains it if the change takes effect."""
    added: bytes = b""
    """Compressed lines; empty if there are none. `changed` and `removed` have the same format."""
    changed: bytes = b""
    removed: bytes = b""
    """The targets of removed links."""


def compress_lines(lines: Sequence[bytes]) -> bytes:
    """Compress lines into a blob, which is empty if there are none."""
    return compress_links(b"\n".join(lines)) if lines else b""


def lines_of(blob: bytes) -> list[bytes]:
    return decompress_links(blob).split(b"\n") if blob else []


def pack(entries: Sequence[Entry]) -> bytes:
    head = [
        (e.source, e.at_ms, e.change.hex(), len(e.added), len(e.changed), len(e.removed))
        for e in entries
    ]
    blobs = [blob for e in entries for blob in (e.added, e.changed, e.removed)]
    return b"".join([orjson.dumps(head), b"\n", *blobs])


def unpack(data: bytes) -> Iterator[Entry]:
    """
    Decode the output of `pack`.

    Raises:
        CorruptRow: the data does not have this format.
    """
    head, newline, blobs = data.partition(b"\n")
    try:
        entries = orjson.loads(head)
        at = 0
        for source, at_ms, change, *lengths in entries:
            parts = []
            for length in lengths:
                parts.append(blobs[at : at + length])
                at += length
            yield Entry(source, at_ms, bytes.fromhex(change), *parts)
    except (ValueError, TypeError) as error:
        raise CorruptRow("j", "", f"cannot be read: {error}") from error
    if not newline or at != len(blobs):
        raise CorruptRow("j", "", "is truncated")
