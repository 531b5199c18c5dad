"""The header of a posting list: what is merged, the segments, and the newest part. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import orjson

from aragog.zen.adjacency.inlinks.postings import net_of
from aragog.zen.tables import Row

HEADER = b"l:h"


class Segment(NamedTuple):
    """A sorted part of a list, in rows of its own."""

    name: bytes
    lines: int
    net: int


@dataclass(frozen=True, slots=True)
class ListHeader:
    """The content of a header row."""

    upto: int = 0
    """The number of the last compaction whose delta is included."""
    segments: tuple[Segment, ...] = ()
    """Oldest first."""
    inline: bytes = b""
    """The newest part, as a packed delta; empty for none."""
    writing: bytes = b""
    """Name of a segment that was being written; its rows are garbage if not in `segments`."""

    @property
    def net(self) -> int:
        """Links in the segments and the inline part."""
        own = net_of(self.inline) if self.inline else 0
        return own + sum(segment.net for segment in self.segments)

    def pack(self) -> bytes:
        """The cell."""
        segments = [(s.name.hex(), s.lines, s.net) for s in self.segments]
        head = {"upto": self.upto, "segments": segments, "writing": self.writing.hex()}
        return orjson.dumps(head) + b"\n" + self.inline

    @staticmethod
    def of(row: Row) -> ListHeader:
        """The header in a row; an empty one if there is none."""
        cell = row.get(HEADER)
        if cell is None:
            return ListHeader()
        line, _, inline = cell.value.partition(b"\n")
        head = orjson.loads(line)
        segments = tuple(Segment(bytes.fromhex(n), s, net) for n, s, net in head["segments"])
        return ListHeader(head["upto"], segments, inline, bytes.fromhex(head["writing"]))
