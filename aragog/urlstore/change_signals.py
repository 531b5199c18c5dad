"""
Stores the changes that sitemaps and feeds report (signals), and refreshes the reported pages
earlier.

For each page, the store keeps what was last reported about it, its mark (`signal_marks`); for each
host, the trust in its signals (`signal_trust`). Reading a file takes one multi-get per chunk of
entries, and only new information is written. A page that is refreshed earlier stays in the due
index, so its domain's rate and crawl budget still apply.

This code may run twice or in several processes at once, and may be killed at any point. A mark's
timestamp is the time when the file was fetched. A page is moved in the due index only if its due
time has not changed. Evidence is stored by compare-and-set; lost or duplicate evidence affects only
one sample of a statistic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from aragog.observability.instruments import CHANGE_SIGNALS
from aragog.settings import RefreshSettings
from aragog.urlstore import nodes
from aragog.urlstore import signal_marks as marks
from aragog.urlstore import signal_trust as trust
from aragog.urlstore.budget_state import BudgetState
from aragog.urlstore.due_index import DueIndex
from aragog.urlstore.freshness import page_seen_at_ms
from aragog.urlstore.nodes import Nodes, text
from aragog.urlstore.records import Due
from aragog.urlstore.refresh_policy import RefreshState
from aragog.urlstore.signal_marks import PageMark, ReportedChange
from aragog.urlstore.signal_sources import SOURCES
from aragog.urlstore.signal_trust import MAX_FEEDS, PROBES, Evidence, HostTrust
from aragog.urlstore.usual_intervals import SITEMAP
from aragog.urlstore.write_clock import WriteClock
from aragog.urlstore.writing.next_due import is_wanted, read_mark, read_state
from urlspelling import url_key
from urlspelling.domain import host
from zengraph import MultiGraph
from zengraph.records import Mutation, Row, put_properties

if TYPE_CHECKING:  # readers of the store do not need the sitemap parser
    from aragog.pages.sitemaps import SitemapUrl

FEED_LINK = "feed"
"""The fact (a value stored when a page is fetched) with the URL of the feed that the page links
to."""
MAX_HOSTS = 100
"""Maximum number of hosts per file; pages of further hosts are skipped."""
SEARCH_INTERVAL_MS = 7 * 86_400_000
"""How long to wait before searching for a watched host's sitemaps and feeds again."""
_MAX_TRIES = 3
_COLUMNS = (
    nodes.URL, nodes.CANONICAL, nodes.REMOVED, *nodes.POINTERS, nodes.FACTS, nodes.REFRESH,
    nodes.DUE, nodes.WATCHED, nodes.SIGNAL,
)  # fmt: skip
_SOURCE_COLUMNS = (nodes.URL, nodes.CANONICAL, nodes.REMOVED, nodes.REFRESH, nodes.DUE)
_REPORTED, _IGNORED, _CONFIRMED, _REFUTED, _UNNAMED = map(
    CHANGE_SIGNALS.labels, CHANGE_SIGNALS.values
)


class ChangeSignals:
    """The change signals of a UrlStore; threads may share an instance."""

    def __init__(self, zen: MultiGraph, clock: WriteClock, settings: RefreshSettings) -> None:
        self.zen = zen
        self.settings = settings
        self.clock = clock
        self.nodes = Nodes(zen)
        self.due = DueIndex(zen)
        self._state = BudgetState(zen)

    def reading(
        self, entries: Sequence[SitemapUrl], *, kind: str, fetched_at_ms: int, sender: str
    ) -> Reading:
        """Start processing the entries of a file that was fetched from `sender` at this time."""
        dated = [reported for entry in entries if (reported := _reported_change(entry))]
        is_believed = self.settings.signals and not marks.has_mostly_response_dates(
            dated, fetched_at_ms
        )
        return Reading(self, kind, fetched_at_ms, sender, is_believed=is_believed)

    def trusts(self, hosts: Iterable[str]) -> dict[str, HostTrust]:
        """Return the trust in each host's signals; one multi-get."""
        now_ms = self.clock.now_ms()
        cells = self._state.trust_cells(list(hosts))
        return {
            name: trust.decayed(trust.from_cell(cell), now_ms) if cell else HostTrust()
            for name, cell in cells.items()
        }

    def record_evidence(self, evidence: Mapping[str, Sequence[Evidence]]) -> None:
        now_ms = self.clock.now_ms()
        for name, samples in evidence.items():
            self.change(name, partial(trust.add_evidence, evidence=samples, now_ms=now_ms))
            for sample in samples:
                if sample.named:
                    (_CONFIRMED if sample.changed else _REFUTED).add()
                elif sample.changed and sample.covered:
                    _UNNAMED.add()

    def record_unchanged(self, urls: Iterable[str], at_ms: int) -> None:
        """Record that these files were fetched and the response was a 304."""
        for name in {host(url) for url in urls}:
            self.change(name, partial(trust.record_read, at_ms=at_ms))

    def record_search(self, name: str, at_ms: int) -> None:
        self.change(name, partial(trust.record_search, at_ms=at_ms))

    def change(self, name: str, change: Callable[[HostTrust], HostTrust]) -> None:
        """
        Change the trust in a host.

        Gives up after three conflicts with other writers.
        """
        for _ in range(_MAX_TRIES):
            cell = self._state.trust_cells([name])[name]
            after = change(trust.from_cell(cell))
            if self._state.put_trust(name, cell, trust.to_cell(after)):
                return

    def of_page(self, url: str) -> tuple[PageMark | None, HostTrust]:
        """Return the stored mark of a normalized URL's page, and the trust in its host."""
        canonical, row = self.nodes.resolve(url, [nodes.SIGNAL])
        name = host(canonical)
        return read_mark(row), self.trusts([name])[name]

    def new_sources(self, urls: Sequence[str]) -> list[str]:
        """Return the URLs that are neither known as sitemaps or feeds nor stored as pages."""
        rows = self.nodes.follow(list(dict.fromkeys(urls)), _SOURCE_COLUMNS)
        return [url for url in dict.fromkeys(urls) if read_state(rows[url][1]) is None]

    def new_feeds(self, pages: Sequence[str]) -> list[str]:
        """
        Return the unread feeds that these stored pages link to.

        Returns at most `MAX_FEEDS` per host. Takes two multi-gets, and a few round trips for each
        new feed.
        """
        columns = [nodes.URL, nodes.CANONICAL, nodes.REMOVED, nodes.FACTS]
        rows = self.nodes.follow(list(dict.fromkeys(pages)), columns)
        linked = (nodes.facts_of(row).get(FEED_LINK) for _, row in rows.values())
        feeds = [feed for feed in linked if isinstance(feed, str) and feed]
        return [feed for feed in self.new_sources(feeds) if self._admit_feed(feed)]

    def _admit_feed(self, feed: str) -> bool:
        """Record the feed for its host. Returns False if the host has too many feeds."""
        key, name = url_key(feed).hex(), host(feed)
        known_feeds = self.trusts([name])[name].feeds
        if key in known_feeds:
            return True
        if len(known_feeds) >= MAX_FEEDS:
            return False
        self.change(name, partial(trust.with_feed, key=key))
        return True

    def children(self, listed: Sequence[SitemapUrl], fetched_at_ms: int, limit: int) -> list[str]:
        """
        Return the unknown sitemaps in a sitemap index, at most `limit`, newest first.

        Known sitemaps whose lastmod shows a change become due now, unless their last read was less
        than a quarter of their interval ago. That exception is for indexes that give every file the
        current time.
        """
        newest = sorted(listed, key=lambda child: -(child.lastmod_ms or 0))
        rows = self.nodes.follow([child.url for child in newest], _SOURCE_COLUMNS)
        due_earlier, new_urls = [], []
        for child in newest:
            url, row = rows[child.url]
            state = read_state(row)
            if state is None:
                new_urls.append(child.url)
            elif state.page_type in SOURCES and _has_changed(child, state, fetched_at_ms):
                due_earlier += _earlier_due(url, row, state, self.clock.now_ms(), self.settings)
        self.move(due_earlier)
        return new_urls[:limit]

    def move(self, rescheduled: Sequence[tuple[Due, int]]) -> None:
        """Change the due times of pages that were not rescheduled in the meantime."""
        if rescheduled:
            now_ms = self.clock.now_ms()
            self.due.postpone(rescheduled, now_ms)
            self.clock.record_deletion(now_ms)


class Reading:
    """Processes the entries of a fetched file that are about stored pages."""

    def __init__(
        self,
        signals: ChangeSignals,
        kind: str,
        fetched_at_ms: int,
        sender: str,
        *,
        is_believed: bool,
    ) -> None:
        self._signals = signals
        self._kind = kind
        self._at_ms = fetched_at_ms
        self._is_believed = is_believed
        self._trusts = signals.trusts([host(sender)]) if is_believed else {}
        self._probes: Counter[str] = Counter()
        self.signal_count = 0.0
        """How many refreshes the file caused, each weighted by the trust in its host."""

    def take(self, entries: Sequence[SitemapUrl]) -> list[int | None]:
        """
        Process entries. Like `Pages.seen_at_ms`, returns when each page was last confirmed.

        Raises:
            StoreUnavailable: part of the result may be written; process the entries again.
        """
        rows = self._signals.nodes.follow([entry.url for entry in entries], _COLUMNS)
        if self._is_believed:
            self._mark_reported_pages(entries, rows)
        return [
            page_seen_at_ms(row) if nodes.content_cell(row) else None
            for entry in entries
            for _, row in [rows[entry.url]]
        ]

    def close(self) -> None:
        for name in self._trusts:
            self._signals.change(name, partial(trust.record_read, at_ms=self._at_ms))

    def _mark_reported_pages(
        self, entries: Sequence[SitemapUrl], rows: Mapping[str, tuple[str, Row]]
    ) -> None:
        mutations: list[Mutation] = []
        due_earlier: list[tuple[Due, int]] = []
        self._load_trust({host(rows[entry.url][0]) for entry in entries})
        zen = self._signals.zen
        for entry in entries:
            canonical, row = rows[entry.url]
            reported, state = _reported_change(entry), read_state(row)
            if reported is None or state is None or not _is_page(row, state):
                continue
            mark = self._new_mark(reported, canonical, row, state, due_earlier)
            if mark is not None and mark != read_mark(row):
                cell = {nodes.SIGNAL: marks.to_cell(mark)}
                mutations.append(put_properties(zen.node_id(canonical), cell, self._at_ms))
        if mutations:
            zen.mutate(mutations)
        # Only after writing the marks, because they give the reason for the earlier refresh.
        self._signals.move(due_earlier)

    def _new_mark(
        self,
        reported: ReportedChange,
        canonical: str,
        row: Row,
        state: RefreshState,
        due_earlier: list[tuple[Due, int]],
    ) -> PageMark | None:
        """
        Return the new mark, or None to keep the stored one.

        Adds the page to `due_earlier` if it must be refreshed earlier.
        """
        settings = self._signals.settings
        host_trust, before = self._trusts.get(host(canonical), HostTrust()), read_mark(row)
        is_new_report = marks.is_new_report(reported, before, state.compared_at_ms, self._at_ms)
        if not host_trust.belief:
            _IGNORED.add(is_new_report)
            return None
        if not is_new_report:
            return self._mark_without_change(reported, before)
        if not host_trust.is_proven and not self._count_probe(host(canonical)):
            return None
        belief, (rate, usual_s) = host_trust.belief, (state.rate_per_s, state.usual_s)
        if is_wanted(row, settings) and marks.is_worth_a_fetch(rate, usual_s, belief, settings):
            self.signal_count += belief
            _REPORTED.add()
            due_earlier += _earlier_due(
                canonical, row, state, self._signals.clock.now_ms(), settings
            )
        is_listed = self._kind == SITEMAP or (before is not None and before.covered)
        return PageMark(reported.start_ms, self._at_ms, belief, covered=is_listed, kind=self._kind)

    def _mark_without_change(
        self, reported: ReportedChange, before: PageMark | None
    ) -> PageMark | None:
        """
        Return the new mark, or None to keep the stored one.

        A feed does not list all pages, so it never changes the mark here.
        """
        if self._kind != SITEMAP:
            return None
        if before is None:
            return PageMark(reported.start_ms, kind=self._kind)
        if reported.start_ms > before.reported_ms:
            return before._replace(reported_ms=reported.start_ms, covered=True)
        return None

    def _count_probe(self, name: str) -> bool:
        self._probes[name] += 1
        return self._probes[name] <= PROBES

    def _load_trust(self, hosts: set[str]) -> None:
        hosts_to_load = sorted(hosts - self._trusts.keys())[: max(MAX_HOSTS - len(self._trusts), 0)]
        if hosts_to_load:
            self._trusts |= self._signals.trusts(hosts_to_load)


def _is_page(row: Row, state: RefreshState) -> bool:
    is_stored = nodes.content_cell(row) is not None
    return is_stored and state.compared_at_ms > 0 and state.page_type not in SOURCES


def _reported_change(entry: SitemapUrl) -> ReportedChange | None:
    if entry.lastmod_ms is None:
        return None
    end_ms = entry.lastmod_ms if entry.lastmod_end_ms is None else entry.lastmod_end_ms
    return ReportedChange(entry.url, entry.lastmod_ms, end_ms)


def _has_changed(child: SitemapUrl, state: RefreshState, fetched_at_ms: int) -> bool:
    is_new = child.changed_since(state.compared_at_ms, fetched_at_ms)
    elapsed_ms = fetched_at_ms - state.checked_at_ms
    return is_new and elapsed_ms * 4 >= state.interval_s * 1000


def _earlier_due(
    url: str, row: Row, state: RefreshState, now_ms: int, settings: RefreshSettings
) -> list[tuple[Due, int]]:
    """Return the page and the time to fetch it; empty if it is due sooner anyway."""
    due = text(row, nodes.DUE)
    at_ms = max(now_ms, state.checked_at_ms + int(settings.min_interval_s * 1000))
    return [(Due(url, int(due), state), at_ms)] if due and int(due) > at_ms else []
