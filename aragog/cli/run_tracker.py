"""
What becomes of the URLs of one run, whatever other producers enqueue meanwhile.

A URL is done when it is no longer in flight; its outcome is then in the store. The links and
entries of sitemaps that workers follow for the run are URLs of it as well.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from aragog.errors import TransientError
from aragog.fetcher.outcome import OutcomeKind
from aragog.pipeline.followed_urls import FollowedUrls
from aragog.pipeline.shared_state import SharedState
from aragog.settings import Settings
from aragog.urlstore.records import Record
from aragog.urlstore.store import UrlStore

SLICE = 2000
"""URLs whose state is read at once."""
LOOK_AT = 20_000
"""URLs in flight that one call of `look` reads; with more, several calls go through all of them."""
PROBLEMS_KEPT = 1000


class Ending(StrEnum):
    """What became of a URL."""

    STORED = "stored"
    NOT_MODIFIED = "not modified"
    ALREADY_STORED = "already stored"
    REFUSED = "refused"
    FAILED = "failed"


USABLE = (Ending.STORED, Ending.NOT_MODIFIED, Ending.ALREADY_STORED)


class NotStored(NamedTuple):
    """A URL that was not stored."""

    url: str
    outcome: str
    """The outcome in the store; "" without a record."""
    reason: str


class RunTracker:
    """
    The URLs of one run. It takes about 120 bytes for each URL in flight.

    Args:
        settings: of the system that fetches them.
        store: where their outcomes are read.
        on_stored: called with the canonical URL of each URL that is stored.
    """

    def __init__(
        self, settings: Settings, store: UrlStore, on_stored: Callable[[str], object] | None = None
    ) -> None:
        settings = settings.resolved()
        shared = SharedState.of(settings)
        self._nodes, self._in_flight = shared.nodes, shared.in_flight
        self._followed = FollowedUrls(self._nodes.first, prefix=settings.redis.prefix)
        self._store, self._on_stored = store, on_stored
        self._began_ms = int(time.time() * 1000)
        self._left: deque[str] = deque()
        self._ended: list[str] = []
        """URLs whose outcome was not read yet."""
        self.request_id = self._followed.begin()
        """The request id of the calls that enqueue the URLs of the run."""
        self.total = 0
        """URLs that were added."""
        self.not_accepted = 0
        self.endings: Counter[Ending] = Counter()
        self.problems: dict[str, NotStored] = {}
        """The first `PROBLEMS_KEPT` of the run, by URL."""

    @property
    def in_flight(self) -> int:
        """URLs that are not done yet, or whose outcome was not read yet."""
        return len(self._left) + len(self._ended)

    @property
    def usable(self) -> int:
        """URLs that are done and stored."""
        return sum(self.endings[ending] for ending in USABLE)

    @property
    def unusable(self) -> int:
        """URLs that were not accepted, or are done and not stored."""
        return self.not_accepted + self.endings.total() - self.usable

    def add(self, url: str) -> None:
        """Add a normalized URL that was enqueued with the run's request id."""
        self._left.append(url)
        self.total += 1

    def refuse(self) -> None:
        """Count a URL that was not accepted."""
        self.not_accepted += 1

    def look(self) -> None:
        """Find out which URLs are done, and what became of them; nothing while a server is down."""
        with suppress(TransientError):
            for _ in range(0, min(len(self._left), LOOK_AT), SLICE):
                urls = list(islice(self._left, SLICE))
                in_flight = self._in_flight.among(urls)
                for url in urls:
                    self._left.popleft()
                    (self._left if url in in_flight else self._ended).append(url)
            # Workers list what they follow before the page that has the links is done.
            for url in self._followed.take(self.request_id):
                self.add(url)
            while self._ended:
                self._read(self._ended[:SLICE])
                del self._ended[:SLICE]

    def _read(self, urls: Sequence[str]) -> None:
        for url, record in zip(urls, self._store.get_many(urls, ()), strict=True):
            ending = self._ending(record)
            facts = record.facts if record else {}
            reason = str(facts.get("reason") or "") if record else "it has no record"
            self.endings[ending] += 1
            if self._on_stored is not None and record is not None and ending in USABLE:
                self._on_stored(record.canonical_url)
            if ending not in USABLE and len(self.problems) < PROBLEMS_KEPT:
                outcome = str(facts.get("outcome") or "")
                self.problems[url] = NotStored(url, outcome, reason)

    def _ending(self, record: Record | None) -> Ending:
        facts = record.facts if record else {}
        outcome = facts.get("outcome")
        if outcome in (OutcomeKind.REFUSED, OutcomeKind.BLOCKED):
            return Ending.REFUSED
        if outcome not in (OutcomeKind.FETCHED, OutcomeKind.NOT_MODIFIED):
            return Ending.FAILED
        tried_at_ms = max(
            int(facts.get(name) or 0) for name in ("fetched_at_ms", "attempted_at_ms")
        )
        if tried_at_ms < self._began_ms:
            return Ending.ALREADY_STORED
        return Ending.NOT_MODIFIED if outcome == OutcomeKind.NOT_MODIFIED else Ending.STORED

    def close(self) -> None:
        """End the run: what workers follow from now on is not waited for."""
        with suppress(TransientError):
            self._followed.end(self.request_id)
        self._nodes.close()
