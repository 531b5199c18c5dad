"""
Starts, pauses, cancels, deletes and reports on crawls.

Each change is written to the crawl's record (`crawl_registry`), and all stages apply it within
about a second. Only a dry run searches the waiting URLs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aragog.crawl.pipeline.crawl_cancellations import KINDS, Cancellation
from aragog.crawl.pipeline.crawl_counts import CrawlCounters
from aragog.crawl.pipeline.crawl_records import (
    BUILT_IN_NAMES,
    ENQUEUED,
    REFRESHED,
    CrawlPhase,
    CrawlRecord,
    built_in_record,
)
from aragog.crawl.pipeline.crawl_registry import CrawlRegistry
from aragog.crawl.pipeline.crawl_scope import ScopeVerdict
from aragog.crawl.pipeline.crawl_seeds import CrawlSeeds
from aragog.crawl.pipeline.crawls import Crawls
from aragog.crawl.pipeline.in_flight import InFlightSet
from aragog.crawl.pipeline.url_filter import UrlFilter
from aragog.crawl.politeness.lines import Lines
from aragog.crawl.stages.achieved_rates import AchievedRates
from aragog.crawl.stages.cancel_dry_run import CancelDryRun
from aragog.crawl.stages.crawl_reports import (
    MAX_FAILURES,
    MAX_OPEN,
    OTHER_DOMAINS,
    CrawlReport,
    Pace,
    Paces,
    failures,
    open_domains,
)
from aragog.crawl.stages.crawl_status import CrawlStatus
from aragog.crawl.stages.waiting_line import paused_line
from aragog.crawl.traps.trap_store import ClosedTemplate, TrapStore
from aragog.errors import BadInput
from aragog.urlstore.crawl_members import kept_because
from aragog.urlstore.store import UrlStore
from aragog.urlstore.tombstones import site_name
from pinlater.admin import Admin
from urlspelling import normalize
from urlspelling.domain import registered_domain


@dataclass(frozen=True, slots=True)
class DeletionCounts:
    """How many pages were deleted, and how many were kept."""

    deleted: int
    kept: Mapping[str, int]
    """Kept pages by reason."""


@dataclass(frozen=True, slots=True)
class CrawlControl:
    """
    Controls all crawls of one installation.

    Args:
        registry: the crawls' records.
        counts: the outcomes of URLs.
        lines: the domains' waiting queues.
        in_flight: which crawls want each URL; only for dry runs.
        admin: access to the broker's queues. If None, a dry run only counts the URLs in `lines`.
        store: opens the store, for `delete`.
        seeds: seeds of scheduled crawls.
        paces: the request rate of each domain. If None, reports omit the remaining time.
        traps: which link templates of a host are followed. If None, reports omit traps.
    """

    registry: CrawlRegistry
    counts: CrawlCounters
    lines: Lines
    in_flight: InFlightSet
    admin: Admin | None
    store: Callable[[], UrlStore]
    seeds: CrawlSeeds
    paces: Paces | None = None
    traps: TrapStore | None = None

    def all(self) -> list[CrawlStatus]:
        """Return the built-in crawls, then the others sorted by name."""
        crawls = self.registry.read()
        records = [built_in_record(ENQUEUED), built_in_record(REFRESHED), *crawls.records.values()]
        return [self._status(record, crawls) for record in records]

    def status(self, name: str) -> CrawlStatus:
        """Return the status of a crawl. Raises `BadInput` if no crawl has this name."""
        return self._status(self.registry.get(name), self.registry.crawls())

    def _status(self, record: CrawlRecord, crawls: Crawls) -> CrawlStatus:
        return CrawlStatus(record, self.counts.totals(record.numbers, ended=crawls.ended))

    def start(self, name: str, options: Mapping[str, Any], *, token: str = "") -> CrawlStatus:
        """Start a crawl, or change and resume an existing one; see `CrawlRegistry.start`."""
        previous_record = self.registry.read().records.get(name)
        record = self.registry.start(name, options, token=token)
        if previous_record is not None and previous_record.state is CrawlPhase.PAUSED:
            self._check_paused_line(record)
        return self.status(name)

    def pause(self, name: str) -> CrawlStatus:
        """Send no new requests for a crawl until it is resumed."""
        self.registry.set_state(name, CrawlPhase.PAUSED)
        return self.status(name)

    def resume(self, name: str) -> CrawlStatus:
        self._check_paused_line(self.registry.set_state(name, CrawlPhase.RUNNING))
        return self.status(name)

    def _check_paused_line(self, record: CrawlRecord) -> None:
        self.lines.check([paused_line(record.number)], 0)

    def cancel(self, name: str, reason: str = "") -> CrawlStatus:
        """End a crawl. Its waiting URLs are not fetched unless another crawl wants them."""
        record = self.registry.set_state(name, CrawlPhase.CANCELLED, reason)
        self._check_paused_line(record)
        return self.status(name)

    def decide(self, name: str, url: str, page_url: str | None = None) -> ScopeVerdict:
        """
        Decide whether a URL is in a crawl's scope. The result names the deciding rule. `url` and
        `page_url` need not be normalized.
        """
        page = None if page_url is None else normalize(page_url)
        return self.registry.get(name).scope.decide(normalize(url), page_url=page)

    def report(self, name: str) -> CrawlReport:
        """
        Return a crawl's results so far and its estimated remaining time.

        Raises:
            BadInput: no crawl has this name.
        """
        crawls = self.registry.read()
        status = self._status(self.registry.get(name), crawls)
        record, numbers = status.record, status.record.numbers
        domains = self.counts.domains(numbers)
        waiting = Counter[str]()
        if record.number not in crawls.ended:
            waiting = self.counts.open_domains(record.number)
        longest = dict(waiting.most_common(MAX_OPEN))
        day, hours = crawls.now_ms // 86_400_000, self.counts.hours(numbers)
        achieved = AchievedRates.of(
            record, hours, domains, is_open=bool(status.counts.open), now_ms=crawls.now_ms
        )
        return CrawlReport(
            status,
            domains,
            hours,
            tuple(failures(domains, self.counts.days(numbers), day)[:MAX_FAILURES]),
            tuple(open_domains(record, longest, self._get_paces(longest), achieved.by_domain)),
            len(waiting),
            self._closed_templates(domains),
            achieved,
        )

    def _closed_templates(self, domains: Mapping[str, Any]) -> tuple[ClosedTemplate, ...]:
        if self.traps is None:
            return ()
        closed = self.traps.closed()
        return tuple(
            template
            for template in closed
            if registered_domain(f"http://{template.host}/") in domains
        )

    def _get_paces(self, domains: Mapping[str, int]) -> Mapping[str, Pace]:
        named_domains = [domain for domain in domains if domain != OTHER_DOMAINS]
        return self.paces(named_domains) if self.paces and named_domains else {}

    def cancel_urls(self, kind: str, values: Sequence[str]) -> list[Cancellation]:
        """Cancel waiting URLs of every crawl, by URL, host, domain or pattern."""
        return self.registry.cancel(kind, _normalize(kind, values))

    def waiting(self, values_by_kind: Mapping[str, Sequence[str]]) -> int:
        """
        Return how many URLs `cancel_urls` would cancel for these values. Reads all waiting URLs.

        Raises:
            BadInput: a kind or a value is invalid.
            BrokerUnavailable: a server did not respond.
        """
        rules = [
            Cancellation(kind, value, 0)
            for kind, values in values_by_kind.items()
            for value in _normalize(kind, values)
        ]
        return CancelDryRun(self.registry, self.in_flight, self.lines, self.admin).count(rules)

    def delete(self, name: str) -> DeletionCounts:
        """
        Cancel a crawl, and delete its pages and its record.

        Safe to repeat. Keeps watched and imported pages, pages of other crawls, and pages with
        fields from an application. Reads all nodes of the store.
        """
        record = self.registry.get(name)
        if record.number in BUILT_IN_NAMES:
            raise BadInput(f"crawl: {name} always exists and cannot be deleted")
        self.registry.set_state(name, CrawlPhase.CANCELLED, "it is being deleted")
        store = self.store()
        kept_counts: Counter[str] = Counter()
        deleted_count = 0
        for url, row in store.crawls.walk(name):
            reason = kept_because(row, name)
            if reason is None:
                store.remove(url)
                deleted_count += 1
            else:
                store.crawls.remove(name, [url], store.clock.now_ms())
                kept_counts[reason] += 1
        self.seeds.delete(name)  # while the record exists: a repeated call needs it
        self.registry.delete(name)
        self.counts.delete(record.numbers)
        return DeletionCounts(deleted_count, dict(kept_counts))


def _normalize(kind: str, values: Sequence[str]) -> list[str]:
    if kind not in KINDS:
        raise BadInput(f"cancel: {kind[:40]!r} must be one of {', '.join(KINDS)}")
    if not values:
        raise BadInput("cancel: is empty; give a URL, a host, a domain or a pattern")
    if kind == "url":
        return [normalize(value) for value in values]
    if kind == "pattern":
        return list(UrlFilter(include=tuple(values)).include)
    return [site_name(value) for value in values]
