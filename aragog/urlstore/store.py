"""
The UrlStore: metadata, content and links, found by any spelling or alias of a URL.

Reads and writes apply to the canonical URL of the given URL. Only an alias needs a second round
trip. There are no transactions: every step may be repeated, and a concurrent reader sees either the
old or the new state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from aragog.errors import ConfigError
from aragog.runtime.clock import Clock
from aragog.settings import ContentSettings, RefreshSettings, StoreSettings
from aragog.urlstore.aliases import Aliases
from aragog.urlstore.bodies import Bodies, Packs
from aragog.urlstore.change_signals import ChangeSignals
from aragog.urlstore.content_port import ContentStore
from aragog.urlstore.crawl_members import CrawlMembers
from aragog.urlstore.feed import Feed
from aragog.urlstore.field_formats import FieldFormats, is_extracted
from aragog.urlstore.fields import Fields
from aragog.urlstore.hosts import Hosts
from aragog.urlstore.item_reader import Items
from aragog.urlstore.link_edges import LINK, LinkEdges
from aragog.urlstore.links import LinkReader, Links
from aragog.urlstore.maintenance import Maintenance
from aragog.urlstore.node_ids import UrlNaming
from aragog.urlstore.nodes import CANONICAL, CANONICAL_URL, Nodes
from aragog.urlstore.pack_files import PackFiles
from aragog.urlstore.packing import Packing, PackingPages
from aragog.urlstore.page_content import Admit, PageContent
from aragog.urlstore.reader import Pages
from aragog.urlstore.records import Content, PageWrite, Record, Written
from aragog.urlstore.same_content import SameContent
from aragog.urlstore.schedule import Schedule
from aragog.urlstore.takedowns import Takedowns
from aragog.urlstore.tombstones import Tombstones
from aragog.urlstore.watchers import WATCH
from aragog.urlstore.write_clock import WriteClock
from aragog.urlstore.writing.alias_merger import ALIAS, AliasMerger
from aragog.urlstore.writing.batch_writer import PageBatchWriter
from aragog.urlstore.writing.removal import Takedown
from aragog.urlstore.writing.trust import Trust
from aragog.urlstore.writing.writer import PageWriter
from aragog.urlstore.zen_remedies import REMEDIES
from urlspelling import normalize
from urlspelling.domain import registered_domain
from zengraph import Limits, MultiGraph, Schema
from zengraph.links import LinkGraph, ListLimits, Naming
from zengraph.tables import Tables


class UrlStore:
    """
    The parts of a store, and the calls that most users need.

    >>> version = store.put("HTTP://Shop.example:80/hat?utm_source=mail", {"note": b"cheap"})
    >>> store.get("http://shop.example/hat").fields
    {'note': b'cheap'}
    >>> records = store.get_many(["http://shop.example/hat#top", "http://shop.example/bag"])
    >>> [record and record.url for record in records]
    ['http://shop.example/hat', None]
    >>> store.put_content("http://shop.example/hat", b"<h1>Hat</h1>")
    >>> store.content("http://shop.example/hat").body
    b'<h1>Hat</h1>'

    `aragog.bootstrap.stores.url_store(load_settings())` opens the configured store.

    Any number of processes may open the same tables; threads may share the store. Every method that
    takes a URL raises `InvalidUrl` if the URL cannot be normalized, and `StoreUnavailable` if the
    tables do not respond.

    Attributes:
        pages: records, histories and lists of URLs.
        items: the items of pages; a page can have many.
        fields: sets, deletes and replaces a page's fields.
        links: outlinks and inlinks.
        aliases: URLs that lead to the same page.
        schedule: refresh times, watches, crawl budgets.
        signals: the changes that sitemaps and feeds report, and the trust in each host.
        feed: changes to pages, and webhooks.
        crawls: which crawls a page was stored for.
        same: pages with the same body, and near copies.
        takedowns: URLs and sites that must not be stored.
        maintenance: compaction, repair, freshness.
        bodies: reads page content, wherever it is stored.
        zen: the underlying graph.
        link_edges: links of pages, read as edges of that graph.
        clock: the times of writes.
        formats: how the bytes of each field are decoded.
    """

    def __init__(
        self,
        tables: Tables,
        content: ContentStore,
        settings: StoreSettings,
        clock: Clock | None = None,
        refresh: RefreshSettings | None = None,
        *,
        lists: ListLimits | None = None,
        packs: PackFiles | None = None,
        content_settings: ContentSettings | None = None,
    ) -> None:
        write_clock = WriteClock(clock)
        self.clock = write_clock
        naming = UrlNaming(tables.format)
        self.zen = zen = MultiGraph(tables, _schema(settings), write_clock.clock, naming)
        nodes = Nodes(zen)
        tombstones = Tombstones(zen)
        links = link_graph(tables, naming, settings, lists, write_clock.clock)
        outlinks = links.writer
        compactor = links.compactor
        packing_settings = content_settings or ContentSettings(layout="objects")
        opened_packs = (
            None if packs is None else Packs.of(packs, zen, write_clock, packing_settings)
        )
        self.bodies = bodies = Bodies(content, opened_packs)
        merger = AliasMerger(zen, bodies, outlinks, refresh)
        takedown = Takedown(
            zen, bodies, outlinks, merger, Hosts(zen), compactor, tombstones
        )  # fmt: skip
        self.signals = ChangeSignals(zen, write_clock, refresh or RefreshSettings())
        writer = PageWriter(
            zen, bodies, settings, outlinks, merger, tombstones, refresh, write_clock.clock,
            self.signals,
        )  # fmt: skip
        self._nodes = nodes
        self.takedowns = Takedowns(
            takedown, tombstones, nodes, write_clock, Trust(zen, merger, refresh), self.serves
        )
        self.pages = Pages(zen)
        self.items = Items(zen, self.pages)
        self.fields = Fields(zen, settings, self.takedowns, write_clock)
        self.links = Links(
            LinkReader(links.lists, outlinks, merger),
            outlinks,
            nodes,
            self.takedowns,
            write_clock,
        )
        self.link_edges = LinkEdges(tables, links, naming)
        self.aliases = Aliases(merger, nodes, self.takedowns, write_clock)
        self.schedule = Schedule(zen, self.takedowns, write_clock)
        self.feed = Feed(zen, write_clock)
        self.crawls = CrawlMembers(zen)
        self.same = SameContent(zen)
        self.maintenance = Maintenance(zen, bodies, merger, compactor, write_clock)
        self.formats = FieldFormats(settings.field_formats)
        self._content = PageContent(zen, bodies, self.takedowns, write_clock)
        self._packing = Packing(zen, opened_packs, self.takedowns)
        self._batches = PageBatchWriter(
            writer, self.takedowns, write_clock, frozenset(settings.unique)
        )

    def get(
        self, url: str, fields: Sequence[str] | None = None, *, info: bool = False
    ) -> Record | None:
        """
        Return a URL's record, or None.

        Takes one round trip, or two for an alias.

        Args:
            url: in any spelling.
            fields: the fields to read; None reads all of them, () none (only the facts of the last
                fetch).
            info: include the time and provenance of each field.
        """
        return self.pages.get(url, fields, info=info)

    def get_many(
        self, urls: Sequence[str], fields: Sequence[str] | None = None, *, info: bool = False
    ) -> list[Record | None]:
        """Like `get`, in order. Takes one multi-get, and one more if there are aliases."""
        return self.pages.get_many(urls, fields, info=info)

    def put(
        self,
        url: str,
        fields: Mapping[str, bytes],
        *,
        at_ms: int | None = None,
        provenance: Mapping[str, str] | None = None,
        if_version: str | None = None,
        to_delete: Collection[str] = (),
    ) -> str:
        """
        Set fields and keep the others. Returns the new version.

        Args:
            url: in any spelling.
            fields: the values by field name; the settings limit them.
            at_ms: when the values were observed (now if None), at most a minute in the future. A
                value never replaces a later one.
            provenance: the source of each field, which `get(info=True)` returns.
            if_version: write only if the record has this version; "": only if it does not exist.
            to_delete: fields that the caller then deletes, so they do not count toward the limits.

        Raises:
            InvalidField: a name or a value is not accepted; nothing was written.
            SizeExceeded: the record would exceed `store.max_record_bytes` or
                `store.max_record_fields`; nothing was written.
            VersionConflict: the version is different; nothing was written.
            BadInput: `at_ms` is negative or too far ahead; nothing was written.
            TakenDown: the URL was taken down.
        """
        return self.fields.put(
            url,
            fields,
            at_ms=at_ms,
            provenance=provenance or {},
            if_version=if_version,
            to_delete=to_delete,
        )

    def delete_fields(self, url: str, names: Iterable[str], *, at_ms: int | None = None) -> str:
        """
        Delete fields, ignoring missing ones. Returns the new version.

        Keeps values with a time after `at_ms` (now if None). Safe to repeat.

        Raises:
            InvalidField: a name is not a valid field name; nothing was deleted.
            BadInput: `at_ms` is negative or more than a minute in the future.
            TakenDown: the URL was taken down.
        """
        return self.fields.delete(url, names, at_ms=at_ms)

    def content(
        self, url: str, admit: Admit | None = None, *, at_ms: int | None = None
    ) -> Content | None:
        """
        Return the page's body and its metadata, or None if there is no content.

        Args:
            url: the page's URL.
            admit: called with the size of the body before it is read; it may raise.
            at_ms: return the body from that time, if a pack still has it (`content.keep_versions`).
                None: the current body.

        Raises:
            CorruptContent: the bytes do not match the node's hash, even after rereading both for
                half a second.
            ContentReplaced: a writer has stored newer bytes but not the node yet; try again later.
            ContentUnavailable: the content store does not respond.
        """
        if at_ms is not None:
            return self._content.get_at(url, at_ms, admit)
        return self._content.get(url, admit)

    def put_content(
        self,
        url: str,
        body: bytes,
        meta: Mapping[str, str] | None = None,
        *,
        at_ms: int | None = None,
    ) -> None:
        """
        Replace the page's content.

        Raises:
            TakenDown: the URL was taken down.
            ContentUnavailable: the content store does not respond.
        """
        self._content.put(url, body, meta or {}, at_ms=at_ms)

    def write_pages(self, pages: Sequence[PageWrite]) -> list[Written]:
        """
        Store the results of a batch of fetches. Returns one `Written` per page, in order.

        If one of a page's URLs was taken down, the page is not stored and its result is `stale`.
        Links to taken-down hosts are not stored. All URLs must be normalized. Safe to run twice,
        late, and in several processes at once: older data never replaces newer data. If the process
        is killed, write the batch again. A fetch dated more than a minute ahead is stored with the
        current time and logged; otherwise it would block later fetches until then.

        Raises:
            InvalidField: a field of a page is not accepted; nothing was written.
            StoreUnavailable: the tables do not respond; write the batch again.
            ContentUnavailable: the content store does not respond; write the batch again.
        """
        return self._batches.write(pages)

    def pack_pages(
        self, pages: Sequence[PageWrite], *, now: bool = False, urls: int = 0
    ) -> PackingPages:
        """
        Add pages' bodies to a pack, before `write_pages`.

        Call the result's `wait`, write the pages that it returns, and then call `settle`. Without
        this, `write_pages` stores its batch's bodies in a separate pack. If a process is killed,
        run the batch again: it gets another pack, and `maintenance.upkeep_packs` removes the unused
        records.

        Args:
            pages: as for `write_pages`.
            now: a caller is waiting for one of the pages, so the pack is stored at once.
            urls: how many of the batch's URLs are waiting for the pack, for `put_pack_if_last`.
        """
        return self._packing.add(pages, now=now, urls=urls)

    def pack_batches(
        self, batches: Sequence[tuple[Sequence[PageWrite], int]], *, now: bool = False
    ) -> list[PackingPages]:
        """Like `pack_pages`, for several batches, with as few multi-gets as for one."""
        return self._packing.add_batches(batches, now=now)

    def put_pack_if_last(self, in_flight: Callable[[], int]) -> None:
        """
        Store the open pack if every URL in flight is waiting for it.

        `in_flight` counts the URLs in flight, and is called only if URLs are waiting. A count that
        is too low only makes the pack smaller.
        """
        self._packing.put_if_last(in_flight)

    def timely(self, page: PageWrite) -> PageWrite:
        """Return the page, with the current time if its fetch is dated over a minute ahead."""
        return self._batches.timely(page)

    def remove(self, url: str) -> None:
        """Remove a page until a later fetch restores it; see `Takedowns.remove`."""
        self.takedowns.remove(url)

    def resolve(self, url: str) -> str:
        """Return the canonical URL, or the normalized URL if it is unknown."""
        return self._nodes.resolve(normalize(url))[0]

    def serves(self, url: str) -> bool:
        """
        Return True if the page of a normalized URL can be written.

        False while its node is in a damaged file, until `maintenance.repair` replaces the file.
        """
        return self.zen.serves(self.zen.node_id(url)[0])

    def check(self) -> list[str]:
        """Return a line of text for each problem with the tables."""
        return self.zen.check()

    def close(self) -> None:
        """Store the open pack, and close files and connections."""
        if self.bodies.packs is not None:
            self.bodies.packs.writer.close()
        self.zen.close()


def _schema(settings: StoreSettings) -> Schema:
    """Return the graph's schema. Raises ConfigError if a field cannot be unique."""
    problems = [
        f"store.unique: {name!r} is extracted from pages, and a fetch cannot be rejected for a "
        "duplicate value; use a field of your own, or store.indexed"
        for name in settings.unique
        if is_extracted(name)
    ]
    if problems:
        raise ConfigError(*problems)
    return Schema(
        unique=settings.unique,
        indexed=settings.indexed,
        one_ended=frozenset({ALIAS, WATCH}),
        reserved=frozenset({LINK}),
        columns={CANONICAL_URL: CANONICAL},
        limits=Limits(settings.max_record_bytes, settings.max_record_fields),
        remedies=REMEDIES,
    )


def link_graph(
    tables: Tables,
    naming: Naming,
    settings: StoreSettings,
    lists: ListLimits | None,
    clock: Clock,
) -> LinkGraph:
    """Return the graph of page links, with URLs as names."""
    return LinkGraph(
        tables,
        naming,
        clock,
        listed=_external_only if settings.inlinks == "external" else settings.inlinks,
        limits=lists,
        max_compactions=settings.compactions,
    )


def _external_only(source: str) -> Callable[[bytes], bool]:
    """
    Return a predicate for the links to store as inlinks when `store.inlinks` is "external".

    Such links lead to another registered domain.
    """
    domain = registered_domain(source)
    return lambda target: registered_domain(target.decode()) != domain
