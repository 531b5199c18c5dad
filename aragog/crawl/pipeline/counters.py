"""
Counts URL outcomes for progress displays and metrics, in one Redis hash.

A batch that runs twice is counted twice. `InFlightSet.count` returns how many URLs are not done
yet.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import cast

import redis

from aragog.fetch_record.outcome import OutcomeKind

ENQUEUED = "enqueued"
FETCHED = "fetched"
NOT_MODIFIED = "not_modified"
RESCHEDULED = "rescheduled"
RETRIED = "retried"
REFUSED = "refused"
FAILED = "failed"
STORED = "stored"
OLDER = "older"
"""Pages that were not stored because a later fetch is already stored."""
SAME_BODY = "same_body"
"""Pages whose body is not stored, because another page of the host has the same body."""
ALREADY_STORED = "already_stored"
ROBOTS = "robots"
ROBOTS_COMPARED = "robots_compared"
"""robots.txt files that reppy also parsed (`politeness.compare_with_reppy`)."""
ROBOTS_DIFFERENT = "robots_different"
"""robots.txt files that reppy interpreted differently."""
BYTES = "bytes"
DEGRADED = "degraded"
"""Pages that were stored although part of the analysis failed."""
UNREADABLE = "unreadable"
"""Pages whose analysis failed, exceeded its limits or killed its process."""
RUNS_LOST = "runs_lost"
"""Runs of a page batch during which the process died."""
RENDERED = "rendered"
NOT_RENDERED = "not_rendered"
"""Pages that could not be rendered and were stored as fetched."""
TEMPLATES_CLOSED = "templates_closed"
"""URL templates whose links are no longer followed."""
LINKS_LEFT_OUT = "links_left_out"
"""Links that were not followed because their URL template is closed."""
EVENTS = (
    ENQUEUED, FETCHED, NOT_MODIFIED, RESCHEDULED, RETRIED, REFUSED, FAILED, STORED, OLDER,
    ALREADY_STORED, ROBOTS, BYTES, DEGRADED, UNREADABLE, RUNS_LOST, RENDERED,
    NOT_RENDERED, ROBOTS_COMPARED, ROBOTS_DIFFERENT, SAME_BODY, TEMPLATES_CLOSED,
    LINKS_LEFT_OUT,
)  # fmt: skip


def failure_counter(outcome: OutcomeKind) -> str:
    """Return the counter of failures with this outcome. `FAILED` counts all failures."""
    return f"{FAILED}_{outcome.value}"


# A periodic task runs every five seconds. If none has run for a minute, beat or its worker is down.
TICK_TTL_S = 60


class Counters:
    """Counters by name. If Redis does not respond, counts are dropped, so that no task fails."""

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._key = f"{prefix}counters"
        self._tick_key = f"{prefix}tick"

    def add(self, counts: Mapping[str, int]) -> None:
        """Increase the counters. Takes one round trip."""
        with contextlib.suppress(redis.RedisError), self._redis.pipeline(False) as pipe:
            for name, count in counts.items():
                if count:
                    pipe.hincrby(self._key, name, count)
            pipe.execute()

    def read(self) -> dict[str, int]:
        """Return all counters; empty if Redis does not respond."""
        try:
            cells = cast("dict[bytes, bytes]", self._redis.hgetall(self._key))
        except redis.RedisError:
            return {}
        return {name.decode(): int(number) for name, number in cells.items()}

    def record_tick(self) -> None:
        with contextlib.suppress(redis.RedisError):
            self._redis.set(self._tick_key, b"1", ex=TICK_TTL_S)

    def tick_age_s(self) -> float | None:
        """
        Return the seconds since the last periodic task, by the server's clock, or None if none has
        run for a minute. Raises `redis.RedisError`.
        """
        ttl_ms = self._redis.pttl(self._tick_key)
        return None if ttl_ms < 0 else TICK_TTL_S - ttl_ms / 1000
