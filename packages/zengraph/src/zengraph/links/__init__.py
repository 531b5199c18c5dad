"""
Links: edges of one kind between named nodes, packed.

A row for each edge costs too much where a node has many that are written together: the links of a
page, the references of a paper, the imports of a file. Here a node's outgoing links are one cell,
its incoming ones are posting lists, which a compaction builds from a journal of changes; a link
takes an eighth of the bytes and of the time. A link has a text and a tag instead of properties, and
its incoming end is listed after the next compaction.
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
from zengraph.tables import Tables

__all__ = [
    "COMPACTIONS",
    "GROUP_BYTES",
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

_AT_ONCE = 10_000


class LinkGraph:
    """
    The links in some tables. Any number of processes may open it; threads may share it.

    Every method may raise `StoreUnavailable`.

    Args:
        tables: of any engine; a `MultiGraph` may lie in the same ones.
        naming: what names mean; None: each is a group of its own.
        clock: None: the system's.
        listed: which links are also listed at their targets.
        limits: when posting lists are merged and divided.
        at_once: how many compactions run at one time, in all processes.

    Attributes:
        writer: writes many sources in one batch.
        lists: the posting lists of targets.
        compactor: builds them.
    """

    def __init__(
        self,
        tables: Tables,
        naming: Naming | None = None,
        clock: Clock | None = None,
        *,
        listed: Listed = "all",
        limits: ListLimits | None = None,
        at_once: int = COMPACTIONS,
    ) -> None:
        self._naming = naming = naming or Naming()
        self._clock = clock = clock or SystemClock()
        self.writer = OutlinkWriter(tables, naming, listed, clock)
        self.lists = PostingLists(tables, naming, limits)
        self.compactor = Compactor(tables, naming, clock, limits, at_once)

    def put(
        self, source: str, links: Iterable[tuple[str, str, str]], *, at_ms: int | None = None
    ) -> None:
        """
        Replace the links of a source by (target, text, tag) each. Safe to repeat.

        Older links never replace newer ones: `at_ms` is when the source had them, None: now.
        """
        now_ms = self._clock.now_ms()
        write = LinksWrite(source, now_ms if at_ms is None else at_ms, PackedLinks.of(links))
        self.writer.write([write], now_ms)

    def out(self, source: str) -> list[Link]:
        """The links of a source, in its order."""
        return list(from_lines(self.writer.read([source])[source].lines))

    def into(self, target: str, beyond: str = "") -> Iterator[InLink]:
        """The links to a target by source, after the source `beyond`; constant memory."""
        for line in self.lists.lines(self._naming.list_id(target.encode()), beyond.encode()):
            yield self.lists.inlink(line)

    def count_into(self, target: str) -> int:
        """The number of links to a target, read from counts; at most two round trips."""
        return self.lists.count([self._naming.list_id(target.encode())])

    def compact(self) -> None:
        """List all links that were written so far at their targets, one batch after the other."""
        while self.compactor.compact(_AT_ONCE).journal_rows:
            pass
