r"""
Posting lists: the packed inlinks of a target.

A posting is a line `source \t at_ms \t kind \t tag \t text`. Lists are sorted by source; if a
source has several lines, only the one with the largest at_ms is valid. Kinds: `+` a new link, `~` a
link whose text changed, `-` a removed link. A delta of a list is

    4 bytes   its net count: added links minus removed links, signed
    rest      the lines: plain if it begins with a line, else zstd (its first bytes are not UTF-8)

Net counts add up to the exact number of links, because each change is compacted exactly once.

A header contains the names of merged deltas, the segments, and the newest part of the list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from typing import NamedTuple

import orjson

from zengraph.links import _zstd as zstd
from zengraph.links._inlinks.delta_names import Upto, of_names, to_names
from zengraph.links._outlinks import compress_links, decompress_links
from zengraph.links._values import InLink
from zengraph.tables import Row

_SQUEEZE_PAST_BYTES = 800
"""Smaller values are not compressed, because zstd's overhead would be larger than the savings."""

CAME, STAYED, WENT = b"+", b"~", b"-"
_STAYED_FIELD, _WENT_FIELD = b"\t%s\t" % STAYED, b"\t%s\t" % WENT


class Delta(NamedTuple):
    """Lines to be added to a target's list."""

    net: int
    lines: list[bytes]


class LinkChanges(NamedTuple):
    """The links that one compaction adds to posting lists. Adding them twice is harmless."""

    name: int
    """The name of the compaction's deltas (`delta_names`), different for each compaction."""
    at_ms: int
    """The timestamp of the compaction's writes."""
    lists: Mapping[bytes, Mapping[bytes, bytes]]
    """Joined postings by group, then by the last 12 bytes of the list id (`Naming.by_group`)."""
    removals: Mapping[bytes, Sequence[bytes]]
    """The sources that removed a link, by the list id of the target."""
    depths: Mapping[bytes, int] = {}
    """The depth at which a group's lists are written if it is not 0 (`entry_depths`)."""


def pack(net: int, lines: list[bytes]) -> bytes:
    """Encode a delta as one value. The lines need not be sorted."""
    data = b"\n".join(lines)
    if len(data) > _SQUEEZE_PAST_BYTES:
        data = compress_links(data)
    return net.to_bytes(4, signed=True) + data


def net_of(value: bytes) -> int:
    """Return the net count of a packed delta."""
    return int.from_bytes(value[:4], signed=True)


def unpack(value: bytes) -> Delta:
    """Read the output of `pack`."""
    data = value[4:]
    if data.startswith(zstd.MAGIC):
        data = decompress_links(data)
    return Delta(net_of(value), data.split(b"\n") if data else [])


def source_of(line: bytes) -> bytes:
    """Return the source of a line."""
    return line.partition(b"\t")[0]


def newest(runs: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """
    Yield the valid line of each source, from sorted runs, in constant memory.

    Comparing lines as bytes compares their sources and then at_ms (13 digits until the year 2286),
    because a tab sorts before every character that a name may contain.
    """
    last, source = b"", None
    for line in merge(*runs):
        line_source = line.partition(b"\t")[0]
        if line_source != source and source is not None:
            yield last
        last, source = line, line_source
    if source is not None:
        yield last


def merged_lines(deltas: Iterable[Sequence[bytes]]) -> list[bytes]:
    """Like `newest`, for a few short lists in memory, which need not be sorted."""
    lines = sorted([line for delta in deltas for line in delta])
    return list({line.partition(b"\t")[0]: line for line in lines}.values())


class Settled(NamedTuple):
    """The lines of a list after a merge."""

    text: bytes
    """The valid line of each source, joined."""
    present: int
    """The number of links, correct if all changes to these links are among the merged lines."""
    net: int
    """Added minus removed links. Differs from `present` if earlier changes are stored elsewhere."""
    removed: list[bytes]
    """Sources of links that were removed, and possibly added again."""


NOTHING = Settled(b"", 0, 0, [])


def is_settled(text: bytes) -> bool:
    """True if a list's joined lines are all added links, so that `settled` returns them."""
    return _STAYED_FIELD not in text and _WENT_FIELD not in text


def settled(text: bytes) -> Settled:
    """
    Merge the joined lines of a list, which need not be sorted.

    If all earlier changes to a link are among the lines, a link that was added and removed is left
    out, and a changed link becomes a new one.
    """
    # Lines occur twice if an earlier version has completed a compaction that this version began.
    # Earlier versions do not know depths (`entry_depths`), so they write lines to other groups.
    every = sorted({*text.split(b"\n")})
    if is_settled(text):
        return Settled(b"\n".join(every), len(every), len(every), [])
    kinds = [line.split(b"\t", 3)[2] for line in every]
    net = kinds.count(CAME) - kinds.count(WENT)
    counting = merged_lines([every])
    present = [line for line in counting if is_there(line)]
    removed = [*{source_of(line) for line in every if not is_there(line)}]
    if net == len(present):
        counting = [_as_new(line) for line in present]
    return Settled(b"\n".join(counting), len(present), net, removed)


def _as_new(line: bytes) -> bytes:
    source, at_ms, _, rest = line.split(b"\t", 3)
    return b"\t".join((source, at_ms, CAME, rest))


def is_there(line: bytes) -> bool:
    """Return True if a line is a link, False if it is a removal."""
    return _WENT_FIELD not in line or line.split(b"\t", 3)[2] != WENT


def inlink(line: bytes) -> InLink:
    """Parse a line into an inlink."""
    source, at_ms, _, tag, text = line.decode().split("\t")
    return InLink(source, text, tag, int(at_ms))


def spill(sizes: list[int], incoming: int) -> int:
    """
    Return how many of the newest segments to merge with `incoming` sorted lines.

    `sizes` are the segments' numbers of lines, oldest first. Segments are merged while they are
    less than twice as large as the lines merged so far. So a list of n lines has at most
    log2(n / 256) segments, and each line is rewritten about as many times.
    """
    count = 0
    for size in reversed(sizes):
        if size > 2 * incoming:
            break
        incoming += size
        count += 1
    return count


HEADER = b"l:h"


class Segment(NamedTuple):
    """A sorted part of a list, stored in its own rows."""

    name: bytes
    lines: int
    net: int


@dataclass(frozen=True, slots=True)
class ListHeader:
    """The content of a header row."""

    upto: Upto = field(default_factory=dict)
    """The deltas that the header includes."""
    segments: tuple[Segment, ...] = ()
    """The segments of the list, oldest first."""
    inline: bytes = b""
    """The newest part of the list, as a packed delta; may be empty."""
    writing: bytes = b""
    """The segment being written. If its name never gets into `segments`, its rows are garbage."""

    @property
    def net(self) -> int:
        """Number of links in the segments and the inline part."""
        own = net_of(self.inline) if self.inline else 0
        return own + sum(segment.net for segment in self.segments)

    def pack(self) -> bytes:
        """Encode the header for its cell."""
        segments = [(s.name.hex(), s.lines, s.net) for s in self.segments]
        head = {"upto": to_names(self.upto), "segments": segments, "writing": self.writing.hex()}
        return orjson.dumps(head) + b"\n" + self.inline

    @staticmethod
    def of(row: Row) -> ListHeader:
        """Return the header in a row, or an empty one."""
        cell = row.get(HEADER)
        if cell is None:
            return ListHeader()
        line, _, inline = cell.value.partition(b"\n")
        head = orjson.loads(line)
        segments = tuple(Segment(bytes.fromhex(n), s, net) for n, s, net in head["segments"])
        upto = head["upto"]  # before slots existed, this was a single number: that of slot 0
        names = of_names(upto if isinstance(upto, list) else [upto])
        return ListHeader(names, segments, inline, bytes.fromhex(head["writing"]))
