"""
Jobs that wait for slots (request times) in their domains' queues, called lines
(`politeness.lines`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import orjson

from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.politeness.lines import PAUSED_PREFIX, LineEntry, is_without_slots
from aragog.crawl.politeness.robots_cache import RECHECK_S

# Jobs leave the line this long before a task could reserve the same slot. So they get their slots
# first, and their messages have time to reach a worker.
RELEASE_LEAD_MS = 500
# After this time, no process uses an old copy of replaced rules anymore.
RULES_TTL_MS = int(RECHECK_S * 1000) + 500


class WaitingJob(NamedTuple):
    """A job waiting in its domain's line."""

    job: UrlJob
    key: str
    """The line's key: the rate-limiter key of the job's domain, the origin whose robots.txt it
    waits for, or its crawl's `paused_line`."""
    crawl_delay_s: float | None
    wait_ms: int
    """Time until the next slot of its domain, or until robots.txt is requested again."""
    to_front: bool = False
    """True if the job had a slot and returns to the front of the line."""


def paused_line(crawl: int) -> str:
    """Return the key of a paused crawl's line."""
    return f"{PAUSED_PREFIX}{crawl}"


def paused_crawl(key: str) -> int | None:
    """Return the paused crawl of a line, or None for any other line."""
    return int(key.removeprefix(PAUSED_PREFIX)) if key.startswith(PAUSED_PREFIX) else None


class LineStore(Protocol):
    """Keeps the entries (`aragog.crawl.politeness.lines.Lines`)."""

    def park(self, entries: Sequence[LineEntry]) -> None:
        """Add requests to their domains' lines."""

    def check(self, keys: Sequence[str], after_ms: int) -> None:
        """Have these lines checked within `after_ms`."""


class WaitingLine:
    """
    Puts jobs into the lines.

    Args:
        inline_ms: how far ahead a slot may be for a task to wait for it
            (`politeness.wait_inline_ms`).
    """

    def __init__(self, lines: LineStore, inline_ms: int) -> None:
        self._lines = lines
        self._ahead_ms = inline_ms + RELEASE_LEAD_MS

    def park(self, waiting: Sequence[WaitingJob]) -> None:
        """
        Add jobs to their domains' lines. Takes one round trip per server.

        Raises:
            BrokerUnavailable: Redis did not respond; some jobs may be in line.
        """
        if waiting:
            self._lines.park([self._entry(waiting_job) for waiting_job in waiting])

    def release_rules_waiters(self, origins: Sequence[str]) -> None:
        """
        Release the URLs waiting for these origins' robots.txt, which was just stored.

        Raises:
            BrokerUnavailable: Redis did not respond; the URLs keep waiting.
        """
        self._lines.check(origins, RULES_TTL_MS)

    def _entry(self, waiting_job: WaitingJob) -> LineEntry:
        ahead_ms = 0 if is_without_slots(waiting_job.key) else self._ahead_ms
        return LineEntry(
            waiting_job.key,
            waiting_job.job.priority,
            orjson.dumps(waiting_job.job.wire()),
            waiting_job.crawl_delay_s,
            check_after_ms=max(0, waiting_job.wait_ms - ahead_ms),
            to_front=waiting_job.to_front,
            share=waiting_job.job.crawl,
        )


def parse_line_job(payload: bytes) -> UrlJob:
    """Return the job in an entry of a line. Raises `InvalidMessage` if it is unreadable."""
    return UrlJob.read(orjson.loads(payload))
