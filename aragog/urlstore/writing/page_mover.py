"""
Moves a page's cells, content, links and index entries to another URL's node.

Cells keep their timestamps, and are written before they are deleted, so moves are safe to repeat
and may run in any order.
"""

from __future__ import annotations

import orjson

from aragog.urlstore import items, nodes
from aragog.urlstore.bodies import Bodies, pointer_of
from aragog.urlstore.compression import content_key
from aragog.urlstore.hosts import host_put, sender_put
from aragog.urlstore.items import ItemIndex
from aragog.urlstore.nodes import facts_of, text
from aragog.urlstore.same_content import SameContent, entry_put, stored_entries
from urlspelling.domain import host
from zengraph import MultiGraph
from zengraph.links import LinksWrite, OutlinkWriter, PackedLinks
from zengraph.records import Cell, Mutation, Row, newest_ms, put_properties

_MOVED_PREFIXES = (b"m:", b"s:was:", b"s:from:", nodes.IN_CRAWL)
_PAGE_COLUMNS = (nodes.FACTS, nodes.LIKENESS)


class PageMover:
    """Moves pages between the nodes of an alias and its canonical URL."""

    def __init__(self, zen: MultiGraph, bodies: Bodies, outlinks: OutlinkWriter) -> None:
        self._zen = zen
        self._properties = zen.nodes
        self._same_content = SameContent(zen)
        self._item_index = ItemIndex(zen)
        self._bodies = bodies
        self._outlinks = outlinks

    def move(
        self, source: str, source_row: Row, canonical: str, target_row: Row, now_ms: int
    ) -> None:
        moved_cells = {
            c: cell
            for c, cell in source_row.items()
            if c.startswith(_MOVED_PREFIXES) or c in _PAGE_COLUMNS
        }
        values: list[tuple[dict[bytes, bytes], int]] = [
            ({c: value}, at_ms) for c, (value, at_ms) in moved_cells.items()
        ]
        if moved_cells:
            last_ms = max(cell.at_ms for cell in moved_cells.values())
            cells = {nodes.SENTINEL: nodes.record_marker(source_row), nodes.URL: canonical.encode()}
            values.append((cells, last_ms))
            entries = _index_entry(canonical, source_row, target_row)
            entries += items.moved_puts(canonical, moved_cells, target_row)
            self._zen.mutate(
                [host_put(self._zen, canonical, now_ms), *self._same_content.skip_damaged(entries)]
            )
            self._same_content.forget(stored_entries(source, source_row))
            self._item_index.forget(items.stored_records(source, source_row, moved_cells))
        if nodes.PROVENANCE in source_row:
            moved_cells[nodes.PROVENANCE] = source_row[nodes.PROVENANCE]
            values.append(
                _merge_provenance(source_row[nodes.PROVENANCE], target_row.get(nodes.PROVENANCE))
            )
        if nodes.content_cell(source_row):
            moved_cells |= {
                column: source_row[column]
                for column in nodes.CONTENT_AND_RESPONSE
                if column in source_row
            }
            values += self._copy_content(source_row, canonical, target_row)
        if not moved_cells:
            return
        self._zen.mutate(
            [
                sender_put(
                    self._zen, canonical, sender, max(cell.at_ms for cell in moved_cells.values())
                )
                for sender in {source, nodes.sender_of(source_row, source)}
                if host(sender) != host(canonical)
            ]
        )
        canonical_id = self._zen.node_id(canonical)
        puts = [
            put_properties(canonical_id, cells, nodes.after_moves(target_row, at_ms))
            for cells, at_ms in values
        ]
        puts.append(put_properties(canonical_id, {nodes.VERSION: b"%x" % now_ms}, now_ms))
        self._zen.move(puts, self._zen.node_id(source))
        last_ms = max(cell.at_ms for cell in moved_cells.values())
        self._properties.put(
            self._zen.node_id(source), {nodes.MOVED: b"%d" % last_ms}, at_ms=now_ms
        )
        # Delete these last: as long as they exist, a repeated call finds the rest.
        last_cells = {
            c: moved_cells.pop(c) for c in (nodes.SENTINEL, nodes.FACTS) if c in moved_cells
        }
        self._properties.delete_many(
            [(self._zen.node_id(source), [c], cell.at_ms) for c, cell in moved_cells.items()]
        )
        if key := text(source_row, nodes.CONTENT_KEY):
            self._bodies.objects.delete(key)
        if last_cells:
            self._properties.delete(
                self._zen.node_id(source), list(last_cells), at_ms=newest_ms(last_cells)
            )

    def _copy_content(
        self, source_row: Row, canonical: str, target_row: Row
    ) -> list[tuple[dict[bytes, bytes], int]]:
        """
        Return the cells for the body at the canonical URL; none if newer data is stored there.

        An object is copied to the canonical URL's key. A record in a pack is not moved, and both
        nodes refer to it, so that a takedown of either URL finds it.
        """
        source_cell, target_cell = nodes.content_cell(source_row), nodes.content_cell(target_row)
        if source_cell is None or (
            target_cell is not None and target_cell[1].at_ms > source_cell[1].at_ms
        ):
            return []
        cells = {
            column: source_row[column].value for column in nodes.CONTENT if column in source_row
        }
        if response := nodes.response_cell(source_row):
            cells[nodes.RESPONSE] = response.value
        if (pointer := pointer_of(source_row)) and self._bodies.packs:
            self._bodies.packs.catalog.share(pointer, canonical)
            cells.pop(nodes.CONTENT_KEY, None)
            records = [(c, cell) for c, cell in source_row.items() if c.startswith(nodes.RECORDS)]
            return [
                (cells, source_cell[1].at_ms),
                *(({c: cell.value}, cell.at_ms) for c, cell in records),
            ]
        stored = self._bodies.objects.get(source_cell[1].value.decode())
        if stored is None:
            return []
        key = content_key(canonical)
        self._bodies.objects.put(key, stored[0], {**stored[1], "url": canonical})
        cells[nodes.CONTENT_KEY] = key.encode()
        cells.pop(nodes.CONTENT_PACK, None)
        return [(cells, source_cell[1].at_ms)]

    def move_links(self, source: str, canonical: str, target_row: Row, now_ms: int) -> None:
        """Move outlinks, unless the target's links or page are newer."""
        cells = self._outlinks.read([source, canonical])
        source_links, target_links = cells[source], cells[canonical]
        if source_links.compressed:
            links = PackedLinks.of_lines(source_links.lines)
            # Links that moved away left a delete marker, possibly with the timestamp of these
            # links.
            at_ms = (
                source_links.at_ms
                if target_links.compressed
                else max(source_links.at_ms, target_links.at_ms + 1)
            )
            # Unchanged links keep the time of their first fetch, so compare the pages' times too.
            if int(facts_of(target_row).get("fetched_at_ms") or 0) <= source_links.at_ms:
                self._outlinks.write([LinksWrite(canonical, at_ms, links)], now_ms)
            # Delete with the links' own time, because an earlier fetch may still write links.
            self._outlinks.write(
                [LinksWrite(source, source_links.at_ms + 1, lambda _: b"")], now_ms
            )


def _index_entry(canonical: str, source_row: Row, target_row: Row) -> list[Mutation]:
    """Return the index entry for a body that moves to a canonical URL."""
    cell = source_row.get(nodes.LIKENESS)
    if cell is None:
        return []
    return entry_put(
        canonical, nodes.stored_likeness(source_row), nodes.after_moves(target_row, cell.at_ms)
    )


def _merge_provenance(
    source_cell: Cell, target_cell: Cell | None
) -> tuple[dict[bytes, bytes], int]:
    old, new = (
        orjson.loads(target_cell.value) if target_cell else {},
        orjson.loads(source_cell.value),
    )
    is_newer = target_cell is None or source_cell.at_ms >= target_cell.at_ms
    merged = {**old, **new} if is_newer else {**new, **old}
    return (
        {nodes.PROVENANCE: orjson.dumps(merged)},
        max(source_cell.at_ms, target_cell.at_ms if target_cell else 0),
    )
