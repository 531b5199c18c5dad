"""
Fetches individual URLs politely, for programs outside the workers that wait for the response.

Each URL goes through the usual checks: takedowns, blocked hosts, the SSRF filter, robots.txt, a
slot (request time) of its domain, and a permit right before the request. A failed check becomes the
URL's outcome. Unknown robots.txt rules are fetched here, so no worker has to run.

It is safe to run twice, because only robots.txt rules and the limiter's state are stored.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, Protocol

from aragog.crawl.egress.rules import ANY_CONTEXT, EgressContext
from aragog.crawl.fetcher.gate import Gate
from aragog.crawl.pipeline.messages import RobotsBatch, UrlJob
from aragog.crawl.pipeline.routing import OutgoingMessage
from aragog.crawl.pipeline.site_rules import original_form_for_robots
from aragog.crawl.politeness.slots import Slot, SlotRequest
from aragog.crawl.stages.access import HEAD_START_MS, Access, Denial
from aragog.crawl.stages.access_rules import Forbidden, RulesUnreachable
from aragog.crawl.stages.polite_gate import PoliteGate
from aragog.crawl.stages.requester import is_healthy, run_fetch
from aragog.errors import TRANSIENT, LimiterUnavailable
from aragog.fetch_record.causes import DeferralCause
from aragog.fetch_record.outcome import (
    Blocked,
    Deferred,
    Fetched,
    NotModified,
    Outcome,
    OutcomeKind,
    Refused,
    Unreachable,
)
from aragog.runtime.clock import Clock
from urlspelling import normalize
from urlspelling.domain import origin

log = logging.getLogger(__name__)
RULES_POLL_S = 0.25
"""How often to check while another process fetches robots rules."""
MIN_WAIT_MS = 25
"""The shortest wait before asking for a domain's slot again."""
ERROR_BODY_BYTES = 1_000_000
"""How much of an error response's body to return."""
_TIMEOUT_REASONS = {
    DeferralCause.SLOT: "its domain had no free slot in time; see politeness.qps",
    DeferralCause.RULES: "its robots.txt was not known in time",
    DeferralCause.VISIT_TIME: "the Visit-time of its site did not begin in time",
}
"""Why no request was sent in the time that the caller allows."""


class RulesFetcher(Protocol):
    """Fetches robots.txt (`aragog.crawl.stages.robots.RobotsStage`)."""

    def run(self, batch: RobotsBatch) -> list[OutgoingMessage]:
        """Return the batches that must run later."""


class HeaderFetcher(Protocol):
    """Sends a request with the caller's headers (`aragog.crawl.fetcher.fetcher.Fetcher`)."""

    def fetch(
        self,
        url: str,
        *,
        gate: Gate,
        headers: Mapping[str, str] | None = None,
        method: str = "GET",
        body: bytes = b"",
        error_body_bytes: int = 0,
        egress: EgressContext = ANY_CONTEXT,
    ) -> Outcome:
        """Return the outcome. Blocks for at most one fetch deadline."""


class SlotSearch(NamedTuple):
    """The result of asking the limiter for a URL's slot."""

    slot: Slot | None
    """The slot. None if no slot is free soon, or if the URL does not need one yet."""
    wait_ms: int
    """When to ask again. 0 means now, because the next step (a refusal, or robots.txt) needs no
    slot."""
    interval_s: float = 0.0
    """The interval between two requests to the domain."""
    rules_first: bool = False
    """True if the URL's robots.txt is unknown. One call of `fetch` then reads it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleRequest:
    """A URL to request, with options."""

    url: str
    """The URL in any form. robots.txt must allow this form and the normalized one."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Additional headers. They replace the fetcher's headers of the same name."""
    method: str = "GET"
    """GET, HEAD or POST."""
    body: bytes = b""
    way: str = ""
    """The egress route to use regardless of the rules. If empty, the rules decide."""


@dataclass(frozen=True, slots=True)
class SingleFetch:
    """Sends requests one by one. Thread-safe."""

    access: Access
    fetcher: HeaderFetcher
    """Follows no redirects, because the caller treats each redirect as another URL."""
    robots: RulesFetcher
    clock: Clock

    def find_slots(self, urls: Sequence[str]) -> list[SlotSearch]:
        """
        Find a slot in the next second for each URL. Takes one round trip per limiter node.

        A URL that will be refused or needs its robots.txt first gets no slot and no wait. `fetch`
        handles it.

        Raises:
            InvalidUrl: a value is not an http(s) URL.
            LimiterUnavailable, RobotsUnavailable: Redis did not respond.
        """
        # A URL may be listed twice. The request IDs distinguish its jobs.
        jobs = [replace(_job(url), request_id=str(index)) for index, url in enumerate(urls)]
        vetted = self.access.vet(jobs, takedowns=False)  # `fetch` checks takedowns
        searches = {job.request_id: SlotSearch(None, wait_ms) for job, wait_ms in vetted.too_early}
        searches |= {
            job.request_id: SlotSearch(None, 0, rules_first=True) for job in vetted.robots_first
        }
        requests = [self._slot_request(job, delay_s) for job, delay_s in vetted.allowed]
        replies = self.access.limiter.reserve(requests)
        for (job, delay_s), reply in zip(vetted.allowed, replies, strict=True):
            interval_s = self.access.limiter.interval_us(reply.key, delay_s) / 1e6
            searches[job.request_id] = (
                SlotSearch(reply, 0, interval_s)
                if isinstance(reply, Slot)
                else SlotSearch(
                    None, self._near_slot_wait_ms(reply.key, reply.free_at_ms), interval_s
                )
            )
        return [searches.get(job.request_id, SlotSearch(None, 0)) for job in jobs]

    def release_unused(self, slot: Slot) -> None:
        """Release a slot that will not be used. Otherwise it expires."""
        with suppress(LimiterUnavailable):
            self.access.limiter.end_request(slot)

    def fetch(
        self, request: SingleRequest, *, remaining_s: Callable[[], float], slot: Slot | None = None
    ) -> Outcome:
        """
        Return the outcome of a request, or why it was not sent.

        Args:
            request: what to request.
            remaining_s: returns how long to wait for robots.txt and a slot. Called every second.
            slot: a slot from `find_slots`.

        Raises:
            InvalidUrl: the value is not an http(s) URL.
            TransientError: our own infrastructure failed. The slot is used up, and the request may
                have been sent.
        """
        job = _job(request.url)
        while True:
            try:
                allowed = self._slot_request_or_outcome(job, remaining_s)
            except TRANSIENT:
                if slot is not None:
                    self.release_unused(slot)
                raise
            if not isinstance(allowed, SlotRequest):
                if slot is not None:
                    self.release_unused(slot)
                return allowed
            slot = slot or self._wait_for_slot(allowed, remaining_s)
            if slot is None:
                return _deferred_outcome(job, DeferralCause.SLOT)
            outcome = self._send(job, slot, request)
            if not isinstance(outcome, Deferred):
                return outcome
            # No request was sent: the slot has passed and the next is far away, or no proxy works.
            slot = None
            if outcome.cause is DeferralCause.EGRESS and not self._wait_for_route(
                outcome, remaining_s
            ):
                return outcome

    def _wait_for_route(self, outcome: Deferred, remaining_s: Callable[[], float]) -> bool:
        """Wait until a proxy is tried again. Returns False if the caller's time runs out first."""
        wait_s = ((outcome.retry_at_ms or 0) - self.clock.now_ms()) / 1000
        return wait_s < remaining_s() and self._wait(max(RULES_POLL_S, wait_s), remaining_s)

    def _slot_request(self, job: UrlJob, crawl_delay_s: float | None) -> SlotRequest:
        max_wait_ms = self.access.rules.settings.politeness.wait_inline_ms + HEAD_START_MS
        return SlotRequest(
            self.access.limiter.key_for(job.url), crawl_delay_s, max_wait_ms=max_wait_ms
        )

    def _near_slot_wait_ms(self, key: str, free_at_ms: int) -> int:
        wait_ms = self.access.limiter.wait_ms(key, free_at_ms)
        near_ms = self.access.rules.settings.politeness.wait_inline_ms
        return max(MIN_WAIT_MS, wait_ms - near_ms)

    def _slot_request_or_outcome(
        self, job: UrlJob, remaining_s: Callable[[], float]
    ) -> SlotRequest | Outcome:
        has_fetched_rules = False
        while True:
            vetted = self.access.vet([job])
            if vetted.denied:
                return _denied_outcome(vetted.denied[0])
            if claimed := self.access.claim_refresh(vetted.stale_origins):
                self._fetch_rules(RobotsBatch(tuple(claimed), claimed=True), remaining_s)
            if vetted.allowed:
                return self._slot_request(*vetted.allowed[0])
            if remaining_s() <= 0:
                return _deferred_outcome(
                    job, DeferralCause.VISIT_TIME if vetted.too_early else DeferralCause.RULES
                )
            if vetted.too_early:
                self._wait(vetted.too_early[0][1] / 1000, remaining_s)
                continue
            if has_fetched_rules:  # another process is fetching the rules
                self.clock.sleep_s(RULES_POLL_S)
            self._fetch_rules(RobotsBatch((origin(job.url),)), remaining_s)
            has_fetched_rules = True

    def _fetch_rules(self, batch: RobotsBatch, remaining_s: Callable[[], float]) -> None:
        messages = self.robots.run(batch)
        while messages:
            message = messages.pop(0)
            if not self._wait((message.delay_ms or 0) / 1000, remaining_s):
                return
            if isinstance(message.message, RobotsBatch):
                messages += self.robots.run(message.message)

    def _wait_for_slot(self, request: SlotRequest, remaining_s: Callable[[], float]) -> Slot | None:
        """Wait for a slot. Returns None if the caller's time runs out first."""
        while True:
            reply = self.access.limiter.reserve([request])[0]
            if isinstance(reply, Slot):
                return reply
            wait_s = self._near_slot_wait_ms(reply.key, reply.free_at_ms) / 1000
            if wait_s >= remaining_s() or not self._wait(wait_s, remaining_s):
                return None

    def _wait(self, seconds: float, remaining_s: Callable[[], float]) -> bool:
        """Wait. Returns False if the caller's time runs out first."""
        while (time_left_s := remaining_s()) > 0 and seconds > 0:
            part_s = min(seconds, time_left_s, 1.0)
            self.clock.sleep_s(part_s)
            seconds -= part_s
        return time_left_s > 0

    def _send(self, job: UrlJob, slot: Slot, request: SingleRequest) -> Outcome:
        limiter = self.access.limiter
        self.clock.sleep_s((limiter.wait_ms(slot.key, slot.at_ms) - HEAD_START_MS) / 1000)
        outcome = None
        try:
            with self.access.gate(slot, job) as gate:
                outcome = self._fetch_page(job, gate, request)
                self._report(gate, outcome)
        except LimiterUnavailable as error:
            if outcome is None:
                raise
            # The page has arrived, even if this cannot be reported to the limiter.
            log.warning("cannot report the outcome of %s to the limiter: %s", job.url, error)
        return outcome

    def _fetch_page(self, job: UrlJob, gate: PoliteGate, request: SingleRequest) -> Outcome:
        fetch = partial(
            self.fetcher.fetch,
            job.url,
            gate=gate,
            headers=request.headers,
            method=request.method,
            body=request.body,
            error_body_bytes=ERROR_BODY_BYTES,
            egress=EgressContext(way=request.way) if request.way else ANY_CONTEXT,
        )
        return run_fetch(fetch, url=job.url, next_url=job.url, clock=self.clock)

    def _report(self, gate: PoliteGate, outcome: Outcome) -> None:
        limiter = self.access.limiter
        if isinstance(outcome, Fetched | NotModified) and outcome.first_byte_ms is not None:
            limiter.record_latency(gate.key, outcome.first_byte_ms, outcome.address)
        if (is_ok := is_healthy(outcome)) is not None:
            limiter.report(gate.key, is_ok)


def _job(raw_url: str) -> UrlJob:
    url = normalize(raw_url)
    return UrlJob(url=url, given=original_form_for_robots(raw_url, url))


def _denied_outcome(denial: Denial) -> Outcome:
    url = denial.job.url
    match denial.verdict:
        case Forbidden(cause=cause, reason=reason):
            outcome_class = Refused if denial.outcome is OutcomeKind.REFUSED else Blocked
            return outcome_class(url=url, final_url=url, cause=cause, reason=reason)
        case RulesUnreachable(kind=why, reason=reason):
            return Unreachable(url=url, final_url=url, kind=why, reason=reason)


def _deferred_outcome(job: UrlJob, cause: DeferralCause) -> Deferred:
    return Deferred(url=job.url, final_url=job.url, cause=cause, reason=_TIMEOUT_REASONS[cause])
