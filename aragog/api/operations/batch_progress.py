"""The progress of batches of enqueued URLs, and when they will be finished."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from aragog.crawl.pipeline.enqueue_results import EnqueueResult, EnqueueStatus
from aragog.crawl.pipeline.url_batches import UrlBatches
from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.slots import DomainReport
from aragog.runtime.clock import Clock, SystemClock

MOST_DOMAINS = 1000
"""The number of domains whose slots are looked up, those with the most URLs left."""
SHOWN = 10
_ON_THEIR_WAY = (EnqueueStatus.ACCEPTED, EnqueueStatus.WAITING)


@dataclass(frozen=True, slots=True)
class DomainProgress:
    """The URLs of one domain that are not done yet."""

    domain: str
    in_flight: int
    qps: float
    """Its current rate, in requests/s."""
    finish_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchProgress:
    """How far a batch is."""

    batch: str
    total: int
    done: int
    """Stored, or given up."""
    in_flight: int
    estimated_finish_at_ms: int | None
    """
    The finish by the slots and rates of the domains; retries and a slow store make it later.
    None when the batch is done.
    """
    slowest: tuple[DomainProgress, ...]
    """The domains that finish last."""


class Batches:
    """
    Batches of one system; threads may share it.

    Args:
        batches: where they are kept.
        limiter: knows the slots; connected on first use.
        clock: for estimates.
    """

    def __init__(
        self, batches: UrlBatches, limiter: Callable[[], Limiter], clock: Clock | None = None
    ) -> None:
        self._batches = batches
        self._limiter = limiter
        self._clock = clock or SystemClock()

    def add(
        self, batch: str | None, results: Iterable[EnqueueResult], run_after_ms: int = 0
    ) -> str:
        """
        Add the URLs that are on their way to a batch (None: a new one); returns its id.

        Args:
            batch: its id.
            results: of the call that enqueued them.
            run_after_ms: they are not fetched before this instant.

        Raises:
            BadInput: not a valid id, or the batch is full.
            BrokerUnavailable: Redis does not answer.
        """
        limiter = self._limiter()
        urls: dict[str, list[str]] = defaultdict(list)
        for result in results:
            if result.url is not None and result.status in _ON_THEIR_WAY:
                urls[limiter.key_for(result.url)].append(result.url)
        return self._batches.add(batch, urls, run_after_ms)

    def progress(self, batch: str) -> BatchProgress | None:
        """
        The progress of a batch; None if it is unknown, or older than three days.

        Raises:
            BrokerUnavailable, LimiterUnavailable: Redis does not answer.
        """
        state = self._batches.state(batch)
        if state is None:
            return None
        left = sorted(state.in_flight.items(), key=lambda item: -item[1])[:MOST_DOMAINS]
        reports = self._limiter().describe([domain for domain, _ in left]) if left else {}
        now_ms = self._clock.now_ms()
        domains = [
            _domain(name, count, reports[name], max(now_ms, state.not_before_ms.get(name, 0)))
            for name, count in left
        ]
        domains.sort(key=lambda domain: -domain.finish_at_ms)
        in_flight = sum(state.in_flight.values())
        return BatchProgress(
            batch=batch,
            total=state.total,
            done=state.total - in_flight,
            in_flight=in_flight,
            estimated_finish_at_ms=domains[0].finish_at_ms if domains else None,
            slowest=tuple(domains[:SHOWN]),
        )


def _domain(name: str, count: int, report: DomainReport, from_ms: int) -> DomainProgress:
    """URLs that have no slot yet need one interval each; the others wait for the last slot."""
    needed_ms = max(report.backlog_ms, int(count * 1000 / report.qps))
    return DomainProgress(name, count, report.qps, from_ms + needed_ms)
