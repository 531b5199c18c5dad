"""
Links: packed edges between named nodes.

A row for each edge is too expensive for nodes with many edges that are written together: the links
of a page, the references of a paper, the imports of a file. Here a node's outgoing links are one
cell, and its incoming links are a posting list (one line per link). Compactions update posting
lists from a journal of changes, so a link is listed at its target after the next compaction. A link
takes an eighth of the space and time of an edge with its own row. Instead of properties, it has a
text and a tag.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from zengraph._naming import GROUP_BYTES, Naming
from zengraph.clock import Clock, SystemClock
from zengraph.links._compaction import COMPACTIONS, Compactor
from zengraph.links._inlinks.posting_lists import PostingLists
from zengraph.links._inlinks.postings import LinkChanges
from zengraph.links._outlinks import Outlinks, PackedLinks, from_lines, to_lines
from zengraph.links._values import CompactionReport, InLink, Link, ListLimits
from zengraph.links._writer import (
    LinksWrite,
    Listed,
    OutlinkWriter,
    with_links,
    without,
)
from zengraph.tables import PARTS, TOGETHER, Tables

__all__ = [
    "COMPACTIONS",
    "GROUP_BYTES",
    "PARTS",
    "TOGETHER",
    "CompactionReport",
    "Compactor",
    "InLink",
    "Link",
    "LinkChanges",
    "LinkGraph",
    "LinksWrite",
    "ListLimits",
    "Listed",
    "Naming",
    "OutlinkWriter",
    "Outlinks",
    "PackedLinks",
    "PostingLists",
    "from_lines",
    "to_lines",
    "with_links",
    "without",
]

_MAX_SOURCES = 10_000


class LinkGraph:
    """
    The links in a set of tables. Any number of processes may open it; threads may share it.

    Methods may raise `StoreUnavailable`.

    Args:
        tables: the tables of any engine. A `MultiGraph` may share them.
        naming: derives ids from names. By default, each name is its own group.
        clock: the system clock if None.
        listed: which links are also listed at their targets.
        limits: when posting lists are merged and divided.
        max_compactions: how many compactions may run at once, in all processes together.

    Attributes:
        writer: writes many sources in one batch.
        lists: the posting lists of targets.
        compactor: updates the posting lists.
    """

    def __init__(
        self,
        tables: Tables,
        naming: Naming | None = None,
        clock: Clock | None = None,
        *,
        listed: Listed = "all",
        limits: ListLimits | None = None,
        max_compactions: int = COMPACTIONS,
    ) -> None:
        self._naming = naming = naming or Naming()
        self._clock = clock = clock or SystemClock()
        self.writer = OutlinkWriter(tables, naming, listed, clock)
        self.lists = PostingLists(tables, naming, limits)
        self.compactor = Compactor(tables, naming, clock, limits, max_compactions)

    def put(
        self, source: str, links: Iterable[tuple[str, str, str]], *, at_ms: int | None = None
    ) -> None:
        """
        Replace the links of a source with these (target, text, tag) tuples. Safe to repeat.

        `at_ms` is when the source had these links (default now). Older links never replace newer
        ones.
        """
        now_ms = self._clock.now_ms()
        write = LinksWrite(source, now_ms if at_ms is None else at_ms, PackedLinks.of(links))
        self.writer.write([write], now_ms)

    def out(self, source: str) -> list[Link]:
        """Return the links of a source, in the order in which they were put."""
        return list(from_lines(self.writer.read([source])[source].lines))

    def into(self, target: str, start_after: str = "") -> Iterator[InLink]:
        """Yield the links to a target from sources after `start_after`, sorted by source."""
        for line in self.lists.lines(self._naming.list_id(target.encode()), start_after.encode()):
            yield self.lists.inlink(line)

    def count_into(self, target: str) -> int:
        """Return the number of links to a target from stored counts. At most two round trips."""
        return self.lists.count([self._naming.list_id(target.encode())])

    def compact(self) -> None:
        """Compact until all links written so far are listed at their targets."""
        while self.compactor.compact(_MAX_SOURCES).journal_rows:
            pass
