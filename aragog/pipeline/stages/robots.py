"""
Fetch robots.txt of origins, then send on the URLs that waited for the rules.

Safe to run twice: rules that are fresh by then are not asked for again, and one run at a time asks
an origin (a claim in the cache that runs out by itself).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from aragog.fetcher.outcome import (
    Blocked,
    Fetched,
    Outcome,
    Redirected,
    TooLarge,
    Unreachable,
    Unreadable,
)
from aragog.pipeline import counters
from aragog.pipeline.messages import FetchBatch, RobotsBatch
from aragog.pipeline.polite_gate import ROBOTS_PATH, RobotsGate
from aragog.pipeline.routing import Destination, OutgoingMessage, most_urgent
from aragog.pipeline.services import Services
from aragog.politeness.ratelimit.slots import RateExceeded, Slot, SlotRequest
from aragog.politeness.robots.cache import RulesState
from aragog.urls.domain import origin

# Another task is asking the origin right now; rules usually come within half a second.
ASK_AGAIN_MS = 500
# Any 4xx: "the crawler MAY access any resources" (2.3.1.3).
UNAVAILABLE = 404
# Refreshes that no URL waits for.
PRIORITY_BACKGROUND = 8
# How long a refresh may wait in its queue before it may be sent again.
REFRESH_HOLD_MS = 600_000


class _Wait(NamedTuple):
    """When an origin's jobs come back, and the slot that is kept for its robots.txt."""

    wait_ms: int
    slot_at_ms: int | None = None


def robots_batch(batch: RobotsBatch, services: Services) -> list[OutgoingMessage]:
    """
    What is to be sent once the origins' rules are known, or known to be unreachable.

    Raises:
        TransientError: Redis did not answer; the batch runs again.
    """
    found = services.robots.get_many(batch.origins)
    wanted = [o for o, of in found.items() if batch.claimed or of.state is not RulesState.FRESH]
    claimed = wanted if batch.claimed else services.robots.claim_refresh(wanted)
    near, later = _slots(claimed, batch.slots, services)
    futures = [(o, services.pool.submit(_ask, o, slot, services)) for o, slot in near]
    for asked, future in futures:
        outcome = future.result()
        if isinstance(outcome, Redirected) and not outcome.hops:
            # Nothing was asked: its slot had passed, and the next one is far.
            later[asked] = _Wait(0, outcome.retry_at_ms)
        else:
            _remember(asked, outcome, services)
    services.counters.add({counters.ROBOTS: len(near)})
    later = {of: _from_now(of, wait, services) for of, wait in later.items()}
    services.robots.hold_refresh({o: w.wait_ms for o, w in later.items() if w.slot_at_ms})
    services.robots.release_refresh([o for o, wait in later.items() if not wait.slot_at_ms])
    elsewhere = [o for o in wanted if o not in claimed and found[o].rules is None]
    for of, wait_ms in services.robots.refresh_in_ms(elsewhere).items():
        later[of] = _Wait(wait_ms + ASK_AGAIN_MS)
    return _onward(batch, later, services)


def _from_now(of: str, wait: _Wait, services: Services) -> _Wait:
    """The wait until a reserved slot, now that the origins before it have taken their time."""
    if wait.slot_at_ms is None:
        return wait
    limiter = services.limiter
    return wait._replace(wait_ms=limiter.wait_ms(limiter.key_for(of + "/"), wait.slot_at_ms))


def _slots(
    origins: Sequence[str], reserved: Mapping[str, int], services: Services
) -> tuple[list[tuple[str, Slot]], dict[str, _Wait]]:
    """Origins that may be asked within this task, and when the others may be."""
    limiter, inline_ms = services.limiter, services.settings.politeness.wait_inline_ms
    keys = {of: limiter.key_for(of + "/") for of in origins}
    # A reserved slot is kept even when its message comes late: the door of the domain decides.
    slots: dict[str, Slot | RateExceeded] = {
        of: limiter.resume(keys[of], reserved[of]) for of in origins if of in reserved
    }
    new = [of for of in origins if of not in reserved]
    slots |= zip(new, limiter.reserve([SlotRequest(keys[of]) for of in new]), strict=True)
    near: list[tuple[str, Slot]] = []
    later: dict[str, _Wait] = {}
    for of, slot in slots.items():
        if isinstance(slot, RateExceeded):
            later[of] = _Wait(limiter.wait_ms(slot.key, slot.free_at_ms))
        elif slot.wait_ms > inline_ms:
            later[of] = _Wait(slot.wait_ms, slot.at_ms)
        else:
            near.append((of, slot))
    return near, later


def _ask(of: str, slot: Slot, services: Services) -> Outcome:
    with RobotsGate(services, slot) as gate:
        return services.robots_fetcher.fetch(of + ROBOTS_PATH, gate=gate)


def _remember(of: str, outcome: Outcome, services: Services) -> None:
    """RFC 9309 section 2.3.1: what an answer means is the cache's business, by its status."""
    status, body = outcome.status, b""
    if isinstance(outcome, Fetched):
        body = outcome.body
    elif isinstance(outcome, Blocked):
        # Nothing of this origin will be connected to; the guard refuses each page by itself, and
        # says why better than "robots.txt is unreachable" would.
        status = UNAVAILABLE
    elif isinstance(outcome, Unreachable) and outcome.kind == "redirect":
        status = UNAVAILABLE  # past the five hops that 2.3.1.2 asks for
    elif isinstance(outcome, TooLarge | Unreadable | Redirected):
        # Redirected: the next hop's domain is booked out; the redirect is no answer yet.
        status = None  # there are rules, and they cannot be read: nothing is allowed by that
    services.robots.put(of, status, body, outcome.fetched_at_ms)


def _onward(
    batch: RobotsBatch, waits: Mapping[str, _Wait], services: Services
) -> list[OutgoingMessage]:
    """The jobs: to `fetch` where their rules are known now, else back here when they may be."""
    ready = tuple(job for job in batch.jobs if origin(job.next_url) not in waits)
    outgoing = (
        [OutgoingMessage(Destination.FETCH, FetchBatch(ready), priority=most_urgent(ready))]
        if ready
        else []
    )
    span_ms = services.settings.politeness.wait_inline_ms
    for claimed in (True, False):
        those = {o: w for o, w in waits.items() if (w.slot_at_ms is not None) is claimed}
        for group in _together(those, span_ms):
            first = those[group[0]]
            slots = {of: at_ms for of in group if (at_ms := those[of].slot_at_ms)}
            jobs = tuple(job for job in batch.jobs if origin(job.next_url) in group)
            if jobs or claimed:
                following = RobotsBatch(tuple(group), jobs, claimed, slots)
                priority = min((job.priority for job in jobs), default=PRIORITY_BACKGROUND)
                outgoing.append(
                    OutgoingMessage(Destination.ROBOTS, following, first.wait_ms, priority)
                )
    return outgoing


def _together(waits: Mapping[str, _Wait], span_ms: int) -> list[list[str]]:
    """Origins in the order of their waits; those within `span_ms` of the first share a message."""
    groups: list[list[str]] = []
    for of, wait in sorted(waits.items(), key=lambda item: item[1].wait_ms):
        if groups and wait.wait_ms <= waits[groups[-1][0]].wait_ms + span_ms:
            groups[-1].append(of)
        else:
            groups.append([of])
    return groups


def expiring(
    services: Services, *, step: int = 500, most: int = 100_000
) -> Iterator[list[OutgoingMessage]]:
    """
    Background refreshes of rules that are in use and about to be a day old, soonest first.

    Yields the messages of `step` origins at a time, so that memory stays bounded; `most` bounds one
    run. Claims are held for `REFRESH_HOLD_MS`: a backlog of refreshes is not sent twice.
    """
    soon_ms = services.clock.now_ms() + 600_000
    size = services.settings.pipeline.batch_size
    for _ in range(0, most, step):
        due = services.robots.expiring(soon_ms, step)
        origins = services.robots.claim_refresh(due)
        services.robots.hold_refresh(dict.fromkeys(origins, REFRESH_HOLD_MS))
        groups = [origins[i : i + size] for i in range(0, len(origins), size)]
        yield [
            OutgoingMessage(
                Destination.ROBOTS,
                RobotsBatch(tuple(group), claimed=True),
                priority=PRIORITY_BACKGROUND,
            )
            for group in groups
        ]
        if len(due) < step:
            return
