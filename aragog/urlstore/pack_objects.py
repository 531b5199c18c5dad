"""
Moves content from objects into packs.

For each page, the record is stored first, then the cell that points to it, with the timestamp of
the cell that points to the object. The object is deleted last. If a run is killed, the next one
completes its work, and `pack_upkeep` finds records that no page uses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from aragog.errors import ConfigError, CorruptContent
from aragog.urlstore import nodes
from aragog.urlstore.bodies import Bodies, Packs, StoredBody, pack_cells
from aragog.urlstore.compression import compress, content_hash
from aragog.urlstore.nodes import facts_of
from aragog.urlstore.page_content import responses
from aragog.urlstore.warc_records import WarcPage
from zengraph import MultiGraph
from zengraph.records import Row, put_properties

PAGES_AT_ONCE = 200
"""Number of pages per pack, which limits memory to about 20 MB."""


@dataclass(slots=True)
class PackingReport:
    """The result of a run."""

    moved: int = 0
    damaged: int = 0
    """Objects that could not be read. They are kept for `aragog store repair`."""


@dataclass(slots=True, eq=False)
class ObjectPacking:
    """Walks all pages once; workers may run at the same time."""

    zen: MultiGraph
    bodies: Bodies

    def run(self, on_progress: Callable[[int], None] = lambda _: None) -> PackingReport:
        """
        Move every object that a page uses.

        Raises:
            ConfigError: new content is not stored in packs.
            StoreUnavailable: the tables do not respond; run it again.
            ContentUnavailable: the content store does not respond; run it again.
        """
        packs, report = self.bodies.packs, PackingReport()
        if packs is None or not self.bodies.in_packs:
            raise ConfigError('content.layout: must be "packs" to move content into packs')
        waiting: list[tuple[bytes, Row]] = []
        with closing(self.zen.nodes.walk()) as rows:
            for key, row in rows:
                where = nodes.content_cell(row)
                if where is None or nodes.CONTENT_KEY not in row or nodes.URL not in row:
                    continue
                if where[0] == nodes.CONTENT_KEY:
                    waiting.append((key, row))
                else:  # an earlier run was killed before deleting this object
                    self._delete_object(key, row)
                if len(waiting) == PAGES_AT_ONCE:
                    self._move(packs, waiting, report)
                    on_progress(report.moved)
                    waiting = []
        self._move(packs, waiting, report)
        on_progress(report.moved)
        return report

    def _move(
        self, packs: Packs, pages: Sequence[tuple[bytes, Row]], report: PackingReport
    ) -> None:
        found: list[tuple[bytes, Row, StoredBody]] = []
        for key, row in pages:
            try:
                stored = self.bodies.get(row)
            except CorruptContent:
                report.damaged += 1
                continue
            if stored is not None:
                found.append((key, row, stored))
        if not found:
            return
        made = [self._page(row, stored) for _, row, stored in found]
        reports = responses(nodes.Nodes(self.zen), [page.pages[0] for page in made])
        records = [
            packs.record_of(replace(page, report=reports.get(page.pages[0])), compress(body))
            for page, body in zip(made, (stored.body for _, _, stored in found), strict=True)
        ]
        ticket = packs.writer.add(records, now=True)
        for (key, row, _), page, pointer in zip(found, made, ticket.wait(), strict=True):
            cells = pack_cells(pointer, page.digest, page.body_bytes)
            at_ms = row[nodes.CONTENT_KEY].at_ms
            self.zen.mutate([put_properties(key, cells, at_ms)])
            fresh = self.zen.nodes.get(key)
            if fresh.get(nodes.CONTENT_HASH, row[nodes.CONTENT_HASH]).at_ms != at_ms:
                packs.catalog.record_dead([pointer])  # a fetch has replaced the page's content
                continue
            if nodes.is_taken_down(fresh) or nodes.SENTINEL not in fresh:
                packs.catalog.erase([pointer])
                self.zen.nodes.delete_many([(key, list(cells), at_ms)])
            self._delete_object(key, row)
            report.moved += 1
        ticket.settle()

    def _delete_object(self, key: bytes, row: Row) -> None:
        """Delete the object first, then the cells."""
        cell = row[nodes.CONTENT_KEY]
        self.bodies.objects.delete(cell.value.decode())
        self.zen.nodes.delete(key, [nodes.CONTENT_KEY], at_ms=cell.at_ms)

    def _page(self, row: Row, stored: StoredBody) -> WarcPage:
        url = row[nodes.URL].value.decode()
        meta = {k: v for k, v in stored.meta.items() if k not in ("url", "encoding", "headers")}
        sender = nodes.sender_of(row, url)
        at_ms = int(facts_of(row).get("fetched_at_ms") or row[nodes.CONTENT_KEY].at_ms)
        digest = content_hash(stored.body)
        return WarcPage(sender, at_ms, digest, len(stored.body), meta, pages=(url,))
