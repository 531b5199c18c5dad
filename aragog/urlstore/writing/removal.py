"""
Removes the data stored for URLs, hosts and domains.

`remove` deletes a page; a later fetch restores it. A takedown deletes it permanently: a marker in
the node refuses every write until the takedown is lifted. A host or domain also has a tombstone,
which refuses URLs that were never stored. The marker is written first, so that a fetch in progress
cannot restore the data. Then everything else is deleted.

After a redirect, a canonical URL or a merge, data that was fetched from a URL may be stored under
another URL. It is deleted as well, but the other URL is not refused.

Every call is safe to repeat. If a call is killed, the next one completes its work: a URL is removed
last from the list where the takedown found it, and pointers are deleted after their targets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from aragog.urlstore import items as items_index
from aragog.urlstore import nodes
from aragog.urlstore.bodies import Bodies
from aragog.urlstore.feed import Change, Changes, publish
from aragog.urlstore.hosts import Hosts, SentPage, host_order, host_put, sender_put
from aragog.urlstore.items import ItemIndex
from aragog.urlstore.nodes import alias_of, facts_of, text
from aragog.urlstore.same_content import SameContent, stored_entries
from aragog.urlstore.tombstones import HOST, Tombstones
from aragog.urlstore.watchers import Watches
from aragog.urlstore.writing.alias_merger import ALIAS, AliasMerger, alias_puts
from zengraph import MultiGraph
from zengraph.links import Compactor, LinksWrite, OutlinkWriter
from zengraph.records import Row, put_properties

_KEPT_COLUMNS = (
    nodes.URL,
    nodes.CANONICAL,
    nodes.ALIASED,
    nodes.REMOVED,
    nodes.LOCK,
    nodes.WATCHED,
)
_POINTERS = (nodes.DUE, *nodes.POINTERS)
"""Columns that refer to data outside the node."""
_SCHEDULE_COLUMNS = (nodes.DUE,)
_KEPT_AFTER_DROP = (*_SCHEDULE_COLUMNS, nodes.WITHDRAWN)

Unlist = Callable[[str, int], None]
"""Removes a URL from the list where the takedown found it, at a given time."""


@dataclass(slots=True, eq=False)
class Takedown:
    """Removes pages, whole hosts and whole domains."""

    zen: MultiGraph
    bodies: Bodies
    outlinks: OutlinkWriter
    aliases: AliasMerger
    hosts: Hosts
    compactor: Compactor
    tombstones: Tombstones
    purge_batch_size: int = 500
    """How many pages' inlinks are removed in one step, which limits memory."""

    def remove(self, canonical: str, now_ms: int) -> None:
        """
        Delete a page's fields, facts, content, outlinks and due row. Aliases stay aliases.

        The cells of crawls are deleted last, because the deletion of a crawl finds its pages by
        them. If it is killed, the next one finds this page again.
        """
        row = self.zen.nodes.get(self.zen.node_id(canonical))
        if not nodes.is_taken_down(row):
            self._mark([canonical], b"removed", now_ms)
        crawl_columns = {column for column in row if column.startswith(nodes.IN_CRAWL)}
        self._empty(canonical, now_ms, except_columns=crawl_columns)
        if alias_of(row, canonical) is None:
            self.zen.by_order.delete(
                self.zen.node_id(canonical), host_order(canonical), at_ms=now_ms
            )
        self._delete_cells(canonical, row, crawl_columns, now_ms)

    def of_urls(self, urls: Iterable[str], now_ms: int, *, listed: bool = True) -> int:
        """
        Take down these pages and their aliases, and delete data fetched from them.

        Returns how many URLs lost data. With `listed`, adds the URLs to the list of taken-down
        URLs.
        """
        members = {
            member
            for canonical in urls
            for member in (canonical, *self.aliases.with_taken_down(canonical))
        }
        if listed:
            self.tombstones.list_urls(members, now_ms)
        sent_pages = [page for url in members for page in self.hosts.sent_by_url(url)]
        lists = (self._unlist_from_host, self._unlist_from_page)
        return self._take_down_all(members, sent_pages, now_ms, members.__contains__, lists)

    def of_site(self, kind: str, name: str, now_ms: int) -> int:
        """
        Take down all URLs of a host or domain, and refuse new ones. Returns how many lost data.

        Data fetched from them is also deleted under other URLs. An alias of another site's page is
        removed, but the page is kept.
        """
        self.tombstones.add(kind, name, now_ms)
        self.tombstones.current()
        by_host = kind == HOST
        urls = self.hosts.of_host(name) if by_host else self.hosts.of_domain(name)
        members: set[str] = set()
        for url in urls:
            members.add(url)
            if alias_of(self.zen.nodes.get(self.zen.node_id(url), [nodes.CANONICAL]), url) is None:
                members.update(self.aliases.with_taken_down(url))
        sent_pages = list(
            self.hosts.sent_by_host(name) if by_host else self.hosts.sent_by_domain(name)
        )
        refuses = self.tombstones.refuses

        def unlist_from_other_host(url: str, now_ms: int) -> None:
            # Other aliases belong to a page on this site, through which they are found.
            if not refuses(url):
                self._unlist_from_host(url, now_ms)

        lists = (unlist_from_other_host, self._unlist_from_page, self._unlist_from_host)
        return self._take_down_all(
            members, sent_pages, now_ms, lambda url: url in members or refuses(url), lists
        )

    def _take_down_all(
        self,
        members: set[str],
        sent_pages: Sequence[SentPage],
        now_ms: int,
        is_gone: Callable[[str], bool],
        lists: Sequence[Unlist],
    ) -> int:
        """
        Take down these URLs, and delete the data that was fetched from them.
        Each function in `lists` removes a URL from one list, the last one from the list where the
        takedown found it.
        """
        pages = sorted(members)
        other_urls = sorted({page.url for page in sent_pages} - members)
        for batch in self._batches(pages):
            self._mark(batch, nodes.TAKEN_DOWN, now_ms)
        # Change the counter before anything is deleted. A writer that read its pages before they
        # were marked sees the new counter and checks again. Other data is deleted below.
        self.tombstones.mark_changed()
        for url in pages:
            self._take_down_one(url, now_ms)
        for page in sent_pages:
            if page.url not in members:
                self._drop_sent(page, now_ms, is_gone)
        Changes(self.zen).purge(lambda url: url in other_urls or is_gone(url))
        for batch in self._batches([*pages, *other_urls]):
            self.compactor.purge(batch)
        for page in sent_pages:
            self.zen.by_order.delete_at(page.position, at_ms=max(now_ms, page.sent_at_ms))
        for unlist in lists:
            for url in pages:
                unlist(url, now_ms)
        self.zen.scrub()
        return len(pages) + len(other_urls)

    def _batches(self, urls: Sequence[str]) -> Iterator[Sequence[str]]:
        for start in range(0, len(urls), self.purge_batch_size):
            yield urls[start : start + self.purge_batch_size]

    def _drop_sent(self, page: SentPage, now_ms: int, is_gone: Callable[[str], bool]) -> None:
        """
        Delete a page's data that was fetched from a URL that is being taken down.

        If the page has since been fetched from another URL, newer data and links are kept. Watches
        and next fetch are always kept, because that fetch may return a permitted page.
        """
        row = self.zen.nodes.get(self.zen.node_id(page.url), [nodes.FACTS])
        upto_ms = None if is_gone(nodes.sender_of(row, page.url)) else page.sent_at_ms
        if upto_ms is None:
            self.aliases.release(page.url, now_ms, is_gone)
        # Unchanged links keep their time, so it does not show which URL they were fetched from.
        is_newer = upto_ms is not None and _fetched_ms(row) > upto_ms
        self._empty(
            page.url,
            now_ms,
            upto_ms=upto_ms,
            except_columns=_SCHEDULE_COLUMNS,
            keeps_links=is_newer,
        )

    def has_data(self, url: str) -> bool:
        """Return True if a URL has data that a takedown deletes, or if a page was sent from it."""
        columns = self.zen.nodes.get(self.zen.node_id(url)).keys() - set(_KEPT_COLUMNS)
        has_links = bool(self.outlinks.read([url])[url].compressed)
        return bool(columns) or has_links or any(True for _ in self.hosts.sent_by_url(url))

    def list_sent(self, urls: Iterable[str], senders: Collection[str], now_ms: int) -> None:
        """List the pages among `urls` that these senders returned, so that takedowns find them."""
        for url in urls:
            row = self.zen.nodes.get(self.zen.node_id(url), [nodes.FACTS])
            if (sender := nodes.sender_of(row, url)) in senders:
                self.zen.mutate([sender_put(self.zen, url, sender, now_ms)])

    def drop(self, url: str, now_ms: int, upto_ms: int) -> None:
        """
        Delete a page's data, except data newer than `upto_ms`, unless the URL is an alias.

        Only a later fetch may restore the page. Watches and the next fetch are kept. An entry is
        first added to the change feed, which then hides earlier values.
        """
        row = self.zen.nodes.get(self.zen.node_id(url))
        if alias_of(row, url) is not None:
            return
        # Mark even a node without a page: an earlier fetch may still be in progress.
        is_reported = _has_page(row, upto_ms) or text(row, nodes.WITHDRAWN) == "1"
        cells = {nodes.URL: url.encode(), nodes.WITHDRAWN: b"1" if is_reported else b"0"}
        self.zen.mutate([put_properties(self.zen.node_id(url), cells, upto_ms)])
        # Keep data that a later fetch found unchanged.
        is_newer = _fetched_ms(row) > upto_ms
        if nodes.SENTINEL not in row or is_newer:
            return
        if _has_page(row, upto_ms):
            self._publish_deletion(url, row, upto_ms)
            self.aliases.release(url, now_ms, lambda alias: alias in nodes.page_senders(row))
        self._empty(url, now_ms, upto_ms=upto_ms, except_columns=_KEPT_AFTER_DROP, links_ms=upto_ms)

    def _publish_deletion(self, url: str, row: Row, upto_ms: int) -> None:
        owners = Watches(self.zen).owners(url) if text(row, nodes.WATCHED) else ()
        change = Change(url, upto_ms, "withdrawn", owners=tuple(owners))
        publish(self.zen, [change], self.zen.clock)

    def withdraw(self, url: str, now_ms: int, upto_ms: int) -> None:
        """`drop` the page that was fetched from a URL, even if it is stored under another URL."""
        if (canonical := self.page_sent_by(url)) is not None:
            self.drop(canonical, now_ms, upto_ms)

    def page_sent_by(self, url: str) -> str | None:
        """Return the URL of the page that was fetched from `url`, or None."""
        row = self.zen.nodes.get(self.zen.node_id(url), [nodes.CANONICAL])
        canonical = alias_of(row, url)
        if canonical is None:
            return url
        sender = nodes.sender_of(
            self.zen.nodes.get(self.zen.node_id(canonical), [nodes.FACTS]), url
        )
        return canonical if sender == url else None

    def drop_content(self, url: str, upto_ms: int) -> None:
        """Delete the content that was fetched from a URL up to `upto_ms`."""
        if (canonical := self.page_sent_by(url)) is None:
            return
        row = self.zen.nodes.get(self.zen.node_id(canonical))
        content = nodes.content_cell(row)
        columns = _records(row, upto_ms)
        if content is not None and content[1].at_ms <= upto_ms:
            columns |= {column for column in nodes.CONTENT_AND_RESPONSE if column in row}
        self.bodies.erase(row, columns)
        self._delete_cells(canonical, row, columns, upto_ms)

    def lift(self, url: str, now_ms: int) -> bool:
        """
        Allow a URL to be stored again. Returns False if it was not taken down or removed.

        An alias leads to its canonical URL again, so it is listed there and by its host again.
        """
        row = self.zen.nodes.get(self.zen.node_id(url), [nodes.REMOVED, nodes.CANONICAL])
        was_refused = nodes.REMOVED in row
        if was_refused and (canonical := alias_of(row, url)) is not None:
            self.zen.mutate(
                [host_put(self.zen, url, now_ms), *alias_puts(self.zen, url, canonical, now_ms)]
            )
        self.zen.nodes.delete(self.zen.node_id(url), [nodes.REMOVED], at_ms=now_ms)
        self.tombstones.unlist_url(url, now_ms)
        self.tombstones.mark_changed()
        return was_refused

    def lift_site(self, kind: str, name: str, now_ms: int) -> bool:
        """Allow a site's URLs to be stored again. Returns False if it was not refused."""
        return self.tombstones.remove(kind, name, now_ms)

    def _mark(self, urls: Sequence[str], marker: bytes, now_ms: int) -> None:
        self.zen.mutate(
            [
                put_properties(
                    self.zen.node_id(url), {nodes.URL: url.encode(), nodes.REMOVED: marker}, now_ms
                )
                for url in urls
            ]
        )

    def _take_down_one(self, url: str, now_ms: int) -> None:
        row = self._empty(url, now_ms)
        Watches(self.zen).purge(url, now_ms)
        self.zen.nodes.delete(
            self.zen.node_id(url), [nodes.WATCHED], at_ms=_last_ms(row, nodes.WATCHED, now_ms)
        )

    def _empty(
        self,
        url: str,
        now_ms: int,
        *,
        upto_ms: int | None = None,
        except_columns: Collection[bytes] = (),
        links_ms: int | None = None,
        keeps_links: bool = False,
    ) -> Row:
        """
        Delete a page's data. Returns its previous node.

        With `upto_ms`, keeps newer cells, but not histories, which contain older values. Always
        keeps the cells in `except_columns`. Links are deleted with the timestamp `links_ms` (now
        if None), so that links from a later fetch remain.
        """
        row = self.zen.nodes.get(self.zen.node_id(url))
        columns = {
            column
            for column, cell in row.items()
            if upto_ms is None or cell.at_ms <= upto_ms or column.startswith(nodes.HISTORIES)
        }.difference(_KEPT_COLUMNS, except_columns)
        records = _records(row, upto_ms)
        self.zen.remove_from_indexes(
            self.zen.node_id(url), {column: row[column] for column in columns}
        )
        if nodes.LIKENESS in columns:  # delete index entries before the cell they come from
            SameContent(self.zen).forget(stored_entries(url, row))
        if items := items_index.stored_records(url, row, columns):
            ItemIndex(self.zen).forget(items)
        # Delete with an earlier timestamp, so that data that a fetch writes next stays visible.
        at_ms = now_ms if upto_ms is None else upto_ms
        self._delete_cells(url, row, columns.difference(_POINTERS, records), at_ms)
        due = text(row, nodes.DUE)
        if due and nodes.DUE in columns:
            self.zen.by_number.delete_many([(self.zen.node_id(url), int(due), now_ms)])
        self.bodies.erase(row, columns)
        self._delete_cells(url, row, columns.intersection({*_POINTERS, *records}), at_ms)
        if not keeps_links:
            links_ms = now_ms if links_ms is None else links_ms
            self.outlinks.write([LinksWrite(url, links_ms, lambda _: b"")], now_ms)
        return row

    def _delete_cells(self, url: str, row: Row, columns: Collection[bytes], at_ms: int) -> None:
        if columns:
            # Fields may have a timestamp slightly in the future.
            at_ms = max(at_ms, *(row[column].at_ms for column in columns))
            self.zen.nodes.delete(self.zen.node_id(url), sorted(columns), at_ms=at_ms)

    def _unlist_from_host(self, url: str, now_ms: int) -> None:
        self.zen.by_order.delete(self.zen.node_id(url), host_order(url), at_ms=now_ms)

    def _unlist_from_page(self, url: str, _now_ms: int) -> None:
        """Remove an alias from the list of its canonical URL."""
        canonical = alias_of(self.zen.nodes.get(self.zen.node_id(url), [nodes.CANONICAL]), url)
        if canonical is not None:
            self.zen.remove_edge(self.zen.node_id(url), ALIAS, self.zen.node_id(canonical))


def _has_page(row: Row, upto_ms: int) -> bool:
    """Return True if a node has fields or content up to `upto_ms`."""
    return any(
        column in nodes.POINTERS or (column.startswith(b"m:") and column != nodes.SENTINEL)
        for column, cell in row.items()
        if cell.at_ms <= upto_ms
    )


def _records(row: Row, upto_ms: int | None) -> set[bytes]:
    """Return the columns of pack records up to `upto_ms` (None: all)."""
    return {
        column
        for column, cell in row.items()
        if column.startswith(nodes.RECORDS) and (upto_ms is None or cell.at_ms <= upto_ms)
    }


def _fetched_ms(row: Row) -> int:
    """Return when a node's page was last fetched; 0 if never."""
    return int(facts_of(row).get("fetched_at_ms") or 0)


def _last_ms(row: Row, column: bytes, now_ms: int) -> int:
    return max(now_ms, row[column].at_ms if column in row else 0)
