"""Decide which jobs may send a request now, by the URL, robots.txt and a slot of the domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from aragog.errors import ConfigError
from aragog.fetcher.outcome import OutcomeKind
from aragog.fetcher.ssrf.ports import AddressPolicy
from aragog.fetcher.user_agent import check_user_agent
from aragog.pipeline.messages import UrlJob
from aragog.pipeline.permission.polite_gate import GateRules, PoliteGate
from aragog.pipeline.rescheduling import Delayed
from aragog.politeness.ratelimit.limiter import Limiter
from aragog.politeness.ratelimit.slots import RateExceeded, Slot, SlotRequest
from aragog.politeness.robots.cached_rules import RulesState
from aragog.urls.domain import host, origin

# A thread needs about this long from its wake-up to an open connection on a busy machine; the
# limiter holds the request itself back until its slot.
HEAD_START_MS = 30


class Denial(NamedTuple):
    """A job that sends no request now."""

    job: UrlJob
    outcome: OutcomeKind
    reason: str
    retry_at_ms: int | None = None
    """UNREACHABLE: when robots.txt is requested again."""


@dataclass(frozen=True, slots=True)
class JobVerdicts:
    """Jobs grouped by verdict: allowed, denied, or without rules of their origin yet."""

    allowed: list[tuple[UrlJob, float | None]] = field(default_factory=list)
    """With their Crawl-delay (s)."""
    denied: list[Denial] = field(default_factory=list)
    robots_first: list[UrlJob] = field(default_factory=list)
    """The rules of their origins are not known yet."""
    stale_origins: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Access:
    """Decides about the first request of each job; its gates decide about redirects."""

    rules: GateRules
    ssrf_filter: AddressPolicy

    @property
    def limiter(self) -> Limiter:
        """The limiter of all domains."""
        return self.rules.limiter

    def gate(self, slot: Slot) -> PoliteGate:
        """The gate of one fetch, to be closed after it."""
        return PoliteGate(self.rules, slot)

    def claim_refresh(self, origins: Sequence[str]) -> list[str]:
        """The stale origins whose refresh is the caller's to send."""
        return self.rules.robots.refreshes.claim(set(origins))

    def vet(self, jobs: Sequence[UrlJob]) -> JobVerdicts:
        """Group the jobs by their URL and robots.txt, with one read of the robots cache."""
        vetted = JobVerdicts()
        candidates = []
        for job in jobs:
            if reason := self._forbidden(job):
                vetted.denied.append(Denial(job, OutcomeKind.BLOCKED, reason))
            else:
                candidates.append(job)
        agent = self.rules.settings.fetch.user_agent
        cached = self.rules.robots.get_many({origin(job.next_url) for job in candidates})
        for job in candidates:
            cached_rules = cached[origin(job.next_url)]
            if cached_rules.rules is None:
                vetted.robots_first.append(job)
                continue
            if cached_rules.state is RulesState.STALE:
                vetted.stale_origins.append(origin(job.next_url))
            reason = cached_rules.rules.refusal(agent, *job.spellings)
            if reason is None:
                vetted.allowed.append((job, cached_rules.rules.crawl_delay_s(agent)))
            elif cached_rules.unreachable:
                verdict = (
                    "no answer" if cached_rules.status is None else f"status {cached_rules.status}"
                )
                reason = f"robots.txt could not be fetched ({verdict})"
                vetted.denied.append(
                    Denial(job, OutcomeKind.UNREACHABLE, reason, cached_rules.retry_at_ms)
                )
            else:
                vetted.denied.append(Denial(job, OutcomeKind.REFUSED, reason))
        return vetted

    def _forbidden(self, job: UrlJob) -> str | None:
        """Why the URL must not be fetched, apart from robots.txt and slots; None: it may be."""
        return (
            self.rules.overrides.blocked(host(job.next_url))
            or self._anonymous(job)
            or self.ssrf_filter.vet_url(job.next_url)
        )

    def _anonymous(self, job: UrlJob) -> str | None:
        """Why no request is sent without a contact in our User-Agent; None where one may be."""
        try:
            check_user_agent(self.rules.settings.fetch, job.next_url)
        except ConfigError as error:
            return str(error)
        return None

    def with_slots(
        self, jobs: Sequence[tuple[UrlJob, float | None]]
    ) -> tuple[list[tuple[UrlJob, Slot]], list[Delayed]]:
        """The jobs whose slot is near, soonest first, and the others with their wait."""
        limiter = self.limiter
        slots: list[tuple[UrlJob, Slot | RateExceeded]] = []
        new: list[tuple[UrlJob, SlotRequest]] = []
        for job, delay_s in jobs:
            key = limiter.key_for(job.next_url)
            if job.slot_at_ms is not None and limiter.is_usable(job.slot_at_ms, key):
                slots.append((job, limiter.resume(key, job.slot_at_ms, delay_s)))
            else:
                new.append((job, SlotRequest(key, delay_s)))
        reserved = limiter.reserve([request for _, request in new])
        slots += zip((job for job, _ in new), reserved, strict=True)
        return self._split(slots)

    def _split(
        self, slots: Sequence[tuple[UrlJob, Slot | RateExceeded]]
    ) -> tuple[list[tuple[UrlJob, Slot]], list[Delayed]]:
        near: list[tuple[UrlJob, Slot]] = []
        later: list[Delayed] = []
        most_ms = self.rules.settings.politeness.wait_inline_ms + HEAD_START_MS
        for job, slot in slots:
            if isinstance(slot, RateExceeded):
                wait_ms = self.limiter.wait_ms(slot.key, slot.free_at_ms)
                later.append((replace(job, slot_at_ms=None), wait_ms))
            elif slot.wait_ms > most_ms:
                later.append((replace(job, slot_at_ms=slot.at_ms), slot.wait_ms))
            else:
                near.append((job, slot))
        return sorted(near, key=lambda pair: pair[1].at_us), later
