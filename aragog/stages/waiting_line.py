"""The jobs that wait for slots, in the lines of their domains (`politeness.lines`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import orjson

from aragog.pipeline.messages import UrlJob
from aragog.politeness.lines import LineEntry

# Jobs leave the line this long before a task that reserves a new slot could have it. The line thus
# takes the slots first, and the message has time to reach a worker.
RELEASE_AHEAD_MS = 500


class InLine(NamedTuple):
    """A job that waits in the line of its domain."""

    job: UrlJob
    key: str
    """The limiter's name of its domain."""
    crawl_delay_s: float | None
    wait_ms: int
    """How long it is until the next slot of its domain."""
    front: bool = False
    """It had a slot, and goes back to the front of the line."""


class LineStore(Protocol):
    """Keeps the entries (`aragog.politeness.lines.Lines`)."""

    def park(self, entries: Sequence[LineEntry]) -> None:
        """Put requests into the lines of their domains."""


class WaitingLine:
    """
    Puts jobs into the lines.

    Args:
        lines: keeps them.
        inline_ms: how far off a slot may be that a task waits for (`politeness.wait_inline_ms`).
    """

    def __init__(self, lines: LineStore, inline_ms: int) -> None:
        self._lines = lines
        self._ahead_ms = inline_ms + RELEASE_AHEAD_MS

    def park(self, waiting: Sequence[InLine]) -> None:
        """
        Put jobs into the lines of their domains; one round trip for each server.

        Raises:
            BrokerUnavailable: Redis does not answer; some of the jobs may be in line.
        """
        if waiting:
            self._lines.park([self._entry(one) for one in waiting])

    def _entry(self, one: InLine) -> LineEntry:
        return LineEntry(
            one.key,
            one.job.priority,
            orjson.dumps(one.job.wire()),
            one.crawl_delay_s,
            look_after_ms=max(0, one.wait_ms - self._ahead_ms),
            front=one.front,
        )


def job_of(payload: bytes) -> UrlJob:
    """The job in an entry of a line. Raises `InvalidMessage` if it is none."""
    return UrlJob.read(orjson.loads(payload))
