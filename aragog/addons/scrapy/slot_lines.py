"""
Keep claimed requests in a queue per domain (a line) until the domain has a slot, its turn for a
request.

Slots are only reserved for the next second, so all crawls compete equally for a domain's slots, and
a changed rate applies at once. A process holds only a few requests per domain. The others go back
to the queue until their turn is expected, so a slow domain does not keep a process busy.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from scrapy import Request

from aragog.crawl.politeness.slots import Slot
from aragog.crawl.stages.single_fetch import SlotSearch
from aragog.errors import InvalidUrl
from aragog.runtime.clock import Clock
from urlspelling import normalize

log = logging.getLogger(__name__)
MIN_PER_DOMAIN, MAX_PER_DOMAIN = 16, 48
"""How many requests of a domain a process holds: enough for `MAX_HELD_S`, within these bounds."""
MAX_HELD_S = 2.0
MAX_WAIT_S = 10.0
"""If a domain has no slot for longer than this (it is paused, for example), its requests go back to
the queue."""
MAX_DELAY_S = 300.0
"""
A request returns from the queue after at most this time, or after its domain's wait if that is
longer, because the domain's rate may have changed.
"""
LOG_WAIT_S = 5.0
"""
A wait that exceeds the domain's interval by this much is logged, because the domain is probably
paused or stopped.
"""
RULES_WAIT_S = 0.5
"""How long a domain's other requests wait while one of them fetches robots.txt."""
_UNKNOWN_INTERVAL_S = 0.1
_MAX_EMPTY_LINES = 1_000


@dataclass(slots=True, eq=False)
class HeldRequest:
    """A request that this process has claimed."""

    request: Request
    tag: str | None = None
    """The tag of its claim, or None if the request only exists in this process's memory."""


class Ready(NamedTuple):
    """A request that has a slot, or that needs none."""

    held: HeldRequest
    slot: Slot | None


@dataclass(slots=True, eq=False)
class _Line:
    key: str
    waiting: deque[HeldRequest] = field(default_factory=deque)
    retry_at_s: float = 0.0
    interval_s: float = _UNKNOWN_INTERVAL_S
    turn_s: float = 0.0
    """The expected turn of the request that was last returned to the queue."""
    wait_logged: bool = False


class SlotLines:
    """
    The requests that one process holds. Not thread-safe.

    Args:
        find_slots: `SingleFetch.find_slots`.
        key_for: `Limiter.key_for`.
        clock: only its monotonic time is used.
    """

    def __init__(
        self,
        find_slots: Callable[[Sequence[str]], list[SlotSearch]],
        key_for: Callable[[str], str],
        clock: Clock,
    ) -> None:
        self._find_slots = find_slots
        self._key_for = key_for
        self._clock = clock
        self._lines: dict[str, _Line] = {}
        self._without_domain: list[HeldRequest] = []
        """Requests whose URLs have no domain; the download handler reports the error."""

    def __len__(self) -> int:
        return len(self._without_domain) + sum(len(line.waiting) for line in self._lines.values())

    def add(self, held: HeldRequest) -> None:
        """Append a request to its domain's line."""
        try:
            key = self._key_for(normalize(held.request.url))
        except InvalidUrl:
            self._without_domain.append(held)
            return
        self._lines.setdefault(key, _Line(key)).waiting.append(held)

    def take_ready(self, limit: int) -> list[Ready]:
        """
        Remove and return up to `limit` requests that have a slot within a second or need none.

        Raises:
            LimiterUnavailable, RobotsUnavailable: nothing was removed.
        """
        ready = [Ready(held, None) for held in self._without_domain[:limit]]
        del self._without_domain[:limit]
        now_s = self._clock.monotonic_s()
        candidates = list(islice(self._round_robin(now_s), max(0, limit - len(ready))))
        if not candidates:
            return ready
        try:
            searches = self._find_slots([held.request.url for _, held in candidates])
        except Exception:
            self._without_domain[:0] = [one.held for one in ready]
            raise
        for (line, held), search in zip(candidates, searches, strict=True):
            line.interval_s = search.interval_s or line.interval_s
            if search.rules_first and line.retry_at_s > now_s:
                continue  # another request of this domain fetches its robots.txt
            if search.rules_first:
                line.retry_at_s = now_s + RULES_WAIT_S
            if search.slot is not None or search.wait_ms == 0:
                line.waiting.remove(held)
                line.wait_logged = line.wait_logged and search.slot is None
                ready.append(Ready(held, search.slot))
            else:
                line.retry_at_s = now_s + search.wait_ms / 1000
                _log_wait(line, held, search)
        return ready

    def take_surplus(self, processes: int) -> list[tuple[HeldRequest, int]]:
        """
        Remove and return the excess requests, each with the time in ms until its expected turn.

        Args:
            processes: how many processes share the slots.
        """
        now_s = self._clock.monotonic_s()
        surplus = [
            (held, delay_ms)
            for line in self._lines.values()
            for held, delay_ms in _surplus(line, now_s, processes)
        ]
        if len(self._lines) > _MAX_EMPTY_LINES:
            self._lines = {key: line for key, line in self._lines.items() if line.waiting}
        return surplus

    def take_all(self) -> list[HeldRequest]:
        """Remove and return all requests."""
        held = [
            *self._without_domain,
            *(request for line in self._lines.values() for request in line.waiting),
        ]
        self._without_domain, self._lines = [], {}
        return held

    @property
    def next_retry_s(self) -> float:
        """
        Return when to look for a slot again, in monotonic seconds; infinity if no request
        waits.
        """
        if self._without_domain:
            return 0.0
        retry_times_s = (line.retry_at_s for line in self._lines.values() if line.waiting)
        return min(retry_times_s, default=float("inf"))

    def _round_robin(self, now_s: float) -> Iterator[tuple[_Line, HeldRequest]]:
        """Yield the first requests of all lines, then the second ones, and so on."""
        lines = [line for line in self._lines.values() if line.waiting and line.retry_at_s <= now_s]
        for position in range(max((len(line.waiting) for line in lines), default=0)):
            yield from (
                (line, line.waiting[position]) for line in lines if position < len(line.waiting)
            )


def _log_wait(line: _Line, held: HeldRequest, search: SlotSearch) -> None:
    """Log once that a domain has had no slot for a long time."""
    wait_s = search.wait_ms / 1000
    if line.wait_logged or wait_s <= search.interval_s + LOG_WAIT_S:
        return
    line.wait_logged = True
    log.info(
        "%s has no slot for %.0f s; run aragog explain %s to see why",
        line.key,
        wait_s,
        held.request.url,
    )


def _surplus(line: _Line, now_s: float, processes: int) -> Iterator[tuple[HeldRequest, int]]:
    wait_s, interval_s = line.retry_at_s - now_s, line.interval_s * processes
    max_held = min(MAX_PER_DOMAIN, max(MIN_PER_DOMAIN, int(MAX_HELD_S / interval_s)))
    if wait_s > MAX_WAIT_S:
        max_held = 0
    if len(line.waiting) <= max_held:
        return
    # The first requests return while half of the line is left, so that no slot goes unused.
    line.turn_s = max(line.turn_s, now_s + max(0.0, wait_s) + max_held / 2 * interval_s)
    kept_requests: deque[HeldRequest] = deque()
    for position, held in enumerate(line.waiting):
        if position < max_held or held.tag is None:
            kept_requests.append(held)
            continue
        line.turn_s += interval_s
        yield held, int(min(line.turn_s - now_s, max(MAX_DELAY_S, wait_s)) * 1000)
    line.waiting = kept_requests
