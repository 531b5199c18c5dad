"""Page links, presented as edges of the graph."""

from __future__ import annotations

from aragog.urlstore import nodes
from aragog.urlstore.node_ids import list_id
from zengraph import MAX_LIMIT, OUT, Edge, Edges
from zengraph.links import Link, LinkGraph, Naming, from_lines
from zengraph.tables import Tables

LINK = 0
"""The edge type of page links. They are stored in packed form with their page."""


class LinkEdges:
    """Reads page links as edges with the properties `url`, `text` and `rel`."""

    def __init__(self, tables: Tables, links: LinkGraph, naming: Naming) -> None:
        self._id_of = naming.node_id
        self._nodes = tables["n"]
        self._outlinks = links.writer
        self._lists = links.lists

    def edges(
        self, node_id: bytes, direction: bytes, limit: int = 100, cursor: bytes | None = None
    ) -> Edges:
        """
        Return a page's links, as `MultiGraph.edges` returns edges.

        Outgoing links are in page order, with the position as score; incoming links are sorted by
        source. A cursor is a position for outgoing links, and a source for incoming links.
        """
        limit = min(limit, MAX_LIMIT)
        if direction == OUT:
            links = self._out(node_id)
            start = int.from_bytes(cursor or b"")
            items = [
                self._edge(score, *link)
                for score, link in enumerate(links[start : start + limit], start)
            ]
            end = start + len(items)
            return Edges(items, end.to_bytes(4) if end < len(links) else None)
        target = self._url(node_id)
        items = []
        for line in self._lists.lines(list_id(target.encode()), cursor or b"") if target else ():
            if len(items) == limit:
                return Edges(items, items[-1].properties["url"])
            source, text, rel, at_ms = self._lists.inlink(line)
            items.append(self._edge(at_ms, source, text, rel))
        return Edges(items, None)

    def count(self, node_id: bytes, direction: bytes) -> int:
        """Return the number of links. Uncompacted inlinks are not counted."""
        if direction == OUT:
            return len(self._out(node_id))
        target = self._url(node_id)
        return self._lists.count([list_id(target.encode())]) if target else 0

    def _out(self, node_id: bytes) -> list[Link]:
        return list(from_lines(self._outlinks.of(node_id).lines))

    def _url(self, node_id: bytes) -> str:
        return nodes.text(self._nodes.get(node_id, [nodes.URL]), nodes.URL) or ""

    def _edge(self, score: int, url: str, text: str, rel: str) -> Edge:
        values = {"url": url.encode(), "text": text.encode(), "rel": rel.encode()}
        return Edge(self._id_of(url), score, values)
