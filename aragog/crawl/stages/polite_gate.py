"""
Checks robots rules for the requests of one fetch, then waits for a slot (a reserved request time).

The fetcher calls the methods of `Gate` (aragog.crawl.fetcher.gate): `admit` for every redirect
target, `acquire_permit` on the open connection just before a request is written, `release_permit`
right after, and `report_busy` when a 429 or 503 arrives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, assert_never

from aragog.crawl.fetcher.gate import Admission, Deny, Go, Later
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
)
from aragog.fetch_record.causes import DeferralCause

ROBOTS_PATH = "/robots.txt"
# The time limit for all redirects of one robots.txt. The claim on its refresh lasts 60 s.
ROBOTS_WAIT_MS = 20_000
MIN_WAIT_MS = 1_000


class ForbiddenUrls(Protocol):
    """Finds URLs that must not be requested (`AccessRules.find_forbidden`)."""

    def __call__(self, urls: Sequence[str], *, takedowns: bool = True) -> dict[str, Forbidden]:
        """Return the URLs that must never be requested, with the reasons."""


class RobotsGate:
    """
    The gate for a robots.txt. It waits for slots as for any request, but checks no robots rules,
    because robots.txt itself is always allowed (RFC 9309, section 2.2.2).

    It refuses redirects to forbidden URLs, such as those on a blocked host.

    It waits longer for redirects than a page's gate, because each attempt starts again with
    robots.txt itself, and might never get to the target on a domain with a backlog. All redirects
    share one time limit, because other origins wait for the same threads. Close the gate after the
    fetch.

    Args:
        slot: the slot of the first request.
        default_pause_s: the pause after a busy response without Retry-After
            (`pipeline.retry_first_s`).
        find_forbidden: finds forbidden redirect targets.
        inline_ms: the gate waits for a slot if it is at most this far ahead.
    """

    def __init__(
        self,
        limiter: Limiter,
        slot: Slot,
        default_pause_s: float,
        *,
        find_forbidden: ForbiddenUrls,
        inline_ms: int = ROBOTS_WAIT_MS,
    ) -> None:
        self._limiter = limiter
        self._slot = slot
        self._default_pause_s = default_pause_s
        self._find_forbidden = find_forbidden
        self.inline_ms = inline_ms
        self.redirected_by: set[str] = set()
        """Rate-limiter keys of the domains that sent a redirect."""

    def admit(self, url: str, target_as_sent: str) -> Admission:  # noqa: ARG002 - the port's signature
        """Decide about the redirect target. `acquire_permit` waits for its slot."""
        self.redirected_by.add(self._slot.key)
        if verdict := self._find_forbidden([url]).get(url):
            return Deny(verdict.reason, verdict.cause)
        admission = self._admit_in_slot(url, None)
        if isinstance(admission, Go):
            self.inline_ms = max(MIN_WAIT_MS, self.inline_ms - self._slot.wait_ms)
        return admission

    def _admit_in_slot(self, url: str, crawl_delay_s: float | None) -> Admission:
        request = self._request(self._limiter.key_for(url), crawl_delay_s)
        return self._reserve(request, "its slot is later") or Go()

    def _request(self, key: str, crawl_delay_s: float | None) -> SlotRequest:
        return SlotRequest(key, crawl_delay_s, max_wait_ms=self.inline_ms, urgent=self._slot.urgent)

    def _reserve(self, request: SlotRequest, reason: str) -> Later | None:
        """Replace the current slot. Returns `Later` with the reason if the new one is far away."""
        slot = self._limiter.reserve([request])[0]
        if isinstance(slot, RateExceeded):
            return Later(DeferralCause.SLOT, reason, slot.free_at_ms)
        self._limiter.end_request(self._slot)
        self._slot = slot
        return None

    def acquire_permit(self, url: str) -> Later | None:  # noqa: ARG002 - the port's signature
        """
        Return None to send now, or `Later` if the slot has passed and the next one is far away.

        Raises:
            LimiterUnavailable: the limiter's Redis did not respond.
        """
        while not self._limiter.acquire_permit(self._slot):
            request = self._request(self._slot.key, self._slot.interval_us / 1e6)
            if later := self._reserve(request, "its slot has passed, and the next one is later"):
                return later
        return None

    def release_permit(self, url: str) -> None:  # noqa: ARG002 - the port's signature
        """Record that the request was written. The domain's interval starts now."""
        self._limiter.release_permit(self._slot)

    def report_busy(self, url: str, wait_s: float | None) -> None:  # noqa: ARG002 - the port's signature
        """Pause all requests to the domain for `wait_s`, or for the default pause."""
        if wait_s is None:
            wait_s = self._default_pause_s
        self._limiter.pause(self._slot.key, wait_s)

    @property
    def key(self) -> str:
        return self._slot.key

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._limiter.end_request(self._slot)


class PoliteGate(RobotsGate):
    """Admits redirect targets according to `AccessRules`, and waits for their slots."""

    def __init__(
        self,
        rules: AccessRules,
        slot: Slot,
        kind: RequestKind = RequestKind.PAGE,
        purposes: tuple[str, ...] | None = None,
    ) -> None:
        settings = rules.settings
        super().__init__(
            rules.limiter,
            slot,
            settings.pipeline.retry_first_s,
            find_forbidden=rules.find_forbidden,
            inline_ms=settings.politeness.wait_inline_ms,
        )
        self._rules = rules
        self._kind = kind
        self._purposes = purposes

    def admit(self, url: str, target_as_sent: str) -> Admission:
        """Decide about the redirect target. `acquire_permit` waits for its slot."""
        self.redirected_by.add(self._slot.key)
        verdict = self._rules.verdict(
            AccessRequest(url, (url, target_as_sent), self._kind, self._purposes)
        )
        match verdict:
            case Allowed(crawl_delay_s=crawl_delay_s):
                return self._admit_in_slot(url, crawl_delay_s)
            case Forbidden(cause=cause, reason=reason):
                return Deny(reason, cause)
            case RulesUnknown():
                reason = "robots.txt of the redirect target is not known yet"
                return Later(DeferralCause.RULES, reason)
            case RulesUnreachable(reason=reason):
                return Later(DeferralCause.RULES, reason)
            case TooEarly(wait_ms=wait_ms):
                reason = "the Visit-time of the redirect target has not started"
                begins_at_ms = int(self._limiter.utc_s(url) * 1000) + wait_ms
                return Later(DeferralCause.VISIT_TIME, reason, begins_at_ms)
            case _:
                assert_never(verdict)
