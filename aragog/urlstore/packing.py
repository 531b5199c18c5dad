"""
Add a batch's bodies to a pack, together with other batches, before its pages are planned.

If the page already has the body, or another page on its host does, only a `revisit` record (without
a body) or no record is added. This decision is based on the data stored at that time; each page's
plan decides later whether the record is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from aragog.urlstore import nodes
from aragog.urlstore.bodies import Packs, pointer_of, record_cell, shared_of
from aragog.urlstore.compression import stored_hash
from aragog.urlstore.nodes import Nodes
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
"""A smaller body is stored again, because a `revisit` would take about as much space."""
MAX_SHARING = 1000
"""
If this many pages share records in a pack, its records are not shared further, because rewriting
the pack means changing all of these pages' pointers.
"""


@dataclass(frozen=True, slots=True)
class _Added:
    """A record that was added for a page."""

    at: int
    """The index of the page in the batch."""
    digest: str
    is_revisit: bool
    shared: SharedBody | None


@dataclass(frozen=True, slots=True)
class PackingPages:
    """Pages whose bodies are being added to a pack."""

    pages: Sequence[PageWrite]
    _added: tuple[_Added, ...] = ()
    _ticket: PackTicket | None = None

    def wait(self) -> list[PageWrite]:
        """
        Wait until the pack is stored; returns the pages with the locations of their bodies.

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
        """Record that all of the pages are written, or will not be written."""
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

        Pass `now=True` if a caller is waiting for one of the pages. `urls` is how many of the
        batch's URLs are waiting for the pack.

        Takes two multi-gets, and a few more reads if another page has one of the bodies. Does
        nothing if new bodies are stored as objects.
        """
        packs = self._packs
        with_body = [at for at, page in enumerate(pages) if page.content is not None]
        if packs is None or packs.settings.layout != "packs" or not with_body:
            return PackingPages(pages)
        rows = self._nodes.follow([pages[at].canonical_url for at in with_body], _COLUMNS)
        self._takedowns.count()
        wanted = {
            at: (to_warc_page(page, page.content), *rows[page.canonical_url])
            for at in with_body
            if (page := pages[at]).content and self._is_wanted(page, *rows[page.canonical_url])
        }
        return self._packed(packs, pages, wanted, now=now, urls=urls)

    def put_if_last(self, in_flight: Callable[[], int]) -> None:
        """
        Store the open pack if every URL in flight is waiting for it: no more pages will come.

        `in_flight` counts the URLs in flight; it is called only if URLs are waiting for a pack.
        """
        writer = self._packs.writer if self._packs else None
        if writer and (waiting := writer.waiting_urls()) and in_flight() <= waiting:
            writer.put_open()

    def _packed(
        self,
        packs: Packs,
        pages: Sequence[PageWrite],
        wanted: Mapping[int, tuple[WarcPage, str, Row]],
        *,
        now: bool,
        urls: int,
    ) -> PackingPages:
        """Add the records of pages, given their canonical URLs and nodes."""
        is_stored = {
            at: pointer_of(row) is not None and nodes.text(row, nodes.CONTENT_HASH) == whole.digest
            for at, (whole, _, row) in wanted.items()
        }
        new = {
            canonical: whole.digest
            for at, (whole, canonical, _) in wanted.items()
            if not is_stored[at] and whole.body_bytes >= MIN_SHARED_BYTES
        }
        found = self._of_other_pages(packs, new) if new else {}
        records, added = [], []
        for at, (whole, canonical, row) in wanted.items():
            shared, original = None, None
            if is_stored[at] and (pointer := pointer_of(row)):
                original = self._original(canonical, row, pointer)
            elif shared := found.get(canonical):
                original = Original(shared.url, iso_date(shared.at_ms))
            content = pages[at].content
            if original is not None:
                records.append(packs.revisit_of(whole, original))
            elif content is not None:
                records.append(packs.record_of(whole, content.body))
            added.append(_Added(at, whole.digest, original is not None, shared))
        ticket = packs.writer.add(records, now=now, urls=urls) if records else None
        return PackingPages(pages, tuple(added), ticket)

    def _is_wanted(self, page: PageWrite, canonical: str, row: Row) -> bool:
        """Return False if the page was taken down, or if the stored fetch is as new or newer."""
        if nodes.is_taken_down(row) or self._takedowns.site_refused(*page.urls, canonical):
            return False
        where = nodes.content_cell(row)
        if where is None or where[1].at_ms < page.fetched_at_ms:
            return where is None or where[0] == nodes.CONTENT_PACK or not self._is_same(page, row)
        return False

    def _is_same(self, page: PageWrite, row: Row) -> bool:
        digest = nodes.text(row, nodes.CONTENT_HASH) or ""
        return page.content is not None and stored_hash(page.content) == digest

    def _of_other_pages(self, packs: Packs, new: Mapping[str, str]) -> dict[str, SharedBody]:
        """
        Find URLs whose body another page of the host already has; returns that page's record.

        `new` has the digest of each URL's body.
        """
        likeness = {url: Likeness(digest[:16]) for url, digest in new.items()}
        others = self._same.originals(likeness)
        if not others:
            return {}
        rows = self._nodes.read(set(others.values()), _COLUMNS)
        found: dict[str, SharedBody] = {}
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
                found[url] = self._body_of(other, row, pointer)
        return found

    def _may_share(self, url: str, row: Row) -> bool:
        """Return False if the page was taken down or removed, so its record must not be shared."""
        is_page = nodes.SENTINEL in row and nodes.leads_to(row, url) is None
        return is_page and not nodes.is_taken_down(row) and not self._takedowns.site_refused(url)

    def _original(self, canonical: str, row: Row, pointer: PackPointer) -> Original:
        """Return the URL and fetch time of the record that has the body of a `revisit`."""
        body = self._body_of(canonical, row, pointer)
        return Original(body.url, iso_date(body.at_ms))

    def _body_of(self, canonical: str, row: Row, pointer: PackPointer) -> SharedBody:
        """Return the record with a page's body; the record may belong to yet another page."""
        column, _ = record_cell(pointer, b"")
        cells = self._zen.nodes.get(self._zen.node_id(canonical), [column])
        if shared := shared_of(cells, pointer):
            return shared
        cell = cells.get(column)
        at_ms = row[nodes.CONTENT_PACK].at_ms if cell is None else cell.at_ms
        return SharedBody(pointer, nodes.sender_of(row, canonical), at_ms)
