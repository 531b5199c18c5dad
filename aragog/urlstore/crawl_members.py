"""
Which crawls a page was stored for: a cell `s:in:<name>` at its node for each.

Safe to repeat, and from several processes at once: each crawl has a cell of its own. The cell moves
with the page when URLs are merged, and is deleted with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from aragog.urlstore.nodes import (
    CANONICAL,
    IN_CRAWL,
    PROVENANCE,
    REMOVED,
    URL,
    WATCHED,
    Nodes,
    facts_of,
    text,
)
from zengraph import MultiGraph
from zengraph.records import Row, put_properties

_IN = b"1"
_FIELD = b"m:"


def crawl_column(name: str) -> bytes:
    """The cell of a crawl."""
    return IN_CRAWL + name.encode()


def crawls_in(row: Row) -> list[str]:
    """The names of the crawls that a page was stored for, sorted; its node was read whole."""
    return sorted(
        column.removeprefix(IN_CRAWL).decode()
        for column, cell in row.items()
        if column.startswith(IN_CRAWL) and cell.value
    )


class CrawlMembers:
    """Reads and writes the cells; a call is one or two round trips."""

    def __init__(self, zen: MultiGraph) -> None:
        self._zen = zen
        self._nodes = Nodes(zen)

    def add(self, name: str, pages: Mapping[str, int]) -> None:
        """Note that pages, by their canonical URLs, were stored for a crawl at these times (ms)."""
        if pages:
            cell = {crawl_column(name): _IN}
            self._zen.mutate(
                [
                    put_properties(self._zen.node_id(url), cell, at_ms)
                    for url, at_ms in pages.items()
                ]
            )

    def among(self, name: str, urls: Sequence[str]) -> set[str]:
        """Those normalized URLs whose pages were stored for a crawl."""
        column = crawl_column(name)
        found = self._nodes.follow(urls, [URL, CANONICAL, REMOVED, column])
        return {url for url, (_, row) in found.items() if text(row, column)}

    def walk(self, name: str) -> Iterator[tuple[str, Row]]:
        """The pages of a crawl: URL and whole node of each. Reads all nodes of the store."""
        column = crawl_column(name)
        for _, row in self._zen.nodes.scan(b"", names=None):
            if text(row, column) and (url := text(row, URL)):
                yield url, row

    def remove(self, name: str, urls: Iterable[str], now_ms: int) -> None:
        """Note that these pages do not belong to a crawl any more."""
        self._zen.nodes.delete_many(
            [(self._zen.node_id(url), [crawl_column(name)], now_ms) for url in urls]
        )


def kept_because(row: Row, name: str) -> str | None:
    """
    Why a page stays when a crawl is deleted; None: nobody else has it.

    Args:
        row: its node, read whole.
        name: the crawl.
    """
    if any(other != name for other in crawls_in(row)):
        return "another crawl has it"
    if text(row, WATCHED) == "1":
        return "it is watched"
    found = facts_of(row, PROVENANCE)
    fields = (c.removeprefix(_FIELD).decode() for c in row if c.startswith(_FIELD))
    if any(field not in found for field in fields if field != "_"):
        return "it was imported, or an application wrote fields of it"
    return None
