"""
Finds out what has happened to a crawl's pages since a given time.

The result depends only on the stored nodes, even if fetches were killed and repeated. A node has
the time when its page was stored for the crawl (`s:in:<crawl>`), the last change that a fetch
found, with its time (`s:changed`), and the time of the last check.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from aragog.urlstore import nodes
from aragog.urlstore.crawl_members import crawl_column
from aragog.urlstore.hosts import Hosts
from aragog.urlstore.nodes import Nodes, alias_of, facts_of, text
from aragog.urlstore.records import absent_as
from aragog.urlstore.writing.next_due import read_state
from urlspelling.domain import registered_domain
from zengraph import MultiGraph
from zengraph.records import Row

BATCH_SIZE = 500
MAX_DOMAINS = 1_000


class PageNews(StrEnum):
    """What happened to a crawl's page."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    """The page's fields or body changed."""
    NEW = "new"
    """The page was not in the crawl before."""
    GONE = "gone"
    """The site now returns 404 or 410 for the page; it did not before."""
    REDIRECTED = "redirected"
    """The page's URL now leads to another page; it did not before."""
    WITHHELD = "withheld"
    """The site now refuses the page (401, 402, 403, 451); it did not before."""
    BACK = "back"
    """The page is available again, unchanged."""
    NOT_REACHED = "not reached"
    """No fetch since then has returned or confirmed the page."""
    STILL_ABSENT = "absent as before"
    """The page was already gone, withheld or redirected before."""


_NEWS_BY_KIND = {
    "changed": PageNews.CHANGED,
    "content": PageNews.CHANGED,
    "new": PageNews.NEW,
    "gone": PageNews.GONE,
    "given_up": PageNews.GONE,
    "redirected": PageNews.REDIRECTED,
    "withheld": PageNews.WITHHELD,
    "back": PageNews.BACK,
}


@dataclass(frozen=True, slots=True)
class CrawlPage:
    """A page of a crawl, or a URL that had its own page before it led to another."""

    url: str
    news: PageNews
    checked_at_ms: int
    """When the page was last fetched, with any outcome; 0 if unknown."""
    is_given_up: bool
    """
    True for an alias, and for a gone page that has no due time: it is fetched again only when it is
    enqueued.
    """


class CrawlPages:
    """
    A crawl's pages.

    Args:
        zen: the store's graph.
        name: the crawl's name.
        domains: registered domains of the crawl's URLs; if None, all nodes of the store are read.
        max_domains: for more domains than this, all nodes are read instead of each domain's URLs.
        at_once: nodes per multi-get.
    """

    def __init__(
        self,
        zen: MultiGraph,
        name: str,
        domains: Iterable[str] | None,
        *,
        max_domains: int = MAX_DOMAINS,
        at_once: int = BATCH_SIZE,
    ) -> None:
        self._zen = zen
        self._nodes = Nodes(zen)
        self._member = crawl_column(name)
        domain_set = None if domains is None else frozenset(domains)
        self._domains = (
            domain_set if domain_set is not None and len(domain_set) <= max_domains else None
        )
        self._at_once = at_once
        self._columns = (
            nodes.URL, nodes.CANONICAL, nodes.REMOVED, nodes.SENTINEL, nodes.FACTS, nodes.OWN,
            nodes.REFRESH, nodes.CHANGED, self._member,
        )  # fmt: skip

    def since(self, since_ms: int) -> Iterator[CrawlPage]:
        """
        Yield each page, with what happened to it after `since_ms`, in no particular order.

        Reads all nodes of the crawl's domains. A page that is written at the same time is reported
        as before or after the write.
        """
        seen_canonicals: set[str] = set()
        for url, own_row, canonical, row in self._rows():
            if self._member not in row or not row[self._member].value:
                continue
            if canonical != url:
                if news := _redirect_news(own_row, since_ms):
                    yield CrawlPage(url, news, 0, is_given_up=True)
                if self._is_listed(canonical) or canonical in seen_canonicals:
                    continue
                seen_canonicals.add(canonical)
            state = read_state(row)
            yield CrawlPage(
                canonical,
                _news(row, row[self._member].at_ms, since_ms),
                state.checked_at_ms if state else 0,
                is_given_up=state is not None and state.due_at_ms is None and state.gone > 0,
            )

    def _is_listed(self, url: str) -> bool:
        """Return True if the walk reaches this URL because its domain is in the crawl."""
        return self._domains is None or registered_domain(url) in self._domains

    def _rows(self) -> Iterator[tuple[str, Row, str, Row]]:
        """Yield each URL, its node, its canonical URL, and the canonical URL's node."""
        urls = self._urls()
        while batch := list(islice(urls, self._at_once)):
            own_rows = self._nodes.read(dict.fromkeys(batch), self._columns)
            canonical_rows = self._nodes.follow(batch, self._columns, dict(own_rows))
            yield from ((url, own_rows[url], *canonical_rows[url]) for url in own_rows)

    def _urls(self) -> Iterator[str]:
        if self._domains is None:
            for _, row in self._zen.nodes.scan(b"", names=[nodes.URL]):
                if url := text(row, nodes.URL):
                    yield url
            return
        hosts = Hosts(self._zen)
        for domain in sorted(self._domains):
            yield from hosts.of_domain(domain)


def _redirect_news(row: Row, since_ms: int) -> PageNews | None:
    """Return what happened to an alias after `since_ms`; None if nothing did, or it had no page."""
    cell = row.get(nodes.CHANGED)
    if cell is None or cell.at_ms <= since_ms:
        return None
    kind, _, fetched_ms = cell.value.partition(b" ")
    had_page = kind == b"redirected" and fetched_ms and int(fetched_ms) <= since_ms
    return PageNews.REDIRECTED if had_page else None


def _news(row: Row, joined_ms: int, since_ms: int) -> PageNews:
    change = _last_change(row, since_ms)
    if absent_as(facts_of(row)) is not None:
        return change if change in (PageNews.GONE, PageNews.WITHHELD) else PageNews.STILL_ABSENT
    if joined_ms > since_ms:
        return PageNews.NEW
    if change is not None:
        return change
    state = read_state(row)
    if state is not None and state.compared_at_ms > since_ms:
        return PageNews.UNCHANGED
    url = text(row, nodes.URL) or ""
    leads_elsewhere = alias_of(row, url) or facts_of(row, nodes.OWN).get("redirects_to")
    return PageNews.STILL_ABSENT if leads_elsewhere else PageNews.NOT_REACHED


def _last_change(row: Row, since_ms: int) -> PageNews | None:
    """Return the last change that a fetch found after `since_ms`, or None."""
    cell = row.get(nodes.CHANGED)
    if cell is None or cell.at_ms <= since_ms:
        return None
    kind = cell.value.partition(b" ")[0].decode()
    return _NEWS_BY_KIND.get(kind)  # None for a kind that a newer version wrote


def as_text(counts: Mapping[PageNews, int]) -> str:
    """Return the counts as text, such as `310 unchanged, 12 changed, 3 new, 2 gone`."""
    always_shown = (PageNews.UNCHANGED, PageNews.CHANGED, PageNews.NEW, PageNews.GONE)
    listed = [news for news in PageNews if news in always_shown or counts.get(news)]
    return ", ".join(f"{counts.get(news, 0):,} {news}" for news in listed)
