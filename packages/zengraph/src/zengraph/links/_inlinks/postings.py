r"""
Posting lists: the packed inlinks of a target.

A posting is a line `source \t at_ms \t kind \t tag \t text`. Lists are sorted by source. Of a
source's lines, only the one with the largest at_ms is valid. Kinds: `+` a new link, `~` a link
whose text changed, `-` a removed link. A delta of a list is

    4 bytes   its net count: added links minus removed links, signed
    rest      the lines: plain if it begins with a line, else zstd (its first bytes are not UTF-8)

Net counts add up to the exact number of links, because each change is compacted exactly once.

A list's header contains the names of merged deltas, the segments (sorted parts of the list in their
own rows), and the newest lines.
"""

from __future__ import annotations

from bisect import bisect_left
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
"""Smaller values are not compressed, because zstd's overhead would exceed the savings."""

CAME, STAYED, WENT = b"+", b"~", b"-"
_STAYED_FIELD, _WENT_FIELD = b"\t%s\t" % STAYED, b"\t%s\t" % WENT


class Delta(NamedTuple):
    """Lines to be added to a target's list."""

    net: int
    lines: list[bytes]


class LinkChanges(NamedTuple):
    """Links that one compaction adds to posting lists. Adding them twice is harmless."""

    name: int
    """The name of the compaction's deltas (`delta_names`)."""
    at_ms: int
    """The compaction's timestamp."""
    lists: Mapping[bytes, Mapping[bytes, bytes]]
    """Joined postings by group, then by the last 12 bytes of the list id (`Naming.by_group`)."""
    removals: Mapping[bytes, Sequence[bytes]]
    """Sources that removed a link, by the target's list id."""
    depths: Mapping[bytes, int] = {}
    """The depth at which a group's lists are written (`entry_depths`); 0 if missing."""


def pack(net: int, lines: list[bytes]) -> bytes:
    """Encode a delta. The lines need not be sorted."""
    data = b"\n".join(lines)
    if len(data) > _SQUEEZE_PAST_BYTES:
        data = compress_links(data)
    return net.to_bytes(4, signed=True) + data


def net_of(value: bytes) -> int:
    return int.from_bytes(value[:4], signed=True)


def unpack(value: bytes) -> Delta:
    """Read the output of `pack`."""
    data = value[4:]
    if data.startswith(zstd.MAGIC):
        data = decompress_links(data)
    return Delta(net_of(value), data.split(b"\n") if data else [])


def source_of(line: bytes) -> bytes:
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


class _Run:
    """A sorted run of lines that is read one block at a time."""

    def __init__(self, blocks: Iterable[list[bytes]]) -> None:
        self._blocks = filter(None, blocks)
        self.block: list[bytes] = []
        self._at = 0
        self.is_over = not self._read()

    def _read(self) -> bool:
        self.block, self._at = next(self._blocks, []), 0
        return bool(self.block)

    def before(self, end: bytes) -> list[bytes]:
        """Return the block's next lines that sort before `end`, and go past them."""
        at, self._at = self._at, bisect_left(self.block, end, self._at)
        lines = self.block[at : self._at]
        if self._at == len(self.block):
            self.is_over = not self._read()
        return lines


def newest_in_blocks(runs: Iterable[Iterable[list[bytes]]]) -> Iterator[list[bytes]]:
    """
    Like `newest`, in half the time for all lines, from runs that consist of blocks of lines.

    Each run has one line for each of its sources. Memory is one block for each run.
    """
    left = [run for run in map(_Run, runs) if not run.is_over]
    while left:
        # No later block has a line of this source or of one before it.
        end = min(source_of(run.block[-1]) for run in left) + b"\n"
        yield merged_lines([run.before(end) for run in left])
        left = [run for run in left if not run.is_over]


def merged_lines(deltas: Iterable[Sequence[bytes]]) -> list[bytes]:
    """Like `newest`, for short lists in memory, which need not be sorted."""
    lines = sorted([line for delta in deltas for line in delta])
    return list({line.partition(b"\t")[0]: line for line in lines}.values())


class Settled(NamedTuple):
    text: bytes
    """Each source's valid line, joined."""
    present: int
    """The number of links; correct if the merged lines include all changes to these links."""
    net: int
    """Added minus removed links; differs from `present` if earlier changes are stored elsewhere."""
    removed: list[bytes]
    """Sources of links that were removed (and possibly added again)."""


NOTHING = Settled(b"", 0, 0, [])


def is_settled(text: bytes) -> bool:
    """Return True if all of a list's lines are added links; `settled` returns them unchanged."""
    return _STAYED_FIELD not in text and _WENT_FIELD not in text


def settled(text: bytes) -> Settled:
    """
    Merge a list's joined lines, which need not be sorted.

    If all earlier changes to a link are among the lines, a link that was added and removed is left
    out, and a changed link becomes a new one.
    """
    # Lines occur twice if an earlier version has completed a compaction that this version began.
    # Earlier versions ignore `entry_depths` and write lines to other groups.
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


def has_removals(lines: Sequence[bytes]) -> bool:
    """Return False if no line is a removal. A text with the sign of one may make it True."""
    return _WENT_FIELD in b"\n".join(lines)


def inlink(line: bytes) -> InLink:
    source, at_ms, _, tag, text = line.decode().split("\t")
    return InLink(source, text, tag, int(at_ms))


def spill(sizes: list[int], incoming: int) -> int:
    """
    Return how many of the newest segments to merge with `incoming` sorted lines.

    `sizes` are the segments' line counts, oldest first. A segment is merged if it has at most twice
    as many lines as were merged so far. So a list of n lines has at most log2(n / 256) segments,
    and each line is rewritten about that often.
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
    upto: Upto = field(default_factory=dict)
    """The last included deltas, by source."""
    segments: tuple[Segment, ...] = ()
    """The list's segments, oldest first."""
    inline: bytes = b""
    """The newest lines, as a packed delta; may be empty."""
    writing: bytes = b""
    """The segment being written. Its rows are garbage unless its name gets into `segments`."""

    @property
    def net(self) -> int:
        """Number of links in the segments and in `inline`."""
        own = net_of(self.inline) if self.inline else 0
        return own + sum(segment.net for segment in self.segments)

    def pack(self) -> bytes:
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
        upto = head["upto"]  # before slots existed, this was one number: that of slot 0
        names = of_names(upto if isinstance(upto, list) else [upto])
        return ListHeader(names, segments, inline, bytes.fromhex(head["writing"]))
