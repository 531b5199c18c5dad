"""
Adds a batch's bodies to a pack, before the changes to its pages are planned.

If the page or another page on its host already has the body, only a `revisit` record (without a
body) or no record is added. Each page's plan later decides whether the record is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aragog.urlstore import nodes
from aragog.urlstore.bodies import Packs, pointer_of, record_cell, shared_of
from aragog.urlstore.compression import stored_hash
from aragog.urlstore.nodes import Nodes
from aragog.urlstore.packs.pack_record import PackRecord
from aragog.urlstore.packs.pack_writer import PackTicket
from aragog.urlstore.packs.pointers import PackPointer
from aragog.urlstore.records import Likeness, PackedContent, PageWrite, SharedBody
from aragog.urlstore.same_content import SameContent
from aragog.urlstore.takedowns import Takedowns
from aragog.urlstore.warc_records import Original, WarcPage, iso_date
from aragog.urlstore.writing.plan_bodies import to_warc_page
from zengraph import MultiGraph
from zengraph.records import Row

_COLUMNS = (
    nodes.URL, nodes.CANONICAL, nodes.REMOVED, nodes.SENTINEL, nodes.CONTENT_HASH,
    *nodes.POINTERS, nodes.FACTS,
)  # fmt: skip
MIN_SHARED_BYTES = 1024
"""A smaller body is stored again, because a `revisit` takes about as much space."""
MAX_SHARING = 1000
"""If this many pages share records in a pack, its records are not shared further, because a rewrite
must change all of these pages' pointers."""


@dataclass(frozen=True, slots=True)
class _Added:
    at: int
    """The index of the page in the batch."""
    digest: str
    is_revisit: bool
    shared: SharedBody | None


class _Wanted(NamedTuple):
    at: int
    """The index of the page in the batch."""
    body: bytes
    warc_page: WarcPage
    canonical: str
    row: Row

    @property
    def is_stored(self) -> bool:
        digest = nodes.text(self.row, nodes.CONTENT_HASH)
        return pointer_of(self.row) is not None and digest == self.warc_page.digest


@dataclass(frozen=True, slots=True)
class PackingPages:
    """Pages whose bodies are being added to a pack."""

    pages: Sequence[PageWrite]
    _added: tuple[_Added, ...] = ()
    _ticket: PackTicket | None = None

    def wait(self) -> list[PageWrite]:
        """
        Wait until the pack is stored. Returns the pages with the locations of their bodies.

        Raises:
            ContentUnavailable: the pack could not be stored; pack the batch again.
        """
        pages = list(self.pages)
        if self._ticket is None:
            return pages
        for one, pointer in zip(self._added, self._ticket.wait(), strict=True):
            packed = PackedContent(self._ticket, pointer, one.digest, one.is_revisit, one.shared)
            page = pages[one.at]
            if page.content is not None:
                pages[one.at] = page.with_content(page.content.with_location(packed))
        return pages

    def settle(self) -> None:
        """Record that the pages are written, or will not be."""
        if self._ticket is not None:
            self._ticket.settle()


class Packing:
    """Builds the records of pages and adds them to the open pack."""

    def __init__(self, zen: MultiGraph, packs: Packs | None, takedowns: Takedowns) -> None:
        self._zen = zen
        self._nodes = Nodes(zen)
        self._packs = packs
        self._takedowns = takedowns
        self._same = SameContent(zen)

    def add(self, pages: Sequence[PageWrite], *, now: bool, urls: int) -> PackingPages:
        """
        Add the bodies of pages to the open pack.

        `now`: a caller is waiting for one of the pages. `urls`: how many of the batch's URLs are
        waiting for the pack.

        Takes two multi-gets, and a few more reads if another page has one of the bodies. Does
        nothing if new bodies are stored as objects.
        """
        return self.add_batches([(pages, urls)], now=now)[0]

    def add_batches(
        self, batches: Sequence[tuple[Sequence[PageWrite], int]], *, now: bool = False
    ) -> list[PackingPages]:
        """Like `add`, for several batches, each with its `urls`. Takes as few multi-gets as one."""
        packs = self._packs
        urls = [page.canonical_url for pages, _ in batches for page in pages if page.content]
        if packs is None or packs.settings.layout != "packs" or not urls:
            return [PackingPages(pages) for pages, _ in batches]
        rows = self._nodes.follow(urls, _COLUMNS)
        self._takedowns.count()
        wanted = [self._wanted(pages, rows) for pages, _ in batches]
        new = {
            one.canonical: one.warc_page.digest
            for some in wanted
            for one in some
            if not one.is_stored and one.warc_page.body_bytes >= MIN_SHARED_BYTES
        }
        shared = self._of_other_pages(packs, new) if new else {}
        records = [[self._record(packs, one, shared) for one in some] for some in wanted]
        return [  # no record can fail anymore, so either all batches have a result or none
            _added(packs, pages, some, now=now, urls=count)
            for (pages, count), some in zip(batches, records, strict=True)
        ]

    def put_if_last(self, in_flight: Callable[[], int]) -> None:
        """
        Store the open pack if every URL in flight is waiting for it.

        `in_flight` counts the URLs in flight; it is called only if URLs are waiting for a pack.
        """
        writer = self._packs.writer if self._packs else None
        if writer and (waiting := writer.waiting_urls()) and in_flight() <= waiting:
            writer.put_open()

    def _wanted(
        self, pages: Sequence[PageWrite], rows: Mapping[str, tuple[str, Row]]
    ) -> list[_Wanted]:
        found = []
        for at, page in enumerate(pages):
            if page.content is None:
                continue
            canonical, row = rows[page.canonical_url]
            if self._is_wanted(page, canonical, row):
                warc_page = to_warc_page(page, page.content)
                found.append(_Wanted(at, page.content.body, warc_page, canonical, row))
        return found

    def _record(
        self, packs: Packs, one: _Wanted, shared: Mapping[tuple[str, str], SharedBody]
    ) -> tuple[_Added, PackRecord]:
        """`shared` has other pages' records, by URL and digest."""
        digest = one.warc_page.digest
        other, original = None, None
        if one.is_stored and (pointer := pointer_of(one.row)):
            original = self._original(one.canonical, one.row, pointer)
        elif other := shared.get((one.canonical, digest)):
            original = Original(other.url, iso_date(other.at_ms))
        record = (
            packs.record_of(one.warc_page, one.body)
            if original is None
            else packs.revisit_of(one.warc_page, original)
        )
        return _Added(one.at, digest, original is not None, other), record

    def _is_wanted(self, page: PageWrite, canonical: str, row: Row) -> bool:
        """
        Return False if the page was taken down, its stored content is as new or newer, or an object
        already has this body.
        """
        if nodes.is_taken_down(row) or self._takedowns.site_refused(*page.urls, canonical):
            return False
        where = nodes.content_cell(row)
        if where is None or where[1].at_ms < page.fetched_at_ms:
            return where is None or where[0] == nodes.CONTENT_PACK or not self._is_same(page, row)
        return False

    def _is_same(self, page: PageWrite, row: Row) -> bool:
        digest = nodes.text(row, nodes.CONTENT_HASH) or ""
        return page.content is not None and stored_hash(page.content) == digest

    def _of_other_pages(
        self, packs: Packs, new: Mapping[str, str]
    ) -> dict[tuple[str, str], SharedBody]:
        """
        Return the records of other pages on the host with the same body, by URL and digest.

        `new` has the digest of each URL's body.
        """
        likeness = {url: Likeness(digest[:16]) for url, digest in new.items()}
        others = self._same.originals(likeness)
        if not others:
            return {}
        rows = self._nodes.read(set(others.values()), _COLUMNS)
        found: dict[tuple[str, str], SharedBody] = {}
        crowded: dict[str, bool] = {}
        for url, other in others.items():
            row = rows[other]
            pointer = pointer_of(row)
            is_same = nodes.text(row, nodes.CONTENT_HASH) == new[url]
            if pointer is None or not is_same or not self._may_share(other, row):
                continue
            if pointer.pack not in crowded:
                sharing = packs.catalog.sharing(pointer.pack).values()
                crowded[pointer.pack] = sum(map(len, sharing)) >= MAX_SHARING
            if not crowded[pointer.pack]:
                found[url, new[url]] = self._body_of(other, row, pointer)
        return found

    def _may_share(self, url: str, row: Row) -> bool:
        """Return False if the page was taken down or removed, or is an alias now."""
        is_page = nodes.SENTINEL in row and nodes.leads_to(row, url) is None
        return is_page and not nodes.is_taken_down(row) and not self._takedowns.site_refused(url)

    def _original(self, canonical: str, row: Row, pointer: PackPointer) -> Original:
        """Return the URL and fetch time of the record with the body."""
        body = self._body_of(canonical, row, pointer)
        return Original(body.url, iso_date(body.at_ms))

    def _body_of(self, canonical: str, row: Row, pointer: PackPointer) -> SharedBody:
        """Return the record with the page's body; it may belong to yet another page."""
        column, _ = record_cell(pointer, b"")
        cells = self._zen.nodes.get(self._zen.node_id(canonical), [column])
        if shared := shared_of(cells, pointer):
            return shared
        cell = cells.get(column)
        at_ms = row[nodes.CONTENT_PACK].at_ms if cell is None else cell.at_ms
        return SharedBody(pointer, nodes.sender_of(row, canonical), at_ms)


def _added(
    packs: Packs,
    pages: Sequence[PageWrite],
    added: Sequence[tuple[_Added, PackRecord]],
    *,
    now: bool,
    urls: int,
) -> PackingPages:
    if not added:
        return PackingPages(pages)
    ticket = packs.writer.add([record for _, record in added], now=now, urls=urls)
    return PackingPages(pages, tuple(one for one, _ in added), ticket)
