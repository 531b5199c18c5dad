r"""
Posting lists: the packed inlinks of a target. Pure.

A posting is a line `source \t at_ms \t kind \t rel \t text`. Lists are sorted by source, and of the
lines of one source the one with the largest at_ms counts. Kinds: `+` a new link, `~` a link whose
text changed, `-` a removed link. A delta of a list is

    4 bytes   its net count: added links minus removed links, signed
    rest      the lines, plain if it begins with a line, else zstd (its magic is no URL)

Net counts add up to the exact number, because each change of a page is compacted exactly once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from typing import NamedTuple

from aragog.zen import zstd
from aragog.zen.adjacency.outlinks import compress_links, decompress_links
from aragog.zen.adjacency.records import LinkRecord

_SQUEEZE_PAST_BYTES = 800
"""Below this size, zstd's own overhead exceeds what it saves."""

CAME, STAYED, WENT = b"+", b"~", b"-"


class Delta(NamedTuple):
    """Part of a target's list."""

    net: int
    lines: list[bytes]


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
    """What `pack` was given."""
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
    before every character that a URL may contain.
    """
    last, source = b"", None
    for line in merge(*runs):
        its = line.partition(b"\t")[0]
        if its != source and source is not None:
            yield last
        last, source = line, its
    if source is not None:
        yield last


def merged_lines(deltas: Iterable[list[bytes]]) -> list[bytes]:
    """The same for a few short lists, sorted or not, in memory."""
    lines = sorted(line for delta in deltas for line in delta)
    counting: dict[bytes, bytes] = {}
    for line in lines:
        counting[line.partition(b"\t")[0]] = line
    return list(counting.values())


def is_there(line: bytes) -> bool:
    """False for a removed link."""
    return line.split(b"\t", 3)[2] != WENT


def record(line: bytes, target: str) -> LinkRecord:
    """The inlink in a line."""
    source, at_ms, _, rel, text = line.decode().split("\t")
    return LinkRecord(source, text, rel, int(at_ms), target)


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
