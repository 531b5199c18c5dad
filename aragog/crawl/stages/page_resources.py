"""
Sends the requests that a page's scripts make during rendering, with the usual checks and limits.

A script's request is subject to takedowns, blocked hosts, the SSRF filter and robots.txt, and gets
a slot (reserved request time) of its domain. No credentials are sent, because the script chooses
the URL. A slot more than `MAX_SLOT_WAIT_MS` away may be too late for the page, so the request then
takes the domain's next permit, ahead of reserved slots. The domain's request rate stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from aragog.crawl.egress.rules import ANY_CONTEXT, EgressContext
from aragog.crawl.fetcher.gate import Gate, Later
from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.pipeline.site_rules import original_form_for_robots
from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.permits import MAX_UNENFORCED_INTERVAL_US
from aragog.crawl.politeness.slots import Slot, SlotRequest
from aragog.crawl.rendering.models import Resource, ResourceRequest
from aragog.crawl.stages.access import Access
from aragog.crawl.stages.access_rules import AccessRules
from aragog.crawl.stages.job_egress import JobEgress
from aragog.crawl.stages.polite_gate import PoliteGate
from aragog.crawl.stages.requester import is_healthy, run_fetch
from aragog.errors import InvalidUrl
from aragog.fetch_record.causes import DeferralCause
from aragog.fetch_record.outcome import Fetched, Outcome
from aragog.runtime.clock import Clock
from urlspelling import normalize
from urlspelling.domain import origin

# How long to wait while another process fetches an origin's robots rules.
RULES_POLL_S = 0.25
# A slot later than this is not reserved. Instead, the request overtakes the others.
MAX_SLOT_WAIT_MS = 4_000
TOO_LATE_REASON = "the page's time ends before its slot"
NO_RULES_REASON = "its robots.txt is not known yet"
BEFORE_VISIT_TIME_REASON = "the Visit-time of its site has not started"


class ResourceFetcher(Protocol):
    """Fetches one URL (`aragog.crawl.fetcher.fetcher.Fetcher`), without credentials."""

    def fetch(
        self,
        url: str,
        *,
        gate: Gate,
        headers: Mapping[str, str],
        egress: EgressContext = ANY_CONTEXT,
    ) -> Outcome:
        """Return the outcome. Blocks for at most one fetch deadline."""


class ResourceGate(PoliteGate):
    """
    The gate for a script's request. It waits only while the page has time left.

    Args:
        slot: the slot of the first request.
        remaining_ms: returns how much time the page has left.
        purposes: the crawl's purposes. None means the purposes in the settings.
    """

    def __init__(
        self,
        rules: AccessRules,
        slot: Slot,
        remaining_ms: Callable[[], float],
        purposes: tuple[str, ...] | None = None,
    ) -> None:
        super().__init__(rules, slot, purposes=purposes)
        self._remaining_ms = remaining_ms

    def acquire_permit(self, url: str) -> Later | None:  # noqa: ARG002 - the port's signature
        """
        Return None to send now, or `Later` if the page's time is over or an operator stopped the
        domain.
        """
        while not self._limiter.acquire_permit(self._slot):
            slot = self._slot
            if self._remaining_ms() <= 0 or self._limiter.is_closed(slot.key):
                return Later(DeferralCause.DEADLINE, TOO_LATE_REASON)
            self._limiter.end_request(slot)
            self._slot = self._limiter.slot_ahead(SlotRequest(slot.key, slot.interval_us / 1e6))
        return None

    def _reserve(self, request: SlotRequest, reason: str) -> Later | None:
        slot = reserve_near_slot(self._limiter, request, self._remaining_ms())
        if slot is None:
            return Later(DeferralCause.SLOT, reason)
        self._limiter.end_request(self._slot)
        self._slot = slot
        return None


def reserve_near_slot(limiter: Limiter, request: SlotRequest, remaining_ms: float) -> Slot | None:
    """Return a slot within `remaining_ms`, ahead of the domain's backlog if necessary, or None."""
    max_wait_ms = int(max(0, min(remaining_ms, MAX_SLOT_WAIT_MS)))
    slot = limiter.reserve([replace(request, max_wait_ms=max_wait_ms)])[0]
    if isinstance(slot, Slot):
        return slot
    if limiter.is_closed(request.key):
        return None
    early_slot = limiter.slot_ahead(request)
    # Domains with an interval of at most `MAX_UNENFORCED_INTERVAL_US` have slots but no permits.
    return (
        early_slot
        if MAX_UNENFORCED_INTERVAL_US < early_slot.interval_us <= remaining_ms * 1000
        else None
    )


@dataclass(frozen=True, slots=True)
class PageResources:
    """Fetches what pages' scripts request. Thread-safe."""

    access: Access
    fetcher: ResourceFetcher
    learn_rules: Callable[[str], None]
    """Fetches an origin's robots.txt if its rules are unknown and the fetch is allowed."""
    clock: Clock
    egress: JobEgress = field(default_factory=JobEgress)

    def fetch(self, request: ResourceRequest) -> Resource | str:
        """
        Return the response, or the reason why the URL was not requested.

        Raises:
            AragogError: our own infrastructure failed.
        """
        try:
            url = normalize(request.url)
        except InvalidUrl as error:
            return error.reason
        other_form = original_form_for_robots(request.url, url)
        job = UrlJob(url=url, given=other_form, purposes=request.purposes, crawl=request.crawl)
        slot_request = self._slot_request_or_reason(job, request.deadline_s)
        if isinstance(slot_request, str):
            return slot_request
        return self._fetch_in_slot(job, slot_request, request)

    def _slot_request_or_reason(self, job: UrlJob, deadline_s: float) -> SlotRequest | str:
        has_requested_rules = False
        while True:
            vetted = self.access.vet([job])
            if vetted.denied:
                return vetted.denied[0].reason
            if vetted.allowed:
                (_, crawl_delay_s) = vetted.allowed[0]
                return SlotRequest(self.access.limiter.key_for(job.url), crawl_delay_s)
            if vetted.too_early:
                return BEFORE_VISIT_TIME_REASON
            if self.clock.monotonic_s() >= deadline_s:
                return NO_RULES_REASON
            if not has_requested_rules:
                self.learn_rules(origin(job.url))
                has_requested_rules = True
            else:
                self.clock.sleep_s(RULES_POLL_S)

    def _fetch_in_slot(
        self, job: UrlJob, slot_request: SlotRequest, request: ResourceRequest
    ) -> Resource | str:
        def remaining_ms() -> float:
            return (request.deadline_s - self.clock.monotonic_s()) * 1000

        slot = reserve_near_slot(self.access.limiter, slot_request, remaining_ms())
        if slot is None:
            return TOO_LATE_REASON
        headers = {"Accept": request.accept} | ({"Origin": o} if (o := request.origin) else {})
        default_purposes = self.access.rules.settings.preferences.purposes
        with ResourceGate(
            self.access.rules, slot, remaining_ms, job.purposes_with_default(default_purposes)
        ) as gate:
            egress = self.egress.context(job)
            fetch = partial(self.fetcher.fetch, job.url, gate=gate, headers=headers, egress=egress)
            outcome = run_fetch(fetch, url=job.url, next_url=job.url, clock=self.clock)
            health_by_key = dict.fromkeys(gate.redirected_by, True)
            if (is_ok := is_healthy(outcome)) is not None:
                health_by_key[gate.key] = is_ok
            self.access.limiter.report_many(health_by_key.items())
        return _to_resource(outcome)


def _to_resource(outcome: Outcome) -> Resource | str:
    """Return the response for the page, or why it gets none."""
    if isinstance(outcome, Fetched):
        if outcome.truncated:
            return outcome.truncated_why or "it is truncated"
        return Resource(outcome.final_url, outcome.status or 200, outcome.headers, outcome.body)
    if outcome.status is not None and outcome.status >= 400:
        return Resource(outcome.final_url, outcome.status, outcome.headers)
    return getattr(outcome, "reason", "") or type(outcome).__name__
