"""
Track one run's URLs, while other producers may enqueue URLs as well.

A URL is in flight while it is queued or processed. Then it is done, and its outcome is in the
store. Links and sitemap entries that workers follow for the run are URLs of the run, too.

Workers hold some links until they have seen other pages of the same kind
(`pipeline.recognize_traps`). The run is not done while links are held, because they may still
become URLs of the run.

If a URL is in flight for another crawl, such as a stopped run, the run waits for it and then
enqueues it again. By then, the URL's page is stored, so its links are followed from the store.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from aragog.crawl.pipeline.enqueue_results import EnqueueResult, EnqueueStatus
from aragog.crawl.pipeline.followed_urls import FollowedUrls
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.errors import TRANSIENT
from aragog.fetch_record.outcome import OutcomeKind
from aragog.pages.items import load_kinds
from aragog.settings import Settings
from aragog.urlstore.item_files import FILE
from aragog.urlstore.records import Record
from aragog.urlstore.store import UrlStore

URLS_PER_READ = 500
"""Number of URLs whose states are read at once."""
MAX_CHECKED_URLS = 20_000
"""Maximum number of URLs in flight that one call to `update` checks."""
MAX_CALLS_PER_PASS = 8
"""
Every URL in flight is checked within this many calls, up to MAX_CALLS_PER_PASS * MAX_CHECKED_URLS.
"""
MIN_DONE_SHARE = 0.1
"""
If a smaller fraction of the URLs in one read is done, `update` may stop, because later reads rarely
find more.
"""
MAX_PROBLEMS = 1000
URLS_PER_CALL = 1000
"""How many URLs are enqueued again per call, as many as fit in a message."""


class FinalState(StrEnum):
    """The result for a URL of the run."""

    STORED = "stored"
    NOT_MODIFIED = "not modified"
    ALREADY_STORED = "already stored"
    REFUSED = "refused"
    FAILED = "failed"


STORED_STATES = (FinalState.STORED, FinalState.NOT_MODIFIED, FinalState.ALREADY_STORED)


class NotStored(NamedTuple):
    """A URL that was not stored."""

    url: str
    outcome: str
    """The outcome in the store, or "" if the store has no record."""
    reason: str
    cause: str | None = None
    """What blocked the URL, a `RefusalCause`; None for other outcomes and old records."""
    ended_at: str | None = None
    """The URL after redirects, or None if there was no redirect."""
    is_file: bool = False
    """True if the URL is an item's file."""


class RequeueOptions(NamedTuple):
    """The options for enqueuing a URL again."""

    depth: int
    refresh: bool


EnqueueAgain = Callable[[Sequence[str], RequeueOptions], Iterable[EnqueueResult]]
"""Enqueues URLs with a run's options and request id, and returns the results."""


class RunTracker:
    """
    The URLs of one run.

    Each URL takes about 100 bytes, and 120 more while it is in flight.

    Args:
        settings: the settings of the running system.
        store: the store with the outcomes.
        on_stored: called with each stored URL's canonical URL.
        refresh: the run also fetches stored pages again.
        crawl: the crawl's number; 0 without a crawl.
    """

    def __init__(
        self,
        settings: Settings,
        store: UrlStore,
        on_stored: Callable[[str], object] | None = None,
        *,
        refresh: bool = False,
        crawl: int = 0,
    ) -> None:
        settings = settings.resolved()
        shared = SharedState.from_settings(settings)
        self._nodes, self._in_flight = shared.nodes, shared.in_flight
        self._counts, self._crawl = shared.crawl_counts, crawl
        self._followed = FollowedUrls(self._nodes.first, prefix=settings.redis.prefix)
        self._kinds = load_kinds(settings.extract)
        self._store, self._on_stored, self._refresh = store, on_stored, refresh
        self.began_ms = int(time.time() * 1000)
        self._in_flight_urls: deque[str] = deque()
        self._done_urls: list[str] = []
        """URLs whose outcome has not been read yet."""
        self._depths: dict[int, int] = {}
        """
        How deep the run follows each URL, by the URL's hash; `~depth` once its outcome is counted.
        """
        self._in_other_crawls: dict[str, int] = {}
        """URLs in flight for another crawl, each with its depth in this run."""
        self._to_requeue: list[tuple[str, RequeueOptions]] = []
        self.request_id = self._followed.create_list()
        """The request id of all the run's enqueue calls."""
        self.held = 0
        """Number of held links."""
        self.total = 0
        """Number of distinct URLs."""
        self.rejected = 0
        self.final_states: Counter[FinalState] = Counter()
        self.outcomes: Counter[str] = Counter()
        """Number of unstored URLs, by outcome and status."""
        self.files = 0
        """Number of stored files of items."""
        self.missing_files: Counter[str] = Counter()
        """Number of unstored files of items, by outcome."""
        self.problems: dict[str, NotStored] = {}
        """The first `MAX_PROBLEMS` unstored URLs."""

    @property
    def in_flight(self) -> int:
        """Number of URLs that are not known to be done."""
        return len(self._in_flight_urls) + len(self._done_urls) + len(self._to_requeue)

    @property
    def is_done(self) -> bool:
        """True if every URL is done and no links are held."""
        return not self.in_flight and not self.held

    @property
    def stored_count(self) -> int:
        """Number of stored URLs."""
        return sum(self.final_states[state] for state in STORED_STATES)

    @property
    def not_stored_count(self) -> int:
        """Number of URLs that were not accepted, or are done but not stored."""
        return self.rejected + self.final_states.total() - self.stored_count

    def add(self, url: str, *, depth: int = 0, was_in_flight: bool = False) -> None:
        """
        Add a normalized URL that was enqueued with the run's request id, or was already in flight.

        A URL counts once. If it is added again with a higher depth, the run waits for it again.
        """
        key = hash(url)
        known_depth = self._depths.get(key)
        if known_depth is not None and max(known_depth, ~known_depth) >= depth:
            return
        is_counted = known_depth is not None and known_depth < 0
        self._depths[key] = ~depth if is_counted else depth
        self.total += known_depth is None
        if known_depth is None or is_counted:
            self._in_flight_urls.append(url)
        if was_in_flight:
            self._in_other_crawls[url] = depth

    def contains(self, url: str) -> bool:
        """True if a normalized URL was added."""
        return hash(url) in self._depths

    def count_rejected(self) -> None:
        """Count a URL that was not accepted."""
        self.rejected += 1

    def update(self, enqueue_again: EnqueueAgain) -> None:
        """
        Find URLs that are done and read their outcomes. Does nothing while a server is down.

        A call continues as long as it finds many URLs that are done. The next call continues where
        it stopped. `enqueue_again` gets the URLs that must be enqueued again.
        """
        with suppress(*TRANSIENT):
            in_flight_count = len(self._in_flight_urls)
            for checked in range(0, min(in_flight_count, MAX_CHECKED_URLS), URLS_PER_READ):
                urls = list(islice(self._in_flight_urls, URLS_PER_READ))
                in_flight = self._in_flight.intersection(urls)
                for url in urls:
                    self._in_flight_urls.popleft()
                    (self._in_flight_urls if url in in_flight else self._done_urls).append(url)
                are_few_done = len(in_flight) > (1 - MIN_DONE_SHARE) * len(urls)
                if (
                    are_few_done
                    and (checked + URLS_PER_READ) * MAX_CALLS_PER_PASS >= in_flight_count
                ):
                    break
            # Read the held links first, so that none is missed: a page's links are held before the
            # page is done, and are listed as followed before they stop being held.
            if self._crawl:
                self.held = self._counts.totals([self._crawl]).held
            # Workers list followed links before their page is done.
            for followed in self._followed.take(self.request_id):
                self.add(followed.url, depth=followed.depth, was_in_flight=followed.was_in_flight)
            while self._done_urls:
                self._read_outcomes(self._done_urls[:URLS_PER_READ])
                del self._done_urls[:URLS_PER_READ]
            self._enqueue_again(enqueue_again)

    def _read_outcomes(self, urls: Sequence[str]) -> None:
        for url, record in zip(urls, self._store.get_many(urls, ()), strict=True):
            state = self._get_final_state(record)
            depth = self._in_other_crawls.pop(url, None)
            if depth is not None and (options := self._requeue_options(url, record, state, depth)):
                self._to_requeue.append((url, options))
            elif (known_depth := self._depths[hash(url)]) >= 0:
                self._depths[hash(url)] = ~known_depth
                self._count_outcome(url, record, state)

    def _requeue_options(
        self, url: str, record: Record | None, state: FinalState, depth: int
    ) -> RequeueOptions | None:
        """Return the options for enqueuing a URL that was in flight for another crawl, or None."""
        if record is not None and record.facts.get(FILE):
            return None
        if self._refresh and state is FinalState.ALREADY_STORED:
            return RequeueOptions(depth, refresh=True)
        is_stored = record is not None and record.content_key is not None
        may_find_urls_to_follow = depth or self._kinds.may_find_urls_to_follow(url)
        return (
            RequeueOptions(depth, refresh=False) if may_find_urls_to_follow and is_stored else None
        )

    def _enqueue_again(self, enqueue_again: EnqueueAgain) -> None:
        while self._to_requeue:
            options = self._to_requeue[0][1]
            urls = [url for url, other_options in self._to_requeue if other_options == options][
                :URLS_PER_CALL
            ]
            results = list(enqueue_again(urls, options))
            enqueued = set(urls)
            self._to_requeue = [pair for pair in self._to_requeue if pair[0] not in enqueued]
            for url, result in zip(urls, results, strict=True):
                self._in_flight_urls.append(url)
                if result.status is EnqueueStatus.WAITING:
                    self._in_other_crawls[url] = options.depth

    def _count_outcome(self, url: str, record: Record | None, state: FinalState) -> None:
        facts = record.facts if record else {}
        self.final_states[state] += 1
        is_file = bool(facts.get(FILE))
        if state in STORED_STATES:
            self.files += is_file
            if self._on_stored is not None and record is not None and not is_file:
                self._on_stored(record.canonical_url)
            return
        outcome = str(facts.get("outcome") or "")
        outcomes = self.missing_files if is_file else self.outcomes
        outcomes[f"{outcome or 'no record'} {facts.get('status') or ''}".rstrip()] += 1
        if len(self.problems) < MAX_PROBLEMS:
            reason = str(facts.get("reason") or "") if record else "no record"
            cause, ended_at = (facts.get(name) or None for name in ("cause", "attempted_url"))
            self.problems[url] = NotStored(
                url, outcome, reason, cause and str(cause), ended_at and str(ended_at), is_file
            )

    def _get_final_state(self, record: Record | None) -> FinalState:
        facts = record.facts if record else {}
        outcome = facts.get("outcome")
        tried_at_ms = max(
            int(facts.get(name) or 0) for name in ("fetched_at_ms", "attempted_at_ms")
        )
        if tried_at_ms < self.began_ms and record is not None and record.content_key:
            return FinalState.ALREADY_STORED
        if outcome in (OutcomeKind.REFUSED, OutcomeKind.BLOCKED):
            return FinalState.REFUSED
        if outcome not in (OutcomeKind.FETCHED, OutcomeKind.NOT_MODIFIED):
            return FinalState.FAILED
        return FinalState.NOT_MODIFIED if outcome == OutcomeKind.NOT_MODIFIED else FinalState.STORED

    def close(self) -> None:
        """End the run. Links followed from now on do not belong to it."""
        with suppress(*TRANSIENT):
            self._followed.delete_list(self.request_id)
        self._nodes.close()
