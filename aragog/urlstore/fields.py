"""
Writes the fields of a page.

A conditional write compares the version while it holds a lock, because HBase can compare and put
only a single cell. The lock is a cell of the node, and expires. Unconditional writers ignore it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence

import orjson

from aragog.errors import VersionConflict
from aragog.runtime.clock import Clock
from aragog.settings import StoreSettings
from aragog.urlstore import nodes
from aragog.urlstore.field_rules import FieldRules
from aragog.urlstore.hosts import host_put
from aragog.urlstore.items import ItemIndex, record_puts, stored_records
from aragog.urlstore.nodes import Nodes, provenance_column, text
from aragog.urlstore.record_reader import BASE
from aragog.urlstore.takedowns import Takedowns, check_not_taken_down
from aragog.urlstore.write_clock import WriteClock
from aragog.urlstore.writing.next_due import replacement_cells
from urlspelling import normalize
from zengraph import MultiGraph
from zengraph.records import CellSize, Mutation, Row, put_properties

LOCK_MS = 10_000


class ConditionalWriter:
    """Writes to a node only if it has the expected version."""

    def __init__(self, graph: MultiGraph, clock: Clock) -> None:
        self._graph = graph
        self._properties = graph.nodes
        self._leases = graph.nodes.leases(nodes.LOCK, LOCK_MS, clock)

    def write(self, url: str, expected: str, puts: Sequence[Mutation]) -> None:
        """
        Write `puts` if the node of `url` has the version `expected`; "": no version.

        Raises:
            VersionConflict: the version differs, or another conditional write is running; nothing
                changed.
        """
        row = self._graph.node_id(url)
        lease = self._leases.acquire(row)
        if lease is None:
            raise VersionConflict(url, expected, "another conditional write is in progress")
        try:
            version = text(self._properties.get(row, [nodes.VERSION]), nodes.VERSION) or ""
            if version != expected:
                raise VersionConflict(url, expected, version)
            self._graph.mutate(puts)
        finally:
            self._leases.release(row, lease)


class Fields:
    """Sets, deletes and replaces fields of the page that a URL leads to."""

    def __init__(
        self, zen: MultiGraph, settings: StoreSettings, takedowns: Takedowns, clock: WriteClock
    ) -> None:
        self._zen = zen
        self._properties = zen.nodes
        self._nodes = Nodes(zen)
        self._rules = FieldRules(settings)
        self._settings = settings
        self._takedowns = takedowns
        self._conditional = ConditionalWriter(zen, clock.clock)
        self._clock = clock
        self._items = ItemIndex(zen)

    def put(
        self,
        url: str,
        fields: Mapping[str, bytes],
        *,
        at_ms: int | None,
        provenance: Mapping[str, str],
        if_version: str | None,
        to_delete: Collection[str] = (),
    ) -> str:
        """
        See `UrlStore.put`.

        The caller then deletes the fields in `to_delete`, so they do not count toward the record's
        limits.
        """
        self._rules.check(fields)
        normalized, now_ms = normalize(url), self._clock.now_ms()
        at_ms = now_ms if at_ms is None else self._clock.instant(at_ms)
        histories = [nodes.history_column(f) for f in fields if f in self._settings.history]
        columns = [*BASE, *histories, *map(nodes.field_column, fields)]
        canonical, row = self._nodes.resolve(normalized, columns)
        check_not_taken_down(canonical, row)
        version = os.urandom(8).hex()
        puts = self._items.skip_damaged(record_puts(canonical, fields, at_ms))
        puts += self._puts(canonical, row, fields, provenance, at_ms)
        puts.append(
            put_properties(self._zen.node_id(canonical), {nodes.VERSION: version.encode()}, now_ms)
        )
        within_limits = self._zen.node_limits.check_write(
            [(key, cells) for _, key, cells, _ in puts], _value_and_source_columns(to_delete)
        )
        with self._takedowns.guard_write(normalized, canonical), within_limits:
            if nodes.SENTINEL not in row:
                self._zen.mutate([host_put(self._zen, canonical, now_ms)])
            if if_version is None:
                self._zen.mutate(puts)
            else:
                self._conditional.write(canonical, if_version, puts)
        return version

    def _puts(
        self,
        canonical: str,
        row: Row,
        fields: Mapping[str, bytes],
        provenance: Mapping[str, str],
        at_ms: int,
    ) -> list[Mutation]:
        cells = {nodes.URL: canonical.encode(), nodes.SENTINEL: nodes.record_marker(row)}
        for name, value in fields.items():
            cells[nodes.field_column(name)] = value
            cells[provenance_column(name)] = provenance.get(name, "").encode()
            if name in self._settings.history:
                column, length = nodes.history_column(name), self._settings.history_length
                history = nodes.history_with(nodes.history_cell(row, name), value, at_ms, length)
                if history is not None:
                    cells[column] = history
        return [put_properties(self._zen.node_id(canonical), cells, at_ms)]

    def delete(self, url: str, names: Iterable[str], *, at_ms: int | None = None) -> str:
        """See `UrlStore.delete_fields`."""
        self.check_names(names := list(names))
        normalized, now_ms = normalize(url), self._clock.now_ms()
        at_ms = now_ms if at_ms is None else self._clock.instant(at_ms)
        canonical, row = self._nodes.resolve(normalized, BASE)
        check_not_taken_down(canonical, row)
        columns = _value_and_source_columns(names)
        if columns:
            self._properties.delete(self._zen.node_id(canonical), columns, at_ms=at_ms)
            self._clock.record_deletion(min(at_ms, now_ms))
        version = os.urandom(8).hex()
        if nodes.SENTINEL in row:
            self._zen.mutate(
                [
                    put_properties(
                        self._zen.node_id(canonical), {nodes.VERSION: version.encode()}, now_ms
                    )
                ]
            )
        return version

    def sizes(self, url: str) -> dict[str, CellSize]:
        """
        Return the size and time of each field's value, without reading the values.

        Empty if there is no record.
        """
        canonical, row = self._nodes.resolve(normalize(url), [nodes.SENTINEL])
        if nodes.SENTINEL not in row:
            return {}
        return self._zen.property_sizes(self._zen.node_id(canonical))

    def check(self, fields: Mapping[str, bytes]) -> None:
        """
        Check that fields may have these names and values.

        Raises:
            InvalidField: a name or a value is not accepted.
        """
        self._rules.check(fields)

    def check_names(self, names: Iterable[str]) -> None:
        """
        Check that fields may have these names.

        Raises:
            InvalidField: a name is not accepted.
        """
        for name in names:
            self._rules.check_name(name)

    def replace(
        self,
        url: str,
        fields: Mapping[str, bytes],
        provenance: Mapping[str, str],
        *,
        at_ms: int,
    ) -> set[str]:
        """
        Replace a page's fields after a new extraction from the content fetched at `at_ms`.

        Deletes fields that only an earlier extraction found. Keeps newer values, and fields written
        by others. Returns the names of the changed fields. Safe to repeat.

        Raises:
            InvalidField: a name or a value is not accepted; nothing was written.
            TakenDown: the page was taken down; nothing was written.
        """
        self._rules.check(fields)
        canonical, row = self._nodes.follow([normalized := normalize(url)], None)[normalized]
        check_not_taken_down(canonical, row)
        old_provenance = nodes.facts_of(row, nodes.PROVENANCE)
        now_ms = self._clock.now_ms()
        cells, vanished, changed = replacement_cells(row, fields, old_provenance, at_ms)
        sources = {**{n: v for n, v in old_provenance.items() if n not in vanished}, **provenance}
        cells[nodes.PROVENANCE] = orjson.dumps(sources)
        if vanished:
            # Delete first: once the new extractor version is stored, the page is not extracted
            # again, so fields left after a crash would never be deleted.
            columns = [nodes.field_column(name) for name in vanished]
            self._properties.delete(self._zen.node_id(canonical), columns, at_ms=at_ms)
        written_at_ms = max(at_ms, row[nodes.PROVENANCE].at_ms if nodes.PROVENANCE in row else 0)
        version = {nodes.VERSION: os.urandom(8).hex().encode()}
        sender = nodes.sender_of(row, canonical)
        with self._takedowns.guard_write(normalized, canonical, sender):
            self._zen.mutate(
                [
                    *self._items.skip_damaged(record_puts(canonical, fields, written_at_ms)),
                    put_properties(self._zen.node_id(canonical), cells, written_at_ms),
                    put_properties(self._zen.node_id(canonical), version, now_ms),
                ]
            )
        outdated = stored_records(canonical, row, map(nodes.field_column, changed | vanished))
        current = {put[1] for put in record_puts(canonical, fields, written_at_ms)}
        self._items.forget([entry for entry in outdated if entry[0] not in current])
        return changed | vanished


def _value_and_source_columns(names: Collection[str]) -> list[bytes]:
    return [
        column_of(name) for name in names for column_of in (nodes.field_column, provenance_column)
    ]
