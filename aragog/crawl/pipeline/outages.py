"""
Reports outages of our own infrastructure.

If a component does not respond, tasks are retried silently. Each process logs one line at WARNING
when a component stops responding and one when it responds again, and records both for the metrics
(`aragog_part_outage`, `aragog_part_failures_total`). An outage of Redis appears only in the log.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast

import redis

from aragog.errors import (
    BrokerUnavailable,
    ContentUnavailable,
    LimiterUnavailable,
    RobotsUnavailable,
    SpoolUnavailable,
    StoreDamaged,
    StoreUnavailable,
)
from aragog.runtime.clock import Clock, SystemClock

log = logging.getLogger(__name__)

COMPONENTS: dict[type[Exception], str] = {
    StoreUnavailable: "store",
    ContentUnavailable: "content",
    LimiterUnavailable: "limiter",
    RobotsUnavailable: "robots",
    SpoolUnavailable: "spool",
    BrokerUnavailable: "broker",
}
"""The component that causes each error. These names are labels of the metrics."""

QUIET_S = 10.0
"""An outage is over when a task that had failed succeeds at least this long after the last
failure."""
REPORT_EVERY_S = 1.0
STALE_S = 120.0
"""Tasks are retried every minute, so an outage is over if nothing fails for this long."""


def failing_component(error: Exception) -> str | None:
    """Return the component that did not respond; None for a damaged file (logged elsewhere)."""
    if isinstance(error, StoreDamaged):
        return None
    return next(
        (
            component
            for error_class, component in COMPONENTS.items()
            if isinstance(error, error_class)
        ),
        "other",
    )


class OutageBoard:
    """All processes' outages, in one Redis hash with up to three fields per component."""

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._key = f"{prefix}outages"

    def record(self, component: str, now_ms: int, *, failures: int, has_recovered: bool) -> None:
        """Record a component's failures or recovery. Does nothing if Redis does not respond."""
        with suppress(redis.RedisError), self._redis.pipeline(transaction=False) as pipe:
            if failures:
                pipe.hincrby(self._key, f"{component}:failures", failures)
            pipe.hset(
                self._key, f"{component}:{'over' if has_recovered else 'failed'}_ms", str(now_ms)
            )
            pipe.execute()

    def read(self, now_ms: int) -> dict[str, tuple[bool, int]]:
        """
        Return by component whether it is failing now, and how many task runs failed because of it.

        Raises:
            redis.RedisError: Redis does not respond.
        """
        cells = cast("dict[bytes, bytes]", self._redis.hgetall(self._key))
        reported = {name.decode(): int(value) for name, value in cells.items()}
        states = {}
        for component in COMPONENTS.values():
            failed_ms = reported.get(f"{component}:failed_ms", 0)
            over_ms = reported.get(f"{component}:over_ms", 0)
            is_failing = failed_ms > max(over_ms, now_ms - STALE_S * 1000)
            states[component] = (is_failing, reported.get(f"{component}:failures", 0))
        return states


@dataclass(slots=True)
class _Outage:
    started_at_s: float
    failed_s: float
    reported_s: float
    failures: int = 0
    unreported: int = 0
    tasks: set[str] = field(default_factory=set)


class Outages:
    """The outages seen by one process. Thread-safe. Without an outage, a call takes 0.1 µs."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._ongoing: dict[str, _Outage] = {}
        self.board: OutageBoard | None = None

    def record_failure(self, task: str, error: Exception) -> None:
        """Record that a run of `task` failed because a component did not respond."""
        component = failing_component(error)
        if component is None:
            return
        now_s = self._clock.monotonic_s()
        with self._lock:
            outage = self._ongoing.get(component)
            is_new = outage is None
            if outage is None:
                outage = self._ongoing[component] = _Outage(now_s, now_s, now_s - REPORT_EVERY_S)
            outage.failed_s = now_s
            outage.failures += 1
            outage.unreported += 1
            outage.tasks.add(task)
            reported = outage.unreported if now_s >= outage.reported_s + REPORT_EVERY_S else 0
            if reported:
                outage.reported_s, outage.unreported = now_s, 0
        if is_new:
            log.warning("%s does not respond: %s; tasks wait and are retried", component, error)
        if reported:
            self._record_on_board(component, failures=reported, has_recovered=False)

    def record_success(self, task: str) -> None:
        """Record that `task` succeeded, so components that made it fail may work again."""
        if not self._ongoing:
            return
        now_s = self._clock.monotonic_s()
        with self._lock:
            recovered = {
                component: outage
                for component, outage in self._ongoing.items()
                if task in outage.tasks and now_s >= outage.failed_s + QUIET_S
            }
            for component in recovered:
                del self._ongoing[component]
        for component, outage in recovered.items():
            log.warning(
                "%s responds again: %d task runs failed in %.0f s",
                component, outage.failures, now_s - outage.started_at_s,
            )  # fmt: skip
            self._record_on_board(component, failures=outage.unreported, has_recovered=True)

    def _record_on_board(self, component: str, *, failures: int, has_recovered: bool) -> None:
        board = self.board
        if board is not None:
            board.record(
                component, self._clock.now_ms(), failures=failures, has_recovered=has_recovered
            )


OUTAGES = Outages()
"""This process's outages. Its `OutageBoard` is set when the process connects."""
