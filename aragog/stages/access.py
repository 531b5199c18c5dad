"""Decide which jobs may send a request now, by the URL, robots.txt and a slot of the domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from aragog.errors import ConfigError
from aragog.fetcher.outcome import OutcomeKind, UnreachableKind
from aragog.fetcher.ssrf import AddressPolicy
from aragog.fetcher.user_agent import check_user_agent
from aragog.pages.preferences import packed
from aragog.pipeline.messages import URGENT, UrlJob
from aragog.politeness.limiter import Limiter
from aragog.politeness.robots_records import CachedRules, RulesState
from aragog.politeness.robots_rules import RobotsRules
from aragog.politeness.slots import RateExceeded, Slot, SlotRequest
from aragog.stages.polite_gate import GateRules, PoliteGate
from aragog.stages.waiting_line import RELEASE_AHEAD_MS, InLine, WaitingLine
from aragog.urls.domain import host, origin

# A thread needs about this long from its wake-up to an open connection on a busy machine; the
# limiter holds the request itself back until its slot.
HEAD_START_MS = 30


_NO_ANSWER = {
    UnreachableKind.DNS: "its host name does not resolve",
    UnreachableKind.CONNECT: "no connection to its host",
    UnreachableKind.TLS: "no TLS connection to its host",
    UnreachableKind.TIMEOUT: "no answer in time",
    UnreachableKind.RESET: "the connection broke",
    UnreachableKind.PROTOCOL: "the response is not HTTP",
}


class Denial(NamedTuple):
    """A job that sends no request now."""

    job: UrlJob
    outcome: OutcomeKind
    reason: str
    retry_at_ms: int | None = None
    """UNREACHABLE: when robots.txt is requested again."""
    kind: UnreachableKind = UnreachableKind.STATUS
    """UNREACHABLE: why robots.txt had no usable response."""


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


@dataclass(frozen=True, slots=True)
class Access:
    """Decides about the first request of each job; its gates decide about redirects."""

    rules: GateRules
    ssrf_filter: AddressPolicy
    line: WaitingLine

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
            if reason is None and not job.sitemap:  # a sitemap is no content to be used
                preferences = self.rules.settings.preferences
                reason = cached_rules.rules.refused_use(
                    agent, preferences.purposes, preferences.drafts, *job.spellings
                )
            if reason is None:
                self._at_its_time(vetted, job, cached_rules.rules)
            elif cached_rules.unreachable:
                vetted.denied.append(_unreachable(job, cached_rules))
            else:
                vetted.denied.append(Denial(job, OutcomeKind.REFUSED, reason))
        return vetted

    def _at_its_time(self, vetted: JobVerdicts, job: UrlJob, rules: RobotsRules) -> None:
        """An allowed job: now with its Crawl-delay, or later with its Visit-time."""
        settings, at_s = self.rules.settings, None
        agent = settings.fetch.user_agent
        if rules.is_timed:
            # By the limiter's clock: that of this machine may be wrong.
            at_s = self.limiter.utc_s(job.next_url)
            wait_s = rules.opens_in_s(agent, at_s) if settings.politeness.obey_visit_time else 0
            if wait_s:
                waiting = replace(job, slot_at_ms=None)
                vetted.not_yet.append((waiting, int(wait_s * 1000)))
                return
        vetted.allowed.append((job, rules.crawl_delay_s(agent, at_s)))

    def statements(self, url: str) -> str:
        """What robots.txt says about the uses of a page that was just fetched."""
        settings = self.rules.settings
        rules = self.rules.robots.rules_of_admitted(origin(url))
        if rules is None:
            return ""
        said = rules.statements(settings.fetch.user_agent, url, settings.preferences.drafts)
        return packed(said)

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


def _unreachable(job: UrlJob, cached: CachedRules) -> Denial:
    kind = UnreachableKind(cached.failure) if cached.failure else UnreachableKind.STATUS
    reported = (
        _NO_ANSWER.get(kind, "no answer") if cached.status is None else f"status {cached.status}"
    )
    reason = f"robots.txt could not be fetched ({reported})"
    return Denial(job, OutcomeKind.UNREACHABLE, reason, cached.retry_at_ms, kind)
