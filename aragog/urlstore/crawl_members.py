"""
Which crawls a page was stored for: a cell `s:in:<name>` at its node for each.

Two more cells of this kind keep pages from being deleted with a crawl: `s:in:.imported`, and
`s:in:.earlier` of a page that was stored before any crawl had it. No crawl has a name with a dot in
front.

Safe to repeat, and from several processes at once: each crawl has a cell of its own. The cell moves
with the page when URLs are merged, and is deleted with it. Its time is that of the first fetch that
brought the page to the crawl, so it says which pages are new since a moment (`crawl_changes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from aragog.urlstore.nodes import (
    CANONICAL,
    IN_CRAWL,
    REMOVED,
    URL,
    WATCHED,
    Nodes,
    from_column,
    text,
)
from zengraph import MultiGraph
from zengraph.records import Row, put_properties

_IN = b"1"
_FIELD = b"m:"
IMPORTED, EARLIER = ".imported", ".earlier"
_REASONS = {
    IMPORTED: "it was imported",
    EARLIER: "it was stored before a crawl had it",
}


def crawl_column(name: str) -> bytes:
    """The cell of a crawl."""
    return IN_CRAWL + name.encode()


def crawls_in(row: Row) -> list[str]:
    """The names of the crawls that a page was stored for, sorted; its node was read whole."""
    return [name for name in _owners(row) if name not in _REASONS]


def _owners(row: Row) -> list[str]:
    """Crawls, and why else a page stays."""
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

    def add_stored(self, name: str, pages: Mapping[str, int]) -> None:
        """
        `add` for pages that were stored before; those that the crawl has keep their times.

        Those that nobody had, although they were stored, are noted as such before. A round trip,
        and up to three more where there are pages that the crawl did not have.
        """
        known = self.among(name, list(pages))
        others = {url: at_ms for url, at_ms in pages.items() if url not in known}
        if others:
            rows = self._nodes.read(others, None)
            free = {url: at_ms for url, at_ms in others.items() if not _owners(rows.get(url, {}))}
            self.add(EARLIER, free)
            self.add(name, others)

    def among(self, name: str, urls: Sequence[str]) -> set[str]:
        """Those normalized URLs whose pages were stored for a crawl."""
        column = crawl_column(name)
        found = self._nodes.follow(urls, [URL, CANONICAL, REMOVED, column])
        return {url for url, (_, row) in found.items() if text(row, column)}

    def walk(self, name: str) -> Iterator[tuple[str, Row]]:
        """A crawl's pages: URL and whole node of each. Reads all nodes of the store."""
        column = crawl_column(name)
        for _, row in self._zen.nodes.scan(b"", names=None):
            if text(row, column) and (url := text(row, URL)):
                yield url, row

    def remove(self, name: str, urls: Iterable[str], now_ms: int) -> None:
        """Note that these pages do not belong to a crawl anymore."""
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
    owners = _owners(row)
    if any(other != name and other not in _REASONS for other in owners):
        return "another crawl has it"
    if reason := next((_REASONS[owner] for owner in owners if owner in _REASONS), None):
        return reason
    if text(row, WATCHED) == "1":
        return "it is watched"
    if any(_is_of_an_application(row, column) for column in row if column.startswith(_FIELD)):
        return "an application wrote fields of it"
    return None


def _is_of_an_application(row: Row, column: bytes) -> bool:
    """Whether another source wrote a field last; each source notes itself in a cell beside it."""
    told = row.get(from_column(column.removeprefix(_FIELD).decode()))
    return told is not None and told.at_ms == row[column].at_ms and bool(row[column].value)
