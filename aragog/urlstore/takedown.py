"""
Removing what is stored of URLs.

`remove` forgets a page: a later fetch brings it back. `take_down` forgets it for good: a stub stays
that refuses every later write, until it is lifted. Either way the marker is written first, so that
a fetch which is under way cannot bring back what was there; then all else goes. Safe to repeat.
"""

from __future__ import annotations

from collections.abc import Iterable

from aragog.urlstore import nodes
from aragog.urlstore.aliases import ALIAS, Aliases
from aragog.urlstore.hosts import Hosts, host_put
from aragog.urlstore.linking import Linking, LinksWrite
from aragog.urlstore.nodes import alias_of, node_id, text
from aragog.urlstore.ports import ContentStore
from aragog.zen.codec import IN, due_key, edge_key
from aragog.zen.tables import Row, Tables

_STAY = (nodes.URL, nodes.CANONICAL, nodes.ALIASED, nodes.REMOVED, nodes.LOCK, nodes.HELD)


class Takedown:
    """Removes pages, whole hosts and whole domains."""

    def __init__(
        self,
        tables: Tables,
        content: ContentStore,
        linking: Linking,
        aliases: Aliases,
        hosts: Hosts,
    ) -> None:
        self._table = tables["n"]
        self._due = tables["d"]
        self._edges = tables["e"]
        self._host_index = tables["h"]
        self._content = content
        self._linking = linking
        self._aliases = aliases
        self._hosts = hosts

    def remove(self, home: str, now_ms: int) -> None:
        """Forget a page: fields, facts, content, outlinks, due row; its aliases stay aliases."""
        self._empty(home, b"removed", now_ms)

    def take_down(self, home: str, now_ms: int) -> int:
        """Forget a page and its aliases for good; how many URLs that were."""
        members = [home, *self._aliases.of(home)]
        for url in members:
            self._take_down_one(url, now_ms)
        return len(members)

    def take_down_all(self, urls: Iterable[str], now_ms: int) -> int:
        """Each of `urls`; one that stands for a page elsewhere loses only itself."""
        count = 0
        for url in urls:
            if alias_of(self._table.get(node_id(url), [nodes.CANONICAL]), url) is None:
                count += self.take_down(url, now_ms)
            else:
                self._take_down_one(url, now_ms)
                count += 1
        return count

    def lift(self, url: str, now_ms: int) -> None:
        """Let a URL be stored again."""
        self._table.delete(node_id(url), [nodes.REMOVED], at_ms=now_ms)

    def of_host(self, host: str, now_ms: int) -> int:
        """All URLs of a host."""
        return self.take_down_all(self._hosts.of_host(host), now_ms)

    def of_domain(self, domain: str, now_ms: int) -> int:
        """All URLs of a domain and of the hosts below it."""
        return self.take_down_all(self._hosts.of_domain(domain), now_ms)

    def _take_down_one(self, url: str, now_ms: int) -> None:
        row = self._empty(url, nodes.TAKEN_DOWN, now_ms)
        home = alias_of(row, url)
        if home is not None:
            key = edge_key(node_id(home), IN, ALIAS, 0, node_id(url))
            self._edges.delete(key, at_ms=now_ms)

    def _empty(self, url: str, marker: bytes, now_ms: int) -> Row:
        row = self._table.get(node_id(url))
        cells = {nodes.URL: url.encode(), nodes.REMOVED: marker}
        self._table.put(node_id(url), cells, at_ms=now_ms)
        gone = [column for column in row if column not in _STAY]
        if gone:
            # Fields may have been put with a time to come.
            at_ms = max(now_ms, *(row[column].at_ms for column in gone))
            self._table.delete(node_id(url), gone, at_ms=at_ms)
        if alias_of(row, url) is None or marker == nodes.TAKEN_DOWN:
            self._host_index.delete(host_put(url, now_ms)[1], at_ms=now_ms)
        due, key = text(row, nodes.DUE), text(row, nodes.CONTENT_KEY)
        if due:
            self._due.delete(due_key(node_id(url), int(due)), at_ms=now_ms)
        if key:
            self._content.delete(key)
        self._linking.write([LinksWrite(url, now_ms, lambda _: b"")], now_ms)
        return row
