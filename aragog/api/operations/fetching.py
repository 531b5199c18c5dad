"""
Fetch a URL now for a waiting caller.

A URL that is unknown or too old is enqueued at the highest priority, unless it is already in
flight. After the caller's time limit, the response is whatever the store has by then. Concurrent
callers share one fetch, which continues after they have stopped waiting. Robots.txt, rate limits
and retries apply as always.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from aragog.api.operations.enqueue_options import check_request_id
from aragog.api.operations.steps import Run, Steps, Wait, run_steps, run_steps_async
from aragog.crawl.pipeline.completions import Completions
from aragog.crawl.pipeline.enqueue_results import EnqueueResult, EnqueueStatus
from aragog.errors import TRANSIENT
from aragog.fetch_record.outcome import OutcomeKind
from aragog.runtime.clock import Clock, SystemClock
from aragog.urlstore.field_age import comes_from_fetches, true_at_ms
from aragog.urlstore.records import FieldInfo, Record
from aragog.urlstore.store import UrlStore
from urlspelling import normalize

PRIORITY = 0
MAX_WAIT_MS = 60_000
"""The upper bound of a caller's `max_wait_ms`."""
TAKEN_DOWN = "it was taken down"
_CONFIRMING_OUTCOMES = (OutcomeKind.FETCHED, OutcomeKind.NOT_MODIFIED)


class Enqueue(Protocol):
    """`aragog.client.Aragog.enqueue`."""

    def __call__(
        self,
        urls: Sequence[str],
        /,
        *,
        priority: int,
        refresh: bool,
        request_id: str,
        traceparent: str,
        crawl: str = "",
    ) -> list[EnqueueResult]: ...


class FetchState(StrEnum):
    """Whether a URL's stored data is fresh enough for the caller."""

    FRESH = "fresh"
    STALE = "stale"
    ABSENT = "absent"
    """No page is stored. After a failed fetch, the record contains the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """The arguments of one fetch."""

    url: str
    """The URL, in any spelling."""
    max_wait_ms: int = 0
    """From 0 to `MAX_WAIT_MS`. With 0, only later callers get the fetched page."""
    max_age_s: float | None = None
    """Accept data confirmed at most this long ago. None accepts any age, 0 always fetches."""
    field_max_age_s: Mapping[str, float] = field(default_factory=dict)
    """Maximum ages of individual fields. They apply even if `fields` does not include them."""
    fields: Sequence[str] | None = None
    """The fields to read; None reads all."""
    request_id: str = ""
    """Identifies the fetch in logs if this call starts it. If empty, a new ID is used."""
    traceparent: str = ""
    """The caller's span, whose trace the fetch continues if this call starts it."""
    crawl: Callable[[], str] = str
    """Returns the crawl that the URL belongs to if this call starts the fetch. "" means
    `enqueued`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResponse:
    """A URL's stored data after the fetch or the caller's time limit."""

    url: str
    """The normalized URL."""
    record: Record | None
    state: FetchState
    age_s: float | None = None
    """How long ago a fetch or a 304 last confirmed the page, or None if none did."""
    stale_fields: tuple[str, ...] = ()
    """Fields of `field_max_age_s` that are older than requested."""
    fetching: bool = False
    """True if the URL is still in flight, so a later call may return more."""
    reason: str | None = None
    """
    Why the URL is not fetched, or why its last fetch returned no page, for example because of
    robots.txt. None while it is in flight.
    """
    tried_at_ms: int = 0
    """When the last fetch ended, whatever its outcome, or 0."""
    confirmed_at_ms: int = 0
    """When the last fetch that confirmed the page ended, or 0."""


@dataclass(slots=True, eq=False)
class Fetching:
    """
    Fetches URLs for waiting callers. Thread-safe.

    Args:
        store: the store that contains the pages.
        enqueue: `Aragog.enqueue`.
        completions: reports finished URLs.
        max_waiting: how many callers may wait at the same time. Others get an immediate response.
        extractors: prefixes of extracted fields, in addition to the Rich Pin's prefixes.
        clock: the clock for ages and deadlines.
    """

    store: UrlStore
    enqueue: Enqueue
    completions: Completions
    _: KW_ONLY
    max_waiting: int = 1000
    extractors: Collection[str] = ()
    clock: Clock = field(default_factory=SystemClock)
    _draining: bool = field(init=False, default=False)

    def fetch_now(self, request: FetchRequest) -> FetchResponse:
        """
        Return a URL's stored data, and fetch the URL first if it is unknown or too old.

        Blocks the thread for at most `max_wait_ms` plus store and broker calls. If the stored page
        is fresh, this costs one read from the store.

        Raises:
            InvalidUrl: `url` is not a URL.
            BadInput: the `request_id` is invalid.
            StoreUnavailable: the store does not respond.
            TransientError: nothing is stored, and the URL cannot be enqueued (for example
                `SlowDown`). A stored record is returned with a `reason` instead.
        """
        return run_steps(self.steps(request))

    async def fetch_now_async(self, request: FetchRequest, run: Run) -> FetchResponse:
        """
        Like `fetch_now`, on an event loop. It occupies no thread while it waits.

        Args:
            request: the URL and its options.
            run: runs one short blocking call in a thread.
        """
        return await run_steps_async(self.steps(request), run)

    def drain(self) -> None:
        """Respond to all waiting and later callers with the stored data."""
        self._draining = True
        self.completions.notify_all()

    def close(self) -> None:
        self.completions.close()

    def steps(self, request: FetchRequest) -> Steps[FetchResponse]:
        """
        Like `fetch_now`, but for callers with their own event loop. Each step is one blocking call.
        If the caller resumes before a yielded wait has completed, the response is the data stored
        by then.
        """
        url = normalize(request.url)
        check_request_id(request.request_id)
        deadline_s = self.clock.monotonic_s() + min(request.max_wait_ms, MAX_WAIT_MS) / 1000
        response = previous = self._read_stored(url, request)
        if not self._must_fetch(response, request):
            return response
        # Check this here, because producers check a copy of the takedowns, which may be old.
        if self.store.takedowns.refused([url]):
            return replace(response, reason=TAKEN_DOWN)
        must_respond_now = self._draining or self.completions.count >= self.max_waiting
        if request.max_wait_ms <= 0 or must_respond_now:
            return self._enqueue(response, request)[0]
        try:
            with self.completions.subscribe(url) as subscription:
                started_count = 0
                while True:
                    subscription.renew()
                    response, accepted = self._enqueue(response, request)
                    started_count += accepted
                    remaining_s = deadline_s - self.clock.monotonic_s()
                    if not response.fetching or remaining_s <= 0:
                        return response
                    if not self._draining:
                        yield Wait(subscription.completion, remaining_s)
                    if self._draining or not subscription.completion.done():
                        return replace(self._read_stored(url, request), fetching=True, reason=None)
                    was_fetched = subscription.completion.result()
                    response = self._read_stored(url, request)
                    # The completed job may be an earlier one that fetched nothing.
                    if (
                        started_count > 1 and was_fetched
                    ) or response.tried_at_ms != previous.tried_at_ms:
                        return self._response_after(response, previous)
        except TRANSIENT as error:
            return _failure_response(response, error)

    def _enqueue(
        self, response: FetchResponse, request: FetchRequest
    ) -> tuple[FetchResponse, bool]:
        """Enqueue the URL. Also returns True if this call started the fetch."""
        try:
            crawl = request.crawl()
            [result] = self.enqueue(
                [response.url],
                priority=PRIORITY,
                refresh=True,
                request_id=request.request_id,
                traceparent=request.traceparent,
                **({"crawl": crawl} if crawl else {}),
            )
        except TRANSIENT as error:
            return _failure_response(response, error), False
        if result.status in (EnqueueStatus.ACCEPTED, EnqueueStatus.WAITING):
            return replace(
                response, fetching=True, reason=None
            ), result.status is EnqueueStatus.ACCEPTED
        return replace(response, reason=result.reason), False

    def _read_stored(self, url: str, request: FetchRequest) -> FetchResponse:
        names = request.fields
        if names is not None and request.field_max_age_s:
            names = [*dict.fromkeys((*names, *request.field_max_age_s))]
        record = self.store.get(url, names, info=bool(request.field_max_age_s))
        if record is None:
            return FetchResponse(url=url, record=None, state=FetchState.ABSENT)
        confirmed_at_ms, tried_at_ms = self._confirmed_and_tried_ms(record)
        now_ms = self.clock.now_ms()
        age_s = max(0, now_ms - confirmed_at_ms) / 1000 if confirmed_at_ms else None
        stale_fields = tuple(
            name
            for name, limit_s in request.field_max_age_s.items()
            if _is_older(
                self._field_age_s(name, record.info.get(name), confirmed_at_ms, now_ms), limit_s
            )
        )
        is_stale = request.max_age_s is not None and _is_older(age_s, request.max_age_s)
        if request.fields is not None:
            requested = {n: v for n, v in record.fields.items() if n in request.fields}
            record = replace(record, fields=requested)
        has_failed = tried_at_ms and not confirmed_at_ms and record.content_key is None
        state = FetchState.ABSENT if has_failed else FetchState.FRESH
        return FetchResponse(
            url=url,
            record=record,
            state=FetchState.STALE if (is_stale or stale_fields) and not has_failed else state,
            age_s=age_s,
            stale_fields=stale_fields,
            reason=_failure_reason(record),
            tried_at_ms=tried_at_ms,
            confirmed_at_ms=confirmed_at_ms,
        )

    def _field_age_s(
        self, name: str, info: FieldInfo | None, confirmed_at_ms: int, now_ms: int
    ) -> float | None:
        at_ms = true_at_ms(name, info, confirmed_at_ms or None, self.extractors)
        return None if at_ms is None else max(0, now_ms - at_ms) / 1000

    def _response_after(self, response: FetchResponse, previous: FetchResponse) -> FetchResponse:
        """
        Return the response after a fetch. A page that the fetch confirmed is fresh, whatever its
        age.
        """
        # Compare times, because the ages were computed at different times.
        if response.confirmed_at_ms <= previous.confirmed_at_ms:
            return response
        stale_fields = tuple(
            name for name in response.stale_fields if not comes_from_fetches(name, self.extractors)
        )
        state = FetchState.STALE if stale_fields else FetchState.FRESH
        return replace(response, state=state, stale_fields=stale_fields)

    def _confirmed_and_tried_ms(self, record: Record) -> tuple[int, int]:
        """Return when the page was last confirmed and last tried, in ms. 0 means never."""
        facts = record.facts
        fetched_at_ms = int(facts.get("fetched_at_ms") or 0)
        tried_at_ms = max(fetched_at_ms, int(facts.get("attempted_at_ms") or 0))
        if tried_at_ms == fetched_at_ms or facts.get("outcome") in _CONFIRMING_OUTCOMES:
            return tried_at_ms, tried_at_ms
        return self.store.pages.seen_at_ms([record.canonical_url])[0] or 0, tried_at_ms

    def _must_fetch(self, response: FetchResponse, request: FetchRequest) -> bool:
        """
        Return True if a fetch may return something that the caller accepts.

        A URL that was tried within the accepted age is not tried again. Otherwise, each caller that
        wants a dead page would cause a request.
        """
        if not response.tried_at_ms:
            return True
        limits = (request.max_age_s, *request.field_max_age_s.values())
        max_age_s = min((limit for limit in limits if limit is not None), default=None)
        tried_ago_s = max(0, self.clock.now_ms() - response.tried_at_ms) / 1000
        if max_age_s is None or response.state is FetchState.FRESH:
            return False
        return _is_older(tried_ago_s, max_age_s)


def _failure_reason(record: Record) -> str | None:
    """
    Return why the last fetch of a record's URL returned no page, or None if it returned a page or
    there was no fetch.
    """
    outcome = record.facts.get("outcome")
    if outcome is None or outcome in _CONFIRMING_OUTCOMES:
        return None
    return str(record.facts.get("reason") or outcome)


def _is_older(age_s: float | None, limit_s: float) -> bool:
    return age_s is None or age_s > limit_s or limit_s == 0


def _failure_response(response: FetchResponse, error: Exception) -> FetchResponse:
    if response.record is None:
        raise error
    return replace(response, fetching=False, reason=str(error))
