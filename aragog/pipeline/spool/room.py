"""
Back-pressure from the spool: which fetches may begin, and how they wait for room.

On `pinlater://` workers claim no fetches while the spool is closed (`claim_limit`). On other
brokers a task waits instead (`SpoolRoom.reopened`), which delays the messages behind it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from aragog.clock import Clock, SystemClock
from aragog.errors import SpoolUnavailable, TransientError
from aragog.pipeline.permission.admission import Admission
from aragog.pipeline.ports import BoundedBodyStore

log = logging.getLogger(__name__)
T = TypeVar("T")

# Fetches at least this urgent continue while the spool is closed, until it is full.
URGENT = 2
ALL, NONE = 9, -1
# Share of `maxmemory` above which Redis might refuse bodies, so that fetching them is useless.
NEARLY_FULL = 0.95
# How long a task waits for room, and how often it checks.
PATIENCE_S = 20.0
LOOK_EVERY_S = 0.5
# How long a worker uses the last state it read; it may then claim one or two batches too many.
FRESH_S = 0.1


def claim_limit(
    spool: BoundedBodyStore, memory: Admission | None = None, clock: Clock | None = None
) -> Callable[[], int]:
    """
    A gate for `aragog.pinlater.claims.gates`: the least urgent priority to claim now, -1 for none.

    It asks Redis at most ten times per second. While Redis does not answer, no fetch is claimed.

    Args:
        spool: receives the fetched bodies.
        memory: memory use of its server. While it is nearly full, the bodies in the spool are
            stored before new ones are fetched.
        clock: only its monotonic time is used.
    """
    stopwatch = clock or SystemClock()
    seen: tuple[float, int] | None = None

    def limit() -> int:
        nonlocal seen
        now_s = stopwatch.monotonic_s()
        if seen is None or now_s - seen[0] > FRESH_S:
            seen = now_s, _limit(spool, memory)
        return seen[1]

    return limit


def _limit(spool: BoundedBodyStore, memory: Admission | None = None) -> int:
    try:
        state = spool.state()
        share = max(memory.shares().values()) if memory else 0.0
    except TransientError as error:
        log.debug("nothing is claimed while the spool does not answer: %s", error)
        return NONE
    # If the spool is empty, waiting would not free any memory.
    if state.full or (share > NEARLY_FULL and state.used_bytes):
        return NONE
    return URGENT if state.closed else ALL


class Reservation(NamedTuple):
    """Room for the bodies of a fetch."""

    token: str
    bodies: int
    """How many it is for: fewer than were asked for where the spool is nearly full."""


@dataclass(frozen=True, slots=True)
class SpoolRoom:
    """
    Reserves room for the bodies of fetches, and waits for it up to `PATIENCE_S`.

    Args:
        spool: receives the bodies.
        clock: for waiting.
        gated: workers claim no fetches while the spool is closed, so no task has to wait.
    """

    spool: BoundedBodyStore
    clock: Clock
    gated: bool = True

    def reopened(self, priority: int) -> bool:
        """Wait until a fetch of this priority may begin; False after `PATIENCE_S`."""
        if self.gated:
            return True
        return bool(self._patiently(lambda: priority <= _limit(self.spool) or None))

    @contextmanager
    def reserved(self, count: int, *, urgent: bool) -> Iterator[Reservation | None]:
        """
        A reservation for up to `count` bodies, released on exit; None: no room for a single one
        within `PATIENCE_S`. Only urgent fetches fill a spool that is closed.

        Raises:
            SpoolUnavailable: Redis does not answer, or its memory is full.
        """
        room: Reservation | None = Reservation("", 0)
        if count:
            room = self._patiently(lambda: self._reserve(count, urgent=urgent))
        try:
            yield room
        finally:
            if room and room.token:
                with suppress(SpoolUnavailable):  # the sweep finds it
                    self.spool.free([room.token])

    def _reserve(self, count: int, *, urgent: bool) -> Reservation | None:
        # Batches that only fit an empty spool would all be refused while the spool is neither
        # empty nor closed: nothing would be fetched until somebody stores what is there.
        while count:
            if token := self.spool.reserve(count, urgent=urgent):
                return Reservation(token, count)
            count //= 2
        return None

    def put(self, blobs: Sequence[bytes], reservation: str) -> list[str | None]:
        """
        Tokens of bodies, in order; None for one that found no room within `PATIENCE_S`.

        Raises:
            SpoolUnavailable: Redis does not answer, or its memory is full.
        """
        together = self.spool.offer_many(blobs, reservation)
        if together is not None:
            return list(together)
        # The bodies are larger than the reservation, which was made from the recent mean size.
        self.spool.free([reservation] if reservation else [])
        tokens: list[str | None] = []
        for blob in blobs:
            offer = self._offer(blob)
            one = offer() if None in tokens else self._patiently(offer)
            tokens.append(one[0] if one else None)
        return tokens

    def _offer(self, blob: bytes) -> Callable[[], list[str] | None]:
        return lambda: self.spool.offer_many([blob])

    def _patiently(self, ask: Callable[[], T | None]) -> T | None:
        """The first result that is not None; None after `PATIENCE_S`."""
        until_s = self.clock.monotonic_s() + PATIENCE_S
        while (result := ask()) is None and self.clock.monotonic_s() < until_s:
            self.clock.sleep_s(LOOK_EVERY_S)
        return result
