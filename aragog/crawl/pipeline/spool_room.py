"""
Back-pressure from the spool: delays fetches while it is full.

On `pinlater://`, workers claim no fetches while the spool is closed (`claim_limit`). On other
brokers, a task waits instead (`SpoolSpace.wait_until_open`), and the messages after it wait, too.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from aragog.crawl.pipeline.memory_limit import Admission
from aragog.crawl.pipeline.messages import URGENT
from aragog.crawl.pipeline.ports import BoundedBodyStore
from aragog.errors import TRANSIENT, SpoolUnavailable
from aragog.runtime.clock import Clock, SystemClock
from pinlater.gates import Allowance

log = logging.getLogger(__name__)
T = TypeVar("T")

ALL_PRIORITIES, NO_PRIORITY = 9, -1
# Above this fraction of `maxmemory`, Redis might refuse fetched bodies.
MAX_MEMORY_SHARE = 0.95
# How long a task waits for space, and how often it checks.
MAX_WAIT_S = 20.0
CHECK_INTERVAL_S = 0.5
# How long a worker uses the state that it has read.
CACHE_TTL_S = 0.1
# Above this fraction of `SpoolBounds.high_bytes`, a worker claims fewer and fewer batches at once,
# from `MAX_BATCHES` down to one. Otherwise it would fill the spool in a burst and then sit idle
# while the bodies are stored.
THROTTLE_ABOVE_SHARE = 2 / 3
MAX_BATCHES = 8


def claim_limit(
    spool: BoundedBodyStore, memory: Admission | None = None, clock: Clock | None = None
) -> Callable[[], Allowance]:
    """
    Return a gate for `pinlater.gates`. It decides which fetches to claim, and how many batches.

    Queries Redis at most ten times per second. If Redis does not respond, no fetch is claimed.

    Args:
        spool: for the fetched bodies.
        memory: memory use of the spool's servers. While their memory is nearly full, the spool's
            bodies are stored before new ones are fetched.
        clock: only its monotonic time is used.
    """
    stopwatch = clock or SystemClock()
    cached: tuple[float, Allowance] | None = None

    def limit() -> Allowance:
        nonlocal cached
        now_s = stopwatch.monotonic_s()
        if cached is None or now_s - cached[0] > CACHE_TTL_S:
            cached = now_s, _compute_limit(spool, memory)
        return cached[1]

    return limit


def _compute_limit(spool: BoundedBodyStore, memory: Admission | None = None) -> Allowance:
    try:
        state = spool.state()
        share = memory.usage().share if memory else 0.0
    except TRANSIENT as error:
        log.debug("no fetches are claimed while the spool does not respond: %s", error)
        return Allowance(NO_PRIORITY)
    # If the spool is empty, waiting would not free any memory.
    if state.full or (share > MAX_MEMORY_SHARE and state.used_bytes):
        return Allowance(NO_PRIORITY)
    if state.closed:
        return Allowance(URGENT)
    remaining = (1 - state.share) / (1 - THROTTLE_ABOVE_SHARE)
    return Allowance(
        ALL_PRIORITIES, None if remaining >= 1 else max(1, math.ceil(remaining * MAX_BATCHES))
    )


class Reservation(NamedTuple):
    """Space reserved for the bodies of a fetch."""

    token: str
    bodies: int
    """The number of bodies, which may be fewer than requested if the spool is nearly full."""


@dataclass(frozen=True, slots=True)
class SpoolSpace:
    """
    Reserves space for fetches' bodies, and waits up to `MAX_WAIT_S` for it.

    Args:
        gated: True if workers claim no fetches while the spool is closed, so tasks never wait.
    """

    spool: BoundedBodyStore
    clock: Clock
    gated: bool = True

    def wait_until_open(self, priority: int) -> bool:
        """Wait until a fetch of this priority may start. Returns False after `MAX_WAIT_S`."""
        if self.gated:
            return True
        return bool(self._wait_for(lambda: priority <= _compute_limit(self.spool).lowest or None))

    @contextmanager
    def reservation(self, count: int, *, urgent: bool) -> Iterator[Reservation | None]:
        """
        Reserve space for up to `count` bodies, and release it on exit. Yields None after
        `MAX_WAIT_S` without space for one body. Only urgent fetches may fill the spool beyond
        `SpoolBounds.max_claimed_bytes`.

        Raises:
            SpoolUnavailable: Redis did not respond, or its memory is full.
        """
        reservation: Reservation | None = Reservation("", 0)
        if count:
            reservation = self._wait_for(lambda: self._reserve(count, urgent=urgent))
        try:
            yield reservation
        finally:
            if reservation and reservation.token:
                with suppress(SpoolUnavailable):  # if this fails, the sweep frees the space
                    self.spool.free([reservation.token])

    def _reserve(self, count: int, *, urgent: bool) -> Reservation | None:
        # Try again with half as many. Otherwise, batches that only fit into an empty spool would be
        # refused until it is empty, even though it is open.
        while count:
            if token := self.spool.reserve(count, urgent=urgent):
                return Reservation(token, count)
            count //= 2
        return None

    def put(self, blobs: Sequence[bytes], reservation: str) -> list[str | None]:
        """
        Store bodies. Returns their tokens in order, None for those without space after
        `MAX_WAIT_S`.

        Raises:
            SpoolUnavailable: Redis did not respond, or its memory is full.
        """
        all_tokens = self.spool.offer_many(blobs, reservation)
        if all_tokens is not None:
            return list(all_tokens)
        # The bodies are larger than the reservation, which assumes the recent mean size.
        self.spool.free([reservation] if reservation else [])
        tokens: list[str | None] = []
        for blob in blobs:
            offer = self._offer(blob)
            offered = offer() if None in tokens else self._wait_for(offer)
            tokens.append(offered[0] if offered else None)
        return tokens

    def _offer(self, blob: bytes) -> Callable[[], list[str] | None]:
        return lambda: self.spool.offer_many([blob])

    def _wait_for(self, attempt: Callable[[], T | None]) -> T | None:
        """Return the first result that is not None, or None after `MAX_WAIT_S`."""
        deadline_s = self.clock.monotonic_s() + MAX_WAIT_S
        while (result := attempt()) is None and self.clock.monotonic_s() < deadline_s:
            self.clock.sleep_s(CHECK_INTERVAL_S)
        return result
