"""
The crawls that a page was stored for, with one cell `s:in:<name>` per crawl in the page's node.

Two more cells of this form keep pages from being deleted with a crawl: `s:in:.imported` for
imported pages, and `s:in:.earlier` for pages that were stored before any crawl requested them. No
crawl's name starts with a dot.

Several processes may write these cells at once, and may repeat their writes. A cell moves with the
page when URLs are merged, and is deleted with the page. Its timestamp, the time of the first fetch
for the crawl, shows which pages are new (`crawl_changes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from aragog.urlstore.nodes import (
    CANONICAL,
    IN_CRAWL,
    PRESENT,
    REMOVED,
    URL,
    WATCHED,
    Nodes,
    provenance_column,
    text,
)
from zengraph import MultiGraph
from zengraph.records import Row, put_properties

_FIELD = b"m:"
IMPORTED, EARLIER = ".imported", ".earlier"
_REASONS = {
    IMPORTED: "it was imported",
    EARLIER: "it was stored before any crawl",
}


def crawl_column(name: str) -> bytes:
    """Return the column with a crawl's cell."""
    return IN_CRAWL + name.encode()


def crawls_in(row: Row) -> list[str]:
    """Return the sorted names of a page's crawls. Needs the complete node."""
    return [name for name in _owners(row) if name not in _REASONS]


def _owners(row: Row) -> list[str]:
    """Return the page's crawls, and the names with a dot that keep it stored."""
    return sorted(
        column.removeprefix(IN_CRAWL).decode()
        for column, cell in row.items()
        if column.startswith(IN_CRAWL) and cell.value
    )


class CrawlMembers:
    """Reads and writes the cells of crawls. Most calls take one or two round trips."""

    def __init__(self, zen: MultiGraph) -> None:
        self._zen = zen
        self._nodes = Nodes(zen)

    def add(self, name: str, pages: Mapping[str, int]) -> None:
        """Record that pages (canonical URLs) were stored for a crawl at these times (ms)."""
        if pages:
            cell = {crawl_column(name): PRESENT}
            self._zen.mutate(
                [
                    put_properties(self._zen.node_id(url), cell, at_ms)
                    for url, at_ms in pages.items()
                ]
            )

    def add_stored(self, name: str, pages: Mapping[str, int]) -> None:
        """
        Like `add`, for pages that are already stored. Pages in the crawl keep their times.

        Pages in no crawl are marked as stored earlier. Takes one round trip, or up to four if some
        pages were not in the crawl.
        """
        members = self.among(name, list(pages))
        new_members = {url: at_ms for url, at_ms in pages.items() if url not in members}
        if new_members:
            rows = self._nodes.read(new_members, None)
            unowned = {
                url: at_ms for url, at_ms in new_members.items() if not _owners(rows.get(url, {}))
            }
            self.add(EARLIER, unowned)
            self.add(name, new_members)

    def among(self, name: str, urls: Sequence[str]) -> set[str]:
        """Return the normalized URLs whose pages were stored for a crawl."""
        column = crawl_column(name)
        rows = self._nodes.follow(urls, [URL, CANONICAL, REMOVED, column])
        return {url for url, (_, row) in rows.items() if text(row, column)}

    def walk(self, name: str) -> Iterator[tuple[str, Row]]:
        """Yield the URL and complete node of each page of a crawl. Reads all nodes of the store."""
        column = crawl_column(name)
        for _, row in self._zen.nodes.scan(b"", names=None):
            if text(row, column) and (url := text(row, URL)):
                yield url, row

    def remove(self, name: str, urls: Iterable[str], now_ms: int) -> None:
        """Record that these pages no longer belong to a crawl."""
        self._zen.nodes.delete_many(
            [(self._zen.node_id(url), [crawl_column(name)], now_ms) for url in urls]
        )


def kept_because(row: Row, name: str) -> str | None:
    """
    Return why a page is kept when a crawl is deleted, or None if nothing else needs it.

    Args:
        row: the page's complete node.
        name: the crawl's name.
    """
    owners = _owners(row)
    if any(other != name and other not in _REASONS for other in owners):
        return "it belongs to another crawl"
    if reason := next((_REASONS[owner] for owner in owners if owner in _REASONS), None):
        return reason
    if text(row, WATCHED) == "1":
        return "it is watched"
    if any(_is_from_application(row, column) for column in row if column.startswith(_FIELD)):
        return "an application wrote its fields"
    return None


def _is_from_application(row: Row, column: bytes) -> bool:
    """
    Return True if an application wrote the field last. Applications record themselves as the
    source.
    """
    source = row.get(provenance_column(column.removeprefix(_FIELD).decode()))
    return source is not None and source.at_ms == row[column].at_ms and bool(row[column].value)
