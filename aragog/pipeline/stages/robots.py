"""
Fetch robots.txt of origins, then send on the URLs that waited for the rules.

Safe to run twice: rules that are fresh by then are not asked for again, and one run at a time asks
an origin (a claim in the cache, which expires).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

from aragog.clock import Clock
from aragog.fetcher.gate import Gate
from aragog.fetcher.outcome import (
    Blocked,
    Fetched,
    Outcome,
    Redirected,
    Refused,
    TooLarge,
    Unreachable,
    UnreachableKind,
    Unreadable,
)
from aragog.pipeline import counters
from aragog.pipeline.messages import FetchBatch, RobotsBatch
from aragog.pipeline.polite_gate import ROBOTS_PATH, Refusals, RobotsGate
from aragog.pipeline.ports import CounterSink
from aragog.pipeline.requester import contained
from aragog.pipeline.routing import Destination, OutgoingMessage, most_urgent
from aragog.pipeline.waiting_line import URGENT
from aragog.politeness.limiter import Limiter
from aragog.politeness.robots_cache import RobotsCache
from aragog.politeness.robots_records import CachedRules, RobotsResult, RulesState
from aragog.politeness.robots_rules import MAX_BYTES
from aragog.politeness.slots import RateExceeded, Slot, SlotRequest
from aragog.settings import Settings
from aragog.urls.domain import origin

# Another task is asking the origin right now; rules usually come within half a second.
ASK_AGAIN_MS = 500
# Any 4xx: "the crawler MAY access any resources" (2.3.1.3).
UNAVAILABLE = 404
# A slot further away than this is not reserved for a robots.txt. It is further ahead than URLs
# leave the line of their domain, because they cannot continue without the rules.
SLOT_WITHIN_MS = 4_000
# Refreshes that no URL waits for.
PRIORITY_BACKGROUND = 8
# How long a refresh may wait in its queue before it may be sent again.
REFRESH_HOLD_MS = 600_000


class _Wait(NamedTuple):
    """When an origin's jobs come back."""

    wait_ms: int
    slot_at_ms: int | None = None
    """The slot that is kept for its robots.txt."""
    claimed: bool = True
    """The claim on the refresh is kept for them."""


class RobotsFetcher(Protocol):
    """Fetches one robots.txt (`aragog.fetcher.fetcher.Fetcher`)."""

    def fetch(self, url: str, *, gate: Gate) -> Outcome:
        """The outcome; blocks for one fetch deadline at most."""


@dataclass(frozen=True, slots=True)
class RobotsStage:
    """Brings the rules of origins into the robots cache."""

    robots: RobotsCache
    limiter: Limiter
    fetcher: RobotsFetcher
    pool: Executor
    counters: CounterSink
    clock: Clock
    settings: Settings
    refusals: Refusals

    def run(self, batch: RobotsBatch) -> list[OutgoingMessage]:
        """
        The messages to send once the origins' rules are known, or known to be unreachable.

        Raises:
            TransientError: Redis did not answer; the batch runs again.
        """
        cached = self.robots.get_many(batch.origins)
        origins = [
            origin_url
            for origin_url, rules in cached.items()
            if batch.claimed or batch.refresh or rules.state != RulesState.FRESH
        ]
        origins = self._without_refused(batch, origins)
        claimed = origins if batch.claimed else self.robots.refreshes.claim(origins)
        near, later = self._slots(claimed, batch.slots, self._crawl_delays(cached), _urgent(batch))
        later |= self._fetch(near)
        self.counters.add({counters.ROBOTS: len(near)})
        later = {origin_url: self._from_now(origin_url, wait) for origin_url, wait in later.items()}
        self.robots.refreshes.hold({o: wait.wait_ms for o, wait in later.items()})
        awaited = {origin(job.next_url) for job in batch.jobs}
        elsewhere = [o for o in awaited.difference(claimed) & set(origins) if not cached[o].rules]
        for origin_url, wait_ms in self.robots.refreshes.remaining_ms(elsewhere).items():
            later[origin_url] = _Wait(wait_ms + ASK_AGAIN_MS, claimed=False)
        return onward(batch, later, self.settings.politeness.wait_inline_ms)

    def _without_refused(self, batch: RobotsBatch, origins: Sequence[str]) -> list[str]:
        """The origins without those that were blocked or taken down since their rules were used."""
        # Where URLs wait for the rules, fetch has just checked their hosts.
        awaited = {origin(job.next_url) for job in batch.jobs}
        urls = {
            origin_url + ROBOTS_PATH: origin_url
            for origin_url in origins
            if origin_url not in awaited
        }
        refused = [urls[url] for url in self.refusals(list(urls))] if urls else []
        if refused:
            self.robots.refreshes.release(refused)
        return [origin_url for origin_url in origins if origin_url not in refused]

    def _fetch(self, near: Sequence[tuple[str, Slot]]) -> dict[str, _Wait]:
        """Fetch side by side, and keep the rules; the waits of origins that were not asked."""
        slots, later, results = dict(near), {}, []
        futures = [
            (origin_url, self.pool.submit(self._ask, origin_url, slot)) for origin_url, slot in near
        ]
        for origin_url, future in futures:
            outcome = future.result()
            if isinstance(outcome, Redirected) and not outcome.hops:
                # No request was sent: the slot had passed, and the next one is far.
                key = slots[origin_url].key
                later[origin_url] = self._without_slot(key, outcome.retry_at_ms or 0)
            else:
                results.append(_result(origin_url, outcome))
        if results:
            self.robots.put_many(results)
        return later

    def _without_slot(self, key: str, free_at_ms: int) -> _Wait:
        """The wait until a slot can be reserved, which is before URLs leave the line for it."""
        wait_ms = self.limiter.wait_ms(key, free_at_ms) - SLOT_WITHIN_MS
        return _Wait(max(ASK_AGAIN_MS, wait_ms))

    def _from_now(self, origin_url: str, wait: _Wait) -> _Wait:
        """The wait until a reserved slot, now that the origins before it have taken their time."""
        if wait.slot_at_ms is None:
            return wait
        key = self.limiter.key_for(origin_url + "/")
        return wait._replace(wait_ms=self.limiter.wait_ms(key, wait.slot_at_ms))

    def _crawl_delays(self, cached: Mapping[str, CachedRules]) -> dict[str, float | None]:
        """The Crawl-delay (s) of the origins whose rules are known: it is for every request."""
        agent = self.settings.fetch.user_agent
        return {
            origin_url: cached_rules.rules.crawl_delay_s(agent)
            for origin_url, cached_rules in cached.items()
            if cached_rules.rules
        }

    def _slots(
        self,
        origins: Sequence[str],
        reserved: Mapping[str, int],
        delays_s: Mapping[str, float | None],
        urgent: AbstractSet[str],
    ) -> tuple[list[tuple[str, Slot]], dict[str, _Wait]]:
        """Origins that may be asked within this task, and when the others may be."""
        limiter = self.limiter
        keys = {origin_url: limiter.key_for(origin_url + "/") for origin_url in origins}
        # A reserved slot is kept even when its message comes late: its permit decides.
        slots: dict[str, Slot | RateExceeded] = {
            origin_url: limiter.resume(
                keys[origin_url],
                reserved[origin_url],
                delays_s.get(origin_url),
                urgent=origin_url in urgent,
            )
            for origin_url in origins
            if origin_url in reserved
        }
        new = [origin_url for origin_url in origins if origin_url not in reserved]
        requests = [
            SlotRequest(keys[o], delays_s.get(o), within_ms=SLOT_WITHIN_MS, urgent=o in urgent)
            for o in new
        ]
        slots |= zip(new, limiter.reserve(requests), strict=True)
        near: list[tuple[str, Slot]] = []
        later: dict[str, _Wait] = {}
        for origin_url, slot in slots.items():
            if isinstance(slot, RateExceeded):
                later[origin_url] = self._without_slot(slot.key, slot.free_at_ms)
            elif slot.wait_ms > self.settings.politeness.wait_inline_ms:
                later[origin_url] = _Wait(slot.wait_ms, slot.at_ms)
            else:
                near.append((origin_url, slot))
        return near, later

    def _ask(self, origin_url: str, slot: Slot) -> Outcome:
        rest_s = self.settings.pipeline.retry_first_s
        url = origin_url + ROBOTS_PATH
        with RobotsGate(self.limiter, slot, rest_s, refusals=self.refusals) as gate:
            fetch = partial(self.fetcher.fetch, url, gate=gate)
            return contained(fetch, url=url, next_url=url, clock=self.clock)

    def expiring(self, *, step: int = 500, most: int = 100_000) -> Iterator[list[OutgoingMessage]]:
        """
        Background refreshes of rules that are in use and about to be a day old, soonest first.

        Yields the messages of `step` origins at a time, so that memory stays bounded; `most` bounds
        one run. Claims are held for `REFRESH_HOLD_MS`: a backlog of refreshes is not sent twice.
        """
        soon_ms = self.clock.now_ms() + 600_000
        size = self.settings.pipeline.batch_size
        for _ in range(0, most, step):
            due = self.robots.refreshes.expiring(soon_ms, step)
            origins = self.robots.refreshes.claim(due)
            self.robots.refreshes.hold(dict.fromkeys(origins, REFRESH_HOLD_MS))
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


def _urgent(batch: RobotsBatch) -> set[str]:
    """The origins for whose rules an urgent URL waits."""
    return {origin(job.next_url) for job in batch.jobs if job.priority <= URGENT}


def _result(origin_url: str, outcome: Outcome) -> RobotsResult:
    """The outcome as a status for the cache: what that means is in RFC 9309, 2.3.1."""
    body = outcome.body if isinstance(outcome, Fetched) else b""
    return RobotsResult(origin_url, status_of(outcome), body, outcome.fetched_at_ms)


def status_of(outcome: Outcome) -> int | None:
    """The status that the cache keeps for an outcome; None: there are rules, unreadable. Pure."""
    if isinstance(outcome, Blocked):
        # No connection is made to this origin; the SSRF filter refuses each page by itself, and
        # gives a better reason than "robots.txt is unreachable".
        return UNAVAILABLE
    if isinstance(outcome, Unreachable) and outcome.kind is UnreachableKind.REDIRECT:
        return UNAVAILABLE  # past the five hops that RFC 9309, 2.3.1.2 asks for
    if isinstance(outcome, TooLarge | Unreadable | Redirected | Refused):
        # Redirected: the next hop's domain has no free slot; the redirect is not an answer yet.
        # Refused: the rules lie on a host that is never asked.
        return None
    if isinstance(outcome, Fetched) and outcome.truncated and len(outcome.body) < MAX_BYTES:
        # The connection broke: the rules that are missing may be those that forbid.
        return None
    return outcome.status


def onward(batch: RobotsBatch, waits: Mapping[str, _Wait], span_ms: int) -> list[OutgoingMessage]:
    """The jobs: to `fetch` where their rules are known now, else back here when they may be."""
    ready = tuple(job for job in batch.jobs if origin(job.next_url) not in waits)
    outgoing = []
    if ready:
        urgency = most_urgent(ready)
        outgoing.append(OutgoingMessage(Destination.FETCH, FetchBatch(ready), priority=urgency))
    for claimed in (True, False):
        those = {o: w for o, w in waits.items() if w.claimed is claimed}
        for group in _together(those, span_ms):
            first = those[group[0]]
            slots = {
                origin_url: at_ms for origin_url in group if (at_ms := those[origin_url].slot_at_ms)
            }
            jobs = tuple(job for job in batch.jobs if origin(job.next_url) in group)
            if jobs or claimed or batch.refresh:
                following = RobotsBatch(tuple(group), jobs, claimed, batch.refresh, slots)
                priority = min((job.priority for job in jobs), default=PRIORITY_BACKGROUND)
                outgoing.append(
                    OutgoingMessage(Destination.ROBOTS, following, first.wait_ms, priority)
                )
    return outgoing


def _together(waits: Mapping[str, _Wait], span_ms: int) -> list[list[str]]:
    """Origins in the order of their waits; those within `span_ms` of the first share a message."""
    groups: list[list[str]] = []
    for origin_url, wait in sorted(waits.items(), key=lambda item: item[1].wait_ms):
        if groups and wait.wait_ms <= waits[groups[-1][0]].wait_ms + span_ms:
            groups[-1].append(origin_url)
        else:
            groups.append([origin_url])
    return groups
