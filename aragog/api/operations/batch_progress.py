"""The progress of batches of enqueued URLs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from aragog.crawl.pipeline.enqueue_results import EnqueueResult, EnqueueStatus
from aragog.crawl.pipeline.url_batches import UrlBatches
from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.slots import DomainReport
from aragog.runtime.clock import Clock, SystemClock

MAX_DOMAINS = 1000
"""Estimates only consider this many domains, those with the most unfinished URLs."""
MAX_SLOWEST_DOMAINS = 10
_IN_FLIGHT = (EnqueueStatus.ACCEPTED, EnqueueStatus.WAITING)


@dataclass(frozen=True, slots=True)
class DomainProgress:
    """The unfinished URLs of one domain."""

    domain: str
    in_flight: int
    qps: float
    """The domain's current rate, in requests/s."""
    finish_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchProgress:
    """The progress of a batch."""

    batch: str
    total: int
    done: int
    """URLs that were stored or given up on."""
    in_flight: int
    estimated_finish_at_ms: int | None
    """
    The estimated finish time in ms since the epoch, based on the domains' backlogs and rates. With
    retries or a slow store, the batch finishes later. None if the batch is finished.
    """
    slowest: tuple[DomainProgress, ...]
    """The domains that are expected to finish last."""


class BatchTracker:
    """
    Tracks a crawler's batches. Thread-safe.

    Args:
        store: stores the batches.
        get_limiter: returns the limiter. Called whenever the limiter is needed.
        clock: for estimates.
    """

    def __init__(
        self, store: UrlBatches, get_limiter: Callable[[], Limiter], clock: Clock | None = None
    ) -> None:
        self._store = store
        self._get_limiter = get_limiter
        self._clock = clock or SystemClock()

    def add(
        self, batch: str | None, results: Iterable[EnqueueResult], run_after_ms: int = 0
    ) -> str:
        """
        Add newly enqueued URLs to a batch, and return the batch's id.

        Args:
            batch: the batch's id; None creates a batch.
            results: the results of the call that enqueued the URLs.
            run_after_ms: the URLs are not fetched before this time.

        Raises:
            BadInput: the id is not valid, or the batch is full.
            BrokerUnavailable: Redis does not respond.
        """
        limiter = self._get_limiter()
        urls: dict[str, list[str]] = defaultdict(list)
        for result in results:
            if result.url is not None and result.status in _IN_FLIGHT:
                urls[limiter.key_for(result.url)].append(result.url)
        return self._store.add(batch, urls, run_after_ms)

    def progress(self, batch: str) -> BatchProgress | None:
        """
        Return the progress of a batch, or None if it is unknown or older than three days.

        Raises:
            BrokerUnavailable, LimiterUnavailable: Redis does not respond.
        """
        state = self._store.state(batch)
        if state is None:
            return None
        busiest = sorted(state.in_flight.items(), key=lambda item: -item[1])[:MAX_DOMAINS]
        reports = self._get_limiter().describe([domain for domain, _ in busiest]) if busiest else {}
        now_ms = self._clock.now_ms()
        domains = [
            _estimate_domain(
                name, count, reports[name], max(now_ms, state.not_before_ms.get(name, 0))
            )
            for name, count in busiest
        ]
        domains.sort(key=lambda domain: -domain.finish_at_ms)
        in_flight = sum(state.in_flight.values())
        return BatchProgress(
            batch=batch,
            total=state.total,
            done=state.total - in_flight,
            in_flight=in_flight,
            estimated_finish_at_ms=domains[0].finish_at_ms if domains else None,
            slowest=tuple(domains[:MAX_SLOWEST_DOMAINS]),
        )


def _estimate_domain(name: str, count: int, report: DomainReport, from_ms: int) -> DomainProgress:
    """
    Estimate a domain's progress. Its URLs take as long as the requests that are already planned, or
    as long as `count` requests at the domain's rate, whichever is longer.
    """
    duration_ms = max(report.backlog_ms, int(count * 1000 / report.qps))
    return DomainProgress(name, count, report.qps, from_ms + duration_ms)
