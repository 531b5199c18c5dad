"""
The posting list of one target: its head row, the pieces that folds left there, and its segments.

A short list lies in its head row alone. When its pieces are many they are merged into the head;
when that grows past 256 lines it becomes a segment, sorted, in chunks of 512 lines a row, merged
with the segments before it that are not much larger. So a hub of a million inlinks has a dozen
segments at most, and is read, counted and merged in constant memory.

The head says up to which fold it holds everything: pieces of those folds are left-overs and count
for nothing. A segment is named at random and entered in the head when all of its rows are there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import orjson

from aragog.zen.adjacency.postings import (
    Delta,
    folded,
    is_there,
    net_of,
    newest,
    pack,
    source_of,
    spill,
    unpack,
)
from aragog.zen.codec import ID_BYTES, after
from aragog.zen.tables import Row, Tables, newest_ms

INLINE_LINES = 256
CHUNK_LINES = 512
LARGE_LINES = 128
"""A piece of so many lines has its target merged at once."""
_MANY_PIECES = 8
_MANY_BYTES = 16_384

_HEAD = b"l:h"
_CHUNK = b"l:v"
_PIECE = b"l:p"
_SEGMENT = b"\x01"


def delta_column(number: int) -> bytes:
    """The cell of what fold `number` brought."""
    return b"%s%016x" % (_PIECE, number)


@dataclass(frozen=True, slots=True)
class Segment:
    """A sorted part of a list, in rows of its own."""

    name: bytes
    lines: int
    net: int


@dataclass(frozen=True, slots=True)
class ListHeader:
    """What the head row says."""

    upto: int = 0
    """The number of the last fold whose piece is in here."""
    segments: tuple[Segment, ...] = ()
    """Oldest first."""
    inline: bytes = b""
    """The newest part, as a packed piece; empty for none."""
    writing: bytes = b""
    """Name of a segment that was being written; its rows are waste when it is not in `segments`."""

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
        """The head in a row; an empty one when there is none."""
        cell = row.get(_HEAD)
        if cell is None:
            return ListHeader()
        line, _, inline = cell.value.partition(b"\n")
        head = orjson.loads(line)
        segments = tuple(Segment(bytes.fromhex(n), s, net) for n, s, net in head["segments"])
        return ListHeader(head["upto"], segments, inline, bytes.fromhex(head["writing"]))


class Segments:
    """Posting lists in table `l`, by target id."""

    def __init__(self, tables: Tables) -> None:
        self._table = tables["l"]

    def count(self, targets: Sequence[bytes]) -> int:
        """Exact number of links to all of `targets`; one multi-get."""
        total = 0
        for row in self._table.get_many(targets).values():
            head = ListHeader.of(row)
            total += head.net + sum(net_of(value) for _, value in _pieces(row, head))
        return total

    def lines(self, target: bytes, beyond: bytes = b"") -> Iterator[bytes]:
        """The postings that count, sorted by source, of sources beyond one; constant memory."""
        row = self._table.get(target)
        head = ListHeader.of(row)
        recent = _recent(row, head).lines
        runs: list[Iterable[bytes]] = [folded([recent])]
        runs += [self._segment(target, segment, beyond) for segment in head.segments]
        for line in newest(runs):
            if source_of(line) > beyond and is_there(line):
                yield line

    def tidy(self, targets: Sequence[bytes], number: int, now_ms: int) -> int:
        """
        Merge the pieces of those targets that have many, up to fold `number`; how many had.

        Killed anywhere and run again it leaves the same lists.
        """
        merged = 0
        for target, row in self._table.get_many(targets).items():
            deltas = _pieces(row, ListHeader.of(row))
            size = sum(len(value) for _, value in deltas)
            if len(deltas) >= _MANY_PIECES or size > _MANY_BYTES:
                self._merge(target, row, number, now_ms)
                merged += 1
        return merged

    def targets(self, step: Callable[[], None]) -> Iterator[bytes]:
        """Every target that has a row, once; `step` is called for each row."""
        last = b""
        with closing(self._table.scan(b"", None)) as rows:
            for key, _ in rows:
                step()
                if key[:ID_BYTES] != last:
                    last = key[:ID_BYTES]
                    yield last

    def problem(self, target: bytes) -> str | None:
        """What is wrong with a list; None when nothing is. Reads all of it."""
        head = ListHeader.of(self._table.get(target))
        names = {segment.name for segment in head.segments}
        start = target + _SEGMENT
        with closing(self._table.scan(start, after(start))) as rows:
            if any(key[ID_BYTES + 1 : ID_BYTES + 9] not in names for key, _ in rows):
                return "segment that no head names"
        if self.count([target]) != sum(1 for _ in self.lines(target)):
            return "inlinks counted wrongly"
        return None

    def rebuild(self, target: bytes, number: int, now_ms: int) -> None:
        """Write a list anew as one segment with its true count; drop what belongs to nothing."""
        head = ListHeader.of(self._table.get(target))
        name = os.urandom(8)
        self._table.put(target, {_HEAD: replace(head, writing=name).pack()}, at_ms=now_ms)
        count = self._write(target, name, self.lines(target), now_ms)
        new = ListHeader(number, (Segment(name, count, count),))
        self._table.put(target, {_HEAD: new.pack()}, at_ms=now_ms)
        start = target + _SEGMENT
        with closing(self._table.scan(start, after(start))) as rows:
            waste = [
                (key, None, newest_ms(row)) for key, row in rows if key[ID_BYTES + 1 :][:8] != name
            ]
        self._table.delete_many(waste)
        self._drop_pieces(target, self._table.get(target))

    def _merge(self, target: bytes, row: Row, number: int, now_ms: int) -> None:
        head = ListHeader.of(row)
        net, lines = _recent(row, head)
        lines = folded([lines])
        if not head.segments:
            lines = [line for line in lines if is_there(line)]
            net = len(lines)
        if len(lines) <= INLINE_LINES:
            new = replace(head, upto=number, inline=pack(net, lines))
            self._table.put(target, {_HEAD: new.pack()}, at_ms=now_ms)
        else:
            self._spill(target, head, Delta(net, lines), number, now_ms)
        self._drop_pieces(target, row)

    def _spill(
        self, target: bytes, head: ListHeader, delta: Delta, number: int, now_ms: int
    ) -> None:
        """Make `delta` a segment, together with the newest ones that are not much larger."""
        if head.writing:
            self._drop(target, head.writing)
        name = os.urandom(8)
        self._table.put(target, {_HEAD: replace(head, writing=name).pack()}, at_ms=now_ms)
        count = spill([s.lines for s in head.segments], len(delta.lines))
        kept = head.segments[: len(head.segments) - count]
        old = head.segments[len(head.segments) - count :]
        lines = newest([*(self._segment(target, s) for s in old), delta.lines])
        if not kept:
            # The oldest part is among them, so a link that went need not be remembered.
            lines = filter(is_there, lines)
        written = self._write(target, name, lines, now_ms)
        net = delta.net + sum(s.net for s in old) if kept else written
        new = ListHeader(number, (*kept, Segment(name, written, net)))
        self._table.put(target, {_HEAD: new.pack()}, at_ms=now_ms)
        for segment in old:
            self._drop(target, segment.name)

    def _write(self, target: bytes, name: bytes, lines: Iterable[bytes], now_ms: int) -> int:
        written = 0
        chunk: list[bytes] = []

        def put() -> None:
            key = _chunk_key(target, name, source_of(chunk[0]))
            self._table.put(key, {_CHUNK: pack(0, chunk)}, at_ms=now_ms)

        for line in lines:
            chunk.append(line)
            if len(chunk) == CHUNK_LINES:
                put()
                written += len(chunk)
                chunk = []
        if chunk:
            put()
        return written + len(chunk)

    def _segment(self, target: bytes, segment: Segment, beyond: bytes = b"") -> Iterator[bytes]:
        """A segment's lines, from the chunk on that holds `beyond`."""
        start, stop = _chunk_key(target, segment.name), after(_chunk_key(target, segment.name))
        if beyond:
            seek = _chunk_key(target, segment.name, beyond) + b"\0"
            with closing(self._table.scan(start, seek, limit=1, reverse=True)) as found:
                start = next((key for key, _ in found), start)
        with closing(self._table.scan(start, stop)) as rows:
            for _, row in rows:
                yield from unpack(row[_CHUNK].value).lines

    def _drop_pieces(self, target: bytes, row: Row) -> None:
        deltas = {column: cell for column, cell in row.items() if column.startswith(_PIECE)}
        if deltas:
            self._table.delete(target, list(deltas), at_ms=newest_ms(deltas))

    def _drop(self, target: bytes, name: bytes) -> None:
        start = _chunk_key(target, name)
        with closing(self._table.scan(start, after(start))) as rows:
            batch = [(key, None, newest_ms(row)) for key, row in rows]
        self._table.delete_many(batch)


def _pieces(row: Row, head: ListHeader) -> list[tuple[bytes, bytes]]:
    """(column, value) of the pieces that are not in the head yet."""
    last = delta_column(head.upto)
    return [
        (column, cell.value)
        for column, cell in row.items()
        if column.startswith(_PIECE) and column > last
    ]


def _recent(row: Row, head: ListHeader) -> Delta:
    """The inline part and the pieces as one, unsorted."""
    parts = [unpack(value) for _, value in _pieces(row, head)]
    if head.inline:
        parts.append(unpack(head.inline))
    return Delta(sum(part.net for part in parts), [line for part in parts for line in part.lines])


def _chunk_key(target: bytes, name: bytes, source: bytes = b"") -> bytes:
    return target + _SEGMENT + name + source
