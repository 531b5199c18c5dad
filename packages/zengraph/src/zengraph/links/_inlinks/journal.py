"""
Rows of the link journal: the link changes of the sources of one batch. Pure.

A row is a line of JSON, a list of [source, at_ms, change, added, changed, removed] with the lengths
of three compressed blobs of lines each, then those blobs. A new source's blob of added lines is
identical to the blob in its outlinks cell, so it is compressed only once.
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
    """The link changes of one source."""

    source: str
    at_ms: int
    change: bytes
    """The name that its outlinks cell gets if the change takes effect."""
    added: bytes = b""
    """Compressed lines; empty for none. The other blobs likewise."""
    changed: bytes = b""
    removed: bytes = b""
    """The targets of links that were removed."""


def compress_lines(lines: Sequence[bytes]) -> bytes:
    """A blob of an entry; empty for no lines."""
    return compress_links(b"\n".join(lines)) if lines else b""


def lines_of(blob: bytes) -> list[bytes]:
    """The lines of a blob."""
    return decompress_links(blob).split(b"\n") if blob else []


def pack(entries: Sequence[Entry]) -> bytes:
    """The row's value."""
    head = [
        (e.source, e.at_ms, e.change.hex(), len(e.added), len(e.changed), len(e.removed))
        for e in entries
    ]
    blobs = [blob for e in entries for blob in (e.added, e.changed, e.removed)]
    return b"".join([orjson.dumps(head), b"\n", *blobs])


def unpack(data: bytes) -> Iterator[Entry]:
    """
    Read the output of `pack`.

    Raises:
        CorruptRow: not in this form.
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
