"""
Removal of the data stored for URLs, hosts and domains.

`remove` deletes a page: a later fetch brings it back. A takedown deletes it permanently: a stub
refuses every later write until the takedown is lifted; a host or domain also has a tombstone, which
refuses URLs that were never seen. In both cases the marker is written first, so that a fetch in
progress cannot restore the data; then everything else is deleted: fields, history, content,
watches, and entries in the change feed, the link journal and other pages' inlinks. Safe to repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from aragog.urlstore.aliases.merger import ALIAS, AliasMerger
from aragog.urlstore.content.ports import ContentStore
from aragog.urlstore.feed.changes import Changes
from aragog.urlstore.pages import nodes
from aragog.urlstore.pages.hosts import Hosts
from aragog.urlstore.pages.nodes import alias_of, text
from aragog.urlstore.schedule.watches import Watches
from aragog.urlstore.takedowns.tombstones import HOST, Tombstones
from aragog.zen.adjacency.compaction import Compactor
from aragog.zen.adjacency.outlink_writer import LinksWrite, OutlinkWriter
from aragog.zen.codec import IN
from aragog.zen.graph import Zen
from aragog.zen.node_ids import node_id
from aragog.zen.properties import Row

_STAY = (nodes.URL, nodes.CANONICAL, nodes.ALIASED, nodes.REMOVED, nodes.LOCK)


@dataclass(slots=True, eq=False)
class Takedown:
    """Removes pages, whole hosts and whole domains."""

    zen: Zen
    content: ContentStore
    outlinks: OutlinkWriter
    aliases: AliasMerger
    hosts: Hosts
    compactor: Compactor
    tombstones: Tombstones
    purged_at_once: int = 500
    """Pages whose inlinks one step removes, which bounds its memory."""

    def remove(self, canonical: str, now_ms: int) -> None:
        """Delete a page: fields, facts, content, outlinks, due row; its aliases stay aliases."""
        self._empty(canonical, b"removed", now_ms)

    def of_urls(self, urls: Iterable[str], now_ms: int) -> int:
        """Take down each page with its aliases; returns the number of URLs."""
        members = {each for canonical in urls for each in (canonical, *self.aliases.of(canonical))}
        return self._all(members, now_ms, members.__contains__)

    def of_site(self, kind: str, name: str, now_ms: int) -> int:
        """
        Take down all URLs of a host or domain and refuse new ones; returns how many there were.

        An alias of a page of another site is removed without that page.
        """
        self.tombstones.add(kind, name, now_ms)
        self.tombstones.current()
        found = self.hosts.of_host(name) if kind == HOST else self.hosts.of_domain(name)
        members: set[str] = set()
        for url in found:
            members.add(url)
            if alias_of(self.zen.nodes.get(node_id(url), [nodes.CANONICAL]), url) is None:
                members.update(self.aliases.of(url))
        refuses = self.tombstones.refuses
        return self._all(members, now_ms, lambda url: url in members or refuses(url))

    def _all(self, members: set[str], now_ms: int, gone: Callable[[str], bool]) -> int:
        pages = sorted(members)
        for url in pages:
            self._take_down_one(url, now_ms)
        self.tombstones.changed()
        Changes(self.zen).purge(gone)
        for at in range(0, len(pages), self.purged_at_once):
            self.compactor.purge(pages[at : at + self.purged_at_once])
        self.zen.scrub()
        return len(pages)

    def lift(self, url: str, now_ms: int) -> None:
        """Let a URL be stored again."""
        self.zen.nodes.delete(node_id(url), [nodes.REMOVED], at_ms=now_ms)
        self.tombstones.changed()

    def lift_site(self, kind: str, name: str, now_ms: int) -> bool:
        """Accept URLs of a site again, also stored ones; False: it was not refused."""
        return self.tombstones.remove(kind, name, now_ms)

    def _take_down_one(self, url: str, now_ms: int) -> None:
        row = self._empty(url, nodes.TAKEN_DOWN, now_ms)
        Watches(self.zen).purge(url, now_ms)
        self.zen.nodes.delete(node_id(url), [nodes.HELD], at_ms=_last_ms(row, nodes.HELD, now_ms))
        canonical = alias_of(row, url)
        if canonical is not None:
            self.zen.edge_ends.delete(node_id(canonical), IN, ALIAS, node_id(url), at_ms=now_ms)

    def _empty(self, url: str, marker: bytes, now_ms: int) -> Row:
        row = self.zen.nodes.get(node_id(url))
        cells = {nodes.URL: url.encode(), nodes.REMOVED: marker}
        self.zen.nodes.put(node_id(url), cells, at_ms=now_ms)
        gone = [column for column in row if column not in (*_STAY, nodes.HELD)]
        if gone:
            # Fields may have been put with a time in the future.
            at_ms = max(now_ms, *(row[column].at_ms for column in gone))
            self.zen.nodes.delete(node_id(url), gone, at_ms=at_ms)
        if alias_of(row, url) is None or marker == nodes.TAKEN_DOWN:
            self.zen.hosts.delete(url, at_ms=now_ms)
        due, key = text(row, nodes.DUE), text(row, nodes.CONTENT_KEY)
        if due:
            self.zen.due_times.delete_many([(node_id(url), int(due), now_ms)])
        if key:
            self.content.delete(key)
        self.outlinks.write([LinksWrite(url, now_ms, lambda _: b"")], now_ms)
        return row


def _last_ms(row: Row, column: bytes, now_ms: int) -> int:
    return max(now_ms, row[column].at_ms if column in row else 0)
