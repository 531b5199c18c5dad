"""Decide which jobs may send a request now, by the URL, robots.txt and a slot of the domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, assert_never

from aragog.crawl.pipeline.messages import URGENT, UrlJob
from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.slots import RateExceeded, Slot, SlotRequest
from aragog.crawl.stages.access_rules import (
    AccessRules,
    Allowed,
    Asked,
    Forbidden,
    NotYet,
    RequestKind,
    RulesUnknown,
    RulesUnreachable,
    Verdict,
)
from aragog.crawl.stages.polite_gate import PoliteGate
from aragog.crawl.stages.waiting_line import RELEASE_AHEAD_MS, InLine, WaitingLine
from aragog.fetch_record.causes import RefusalCause
from aragog.fetch_record.outcome import OutcomeKind
from aragog.pages.preferences import packed
from urlspelling.domain import origin

# A thread needs about this long from its wake-up to an open connection on a busy machine; the
# limiter holds the request itself back until its slot.
HEAD_START_MS = 30
_REFUSED = (RefusalCause.ROBOTS, RefusalCause.PURPOSE, RefusalCause.TAKEN_DOWN)
"""The site or its owner refuses; every other cause is that of this crawler and its operator."""


class Denial(NamedTuple):
    """A job that sends no request now."""

    job: UrlJob
    verdict: Forbidden | RulesUnreachable

    @property
    def reason(self) -> str:
        """Why, in words."""
        return self.verdict.reason

    @property
    def cause(self) -> RefusalCause | None:
        """Who or what forbids it; None: its robots.txt does not answer."""
        return self.verdict.cause if isinstance(self.verdict, Forbidden) else None

    @property
    def outcome(self) -> OutcomeKind:
        """The outcome of a fetch that ends here."""
        if isinstance(self.verdict, RulesUnreachable):
            return OutcomeKind.UNREACHABLE
        return OutcomeKind.REFUSED if self.verdict.cause in _REFUSED else OutcomeKind.BLOCKED


@dataclass(frozen=True, slots=True)
class JobVerdicts:
    """Jobs grouped by verdict: allowed, denied, or without rules of their origin yet."""

    allowed: list[tuple[UrlJob, float | None]] = field(default_factory=list)
    """The jobs that may be sent, each with its Crawl-delay (s)."""
    denied: list[Denial] = field(default_factory=list)
    robots_first: list[UrlJob] = field(default_factory=list)
    """The rules of their origins are not known yet."""
    stale_origins: list[str] = field(default_factory=list)
    not_yet: list[tuple[UrlJob, int]] = field(default_factory=list)
    """Jobs that wait for the Visit-time of robots.txt, and for how many ms."""

    def add(self, job: UrlJob, verdict: Verdict) -> None:
        """Put a job where its verdict belongs."""
        match verdict:
            case Allowed(crawl_delay_s=delay_s, stale=stale):
                self.allowed.append((job, delay_s))
                if stale:
                    self.stale_origins.append(origin(job.next_url))
            case Forbidden() | RulesUnreachable():
                self.denied.append(Denial(job, verdict))
            case RulesUnknown():
                self.robots_first.append(job)
            case NotYet(wait_ms=wait_ms):
                self.not_yet.append((replace(job, slot_at_ms=None), wait_ms))
            case _:
                assert_never(verdict)


@dataclass(frozen=True, slots=True)
class Access:
    """Decides about the first request of each job; its gates decide about redirects."""

    rules: AccessRules
    line: WaitingLine

    @property
    def limiter(self) -> Limiter:
        """The limiter of all domains."""
        return self.rules.limiter

    def gate(self, slot: Slot, job: UrlJob) -> PoliteGate:
        """The gate of one fetch of a job, to be closed after it."""
        return PoliteGate(self.rules, slot, _kind(job), self._purposes(job))

    def _purposes(self, job: UrlJob) -> tuple[str, ...]:
        return job.purposes_or(self.rules.settings.preferences.purposes)

    def claim_refresh(self, origins: Sequence[str]) -> list[str]:
        """The stale origins whose refresh is the caller's to send."""
        return self.rules.robots.refreshes.claim(set(origins))

    def vet(self, jobs: Sequence[UrlJob], *, takedowns: bool = True) -> JobVerdicts:
        """Group the jobs by `AccessRules.verdicts`."""
        vetted = JobVerdicts()
        asked = [
            Asked(job.next_url, job.spellings, _kind(job), self._purposes(job)) for job in jobs
        ]
        verdicts = self.rules.verdicts(asked, takedowns=takedowns)
        for job, verdict in zip(jobs, verdicts, strict=True):
            vetted.add(job, verdict)
        return vetted

    def statements(self, url: str) -> str:
        """The statements of robots.txt about uses of a page that was just requested; "": none."""
        settings = self.rules.settings
        rules = self.rules.robots.rules_of_admitted(origin(url))
        if rules is None:
            return ""
        said = rules.statements(settings.fetch.user_agent, url, settings.preferences.drafts)
        return packed(said)

    def with_slots(
        self, jobs: Sequence[tuple[UrlJob, float | None]]
    ) -> tuple[list[tuple[UrlJob, Slot]], list[InLine]]:
        """The jobs whose slot is near, soonest first, and those that wait in line."""
        limiter = self.limiter
        near: list[tuple[UrlJob, Slot]] = []
        new: list[tuple[UrlJob, SlotRequest]] = []
        for job, delay_s in jobs:
            key, urgent = limiter.key_for(job.next_url), job.priority <= URGENT
            if self._has_slot(job, key):
                slot = limiter.resume(key, job.slot_at_ms or 0, delay_s, urgent=urgent)
                near.append((job, slot))
            else:
                within_ms = self.rules.settings.politeness.wait_inline_ms + HEAD_START_MS
                new.append((job, SlotRequest(key, delay_s, within_ms=within_ms, urgent=urgent)))
        later: list[InLine] = []
        reserved = limiter.reserve([request for _, request in new])
        for (job, request), reply in zip(new, reserved, strict=True):
            if isinstance(reply, RateExceeded):
                later.append(self._in_line(job, request.crawl_delay_s, reply))
            else:
                near.append((job, reply))
        return sorted(near, key=lambda pair: pair[1].ask_at_us), later

    def _has_slot(self, job: UrlJob, key: str) -> bool:
        if job.slot_at_ms is None or not self.limiter.is_usable(job.slot_at_ms, key):
            return False
        most_ms = self.rules.settings.politeness.wait_inline_ms + RELEASE_AHEAD_MS + HEAD_START_MS
        return self.limiter.wait_ms(key, job.slot_at_ms) <= most_ms

    def _in_line(self, job: UrlJob, crawl_delay_s: float | None, next_: RateExceeded) -> InLine:
        wait_ms = self.limiter.wait_ms(next_.key, next_.free_at_ms)
        front = job.slot_at_ms is not None
        return InLine(replace(job, slot_at_ms=None), next_.key, crawl_delay_s, wait_ms, front)

    def back_in_line(self, job: UrlJob, free_at_ms: int) -> InLine:
        """A job whose next request could not be sent at once: it waits in front of its line."""
        url = job.next_url
        key = self.limiter.key_for(url)
        cached = self.rules.robots.get_many({origin(url)})[origin(url)].rules
        delay_s = cached.crawl_delay_s(self.rules.settings.fetch.user_agent) if cached else None
        wait_ms = self.limiter.wait_ms(key, free_at_ms)
        return InLine(replace(job, slot_at_ms=None), key, delay_s, wait_ms, front=True)


def _kind(job: UrlJob) -> RequestKind:
    return RequestKind.SITEMAP if job.sitemap else RequestKind.PAGE
