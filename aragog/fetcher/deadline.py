"""How long a fetch may still wait: its deadline, the time between two reads, the least rate."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from aragog.clock import Clock
from aragog.fetcher.faults import TransportError

# A slow start is no slow body: the rate counts after this long.
RATE_AFTER_S = 5.0


class Deadline:
    """
    The stopwatch of one fetch, redirects included.

    Args:
        clock: only its `monotonic_s` is used.
        deadline_s: for all of it.
        connect_timeout_s: for opening one connection.
        read_timeout_s: between two reads.
        min_bytes_per_s: of a body, after its first 5 s.
    """

    __slots__ = (
        "_body_bytes",
        "_body_from_s",
        "_clock",
        "_connect_s",
        "_deadline_s",
        "_ends_s",
        "_least",
        "_read_s",
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
        self._ends_s = clock.monotonic_s() + deadline_s
        self._connect_s = connect_timeout_s
        self._read_s = read_timeout_s
        self._least = min_bytes_per_s
        self._body_from_s: float | None = None
        self._body_bytes = 0

    def now_s(self) -> float:
        """The stopwatch."""
        return self._clock.monotonic_s()

    def excuse(self, seconds: float) -> None:
        """Time that was spent waiting for our own permission does not count."""
        self._ends_s += seconds

    @contextlib.contextmanager
    def hurried(self, seconds: float) -> Iterator[None]:
        """Inside, the deadline is `seconds` away at most."""
        ends_s = self._ends_s
        self._ends_s = min(ends_s, self._clock.monotonic_s() + seconds)
        try:
            yield
        finally:
            self._ends_s = ends_s

    def to_connect_s(self) -> float:
        """Seconds for the next connection attempt; raises TransportError when none are left."""
        return min(self._connect_s, self._left_s())

    def to_read_s(self) -> float:
        """Seconds the next read may take; raises TransportError when it may not."""
        left_s = self._left_s()
        if self._body_from_s is not None:
            passed_s = self._clock.monotonic_s() - self._body_from_s
            if passed_s > RATE_AFTER_S and self._body_bytes < self._least * passed_s:
                raise TransportError("timeout", f"slower than {self._least} bytes/s")
        return min(self._read_s, left_s)

    def body_begins(self) -> None:
        """From here on the rate counts."""
        self._body_from_s, self._body_bytes = self._clock.monotonic_s(), 0

    def body_ends(self) -> None:
        """Until the next body no rate counts."""
        self._body_from_s = None

    def received(self, number: int) -> None:
        """`number` bytes came in."""
        self._body_bytes += number

    def _left_s(self) -> float:
        left_s = self._ends_s - self._clock.monotonic_s()
        if left_s <= 0:
            raise TransportError("timeout", f"not done after {self._deadline_s:g} s")
        return left_s
