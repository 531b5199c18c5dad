r"""
Posting lists: the packed inlinks of a target. Pure.

A posting is a line `source \t at_ms \t kind \t tag \t text`. Lists are sorted by source, and of the
lines of one source the one with the largest at_ms counts. Kinds: `+` a new link, `~` a link whose
text changed, `-` a removed link. A delta of a list is

    4 bytes   its net count: added links minus removed links, signed
    rest      the lines, plain if it begins with a line, else zstd (its magic is no UTF-8)

Net counts add up to the exact number, because each change of a source is compacted exactly once.

A header holds what is merged, the segments, and the newest part.
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
"""Below this size, zstd's own overhead exceeds what it saves."""

CAME, STAYED, WENT = b"+", b"~", b"-"
_STAYED_FIELD, _WENT_FIELD = b"\t%s\t" % STAYED, b"\t%s\t" % WENT


class Delta(NamedTuple):
    """Part of a target's list."""

    net: int
    lines: list[bytes]


class LinkChanges(NamedTuple):
    """The links that one compaction adds to posting lists; adding them twice changes nothing."""

    name: int
    """The name of its deltas (`delta_names`); each compaction has one of its own."""
    at_ms: int
    """The timestamp of what it writes."""
    lines: Mapping[bytes, bytes]
    """Its postings by target, joined."""
    removals: Mapping[bytes, Sequence[bytes]]
    """The sources that removed a link, by list id of its target."""


def pack(net: int, lines: list[bytes]) -> bytes:
    """A delta as one value; the lines need not be sorted."""
    data = b"\n".join(lines)
    if len(data) > _SQUEEZE_PAST_BYTES:
        data = compress_links(data)
    return net.to_bytes(4, signed=True) + data


def net_of(value: bytes) -> int:
    """The net count of a packed delta."""
    return int.from_bytes(value[:4], signed=True)


def unpack(value: bytes) -> Delta:
    """Read the output of `pack`."""
    data = value[4:]
    if data.startswith(zstd.MAGIC):
        data = decompress_links(data)
    return Delta(net_of(value), data.split(b"\n") if data else [])


def source_of(line: bytes) -> bytes:
    """The source of a line."""
    return line.partition(b"\t")[0]


def newest(runs: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """
    The line that counts for each source, from sorted runs; constant memory.

    A line sorts by source and then by at_ms (13 digits until the year 2286), because a tab sorts
    before every character that a name may contain.
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
    """The same for a few short lists, sorted or not, in memory."""
    lines = sorted([line for delta in deltas for line in delta])
    return list({line.partition(b"\t")[0]: line for line in lines}.values())


class Settled(NamedTuple):
    """The lines of a list after a merge."""

    text: bytes
    """Joined; of each source the line that counts."""
    present: int
    """The number of links, if all changes of these links are among the merged lines."""
    net: int
    """Added minus removed links. Not `present` if earlier changes are elsewhere."""
    removed: list[bytes]
    """Sources of links that were removed, and perhaps added again."""


NOTHING = Settled(b"", 0, 0, [])


def settled(text: bytes) -> Settled:
    """
    Merge the joined lines of a list, sorted or not.

    Links that were added and removed are left out, and a changed link becomes a new one, if all
    earlier changes are among the lines.
    """
    if _STAYED_FIELD not in text and _WENT_FIELD not in text:
        lines = text.count(b"\n") + 1
        return Settled(text, lines, lines, [])
    every = sorted(text.split(b"\n"))
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
    """False for a removed link."""
    return _WENT_FIELD not in line or line.split(b"\t", 3)[2] != WENT


def inlink(line: bytes) -> InLink:
    """The inlink in a line."""
    source, at_ms, _, tag, text = line.decode().split("\t")
    return InLink(source, text, tag, int(at_ms))


def spill(sizes: list[int], incoming: int) -> int:
    """
    How many of the newest segments (`sizes`, oldest first) a run of `incoming` lines is merged
    with: all that are not twice as large as the merged lines so far. So a list of n lines has at
    most log2(n / 256) segments, and each line is rewritten about that often.
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
    """A sorted part of a list, in rows of its own."""

    name: bytes
    lines: int
    net: int


@dataclass(frozen=True, slots=True)
class ListHeader:
    """The content of a header row."""

    upto: Upto = field(default_factory=dict)
    """The deltas that are included."""
    segments: tuple[Segment, ...] = ()
    """The segments of the list, the oldest first."""
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
        head = {"upto": to_names(self.upto), "segments": segments, "writing": self.writing.hex()}
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
        upto = head["upto"]  # a single number before there were slots: that of slot 0
        names = of_names(upto if isinstance(upto, list) else [upto])
        return ListHeader(names, segments, inline, bytes.fromhex(head["writing"]))
