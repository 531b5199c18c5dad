"""
Fetch robots.txt of origins, then send on the URLs that waited for the rules.

Safe to run twice: rules that are fresh by then are not asked for again, and one run at a time asks
an origin (a claim in the cache that runs out by itself).
"""

from __future__ import annotations

from collections.abc import Sequence

from aragog.fetcher.outcome import (
    Fetched,
    Forbidden,
    Outcome,
    TooLarge,
    Unreachable,
    Unreadable,
)
from aragog.pipeline import tally
from aragog.pipeline.bundles import FetchBundle, RobotsBundle
from aragog.pipeline.gate import ROBOTS_PATH, RobotsGate
from aragog.pipeline.sending import FETCH, ROBOTS, Send
from aragog.pipeline.services import Services
from aragog.politeness.robots_cache import State
from aragog.politeness.slots import Ask, RateExceeded, Slot
from aragog.urls.domain import origin

# Another task is asking the origin right now; rules usually come within half a second.
ASK_AGAIN_MS = 500
# Any 4xx: "the crawler MAY access any resources" (2.3.1.3).
UNAVAILABLE = 404


def robots_bundle(bundle: RobotsBundle, services: Services) -> list[Send]:
    """
    What is to be sent once the origins' rules are known, or known to be unreachable.

    Raises:
        TransientError: Redis did not answer; the bundle runs again.
    """
    found = services.robots.get_many(bundle.origins)
    wanted = [o for o, of in found.items() if bundle.claimed or of.state is not State.FRESH]
    claimed = wanted if bundle.claimed else services.robots.claim_refresh(wanted)
    near, later = _slots(claimed, services)
    looked_s = services.clock.monotonic_s()
    futures = [(o, services.pool.submit(_ask, o, slot, services)) for o, slot in near]
    for asked, future in futures:
        _remember(asked, future.result(), services)
    services.tally.add({tally.ROBOTS: len(near)})
    elsewhere = [o for o in wanted if o not in claimed and found[o].rules is None]
    passed_ms = int((services.clock.monotonic_s() - looked_s) * 1000)
    left = {of: max(0, wait_ms - passed_ms) for of, wait_ms in later.items()}
    return _onward(bundle, left, elsewhere)


def _slots(
    origins: Sequence[str], services: Services
) -> tuple[list[tuple[str, Slot]], dict[str, int]]:
    """Origins that may be asked within this task, and in how many ms the others may be."""
    limiter = services.limiter
    slots = limiter.reserve([Ask(limiter.key_for(o + "/")) for o in origins])
    near: list[tuple[str, Slot]] = []
    later: dict[str, int] = {}
    for of, slot in zip(origins, slots, strict=True):
        if isinstance(slot, RateExceeded):
            later[of] = limiter.wait_ms(slot.key, slot.free_at_ms)
        elif slot.wait_ms > services.settings.politeness.wait_inline_ms:
            later[of] = slot.wait_ms
        else:
            near.append((of, slot))
    services.robots.release_refresh(list(later))
    return near, later


def _ask(of: str, slot: Slot, services: Services) -> Outcome:
    with RobotsGate(services, slot) as gate:
        return services.robots_fetcher.fetch(of + ROBOTS_PATH, gate=gate)


def _remember(of: str, outcome: Outcome, services: Services) -> None:
    """RFC 9309 section 2.3.1: what an answer means is the cache's business, by its status."""
    status, body = outcome.status, b""
    if isinstance(outcome, Fetched):
        body = outcome.body
    elif isinstance(outcome, Forbidden):
        # Nothing of this origin will be connected to; the guard refuses each page by itself, and
        # says why better than "robots.txt is unreachable" would.
        status = UNAVAILABLE
    elif isinstance(outcome, Unreachable) and outcome.kind == "redirect":
        status = UNAVAILABLE  # past the five hops that 2.3.1.2 asks for
    elif isinstance(outcome, TooLarge | Unreadable):
        status = None  # there are rules, and they cannot be read: nothing is allowed by that
    services.robots.put(of, status, body, outcome.fetched_at_ms)


def _onward(bundle: RobotsBundle, later: dict[str, int], elsewhere: Sequence[str]) -> list[Send]:
    """The jobs: to `fetch` where their rules are known now, else back here when they may be."""
    waits = {**dict.fromkeys(elsewhere, ASK_AGAIN_MS), **later}
    ready = tuple(job for job in bundle.jobs if origin(job.next_url) not in waits)
    sends = [Send(FETCH, FetchBundle(ready), priority=ready[0].priority)] if ready else []
    for of, wait_ms in waits.items():
        jobs = tuple(job for job in bundle.jobs if origin(job.next_url) == of)
        if jobs:
            sends.append(Send(ROBOTS, RobotsBundle((of,), jobs), wait_ms))
    return sends


def expiring(services: Services, *, limit: int) -> list[Send]:
    """Background refreshes of rules that are in use and about to be a day old."""
    soon_ms = services.clock.now_ms() + 600_000
    origins = services.robots.claim_refresh(services.robots.expiring(soon_ms, limit))
    size = services.settings.pipeline.bundle_size
    groups = [origins[i : i + size] for i in range(0, len(origins), size)]
    return [Send(ROBOTS, RobotsBundle(tuple(group), claimed=True), priority=8) for group in groups]
