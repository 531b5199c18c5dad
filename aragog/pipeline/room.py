"""
Room in the spool, as a fetch meets it: who may fetch, and where bodies go while there is none.

On `pinlater://` workers claim no fetches while the spool is closed (`claim_limit`). On other
brokers a task waits instead (`reopened`), which holds back what is behind it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from aragog.clock import Clock, SystemClock
from aragog.errors import SpoolUnavailable
from aragog.pipeline.services import Services
from aragog.pipeline.spool import Spool

log = logging.getLogger(__name__)

# Fetches this urgent go on while the spool is closed, until it is full.
URGENT = 2
ALL, NONE = 9, -1
# How long a task waits for room, and how often it looks.
PATIENCE_S = 20.0
LOOK_EVERY_S = 0.5
# How long a worker relies on what it saw last; meanwhile it may claim a batch or two too many.
FRESH_S = 0.1


def claim_limit(spool: Spool, clock: Clock | None = None) -> Callable[[], int]:
    """
    For `aragog.pinlater.gates`: the least urgent priority that may be claimed now, -1 for none.

    Asks Redis ten times a second at most. While it does not answer nothing is claimed.
    """
    stopwatch = clock or SystemClock()
    seen: tuple[float, int] | None = None

    def limit() -> int:
        nonlocal seen
        now_s = stopwatch.monotonic_s()
        if seen is None or now_s - seen[0] > FRESH_S:
            seen = now_s, _limit(spool)
        return seen[1]

    return limit


def _limit(spool: Spool) -> int:
    try:
        state = spool.state()
    except SpoolUnavailable as error:
        log.debug("nothing is claimed while the spool does not answer: %s", error)
        return NONE
    if state.full:
        return NONE
    return URGENT if state.closed else ALL


def reopened(priority: int, services: Services) -> bool:
    """Wait until a fetch of this priority may begin; False: not within `PATIENCE_S`."""
    clock = services.clock
    until_s = clock.monotonic_s() + PATIENCE_S
    while priority > _limit(services.spool):
        if clock.monotonic_s() >= until_s:
            return False
        clock.sleep_s(LOOK_EVERY_S)
    return True


def put_when_room(blobs: Sequence[bytes], services: Services) -> list[str | None]:
    """
    Tokens of bodies, in order; None for one that found no room within `PATIENCE_S` for all of them.

    Raises:
        SpoolUnavailable: Redis does not answer, or its memory is full.
    """
    spool, clock = services.spool, services.clock
    together = spool.offer_many(blobs)
    if together is not None:
        return list(together)
    until_s = clock.monotonic_s() + PATIENCE_S
    tokens: list[str | None] = []
    for blob in blobs:
        while (one := spool.offer_many([blob])) is None and clock.monotonic_s() < until_s:
            clock.sleep_s(LOOK_EVERY_S)
        tokens.append(one[0] if one else None)
    return tokens
