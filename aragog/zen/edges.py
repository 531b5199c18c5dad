"""
Edges: their values, the single ends that the UrlStore lists, and page links as edges.

A single end has the score 0, and is listed from one side, with its properties and times.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import NamedTuple

from aragog.urls.keys import url_key
from aragog.zen.codec import OUT, after, edge_key, edge_prefix, read_edge_key
from aragog.zen.inlinks.posting_lists import PostingLists
from aragog.zen.link_records import OutLink
from aragog.zen.node_ids import list_id
from aragog.zen.outlink_writer import CELL
from aragog.zen.outlinks import from_lines, unpack
from aragog.zen.properties import Row, newest_ms
from aragog.zen.tables import Tables

_URL = b"s:url"
LINK = 0
"""The type of page links; they are packed (`outlinks`, `inlinks/`), and written with their page."""


class Edge(NamedTuple):
    """An edge, seen from one of its ends."""

    other: bytes
    """The node at the other end."""
    score: int
    properties: dict[str, bytes]


class Edges(NamedTuple):
    """A page of a list of edges; `cursor` continues it, None: it is complete."""

    items: list[Edge]
    cursor: bytes | None


class EdgeEnds:
    """Reads and deletes edge ends; `mutations.put_edge_end` writes them."""

    def __init__(self, tables: Tables) -> None:
        self._table = tables["e"]

    def of(
        self, node_id: bytes, direction: bytes, edge_type: int
    ) -> Generator[tuple[bytes, Row], None, None]:
        """(other node id, properties) of each edge, in order; close it if you leave it early."""
        prefix = edge_prefix(node_id, direction, edge_type)
        with closing(self._table.scan(prefix, after(prefix))) as rows:
            for key, row in rows:
                yield read_edge_key(key)[4], row

    def walk(self) -> Generator[tuple[bytes, bytes, int, bytes, Row], None, None]:
        """(node, direction, type, other node, properties) of every edge end, of any score."""
        for key, row in self._table.scan(b"", None):
            node_id, direction, edge_type, _, other = read_edge_key(key)
            yield node_id, direction, edge_type, other, row

    def has(self, node_id: bytes, direction: bytes, edge_type: int, other: bytes) -> bool:
        """Whether there is such an end."""
        return bool(self._table.get(edge_key(node_id, direction, edge_type, 0, other)))

    def delete(
        self, node_id: bytes, direction: bytes, edge_type: int, other: bytes, *, at_ms: int
    ) -> None:
        """Delete an end that is not newer than `at_ms`."""
        self._table.delete(edge_key(node_id, direction, edge_type, 0, other), at_ms=at_ms)

    def purge(self, node_id: bytes, direction: bytes, edge_type: int, *, at_ms: int) -> None:
        """Delete all ends of a type, those with a later time than `at_ms` too."""
        prefix = edge_prefix(node_id, direction, edge_type)
        with closing(self._table.scan(prefix, after(prefix))) as rows:
            deletes = [(key, None, max(at_ms, newest_ms(row))) for key, row in rows]
        if deletes:
            self._table.delete_many(deletes)


class LinkEdges:
    """Page links, read as edges; each has the properties `url`, `text` and `rel`."""

    def __init__(self, tables: Tables, lists: PostingLists) -> None:
        self._nodes = tables["n"]
        self._outlinks = tables["o"]
        self._lists = lists

    def edges(self, node_id: bytes, direction: bytes, limit: int, cursor: bytes | None) -> Edges:
        """`Zen.edges`; the cursor of outgoing links is a position, that of incoming a source."""
        if direction == OUT:
            links = self._out(node_id)
            start = int.from_bytes(cursor or b"")
            items = [
                _link(score, link.url, link.text, link.rel)
                for score, link in enumerate(links[start : start + limit], start)
            ]
            end = start + len(items)
            return Edges(items, end.to_bytes(4) if end < len(links) else None)
        target = self._url(node_id)
        items = []
        for line in self._lists.lines(list_id(target.encode()), cursor or b"") if target else ():
            if len(items) == limit:
                return Edges(items, items[-1].properties["url"])
            link = self._lists.record(line, target)
            items.append(_link(link.at_ms, link.url, link.text, link.rel))
        return Edges(items, None)

    def count(self, node_id: bytes, direction: bytes) -> int:
        """The number of links; those to a page from counts, except for what awaits compaction."""
        if direction == OUT:
            return len(self._out(node_id))
        target = self._url(node_id)
        return self._lists.count([list_id(target.encode())]) if target else 0

    def _out(self, node_id: bytes) -> list[OutLink]:
        cell = self._outlinks.get(node_id, [CELL]).get(CELL)
        return list(from_lines(unpack(cell.value).lines)) if cell else []

    def _url(self, node_id: bytes) -> str:
        cell = self._nodes.get(node_id, [_URL]).get(_URL)
        return cell.value.decode() if cell else ""


def _link(score: int, url: str, text: str, rel: str) -> Edge:
    values = {"url": url.encode(), "text": text.encode(), "rel": rel.encode()}
    return Edge(url_key(url), score, values)
