"""One fetch's deadline, connect and read timeouts, and minimum rate."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from aragog.crawl.fetcher.faults import TransportError
from aragog.fetch_record.outcome import UnreachableKind
from aragog.runtime.clock import Clock

# The minimum rate applies after this time, so that a slow start is tolerated.
RATE_GRACE_PERIOD_S = 5.0


class Deadline:
    """
    One fetch's time limits, including its redirects. Starts when created.

    Args:
        clock: only its `monotonic_s` is used.
        deadline_s: limit for the whole fetch.
        connect_timeout_s: limit for opening one connection.
        read_timeout_s: limit for one read.
        min_bytes_per_s: minimum rate of a body after its first 5 s; 0 for no minimum.
    """

    __slots__ = (
        "_body_bytes",
        "_body_started_s",
        "_clock",
        "_connect_timeout_s",
        "_deadline_s",
        "_end_s",
        "_min_bytes_per_s",
        "_read_timeout_s",
    )

    def __init__(
        self,
        clock: Clock,
        *,
        deadline_s: float,
        connect_timeout_s: float,
        read_timeout_s: float,
        min_bytes_per_s: int = 0,
    ) -> None:
        self._clock = clock
        self._deadline_s = deadline_s
        self._end_s = clock.monotonic_s() + deadline_s
        self._connect_timeout_s = connect_timeout_s
        self._read_timeout_s = read_timeout_s
        self._min_bytes_per_s = min_bytes_per_s
        self._body_started_s: float | None = None
        self._body_bytes = 0

    def now_s(self) -> float:
        return self._clock.monotonic_s()

    def extend(self, seconds: float) -> None:
        """Extend the deadline by the time that the fetch waited for permission to send."""
        self._end_s += seconds

    @contextlib.contextmanager
    def shorten(self, seconds: float) -> Iterator[None]:
        """Limit the block to `seconds`, or to the deadline if that comes first."""
        end_s = self._end_s
        self._end_s = min(end_s, self._clock.monotonic_s() + seconds)
        try:
            yield
        finally:
            self._end_s = end_s

    def connect_timeout_s(self) -> float:
        """Return the timeout for the next connect. Raises TransportError after the deadline."""
        return min(self._connect_timeout_s, self._remaining_s())

    def read_timeout_s(self) -> float:
        """Return the timeout for the next read. Raises TransportError if any limit is exceeded."""
        remaining_s = self._remaining_s()
        if self._body_started_s is not None:
            elapsed_s = self._clock.monotonic_s() - self._body_started_s
            required_bytes = self._min_bytes_per_s * elapsed_s
            if elapsed_s > RATE_GRACE_PERIOD_S and self._body_bytes < required_bytes:
                raise TransportError(
                    UnreachableKind.TIMEOUT, f"slower than {self._min_bytes_per_s} bytes/s"
                )
        return min(self._read_timeout_s, remaining_s)

    def start_body(self) -> None:
        self._body_started_s, self._body_bytes = self._clock.monotonic_s(), 0

    def end_body(self) -> None:
        self._body_started_s = None

    def count_received(self, byte_count: int) -> None:
        """Count received bytes of the body (still encoded)."""
        self._body_bytes += byte_count

    def _remaining_s(self) -> float:
        remaining_s = self._end_s - self._clock.monotonic_s()
        if remaining_s <= 0:
            raise TransportError(
                UnreachableKind.TIMEOUT, f"the fetch took longer than {self._deadline_s:g} s"
            )
        return remaining_s
