"""
Notifies a crawl's webhook when the crawl finishes or is ended, and when too many of its URLs fail.

Notices go through the webhook queue, are signed, and are retried until they are accepted. Each is
sent before the crawl's record is updated. If the process is killed in between, the notice is sent
again with the same ID.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aragog.crawl.pipeline.crawl_counts import CrawlCounters, CrawlCounts, is_failure
from aragog.crawl.pipeline.crawl_records import CrawlRecord
from aragog.crawl.pipeline.crawl_registry import CrawlRegistry
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage, Sender
from aragog.crawl.stages.crawl_status import DONE, CrawlStatus
from aragog.crawl.stages.webhooks import Delivery, crawl_receiver
from aragog.errors import BadInput

END, ERRORS = "end", "errors"
MIN_URLS = 20
"""Below this number of URLs, the failure rate is not meaningful."""
ERROR_RATE_HOURS = 24


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """How many of a crawl's recent URLs failed."""

    failed: int
    urls: int

    @property
    def share(self) -> float:
        """The failure rate, from 0 to 1. 0 if there are too few URLs."""
        return self.failed / self.urls if self.urls >= MIN_URLS else 0.0


def error_rate(hours: Mapping[int, Counter[str]], hour: int) -> ErrorRate:
    """Count the failures in the `ERROR_RATE_HOURS` hours up to `hour`, inclusive."""
    recent = sum(
        (counts for counts_hour, counts in hours.items() if counts_hour > hour - ERROR_RATE_HOURS),
        Counter[str](),
    )
    counted = {
        outcome: n for outcome, n in recent.items() if is_failure(outcome) or outcome == "stored"
    }
    failed = sum(n for outcome, n in counted.items() if is_failure(outcome))
    return ErrorRate(failed, sum(counted.values()))


def find_events(status: CrawlStatus, errors: ErrorRate) -> dict[str, str]:
    """
    Return the events that need a notice, by kind, each with an identifying string.

    The string differs if an event happens again, because the crawl has finished more URLs, or
    because the failure rate fell below the limit and exceeds it again.
    """
    record, notices = status.record, {}
    if record.has_ended:
        notices[END] = f"{record.number} {record.state}"
    elif status.display_state == DONE:
        notices[END] = f"{record.number}.{record.round} {status.counts.enqueued}"
    max_share = record.notify_error_rate
    if max_share is not None and errors.failed and errors.share >= max_share:
        earlier = record.notified.get(ERRORS)
        notices[ERRORS] = earlier or f"{record.number}.{record.round} {status.counts.enqueued}"
    return notices


def make_notice(kind: str, status: CrawlStatus, errors: ErrorRate) -> dict[str, Any]:
    """Return the notice as JSON values."""
    record, counts = status.record, status.counts
    return {
        "event": kind,
        "crawl": record.name,
        "state": status.display_state,
        "reason": record.reason,
        "round": record.round,
        **_numbers(counts),
        "last_day": {"urls": errors.urls, "failed": errors.failed},
    }


def _numbers(counts: CrawlCounts) -> dict[str, Any]:
    return {
        "enqueued": counts.enqueued,
        "waiting": counts.waiting,
        "repeated": counts.repeated,
        "bytes": counts.bytes,
        "outcomes": dict(counts.outcomes),
    }


@dataclass(frozen=True, slots=True)
class CrawlNotices:
    """Sends the notices of all crawls."""

    registry: CrawlRegistry
    counts: CrawlCounters
    sender: Sender

    def run(self) -> int:
        """
        Send all due notices. Returns how many.

        Raises:
            TransientError: Redis or the broker did not respond; run it again.
        """
        crawls = self.registry.read()
        hour = crawls.now_ms // 3_600_000
        return sum(
            self._send_notices(record, hour, crawls.ended)
            for record in crawls.records.values()
            if record.notify
        )

    def _send_notices(self, record: CrawlRecord, hour: int, ended: frozenset[int]) -> int:
        status = CrawlStatus(record, self.counts.totals(record.numbers, ended=ended))
        has_limit = record.notify_error_rate is not None
        hours = self.counts.hours([record.number]) if has_limit else {}
        errors = error_rate(hours, hour)
        current = find_events(status, errors)
        notified = dict(record.notified)
        new_events = {kind: event for kind, event in current.items() if notified.get(kind) != event}
        for kind, event in new_events.items():
            delivery = Delivery(
                crawl_receiver(record.name), f"{kind} {event}", (make_notice(kind, status, errors),)
            )
            self.sender.send(OutgoingMessage(Destination.WEBHOOK, delivery))
        unchanged = {END: notified[END]} if END in notified else {}
        if unchanged | current != notified:
            with suppress(BadInput):  # the crawl was just deleted
                self.registry.update_fields(record, notified=unchanged | current)
        return len(new_events)
