"""
The way to a domain: robots rules, then a slot. One gate for each URL that is fetched.

`Gate` (aragog.fetcher.gate) is what the fetcher asks: `admit` for every redirect target,
`acquire_permit` on the open connection just before a request is written, `release_permit` right
after, `busy` when a 429 or 503 arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from aragog.fetcher.gate import Admission, Deny, Go, Later
from aragog.pipeline.ports import TakedownLookup
from aragog.politeness.limiter import Limiter
from aragog.politeness.overrides import Overrides
from aragog.politeness.robots_cache import RobotsCache
from aragog.politeness.slots import RateExceeded, Slot, SlotRequest
from aragog.settings import Settings
from aragog.urls.domain import host, origin

ROBOTS_PATH = "/robots.txt"
# For all redirects of one robots.txt; well within the claim on the refresh, which lasts 60 s.
ROBOTS_WAIT_MS = 20_000
LEAST_WAIT_MS = 1_000
TAKEN_DOWN = "was taken down"

Refusals = Callable[[Sequence[str]], dict[str, str]]
"""The normalized URLs that get no request, regardless of robots.txt, each with the reason."""


class RobotsGate:
    """
    The way to robots.txt: slots as for any request, no rules ("always allowed"), and no redirect to
    a host that is blocked or was taken down.

    Redirects are waited for longer than those of pages: robots.txt is requested from the start each
    time, so on a domain with a backlog it would never be fetched otherwise. All of them share one
    time, because other origins' rules wait for the same threads. Close the gate when the fetch is
    over.

    Args:
        limiter: gives slots and permits.
        slot: of the first request.
        rest_s: how long a busy origin rests that names no time (`pipeline.retry_first_s`).
        refusals: of redirect targets: takedowns and blocked hosts.
        inline_ms: how far off a slot may be that is waited for.
    """

    def __init__(
        self,
        limiter: Limiter,
        slot: Slot,
        rest_s: float,
        *,
        refusals: Refusals,
        inline_ms: int = ROBOTS_WAIT_MS,
    ) -> None:
        self._limiter = limiter
        self._slot = slot
        self._rest_s = rest_s
        self._refusals = refusals
        self.inline_ms = inline_ms
        self.redirected_by: set[str] = set()
        """The limiter's names of the domains whose responses were redirects."""

    def admit(self, url: str, given: str) -> Admission:  # noqa: ARG002 - the port's signature
        """Whether the redirect target may be requested; `acquire_permit` waits for its slot."""
        self.redirected_by.add(self._slot.key)
        if reason := self._refusals([url]).get(url):
            return Deny(reason)
        admission = self._with_slot(url, None)
        if isinstance(admission, Go):
            self.inline_ms = max(LEAST_WAIT_MS, self.inline_ms - self._slot.wait_ms)
        return admission

    def _with_slot(self, url: str, crawl_delay_s: float | None) -> Admission:
        request = self._request(self._limiter.key_for(url), crawl_delay_s)
        return self._reserve(request, "its slot is later") or Go()

    def _request(self, key: str, crawl_delay_s: float | None) -> SlotRequest:
        return SlotRequest(key, crawl_delay_s, within_ms=self.inline_ms, urgent=self._slot.urgent)

    def _reserve(self, request: SlotRequest, reason: str) -> Later | None:
        """Take the place of the current slot; Later, with the reason, if the new one is far."""
        slot = self._limiter.reserve([request])[0]
        if isinstance(slot, RateExceeded):
            return Later(slot.free_at_ms, reason)
        self._limiter.finished(self._slot)
        self._slot = slot
        return None

    def acquire_permit(self, url: str) -> Later | None:  # noqa: ARG002 - the port's signature
        """
        Return None if the request may be sent now; Later if its slot passed and the next is far.

        Raises:
            LimiterUnavailable: its Redis does not answer.
        """
        while not self._limiter.acquire_permit(self._slot):
            request = self._request(self._slot.key, self._slot.interval_us / 1e6)
            if later := self._reserve(request, "its slot passed, the next one is later"):
                return later
        return None

    def release_permit(self, url: str) -> None:  # noqa: ARG002 - the port's signature
        """The request is written: the domain's next one counts from now."""
        self._limiter.release_permit(self._slot)

    def busy(self, url: str, wait_s: float | None) -> None:  # noqa: ARG002 - the port's signature
        """The origin asks for a rest: no worker sends a request to its domain until then."""
        if wait_s is None:
            wait_s = self._rest_s
        self._limiter.pause(self._slot.key, wait_s)

    @property
    def key(self) -> str:
        """The limiter's name of the domain that was asked last."""
        return self._slot.key

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._limiter.finished(self._slot)


@dataclass(frozen=True, slots=True)
class GateRules:
    """The rules that redirect targets are checked against."""

    limiter: Limiter
    robots: RobotsCache
    overrides: Overrides
    takedowns: TakedownLookup
    settings: Settings

    def refusals(self, urls: Sequence[str]) -> dict[str, str]:
        """The normalized URLs that were taken down or have a blocked host, each with the reason."""
        reasons = dict.fromkeys(self.takedowns.refused(urls), TAKEN_DOWN)
        for url in urls:
            if url not in reasons and (blocked := self.overrides.blocked(host(url))):
                reasons[url] = blocked
        return reasons


class PoliteGate(RobotsGate):
    """Admits redirect targets by takedowns, overrides and robots rules, and waits for slots."""

    def __init__(self, rules: GateRules, slot: Slot) -> None:
        settings = rules.settings
        super().__init__(
            rules.limiter,
            slot,
            settings.pipeline.retry_first_s,
            refusals=rules.refusals,
            inline_ms=settings.politeness.wait_inline_ms,
        )
        self._rules = rules
        self.taken_down = False
        """A redirect led to a URL that was taken down."""

    def admit(self, url: str, given: str) -> Admission:
        """Whether the redirect target may be requested; `acquire_permit` waits for its slot."""
        self.redirected_by.add(self._slot.key)
        if reason := self._refusals([url]).get(url):
            self.taken_down = reason == TAKEN_DOWN
            return Deny(reason)
        target_origin = origin(url)
        cached = self._rules.robots.get_many([target_origin])[target_origin]
        if cached.rules is None:
            return Later(None, "robots.txt of the redirect's target is not known yet")
        agent = self._rules.settings.fetch.user_agent
        if reason := cached.rules.refusal(agent, url, given):
            return Deny(reason)
        preferences = self._rules.settings.preferences
        if reason := cached.rules.refused_use(
            agent, preferences.purposes, preferences.drafts, url, given
        ):
            return Deny(reason)
        at_s = self._limiter.utc_s(url) if cached.rules.is_timed else None
        obeys = at_s is not None and self._rules.settings.politeness.obey_visit_time
        if obeys and at_s is not None and cached.rules.opens_in_s(agent, at_s):
            return Later(None, "the Visit-time of the redirect's target has not begun")
        return self._with_slot(url, cached.rules.crawl_delay_s(agent, at_s))
