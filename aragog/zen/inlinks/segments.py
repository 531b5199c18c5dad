"""
A long posting list in rows of its own: its header, the deltas of compactions, and its segments.

Short lists are in `groups`. Many deltas, or one with a removed link, are merged into the header;
when it grows past 256 lines it becomes a segment, sorted, in chunks of 512 lines a row, merged with
the earlier segments that are not much larger. So a hub of a million inlinks has at most a dozen
segments, and is read, counted and merged in constant memory. It contains removed links until all
segments are merged; `Traces` has a record of them.

The header names the last compaction that it includes: deltas of earlier ones are leftovers and are
ignored. A segment has a random name and is entered in the header when all of its rows are written.

Traces name the long lists that still contain a link which a page once had. A short list is merged
by the compaction that removes a link from it. A list with segments keeps the removed link until all
of its segments are merged, which may take months. Until then a cell of the page's row in `o`,
`l:g<list id in hex>`, names the list, so that a takedown can find it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain, islice

from aragog.zen.codec import ID_BYTES, after
from aragog.zen.inlinks.postings import (
    HEADER,
    Delta,
    ListHeader,
    Segment,
    is_there,
    merged_lines,
    net_of,
    newest,
    pack,
    source_of,
    spill,
    unpack,
)
from aragog.zen.link_records import ListLimits
from aragog.zen.node_ids import id_of
from aragog.zen.tables import Row, Tables, newest_ms

_TRACE = b"l:g"
_AT_ONCE = 1000


class Traces:
    """The traces of removed links, by page."""

    def __init__(self, tables: Tables) -> None:
        self._table = tables["o"]

    def note(self, removals: Iterable[tuple[bytes, bytes]], now_ms: int) -> None:
        """Record (URL of the page, list id of the target) each."""
        self._table.put_many(
            [(id_of(source), {_column(target): b""}, now_ms) for source, target in removals]
        )

    def targets(self, pages: Sequence[bytes]) -> set[bytes]:
        """List ids of targets whose lists may still contain a removed link of these pages (ids)."""
        rows = self._table.get_many(pages)
        return {
            bytes.fromhex(column[len(_TRACE) :].decode())
            for row in rows.values()
            for column in row
            if column.startswith(_TRACE)
        }

    def forget(self, removals: Iterable[tuple[bytes, bytes]], now_ms: int) -> None:
        """Delete the records of (URL of the page, list id of the target) each."""
        left = iter(removals)
        while some := list(islice(left, _AT_ONCE)):
            self._table.delete_many(
                [(id_of(source), [_column(target)], now_ms) for source, target in some]
            )


def _column(target: bytes) -> bytes:
    return _TRACE + target.hex().encode()


_MANY_BYTES = 16_384

_CHUNK = b"l:v"
DELTA = b"l:p"
"""What the columns of deltas begin with."""
_SEGMENT = b"\x01"


def delta_column(number: int) -> bytes:
    """The cell of the delta of compaction `number`."""
    return b"%s%016x" % (DELTA, number)


class Segments:
    """Posting lists in table `l`, by list id."""

    def __init__(self, tables: Tables, limits: ListLimits | None = None) -> None:
        self._limits = limits or ListLimits()
        self._table = tables["l"]
        self._traces = Traces(tables)

    def lines(
        self, target: bytes, row: Row, newer: Sequence[bytes] = (), beyond: bytes = b""
    ) -> Iterator[bytes]:
        """
        The valid postings of sources after `beyond`, sorted by source; constant memory.

        `row` is the list's row, `newer` lines of the list that are stored elsewhere.
        """
        head = ListHeader.of(row)
        recent = merged_lines([_recent(row, head).lines, newer])
        segments = [self._segment(target, segment, beyond) for segment in head.segments]
        for line in newest([recent, *segments]) if segments else recent:
            if is_there(line) and (not beyond or source_of(line) > beyond):
                yield line

    def tidy(
        self,
        targets: Iterable[bytes],
        number: int,
        now_ms: int,
        removals: Mapping[bytes, Sequence[bytes]] | None = None,
    ) -> int:
        """
        Merge the deltas of those targets that have many, up to compaction `number`; returns their
        number.

        `removals` are the pages whose links compaction `number` removed, by target. After it, a
        list without segments contains nothing of them, and `Traces` has a record of those in lists
        with segments. After a crash, a repeated call produces the same lists.
        """
        removals = removals or {}
        merged: list[tuple[bytes, Row]] = []
        traces: list[tuple[bytes, bytes]] = []
        for target, row in self._table.get_many([*{*targets, *removals}]).items():
            head = ListHeader.of(row)
            deltas = _pieces(row, head)
            size = sum(len(value) for _, value in deltas)
            if head.segments:
                traces += [(source, target) for source in removals.get(target, ())]
            many = len(deltas) >= self._limits.many_deltas or size > _MANY_BYTES
            if many or (target in removals and not head.segments):
                merged.append((target, row))
        self._traces.note(traces, now_ms)
        self._merge(merged, number, now_ms)
        return len(merged)

    def problem(self, target: bytes) -> str | None:
        """The problem of a list; None if there is none. Reads all of it."""
        row = self._table.get(target)
        head = ListHeader.of(row)
        names = {segment.name for segment in head.segments}
        start = target + _SEGMENT
        with closing(self._table.scan(start, after(start))) as rows:
            if any(key[ID_BYTES + 1 : ID_BYTES + 9] not in names for key, _ in rows):
                return "segment that no head names"
        if links_in(row) != sum(1 for _ in self.lines(target, row)):
            return "inlinks counted wrongly"
        return None

    def rebuild(self, target: bytes, number: int, now_ms: int) -> None:
        """Rewrite a list as one segment with its true count; delete rows that belong to nothing."""
        row = self._table.get(target)
        head, name = ListHeader.of(row), os.urandom(8)
        now_ms = max(now_ms, _latest_ms(row))
        self._table.put(target, {HEADER: replace(head, writing=name).pack()}, at_ms=now_ms)
        count = self._write(target, name, self.lines(target, row), now_ms)
        new = ListHeader(number, (Segment(name, count, count),))
        self._table.put(target, {HEADER: new.pack()}, at_ms=now_ms)
        self._forget_removals(target, head.segments, _recent(row, head).lines, now_ms)
        start = target + _SEGMENT
        with closing(self._table.scan(start, after(start))) as rows:
            waste = [
                (key, None, newest_ms(row)) for key, row in rows if key[ID_BYTES + 1 :][:8] != name
            ]
        self._table.delete_many(waste)
        self._drop_pieces([(target, self._table.get(target))])

    def _merge(self, lists: Sequence[tuple[bytes, Row]], number: int, now_ms: int) -> None:
        """Merge the deltas of these lists; two round trips for all lists that stay short."""
        puts, removed = [], []
        for target, row in lists:
            head, at_ms = ListHeader.of(row), max(now_ms, _latest_ms(row))
            net, lines = _recent(row, head)
            lines = merged_lines([lines])
            if not head.segments:
                removed += [(source_of(line), target) for line in lines if not is_there(line)]
                lines = [line for line in lines if is_there(line)]
                net = len(lines)
            if len(lines) <= self._limits.inline_lines:
                new = replace(head, upto=number, inline=pack(net, lines))
                puts.append((target, {HEADER: new.pack()}, at_ms))
            else:
                self._spill(target, head, Delta(net, lines), number, at_ms)
        self._table.put_many(puts)
        self._drop_pieces(lists)
        self._traces.forget(removed, now_ms)

    def _spill(
        self, target: bytes, head: ListHeader, delta: Delta, number: int, now_ms: int
    ) -> None:
        """Make `delta` a segment, merged with the newest ones that are not much larger."""
        if head.writing:
            self._drop(target, head.writing)
        name = os.urandom(8)
        self._table.put(target, {HEADER: replace(head, writing=name).pack()}, at_ms=now_ms)
        count = spill([s.lines for s in head.segments], len(delta.lines))
        kept = head.segments[: len(head.segments) - count]
        old = head.segments[len(head.segments) - count :]
        lines = newest([*(self._segment(target, s) for s in old), delta.lines])
        if not kept:
            # The oldest part is included, so removed links need not be remembered.
            lines = filter(is_there, lines)
        written = self._write(target, name, lines, now_ms)
        net = delta.net + sum(s.net for s in old) if kept else written
        new = ListHeader(number, (*kept, Segment(name, written, net)))
        self._table.put(target, {HEADER: new.pack()}, at_ms=now_ms)
        if not kept:
            self._forget_removals(target, old, delta.lines, now_ms)
        for segment in old:
            self._drop(target, segment.name)

    def _forget_removals(
        self, target: bytes, segments: Sequence[Segment], more: Iterable[bytes], now_ms: int
    ) -> None:
        """Delete the traces of a list of which no removed link is left."""
        lines = chain(more, *(self._segment(target, segment) for segment in segments))
        removed_links = ((source_of(line), target) for line in lines if not is_there(line))
        self._traces.forget(removed_links, now_ms)

    def _write(self, target: bytes, name: bytes, lines: Iterable[bytes], now_ms: int) -> int:
        written = 0
        chunk: list[bytes] = []

        def put() -> None:
            key = _chunk_key(target, name, source_of(chunk[0]))
            self._table.put(key, {_CHUNK: pack(0, chunk)}, at_ms=now_ms)

        for line in lines:
            chunk.append(line)
            if len(chunk) == self._limits.chunk_lines:
                put()
                written += len(chunk)
                chunk = []
        if chunk:
            put()
        return written + len(chunk)

    def _segment(self, target: bytes, segment: Segment, beyond: bytes = b"") -> Iterator[bytes]:
        """A segment's lines, starting with the chunk that contains `beyond`."""
        start, stop = _chunk_key(target, segment.name), after(_chunk_key(target, segment.name))
        if beyond:
            seek = _chunk_key(target, segment.name, beyond) + b"\0"
            with closing(self._table.scan(start, seek, limit=1, reverse=True)) as result:
                start = next((key for key, _ in result), start)
        with closing(self._table.scan(start, stop)) as rows:
            for _, row in rows:
                yield from unpack(row[_CHUNK].value).lines

    def _drop_pieces(self, lists: Sequence[tuple[bytes, Row]]) -> None:
        drops = []
        for target, row in lists:
            deltas = {column: cell for column, cell in row.items() if column.startswith(DELTA)}
            if deltas:
                drops.append((target, list(deltas), newest_ms(deltas)))
        self._table.delete_many(drops)

    def _drop(self, target: bytes, name: bytes) -> None:
        start = _chunk_key(target, name)
        with closing(self._table.scan(start, after(start))) as rows:
            batch = [(key, None, newest_ms(row)) for key, row in rows]
        self._table.delete_many(batch)


def links_in(row: Row, before: int | None = None) -> int:
    """The number of links in a list's row; `before`: without deltas from this compaction on."""
    head = ListHeader.of(row)
    end = None if before is None else delta_column(before)
    deltas = [value for column, value in _pieces(row, head) if end is None or column < end]
    return head.net + sum(map(net_of, deltas))


def _latest_ms(row: Row) -> int:
    """
    The timestamp that a new header needs at least; 0 for a list that does not exist.

    With only the compactor's time, a header that a faster clock wrote would hide the new one.
    """
    return newest_ms(row) if row else 0


def _pieces(row: Row, head: ListHeader) -> list[tuple[bytes, bytes]]:
    """(column, value) of the deltas that are not in the header yet."""
    last = delta_column(head.upto)
    return [
        (column, cell.value)
        for column, cell in row.items()
        if column.startswith(DELTA) and column > last
    ]


def _recent(row: Row, head: ListHeader) -> Delta:
    """The inline part and the deltas as one, unsorted."""
    parts = [unpack(value) for _, value in _pieces(row, head)]
    if head.inline:
        parts.append(unpack(head.inline))
    return Delta(sum(part.net for part in parts), [line for part in parts for line in part.lines])


def _chunk_key(target: bytes, name: bytes, source: bytes = b"") -> bytes:
    return target + _SEGMENT + name + source
