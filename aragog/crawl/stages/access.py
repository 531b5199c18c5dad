"""
Decides which jobs may send a request now, based on their URLs, robots.txt and the free slots
(request times) of their domains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, assert_never

from aragog.crawl.pipeline.messages import URGENT, UrlJob
from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.slots import RateExceeded, Slot, SlotRequest
from aragog.crawl.stages.access_rules import (
    AccessRequest,
    AccessRules,
    Allowed,
    Forbidden,
    RequestKind,
    RulesUnknown,
    RulesUnreachable,
    TooEarly,
    Verdict,
)
from aragog.crawl.stages.polite_gate import PoliteGate
from aragog.crawl.stages.waiting_line import RELEASE_LEAD_MS, WaitingJob, WaitingLine
from aragog.fetch_record.causes import RefusalCause
from aragog.fetch_record.outcome import OutcomeKind
from aragog.pages.preferences import pack_statements
from urlspelling.domain import origin

# On a busy machine, a woken thread takes about this long to open a connection.
HEAD_START_MS = 30
_REFUSALS_BY_SITE = (RefusalCause.ROBOTS, RefusalCause.PURPOSE, RefusalCause.TAKEN_DOWN)
"""The site causes these denials. All others come from this crawler or its operator."""


class Denial(NamedTuple):
    """A job that must not send its request."""

    job: UrlJob
    verdict: Forbidden | RulesUnreachable

    @property
    def reason(self) -> str:
        return self.verdict.reason

    @property
    def cause(self) -> RefusalCause | None:
        """What forbids the request. None if robots.txt could not be fetched."""
        return self.verdict.cause if isinstance(self.verdict, Forbidden) else None

    @property
    def outcome(self) -> OutcomeKind:
        if isinstance(self.verdict, RulesUnreachable):
            return OutcomeKind.UNREACHABLE
        return (
            OutcomeKind.REFUSED if self.verdict.cause in _REFUSALS_BY_SITE else OutcomeKind.BLOCKED
        )


@dataclass(frozen=True, slots=True)
class JobVerdicts:
    """Jobs grouped by verdict."""

    allowed: list[tuple[UrlJob, float | None]] = field(default_factory=list)
    """Jobs that may be requested, each with its Crawl-delay in seconds."""
    denied: list[Denial] = field(default_factory=list)
    robots_first: list[UrlJob] = field(default_factory=list)
    """Jobs whose robots rules have not been fetched yet."""
    stale_origins: list[str] = field(default_factory=list)
    too_early: list[tuple[UrlJob, int]] = field(default_factory=list)
    """Jobs outside the Visit-time in robots.txt, each with its wait in ms."""

    def add(self, job: UrlJob, verdict: Verdict) -> None:
        match verdict:
            case Allowed(crawl_delay_s=delay_s, stale=stale):
                self.allowed.append((job, delay_s))
                if stale:
                    self.stale_origins.append(origin(job.next_url))
            case Forbidden() | RulesUnreachable():
                self.denied.append(Denial(job, verdict))
            case RulesUnknown():
                self.robots_first.append(job)
            case TooEarly(wait_ms=wait_ms):
                self.too_early.append((replace(job, slot_at_ms=None), wait_ms))
            case _:
                assert_never(verdict)


@dataclass(frozen=True, slots=True)
class Access:
    """
    Decides whether the first request of each job may be sent. Its gates apply the same rules to
    redirects.
    """

    rules: AccessRules
    line: WaitingLine

    @property
    def limiter(self) -> Limiter:
        return self.rules.limiter

    def gate(self, slot: Slot, job: UrlJob) -> PoliteGate:
        """Return the gate for one fetch. Close it after the fetch."""
        return PoliteGate(self.rules, slot, _request_kind(job), self._purposes(job))

    def _purposes(self, job: UrlJob) -> tuple[str, ...]:
        return job.purposes_with_default(self.rules.settings.preferences.purposes)

    def claim_refresh(self, origins: Sequence[str]) -> list[str]:
        """Return the stale origins that this caller, and no other, must refresh."""
        return self.rules.robots.refreshes.claim(set(origins))

    def vet(self, jobs: Sequence[UrlJob], *, takedowns: bool = True) -> JobVerdicts:
        """Return the jobs grouped by verdict; see `AccessRules.verdicts`."""
        grouped = JobVerdicts()
        requests = [
            AccessRequest(job.next_url, job.url_forms, _request_kind(job), self._purposes(job))
            for job in jobs
        ]
        verdicts = self.rules.verdicts(requests, takedowns=takedowns)
        for job, verdict in zip(jobs, verdicts, strict=True):
            grouped.add(job, verdict)
        return grouped

    def statements(self, url: str) -> str:
        """
        Return what robots.txt says about how the page that was just requested may be used. Returns
        an empty string if it says nothing.
        """
        settings = self.rules.settings
        rules = self.rules.robots.rules_after_admission(origin(url))
        if rules is None:
            return ""
        statements = rules.statements(settings.fetch.user_agent, url, settings.preferences.drafts)
        return pack_statements(statements)

    def assign_slots(
        self, jobs: Sequence[tuple[UrlJob, float | None]]
    ) -> tuple[list[tuple[UrlJob, Slot]], list[WaitingJob]]:
        """
        Return the jobs whose slots (reserved request times) come soon, earliest first, and the jobs
        that must wait in their domain's queue (called line).
        """
        limiter = self.limiter
        jobs_with_slots: list[tuple[UrlJob, Slot]] = []
        slot_requests: list[tuple[UrlJob, SlotRequest]] = []
        for job, delay_s in jobs:
            key, urgent = limiter.key_for(job.next_url), job.priority <= URGENT
            if self._has_slot(job, key):
                slot = limiter.resume(key, job.slot_at_ms or 0, delay_s, urgent=urgent)
                jobs_with_slots.append((job, slot))
            else:
                max_wait_ms = self.rules.settings.politeness.wait_inline_ms + HEAD_START_MS
                slot_requests.append(
                    (job, SlotRequest(key, delay_s, max_wait_ms=max_wait_ms, urgent=urgent))
                )
        in_line: list[WaitingJob] = []
        replies = limiter.reserve([request for _, request in slot_requests])
        for (job, request), reply in zip(slot_requests, replies, strict=True):
            if isinstance(reply, RateExceeded):
                in_line.append(self._in_line(job, request.crawl_delay_s, reply))
            else:
                jobs_with_slots.append((job, reply))
        return sorted(jobs_with_slots, key=lambda pair: pair[1].request_at_us), in_line

    def _has_slot(self, job: UrlJob, key: str) -> bool:
        if job.slot_at_ms is None or not self.limiter.is_usable(job.slot_at_ms, key):
            return False
        max_ms = self.rules.settings.politeness.wait_inline_ms + RELEASE_LEAD_MS + HEAD_START_MS
        return self.limiter.wait_ms(key, job.slot_at_ms) <= max_ms

    def _in_line(
        self, job: UrlJob, crawl_delay_s: float | None, exceeded: RateExceeded
    ) -> WaitingJob:
        wait_ms = self.limiter.wait_ms(exceeded.key, exceeded.free_at_ms)
        is_in_front = job.slot_at_ms is not None
        return WaitingJob(
            replace(job, slot_at_ms=None), exceeded.key, crawl_delay_s, wait_ms, is_in_front
        )

    def return_to_line(self, job: UrlJob, free_at_ms: int) -> WaitingJob:
        """Return an entry for the job at the front of its domain's line."""
        url = job.next_url
        key = self.limiter.key_for(url)
        cached = self.rules.robots.get_many({origin(url)})[origin(url)].rules
        delay_s = cached.crawl_delay_s(self.rules.settings.fetch.user_agent) if cached else None
        wait_ms = self.limiter.wait_ms(key, free_at_ms)
        return WaitingJob(replace(job, slot_at_ms=None), key, delay_s, wait_ms, to_front=True)


def _request_kind(job: UrlJob) -> RequestKind:
    return RequestKind.SITEMAP if job.sitemap else RequestKind.PAGE
