"""
Reads, adds and removes links between pages, in both directions.

An inlink is a pair: the linking page and the linked URL, which may be an alias. A page's inlinks
are its own list followed by the lists of its aliases, so that merging or undoing an alias moves no
inlinks. A compaction adds new inlinks from a journal to the lists.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson

from aragog.errors import BadInput
from aragog.urlstore import nodes
from aragog.urlstore.node_ids import list_id
from aragog.urlstore.nodes import Nodes
from aragog.urlstore.records import LinkRecord, ListPage, OutLink
from aragog.urlstore.takedowns import Takedowns, check_not_taken_down
from aragog.urlstore.write_clock import WriteClock
from aragog.urlstore.writing.alias_merger import AliasMerger
from urlspelling import normalize
from zengraph.links import (
    LinksWrite,
    OutlinkWriter,
    PostingLists,
    from_lines,
    to_lines,
    with_links,
    without,
)

MAX_LIMIT = 6000


class LinkReader:
    """Outlinks and inlinks of canonical URLs, in parts."""

    def __init__(self, lists: PostingLists, outlinks: OutlinkWriter, aliases: AliasMerger) -> None:
        self._lists = lists
        self._outlinks = outlinks
        self._aliases = aliases

    def outlinks(self, url: str, limit: int, cursor: str | None) -> ListPage[LinkRecord]:
        """Return a page's links in page order. A cursor becomes invalid when the links change."""
        cell = self._outlinks.read([url])[url]
        start = _position(cursor) if cursor else 0
        links = list(from_lines(cell.lines))
        stop = start + min(limit, MAX_LIMIT)
        items = [LinkRecord(u, text, rel, cell.at_ms) for u, text, rel in links[start:stop]]
        return ListPage(items, _encode_cursor([stop]) if stop < len(links) else None)

    def inlinks(
        self, url: str, limit: int, cursor: str | None, *, aliased: bool
    ) -> ListPage[LinkRecord]:
        """
        Return the inlinks, sorted by linked URL (with `url` first) and then by source.

        Takes constant memory. `aliased=False` saves three round trips if the node of `url` has no
        aliases.
        """
        limit = min(limit, MAX_LIMIT)
        result: list[LinkRecord] = []
        for target, line in self._postings(url, cursor, aliased=aliased):
            if len(result) == limit:
                last = result[-1]
                return ListPage(result, _encode_cursor([last.target, last.url]))
            source, text, rel, at_ms = self._lists.inlink(line)
            result.append(LinkRecord(source, text, rel, at_ms, target))
        return ListPage(result)

    def count_inlinks(self, url: str, *, aliased: bool) -> int:
        """Return the number of inlinks, without uncompacted changes. Takes one read per alias."""
        total, batch = 0, []
        for member in self._members(url, aliased=aliased):
            batch.append(list_id(member.encode()))
            if len(batch) == 500:
                total += self._lists.count(batch)
                batch = []
        return total + self._lists.count(batch)

    def _postings(
        self, url: str, cursor: str | None, *, aliased: bool
    ) -> Iterator[tuple[str, bytes]]:
        target, source = _decode_cursor(cursor, 2) if cursor else (url, "")
        is_reached = False
        for member in self._members(url, aliased=aliased):
            if member == target:
                is_reached = True
                after = source.encode()
            elif is_reached:
                after = b""
            else:
                continue
            for line in self._lists.lines(list_id(member.encode()), after):
                yield member, line

    def _members(self, url: str, *, aliased: bool) -> Iterator[str]:
        yield url
        if aliased:
            yield from self._aliases.aliases_of(url)


def _encode_cursor(position: list[str | int]) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(position)).decode()


def _position(cursor: str) -> int:
    (position,) = _decode_cursor(cursor, 1)
    if not (position.isascii() and position.isdecimal() and len(position) < 10):
        raise _invalid_cursor(cursor)
    return int(position)


def _decode_cursor(cursor: str, parts: int) -> list[str]:
    try:
        position = orjson.loads(base64.urlsafe_b64decode(cursor))
        texts = [str(part) for part in position]
    except (ValueError, TypeError) as error:
        raise _invalid_cursor(cursor) from error
    if len(texts) != parts:
        raise _invalid_cursor(cursor)
    return texts


def _invalid_cursor(cursor: str) -> BadInput:
    return BadInput(f"cursor: {cursor[:80]!r} is not a valid cursor")


@dataclass(frozen=True, slots=True)
class Links:
    """
    Outlinks and inlinks of the page that a URL leads to; threads may share it.

    >>> store.links.add("http://shop.example/", [OutLink("http://shop.example/hat", "A hat")])
    >>> [(link.url, link.text) for link in store.links.outlinks("http://shop.example/").items]
    [('http://shop.example/hat', 'A hat')]
    >>> report = store.maintenance.compact_links()
    >>> [link.url for link in store.links.inlinks("http://shop.example/hat").items]
    ['http://shop.example/']
    """

    reader: LinkReader
    writer: OutlinkWriter
    nodes: Nodes
    takedowns: Takedowns
    clock: WriteClock

    def outlinks(
        self, url: str, limit: int = 1000, cursor: str | None = None
    ) -> ListPage[LinkRecord]:
        """Return the page's links in document order; at most 6,000 per call."""
        return self.reader.outlinks(self._resolve(url), limit, cursor)

    def inlinks(
        self, url: str, limit: int = 100, cursor: str | None = None
    ) -> ListPage[LinkRecord]:
        """
        Return the links to the page, then those to each alias; at most 6,000 per call.

        The links to each URL are sorted by source.

        New links appear after the next compaction. Takes constant memory.
        """
        canonical, row = self.nodes.resolve(normalize(url), [nodes.ALIASED])
        return self.reader.inlinks(canonical, limit, cursor, aliased=nodes.ALIASED in row)

    def count_inlinks(self, url: str) -> int:
        """Return the stored number of links that `inlinks` lists."""
        canonical, row = self.nodes.resolve(normalize(url), [nodes.ALIASED])
        return self.reader.count_inlinks(canonical, aliased=nodes.ALIASED in row)

    def of_pages(self, urls: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
        """
        Return the target and rel words of each page's links, by canonical URL. Takes one multi-get.

        Raises:
            StoreDamaged: the links of a page are in a damaged file.
        """
        cells = self.writer.read(urls) if urls else {}
        return {
            url: [(target, rel) for target, _, rel in from_lines(cell.lines)]
            for url, cell in cells.items()
        }

    def add(self, url: str, links: Sequence[OutLink]) -> None:
        """
        Add outlinks, replacing links to the same targets. Target URLs may have any spelling.

        Links to taken-down hosts are omitted.

        Raises:
            TakenDown: the page was taken down.
        """
        canonical, row = self.nodes.resolve(normalize(url), [nodes.REMOVED])
        check_not_taken_down(canonical, row)
        with self.takedowns.guard_write(canonical):
            targets = [(normalize(link.url), link.text, link.rel) for link in links]
            accepted = [link for link in targets if not self.takedowns.site_refused(link[0])]
            now_ms = self.clock.now_ms()
            self.writer.write(
                [LinksWrite(canonical, now_ms, with_links(to_lines(accepted)))], now_ms
            )

    def remove(self, url: str, targets: Sequence[str]) -> None:
        """Remove the outlinks to these targets, ignoring targets without a link."""
        canonical, now_ms = self._resolve(url), self.clock.now_ms()
        removed = {normalize(target) for target in targets}
        self.writer.write([LinksWrite(canonical, now_ms, without(removed))], now_ms)

    def _resolve(self, url: str) -> str:
        return self.nodes.resolve(normalize(url))[0]
