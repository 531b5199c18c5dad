"""
Sends a batch's requests concurrently, each in its slot (reserved time).

If a bug in aragog makes a fetch fail, its outcome says so, and the rest of the batch continues.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

from aragog.crawl.egress.rules import ANY_CONTEXT, EgressContext
from aragog.crawl.fetcher.cookies import OriginCookies
from aragog.crawl.fetcher.gate import Gate
from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.pipeline.packed_body import PLAIN, BodyCodec, PackedBody, pack
from aragog.crawl.pipeline.url_traces import UNTRACED, StageSpans
from aragog.crawl.politeness.slots import Slot
from aragog.crawl.sign_in.sessions import FetchSession
from aragog.crawl.stages.access import HEAD_START_MS, Access
from aragog.crawl.stages.job_egress import JobEgress
from aragog.crawl.stages.revalidation import StoredValidators
from aragog.errors import ALL
from aragog.fetch_record.causes import RefusalCause
from aragog.fetch_record.outcome import (
    RECORD_FIELDS,
    Blocked,
    Busy,
    Deferred,
    Fetched,
    Hop,
    NotModified,
    Outcome,
    OutcomeKind,
    Refused,
    Unreachable,
    UnreachableKind,
    Withheld,
)
from aragog.runtime.clock import Clock
from aragog.runtime.green_threads import GreenPool

log = logging.getLogger(__name__)


def run_fetch(fetch: Callable[[], Outcome], *, url: str, next_url: str, clock: Clock) -> Outcome:
    """
    Return the outcome of `fetch()`, or `Unreachable` after an unexpected exception.

    An unusual response that triggers a bug must not make the whole batch fail.

    Args:
        fetch: sends the request.
        url: the job's URL.
        next_url: the URL to request now, perhaps after redirects.
        clock: for the time of the failure.

    Raises:
        AragogError: our own infrastructure failed.
    """
    try:
        return fetch()
    except ALL:
        raise
    except Exception as error:
        log.exception("a fetch failed within aragog: %s", next_url)
        return Unreachable(
            url=url,
            final_url=next_url,
            fetched_at_ms=clock.now_ms(),
            kind=UnreachableKind.INTERNAL,
            reason=f"{type(error).__name__}: {error}",
        )


_NO_VALIDATORS = StoredValidators()
SIGNED_OUT_REASON = "the site requires signing in, although the session of fetch.sign_in was sent"


class PageFetcher(Protocol):
    """Fetches one URL (`aragog.crawl.fetcher.fetcher.Fetcher`)."""

    def fetch(
        self,
        url: str,
        *,
        gate: Gate,
        etag: str | None = None,
        last_modified: str | None = None,
        validators_url: str | None = None,
        hops: tuple[Hop, ...] = (),
        egress: EgressContext = ANY_CONTEXT,
        cookies: OriginCookies | None = None,
    ) -> Outcome:
        """Return the outcome. Blocks for at most one fetch deadline."""


class SignInProvider(Protocol):
    """Signs in to sites (`aragog.crawl.stages.sign_in.SignIns`)."""

    def session(self, job: UrlJob, egress: EgressContext) -> FetchSession | Deferred | None:
        """Return a job's session, or `Deferred` if the job must wait for one."""

    def save_changes(self, fetch_session: FetchSession, outcome: Outcome) -> bool:
        """Save the fetch's changes to the session. Returns True if the session had expired."""


class Fetch(NamedTuple):
    """The result of one fetch."""

    job: UrlJob
    outcome: Outcome
    """The outcome. A `Fetched` has no body here."""
    body: PackedBody | None
    """The body of a fetched page, otherwise None."""
    signed_out: bool = False
    """True if the session had expired. The response is then not the page."""


@dataclass(frozen=True, slots=True)
class Requester:
    """Runs fetches in green threads."""

    fetcher: PageFetcher
    sitemap_fetcher: PageFetcher
    file_fetcher: PageFetcher
    pool: GreenPool
    """Runs individual fetches, each limited by the fetch deadline."""
    access: Access
    clock: Clock
    egress: JobEgress = field(default_factory=JobEgress)
    sign_ins: SignInProvider | None = None
    """Signs in for `fetch.sign_in`."""
    bodies: BodyCodec = PLAIN

    def run(
        self,
        jobs: Iterable[tuple[UrlJob, Slot]],
        validators: Mapping[str, StoredValidators],
        spans: StageSpans = UNTRACED,
    ) -> Iterator[Fetch]:
        """
        Fetch every job in its slot. Yields the outcomes in the order of the jobs.

        Bodies are compressed again on arrival, because a response of a few kilobytes may decompress
        to 20 MB, and a worker handles 800 pages at a time.

        Raises:
            AragogError: our own infrastructure failed.
        """
        started_s = self.clock.monotonic_s()
        calls = []
        with self.pool.batch() as batch:
            for job, slot in jobs:
                elapsed_ms = (self.clock.monotonic_s() - started_s) * 1000
                wait_ms = slot.wait_ms - (slot.at_us - slot.request_at_us) / 1000
                self.clock.sleep_s((wait_ms - HEAD_START_MS - elapsed_ms) / 1000)
                stored = validators.get(job.url, _NO_VALIDATORS)
                submit = batch.submit_urgent if slot.urgent else batch.submit
                calls.append((job, submit(self._fetch_one, job, slot, stored, spans)))
            for job, call in calls:
                yield Fetch(job, *call.result())

    def _fetch_one(
        self, job: UrlJob, slot: Slot, stored: StoredValidators, spans: StageSpans
    ) -> tuple[Outcome, PackedBody | None, bool]:
        session = self._sign_in(job)
        if isinstance(session, Deferred):
            self.access.limiter.end_request(slot)
            return session, None, False
        outcome = self._fetch_and_report(job, slot, stored, spans, session)
        if session and self.sign_ins and self.sign_ins.save_changes(session, outcome):
            return _as_signed_out(outcome), None, True
        changes: dict[str, Any] = {}
        if not job.sitemap and not isinstance(outcome, Deferred):
            preferences = self.access.statements(outcome.final_url or outcome.url)
            has_page = isinstance(outcome, Fetched | NotModified)
            changes["robots_preferences"] = preferences if has_page else preferences or None
        body = None
        if isinstance(outcome, Fetched):
            body = pack(outcome.body, self.bodies)
            changes["body"] = b""
        return replace(outcome, **changes) if changes else outcome, body, False

    def _sign_in(self, job: UrlJob) -> FetchSession | Deferred | None:
        return self.sign_ins.session(job, self.egress.context(job)) if self.sign_ins else None

    def _fetch_and_report(
        self,
        job: UrlJob,
        slot: Slot,
        stored: StoredValidators,
        spans: StageSpans,
        session: FetchSession | None,
    ) -> Outcome:
        with self.access.gate(slot, job) as gate:
            requests = spans.requests(job, gate)
            outcome = self._request_page(job, requests or gate, stored, session)
            if requests is not None:
                spans.record_requests(job, requests, outcome)
            if isinstance(outcome, Refused) and outcome.cause is RefusalCause.TAKEN_DOWN:
                outcome = _hide_target(job, outcome)
            health_by_key = dict.fromkeys(gate.redirected_by, True)
            if (is_ok := is_healthy(outcome)) is not None:
                health_by_key[gate.key] = is_ok
            if isinstance(outcome, Fetched | NotModified) and outcome.first_byte_ms is not None:
                limiter = self.access.limiter
                limiter.record_latency(gate.key, outcome.first_byte_ms, outcome.address)
            # Report this right away: the rest of the batch may take up to the fetch deadline.
            self.access.limiter.report_many(health_by_key.items())
            return outcome

    def _request_page(
        self, job: UrlJob, gate: Gate, stored: StoredValidators, session: FetchSession | None
    ) -> Outcome:
        page_fetcher = self.file_fetcher if job.file else self.fetcher
        fetcher = self.sitemap_fetcher if job.sitemap else page_fetcher
        fetch = partial(
            fetcher.fetch,
            job.next_url,
            gate=gate,
            etag=stored.etag,
            last_modified=stored.last_modified,
            validators_url=stored.url,
            hops=job.hops,
            egress=self.egress.context(job),
            **({"cookies": session.cookies} if session else {}),
        )
        return run_fetch(fetch, url=job.url, next_url=job.next_url, clock=self.clock)


def is_healthy(outcome: Outcome) -> bool | None:
    """
    Return True if the most recently requested domain responded properly, None if unknown.

    A domain whose redirects lead nowhere has responded, so fewer requests would not help. A domain
    that withholds its pages (401, 402, 403, 451) counts like one with errors.
    """
    match outcome:
        case Refused() | Blocked() | Deferred() | Unreachable(kind=UnreachableKind.INTERNAL):
            return None
        case Unreachable(kind=UnreachableKind.REDIRECT):
            return True
        case _:
            return not isinstance(outcome, Busy | Unreachable | Withheld)


def _as_signed_out(outcome: Outcome) -> Outcome:
    if isinstance(outcome, Withheld):
        return outcome
    fields = {name: getattr(outcome, name) for name in RECORD_FIELDS}
    return Withheld(**(fields | {"outcome": OutcomeKind.UNAUTHORIZED, "reason": SIGNED_OUT_REASON}))


def _hide_target(job: UrlJob, outcome: Outcome) -> Outcome:
    """Return a redirect's outcome without its target, which was taken down."""
    return Refused(
        url=job.url,
        final_url=job.url,
        fetched_at_ms=outcome.fetched_at_ms,
        cause=RefusalCause.TAKEN_DOWN,
        reason="it redirects to a URL that was taken down",
    )
