"""
A long posting list in its own rows: its header, the deltas from compactions, and its segments.

`groups` has the short lists. When a list has many deltas, or a delta with a removed link, its
deltas are merged into the header. When the header's lines exceed 256, they become a segment:
sorted, in chunks of 512 lines per row, and merged with earlier segments that aren't much larger. So
even a node with a million inlinks has at most a dozen segments, and is read, counted and merged in
constant memory.

Any number of processes can write to a list at once. Its header is replaced by check-and-put and
names the deltas that it includes (`delta_names`); such deltas are ignored until they are deleted. A
segment has a random name, which is added to the header's segments once all of the segment's rows
are written. Until then, the header names the segment as being written, and for a few minutes other
processes do not change the list.

When a link is removed, a compaction also merges the list if it is short. A list with segments keeps
the removed link until all of its segments are merged, which may take months. Until then, a cell in
the source's row in `o`, `l:g<list id in hex>`, names the list, so that a takedown can find it
(`RemovedLinks`).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain, islice

from zengraph._codec import ID_BYTES, after
from zengraph._naming import Naming
from zengraph.links._inlinks.delta_names import deltas, extended, last_of, not_included
from zengraph.links._inlinks.postings import (
    HEADER,
    Delta,
    ListHeader,
    Segment,
    has_removals,
    is_there,
    merged_lines,
    net_of,
    newest,
    newest_in_blocks,
    pack,
    source_of,
    spill,
    unpack,
)
from zengraph.links._values import ListLimits
from zengraph.tables import Cell, Row, Tables, newest_ms

_TRACE = b"l:g"
_BATCH_SIZE = 1000


class RemovedLinks:
    """Records, by source, which long lists still contain links that the source has removed."""

    def __init__(self, tables: Tables, naming: Naming) -> None:
        self._table = tables["o"]
        self._id_of = naming.id_of

    def note(self, removals: Iterable[tuple[bytes, bytes]], now_ms: int) -> None:
        """Record removals, each as (source name, list id of the target)."""
        self._table.put_many(
            [(self._id_of(source), {_column(target): b""}, now_ms) for source, target in removals]
        )

    def targets(self, sources: Sequence[bytes]) -> set[bytes]:
        """Return the ids of lists that may still contain links removed by these source ids."""
        rows = self._table.get_many(sources)
        return {
            bytes.fromhex(column[len(_TRACE) :].decode())
            for row in rows.values()
            for column in row
            if column.startswith(_TRACE)
        }

    def drop(self, sources: Sequence[bytes], targets: Collection[bytes]) -> None:
        """Delete records of these targets from these sources' rows."""
        columns = [_column(target) for target in targets]
        drops = []
        for source, row in self._table.get_many(sources).items():
            if old := [column for column in columns if column in row]:
                drops.append((source, old, max(row[column].at_ms for column in old)))
        self._table.delete_many(drops)

    def forget(self, removals: Iterable[tuple[bytes, bytes]], now_ms: int) -> None:
        """Delete records of removals, each as (source name, list id of the target)."""
        left = iter(removals)
        while batch := list(islice(left, _BATCH_SIZE)):
            self._table.delete_many(
                [(self._id_of(source), [_column(target)], now_ms) for source, target in batch]
            )


def _column(target: bytes) -> bytes:
    return _TRACE + target.hex().encode()


_MANY_BYTES = 16_384

_CHUNK = b"l:v"
_SEGMENT = b"\x01"
WRITING_MS = 300_000
"""How long other processes leave a list alone while one process writes its segment."""


class Segments:
    """Long posting lists in table `l`, by list id."""

    def __init__(self, tables: Tables, naming: Naming, limits: ListLimits | None = None) -> None:
        self._limits = limits or ListLimits()
        self._table = tables["l"]
        self._removed_links = RemovedLinks(tables, naming)

    def lines(
        self, target: bytes, row: Row, newer: Sequence[bytes] = (), start_after: bytes = b""
    ) -> Iterator[bytes]:
        """
        Yield valid lines of sources after `start_after`, sorted by source, in constant memory.

        `row` is the list's row; `newer` has lines that are stored elsewhere.
        """
        head = ListHeader.of(row)
        recent = merged_lines([_recent(row, head).lines, newer])
        segments = [
            chain.from_iterable(self._segment(target, segment, start_after))
            for segment in head.segments
        ]
        for line in newest([recent, *segments]) if segments else recent:
            if is_there(line) and (not start_after or source_of(line) > start_after):
                yield line

    def tidy(
        self,
        targets: Iterable[bytes],
        now_ms: int,
        removals: Mapping[bytes, Sequence[bytes]] | None = None,
    ) -> int:
        """
        Merge the deltas of targets that have many of them; return the number of merged lists.

        `removals` has the sources that removed a link, by target. These targets' lists are merged
        as well if they are short; `RemovedLinks` records the others. A list that another process is
        changing is left to that process.
        """
        removals = removals or {}
        merged: list[tuple[bytes, Row]] = []
        records: list[tuple[bytes, bytes]] = []
        for target, row in self._table.get_many([*{*targets, *removals}]).items():
            head = ListHeader.of(row)
            pieces = _pieces(row, head)
            size = sum(len(value) for value in pieces)
            records += [(source, target) for source in removals.get(target, ())]
            many = len(pieces) >= self._limits.many_deltas or size > _MANY_BYTES
            wanted = many or (target in removals and not head.segments)
            if wanted and not _being_written(row, head, now_ms):
                merged.append((target, row))
        self._removed_links.note(records, now_ms)
        self._merge(merged, now_ms)
        return len(merged)

    def problem(self, target: bytes) -> str | None:
        """Return what is wrong with a list, or None. Reads the whole list."""
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

    def rebuild(self, target: bytes, now_ms: int) -> None:
        """Rewrite a list as one segment with the right count, and delete orphaned rows."""
        name, old = os.urandom(8), None
        while old is None:
            row = self._table.get(target)
            old = self._replace(target, row, replace(ListHeader.of(row), writing=name))
        head = ListHeader.of(row)
        count = self._write(target, name, ([line] for line in self.lines(target, row)), now_ms)
        new = ListHeader(extended(head.upto, deltas(row)), (Segment(name, count, count),))
        if self._replace(target, old, new) is None:
            self._drop(target, name)
            return self.rebuild(target, now_ms)
        removed = self._removed(target, head.segments, _recent(row, head).lines)
        start = target + _SEGMENT
        with closing(self._table.scan(start, after(start))) as rows:
            waste = [
                (key, None, newest_ms(row)) for key, row in rows if key[ID_BYTES + 1 :][:8] != name
            ]
        self._table.delete_many(waste)
        self._drop_pieces([(target, row)])
        return self._removed_links.forget(removed, now_ms)

    def _merge(self, lists: Sequence[tuple[bytes, Row]], now_ms: int) -> None:
        """Merge these lists' deltas. Lists that stay short take two round trips in total."""
        inline, removed = [], {}
        for target, row in lists:
            head = ListHeader.of(row)
            net, lines = _recent(row, head)
            lines = merged_lines([lines])
            if not head.segments:
                removed[target] = [source_of(line) for line in lines if not is_there(line)]
                lines = [line for line in lines if is_there(line)]
                net = len(lines)
            upto = extended(head.upto, deltas(row))
            if len(lines) <= self._limits.inline_lines:
                new = replace(head, upto=upto, inline=pack(net, lines))
                inline.append((target, row, new))
            else:
                self._spill(target, row, Delta(net, lines), now_ms)
        done = self._table.check_and_put_many(
            [(target, HEADER, _cell(row), new.pack()) for target, row, new in inline]
        )
        merged = [(target, row) for (target, row, _), ok in zip(inline, done, strict=True) if ok]
        self._drop_pieces(merged)
        self._removed_links.forget(
            ((source, target) for target, _ in merged for source in removed.get(target, ())), now_ms
        )

    def _replace(self, target: bytes, row: Row, head: ListHeader) -> Row | None:
        """Replace the header and return the new row; None if another process changed the header."""
        value = head.pack()
        if not self._table.check_and_put(target, HEADER, _cell(row), value):
            return None
        return {**row, HEADER: Cell(value, 0)}

    def _spill(self, target: bytes, row: Row, delta: Delta, now_ms: int) -> None:
        """Turn `delta` into a segment, merged with the newest segments that aren't much larger."""
        head, name = ListHeader.of(row), os.urandom(8)
        begun = self._replace(target, row, replace(head, writing=name))
        if begun is None:
            return
        if head.writing:
            self._drop(target, head.writing)
        count = spill([s.lines for s in head.segments], len(delta.lines))
        kept = head.segments[: len(head.segments) - count]
        old = head.segments[len(head.segments) - count :]
        blocks = newest_in_blocks([*(self._segment(target, s) for s in old), [delta.lines]])
        if not kept:
            # The oldest segment is included, so no older line needs the removals.
            blocks = map(_present, blocks)
        written = self._write(target, name, blocks, now_ms)
        net = delta.net + sum(s.net for s in old) if kept else written
        upto = extended(head.upto, deltas(row))
        new = ListHeader(upto, (*kept, Segment(name, written, net)))
        if self._replace(target, begun, new) is None:
            self._drop(target, name)
            return
        removed = [] if kept else self._removed(target, old, _recent(row, head).lines)
        self._drop_pieces([(target, row)])
        for segment in old:
            self._drop(target, segment.name)
        self._removed_links.forget(removed, now_ms)

    def _removed(
        self, target: bytes, segments: Sequence[Segment], more: Sequence[bytes]
    ) -> list[tuple[bytes, bytes]]:
        """
        Return the removed links as (source, target).

        Delete their records only after their lines are deleted.
        """
        blocks = chain([more], *(self._segment(target, segment) for segment in segments))
        return [
            (source_of(line), target)
            for block in blocks
            if has_removals(block)
            for line in block
            if not is_there(line)
        ]

    def _write(self, target: bytes, name: bytes, blocks: Iterable[list[bytes]], now_ms: int) -> int:
        """Write the lines of a segment in chunks. Returns their number."""
        written, size = 0, self._limits.chunk_lines
        lines: list[bytes] = []

        def put(chunk: list[bytes]) -> None:
            key = _chunk_key(target, name, source_of(chunk[0]))
            self._table.put(key, {_CHUNK: pack(0, chunk)}, at_ms=now_ms)

        for block in blocks:
            lines += block
            while len(lines) >= size:
                put(lines[:size])
                del lines[:size]
                written += size
        if lines:
            put(lines)
        return written + len(lines)

    def _segment(
        self, target: bytes, segment: Segment, start_after: bytes = b""
    ) -> Iterator[list[bytes]]:
        """Yield the lines of a segment, a chunk at a time, from the one with `start_after` on."""
        start, stop = _chunk_key(target, segment.name), after(_chunk_key(target, segment.name))
        if start_after:
            seek = _chunk_key(target, segment.name, start_after) + b"\0"
            with closing(self._table.scan(start, seek, limit=1, reverse=True)) as result:
                start = next((key for key, _ in result), start)
        with closing(self._table.scan(start, stop)) as rows:
            for _, row in rows:
                yield unpack(row[_CHUNK].value).lines

    def _drop_pieces(self, lists: Sequence[tuple[bytes, Row]]) -> None:
        """Delete deltas that the headers include."""
        drops = []
        for target, row in lists:
            if pieces := deltas(row):
                drops.append((target, pieces, max(row[column].at_ms for column in pieces)))
        self._table.delete_many(drops)

    def _drop(self, target: bytes, name: bytes) -> None:
        start = _chunk_key(target, name)
        with closing(self._table.scan(start, after(start))) as rows:
            batch = [(key, None, newest_ms(row)) for key, row in rows]
        self._table.delete_many(batch)


def links_in(row: Row) -> int:
    head = ListHeader.of(row)
    return head.net + sum(map(net_of, _pieces(row, head)))


def received(row: Row, source: int) -> int:
    return last_of(source, ListHeader.of(row).upto, deltas(row))


def _cell(row: Row) -> bytes | None:
    return row[HEADER].value if HEADER in row else None


def _being_written(row: Row, head: ListHeader, now_ms: int) -> bool:
    """Return True while another process may be writing a segment of the list."""
    return bool(head.writing) and 0 <= now_ms - row[HEADER].at_ms < WRITING_MS


def _pieces(row: Row, head: ListHeader) -> list[bytes]:
    """Return the deltas that the header doesn't include yet."""
    return [row[column].value for column in not_included(head.upto, deltas(row))]


def _recent(row: Row, head: ListHeader) -> Delta:
    """Return the header's inline lines and the deltas as one unsorted delta."""
    parts = [unpack(value) for value in _pieces(row, head)]
    if head.inline:
        parts.append(unpack(head.inline))
    return Delta(sum(part.net for part in parts), [line for part in parts for line in part.lines])


def _present(lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if is_there(line)] if has_removals(lines) else lines


def _chunk_key(target: bytes, name: bytes, source: bytes = b"") -> bytes:
    return target + _SEGMENT + name + source
