"""Links of pages, by URLs in any spelling: read from both ends, add, remove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aragog.urls.normalize import normalize
from aragog.urlstore.links.link_reader import LinkReader
from aragog.urlstore.pages import nodes
from aragog.urlstore.pages.nodes import Nodes
from aragog.urlstore.records import LinkRecord, ListPage, OutLink
from aragog.urlstore.takedowns.takedowns import Takedowns, check_not_taken_down
from aragog.urlstore.write_clock import WriteClock
from aragog.zen.outlink_writer import LinksWrite, OutlinkWriter, with_links, without
from aragog.zen.outlinks import to_lines


@dataclass(frozen=True, slots=True)
class Links:
    """Outlinks and inlinks of the page that a URL leads to; threads may share it."""

    reader: LinkReader
    writer: OutlinkWriter
    nodes: Nodes
    takedowns: Takedowns
    clock: WriteClock

    def outlinks(
        self, url: str, limit: int = 1000, cursor: str | None = None
    ) -> ListPage[LinkRecord]:
        """Links of the page, in document order; at most 6,000 a call."""
        return self.reader.outlinks(self._resolve(url), limit, cursor)

    def inlinks(
        self, url: str, limit: int = 100, cursor: str | None = None
    ) -> ListPage[LinkRecord]:
        """
        Links to the page and to its aliases, by source; at most 6,000 a call.

        New links appear after the next compaction. Constant memory, whatever their number.
        """
        canonical, row = self.nodes.resolve(normalize(url), [nodes.ALIASED])
        return self.reader.inlinks(canonical, limit, cursor, aliased=nodes.ALIASED in row)

    def count_inlinks(self, url: str) -> int:
        """How many links `inlinks` lists; read from counts, not from the list."""
        canonical, row = self.nodes.resolve(normalize(url), [nodes.ALIASED])
        return self.reader.count_inlinks(canonical, aliased=nodes.ALIASED in row)

    def add(self, url: str, links: Sequence[OutLink]) -> None:
        """
        Add outlinks; those to the same targets are replaced. Targets are normalized here.

        Links to taken down hosts are left out.

        Raises:
            TakenDown: the page was taken down.
        """
        canonical, row = self.nodes.resolve(normalize(url), [nodes.REMOVED])
        check_not_taken_down(canonical, row)
        with self.takedowns.writing(canonical):
            targets = [(normalize(link.url), link.text, link.rel) for link in links]
            accepted = [link for link in targets if not self.takedowns.site_refused(link[0])]
            now_ms = self.clock.now_ms()
            self.writer.write(
                [LinksWrite(canonical, now_ms, with_links(to_lines(accepted)))], now_ms
            )

    def remove(self, url: str, targets: Sequence[str]) -> None:
        """Remove the outlinks to `targets`; those that the page does not have are ignored."""
        canonical, now_ms = self._resolve(url), self.clock.now_ms()
        removed = {normalize(target) for target in targets}
        self.writer.write([LinksWrite(canonical, now_ms, without(removed))], now_ms)

    def _resolve(self, url: str) -> str:
        return self.nodes.resolve(normalize(url))[0]
