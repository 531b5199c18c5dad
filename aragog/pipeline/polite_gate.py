"""
The way to a domain: robots rules, then a slot. One gate for each URL that is fetched.

`Gate` (aragog.fetcher.admission) is what the fetcher asks: `admit` for every redirect target,
`acquire_permit` on the open connection just before a request is written, `release_permit` right
after, `busy` when a 429 or 503 arrives.
"""

from __future__ import annotations

from typing import Self

from aragog.fetcher.admission import Admission, Deny, Go, Later
from aragog.pipeline.services import Services
from aragog.politeness.ratelimit.limiter import Limiter
from aragog.politeness.ratelimit.slots import RateExceeded, Slot, SlotRequest
from aragog.urls.domain import host, origin

ROBOTS_PATH = "/robots.txt"
# Well within the claim on the refresh, which lasts 60 s.
ROBOTS_HOP_WAIT_MS = 20_000


class PoliteGate:
    """
    Admits redirect targets and holds each request until its slot. Close it when the fetch is over.

    Args:
        services: robots cache, limiter, clock, settings.
        slot: of the first request.
    """

    def __init__(self, services: Services, slot: Slot) -> None:
        self._services = services
        self._slot = slot
        self.taken_down = False
        """A redirect led to a URL that was taken down."""
        self.inline_ms = services.settings.politeness.wait_inline_ms

    @property
    def _limiter(self) -> Limiter:
        return self._services.limiter

    def admit(self, url: str, given: str) -> Admission:
        """Whether the redirect target may be asked; `acquire_permit` waits for its slot."""
        if self._services.store.takedowns.refused([url]):
            self.taken_down = True
            return Deny("was taken down")
        if blocked := self._services.overrides.blocked(host(url)):
            return Deny(blocked)
        of = origin(url)
        found = self._services.robots.get_many([of])[of]
        if found.rules is None:
            return Later(None, "robots.txt of the redirect's target is not known yet")
        agent = self._services.settings.fetch.user_agent
        if why := found.rules.refusal(agent, url, given):
            return Deny(why)
        return self._with_slot(url, found.rules.crawl_delay_s(agent))

    def _with_slot(self, url: str, crawl_delay_s: float | None) -> Admission:
        slot = self._limiter.reserve([SlotRequest(self._limiter.key_for(url), crawl_delay_s)])[0]
        if isinstance(slot, RateExceeded):
            return Later(slot.free_at_ms, "its domain is booked out")
        if slot.wait_ms > self.inline_ms:
            return Later(slot.at_ms, "its slot is later")
        self._limiter.finished(self._slot)
        self._slot = slot
        return Go()

    def acquire_permit(self, url: str) -> Later | None:  # noqa: ARG002 - the port's signature
        """
        None when the request may be written now; Later when its slot passed and the next is far.

        Raises:
            LimiterUnavailable: its Redis does not answer.
        """
        while not self._limiter.acquire_permit(self._slot):
            slot = self._limiter.reserve(
                [SlotRequest(self._slot.key, self._slot.interval_us / 1e6)]
            )[0]
            if isinstance(slot, RateExceeded):
                return Later(slot.free_at_ms, "its domain is booked out")
            if slot.wait_ms > self.inline_ms:
                return Later(slot.at_ms, "its slot passed, the next one is later")
            self._limiter.finished(self._slot)
            self._slot = slot
        return None

    def release_permit(self, url: str) -> None:  # noqa: ARG002 - the port's signature
        """The request is written: the domain's next one counts from now."""
        self._limiter.release_permit(self._slot)

    def busy(self, url: str, wait_s: float | None) -> None:  # noqa: ARG002 - the port's signature
        """The origin wants to be left alone: nobody asks its domain until it has had its rest."""
        if wait_s is None:
            wait_s = self._services.settings.pipeline.retry_first_s
        self._limiter.pause(self._slot.key, wait_s)

    @property
    def key(self) -> str:
        """The limiter's name of the domain that was asked last."""
        return self._slot.key

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._limiter.finished(self._slot)


class RobotsGate(PoliteGate):
    """
    The way to robots.txt itself: slots as for any request, no rules ("always allowed").

    A redirect is waited for longer: robots.txt is asked for from the start each time, so on a
    domain with a backlog it would never be had otherwise.
    """

    def __init__(self, services: Services, slot: Slot) -> None:
        super().__init__(services, slot)
        self.inline_ms = ROBOTS_HOP_WAIT_MS

    def admit(self, url: str, given: str) -> Admission:  # noqa: ARG002 - the port's signature
        return self._with_slot(url, None)
