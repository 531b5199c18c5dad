"""
Decides which URLs may be requested: a job's first URL, its redirect targets and robots.txt.

Checks takedowns, blocked hosts, the contact address in the User-Agent, the SSRF filter and
robots.txt.
`aragog.crawl.stages.access` checks the domain's slots (reserved request times) later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from aragog.crawl.fetcher.ssrf import AddressPolicy
from aragog.crawl.fetcher.user_agent import user_agent_refusal
from aragog.crawl.pipeline.ports import TakedownLookup
from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.overrides import Overrides
from aragog.crawl.politeness.robots_cache import RobotsCache
from aragog.crawl.politeness.robots_records import CachedRules, RulesState
from aragog.crawl.politeness.robots_rules import RobotsRules
from aragog.crawl.politeness.tdm_file import includes_ai_use
from aragog.fetch_record.causes import RefusalCause
from aragog.fetch_record.outcome import UnreachableKind
from aragog.settings import Settings
from urlspelling.domain import host, origin

_TAKEN_DOWN = "was taken down"
_NO_RESPONSE = {
    UnreachableKind.DNS: "its host name does not resolve",
    UnreachableKind.CONNECT: "no connection to its host",
    UnreachableKind.TLS: "no TLS connection to its host",
    UnreachableKind.TIMEOUT: "no answer in time",
    UnreachableKind.RESET: "the connection broke",
    UnreachableKind.PROTOCOL: "the response is not HTTP",
}


class RequestKind(Enum):
    """What is requested."""

    PAGE = "page"
    """A page, or a resource that a script of the page requests."""
    SITEMAP = "sitemap"
    """A sitemap. The crawl's purposes are not checked, because its content is not used."""
    ROBOTS = "robots"
    """A robots.txt or tdmrep.json. No robots.txt can forbid these requests."""


class AccessRequest(NamedTuple):
    """A request that needs a verdict."""

    url: str
    """The normalized URL."""
    url_forms: tuple[str, ...]
    """All forms of the URL. robots.txt must allow each of them."""
    kind: RequestKind = RequestKind.PAGE
    purposes: tuple[str, ...] | None = None
    """What the crawl uses pages for. None means the purposes in the settings."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """The request may be sent when its domain has a slot."""

    crawl_delay_s: float | None
    stale: bool = False
    """True if the robots rules are stale and should be refreshed in the background."""


@dataclass(frozen=True, slots=True)
class Forbidden:
    """The request must not be sent."""

    cause: RefusalCause
    reason: str


@dataclass(frozen=True, slots=True)
class RulesUnknown:
    """The origin's robots.txt or tdmrep.json must be fetched first."""


@dataclass(frozen=True, slots=True)
class RulesUnreachable:
    """The request must not be sent because robots.txt could not be fetched."""

    kind: UnreachableKind
    reason: str
    retry_at_ms: int | None
    """When robots.txt will be requested again, by the caller's clock."""


@dataclass(frozen=True, slots=True)
class TooEarly:
    """The Visit-time in robots.txt has not started."""

    wait_ms: int


Verdict = Allowed | Forbidden | RulesUnknown | RulesUnreachable | TooEarly


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRules:
    """Decides which requests may be sent. Thread-safe."""

    limiter: Limiter
    """Provides the shared clock for times in robots.txt, because this machine's clock may be
    wrong."""
    robots: RobotsCache
    overrides: Overrides
    takedowns: TakedownLookup
    ssrf_filter: AddressPolicy
    settings: Settings

    def verdicts(
        self, requests: Sequence[AccessRequest], *, takedowns: bool = True
    ) -> list[Verdict]:
        """
        Return a verdict for each request, in order. Reads takedowns and robots rules once.

        Pass `takedowns=False` if takedowns were just checked for these URLs.

        Raises:
            TransientError: Redis or the store did not respond.
        """
        taken_down = (
            self.takedowns.refused([request.url for request in requests])
            if takedowns
            else set[str]()
        )
        prohibitions = [self._find_prohibition(request.url, taken_down) for request in requests]
        origins = {
            origin(request.url)
            for request, verdict in zip(requests, prohibitions, strict=True)
            if verdict is None and request.kind is not RequestKind.ROBOTS
        }
        cached = self.robots.get_many(origins) if origins else {}
        return [
            verdict or self._check_robots(request, cached.get(origin(request.url)))
            for request, verdict in zip(requests, prohibitions, strict=True)
        ]

    def verdict(self, request: AccessRequest) -> Verdict:
        return self.verdicts([request])[0]

    def find_forbidden(
        self, urls: Sequence[str], *, takedowns: bool = True
    ) -> dict[str, Forbidden]:
        """
        Return the URLs that must not be requested, whatever robots.txt says, with the
        reasons.
        """
        requests = [AccessRequest(url, (url,), RequestKind.ROBOTS) for url in urls]
        verdicts = zip(urls, self.verdicts(requests, takedowns=takedowns), strict=True)
        return {url: verdict for url, verdict in verdicts if isinstance(verdict, Forbidden)}

    def _find_prohibition(self, url: str, taken_down: set[str]) -> Forbidden | None:
        if url in taken_down:
            return Forbidden(RefusalCause.TAKEN_DOWN, _TAKEN_DOWN)
        if reason := self.overrides.blocking_setting(host(url)):
            return Forbidden(RefusalCause.BLOCKED_HOST, reason)
        if reason := user_agent_refusal(self.settings.fetch, url):
            return Forbidden(RefusalCause.NO_CONTACT, reason)
        if reason := self.ssrf_filter.vet_url(url):
            return Forbidden(RefusalCause.URL, reason)
        return None

    def _check_robots(self, request: AccessRequest, cached: CachedRules | None) -> Verdict:
        if request.kind is RequestKind.ROBOTS or cached is None:
            return Allowed(None)
        if cached.rules is None:
            return RulesUnknown()
        if (forbidden := self._forbidden_by_robots(request, cached.rules)) is not None:
            return _to_unreachable(cached) if cached.unreachable else forbidden
        if (
            cached.rules.tdm is None
            and not cached.unreachable
            and includes_ai_use(self.purposes(request))
        ):
            return RulesUnknown()
        return self._check_visit_time(
            request.url, cached.rules, stale=cached.state is RulesState.STALE
        )

    def purposes(self, request: AccessRequest) -> tuple[str, ...]:
        """Return the purposes to check for this request: none for a sitemap."""
        if request.kind is RequestKind.SITEMAP:
            return ()
        return self.settings.preferences.purposes if request.purposes is None else request.purposes

    def _forbidden_by_robots(self, request: AccessRequest, rules: RobotsRules) -> Forbidden | None:
        agent, preferences = self.settings.fetch.user_agent, self.settings.preferences
        if reason := rules.refusal(agent, *request.url_forms):
            return Forbidden(RefusalCause.ROBOTS, reason)
        purposes = self.purposes(request)
        reason = rules.use_refusal(agent, purposes, preferences.drafts, *request.url_forms)
        return Forbidden(RefusalCause.PURPOSE, reason) if reason else None

    def _check_visit_time(self, url: str, rules: RobotsRules, *, stale: bool) -> Verdict:
        """
        Return the verdict for a URL that robots.txt allows: now, with a Crawl-delay, or during its
        next Visit-time.
        """
        agent, at_s = self.settings.fetch.user_agent, None
        if rules.is_timed:
            at_s = self.limiter.utc_s(url)
            obeys = self.settings.politeness.obey_visit_time
            if obeys and (wait_s := rules.visit_wait_s(agent, at_s)):
                return TooEarly(int(wait_s * 1000))
        return Allowed(rules.crawl_delay_s(agent, at_s), stale)


def _to_unreachable(cached: CachedRules) -> RulesUnreachable:
    kind = UnreachableKind(cached.failure) if cached.failure else UnreachableKind.STATUS
    response_text = (
        _NO_RESPONSE.get(kind, "no answer") if cached.status is None else f"status {cached.status}"
    )
    reason = f"robots.txt could not be fetched ({response_text})"
    return RulesUnreachable(kind, reason, cached.retry_at_ms)
