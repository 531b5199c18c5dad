"""
Put the bodies of a batch into a pack before its pages are planned, with those of other batches.

What is stored decides little here: whether a body needs no record, or only a `revisit`. The plan of
each page decides later whether its record is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from aragog.urlstore import nodes
from aragog.urlstore.bodies import Packs, pointer_of, record_cell
from aragog.urlstore.compression import stored_hash
from aragog.urlstore.nodes import Nodes
from aragog.urlstore.packs.pack_writer import PackRecord, PackTicket
from aragog.urlstore.packs.pointers import PackPointer
from aragog.urlstore.page_records import Original, WarcPage, iso_date
from aragog.urlstore.records import ContentWrite, PackedContent, PageWrite
from aragog.urlstore.takedowns import Takedowns
from aragog.urlstore.writing.plan_bodies import archived
from zengraph import MultiGraph
from zengraph.records import Row

_COLUMNS = (
    nodes.URL, nodes.CANONICAL, nodes.REMOVED, nodes.CONTENT_HASH, *nodes.POINTERS, nodes.FACTS,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PackingPages:
    """Pages whose bodies are on their way into a pack."""

    pages: Sequence[PageWrite]
    _added: tuple[tuple[int, str, bool], ...] = ()
    """Of each record: which page, the digest of its body, whether it is a revisit."""
    _ticket: PackTicket | None = None

    def wait(self) -> list[PageWrite]:
        """
        The pages with the places of their bodies, once the pack was put.

        Raises:
            ContentUnavailable: it could not be put; pack the batch again.
        """
        pages = list(self.pages)
        if self._ticket is None:
            return pages
        for (at, digest, revisits), pointer in zip(self._added, self._ticket.wait(), strict=True):
            packed = PackedContent(self._ticket, pointer, digest, revisits)
            content = replace(pages[at].content, packed=packed)  # type: ignore[type-var]
            pages[at] = replace(pages[at], content=content)
        return pages

    def settle(self) -> None:
        """All of the pages are written, or not to be written."""
        if self._ticket is not None:
            self._ticket.settle()


class Packing:
    """Makes the records of pages and adds them to the open pack."""

    def __init__(self, zen: MultiGraph, packs: Packs | None, takedowns: Takedowns) -> None:
        self._zen = zen
        self._nodes = Nodes(zen)
        self._packs = packs
        self._takedowns = takedowns

    def add(self, pages: Sequence[PageWrite], *, now: bool) -> PackingPages:
        """
        Add the bodies of pages to the open pack; `now`: somebody waits for one of them.

        One multi-get. Where new bodies are objects, nothing is done.
        """
        packs = self._packs
        with_body = [at for at, page in enumerate(pages) if page.content is not None]
        if packs is None or packs.settings.layout != "packs" or not with_body:
            return PackingPages(pages)
        rows = self._nodes.follow([pages[at].canonical_url for at in with_body], _COLUMNS)
        self._takedowns.count()
        records: list[PackRecord] = []
        added = []
        for at in with_body:
            page = pages[at]
            canonical, row = rows[page.canonical_url]
            if not self._is_wanted(page, canonical, row):
                continue
            assert page.content is not None  # noqa: S101 - it is one of those with a body
            record, digest, revisits = self._record(packs, page, page.content, canonical, row)
            records.append(record)
            added.append((at, digest, revisits))
        ticket = packs.writer.add(records, now=now) if records else None
        return PackingPages(pages, tuple(added), ticket)

    def _is_wanted(self, page: PageWrite, canonical: str, row: Row) -> bool:
        """False for what is taken down, and for a batch that was written before."""
        if nodes.is_taken_down(row) or self._takedowns.site_refused(*page.urls, canonical):
            return False
        where = nodes.content_cell(row)
        if where is None or where[1].at_ms < page.fetched_at_ms:
            return where is None or where[0] == nodes.CONTENT_PACK or not self._is_same(page, row)
        return False

    def _is_same(self, page: PageWrite, row: Row) -> bool:
        digest = nodes.text(row, nodes.CONTENT_HASH) or ""
        return page.content is not None and stored_hash(page.content) == digest

    def _record(
        self, packs: Packs, page: PageWrite, content: ContentWrite, canonical: str, row: Row
    ) -> tuple[PackRecord, str, bool]:
        whole = archived(page, content)
        digest = whole.digest
        pointer = pointer_of(row)
        if pointer is None or nodes.text(row, nodes.CONTENT_HASH) != digest:
            return packs.record_of(whole, digest), digest, False
        original = self._original(canonical, row, pointer)
        return packs.revisit_of(_without_body(whole), digest, original), digest, True

    def _original(self, canonical: str, row: Row, pointer: PackPointer) -> Original:
        """The record that has the body: its URL, and when it was fetched."""
        column, _ = record_cell(pointer, b"")
        cell = self._zen.nodes.get(self._zen.node_id(canonical), [column]).get(column)
        at_ms = row[nodes.CONTENT_PACK].at_ms if cell is None else cell.at_ms
        return Original(nodes.sender_of(row, canonical), iso_date(at_ms))


def _without_body(page: WarcPage) -> WarcPage:
    return replace(page, body=b"")
