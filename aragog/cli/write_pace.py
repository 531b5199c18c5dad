"""Limits how fast commands write to the store, so that crawls and readers are not slowed down."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import click

from aragog.cli.arguments import FiniteRange

T = TypeVar("T")

max_per_second_option = click.option(
    "--max-per-second",
    type=FiniteRange(min=0, min_open=True),
    help="Process at most this many pages per second. Default: no limit.",
)


class WritePace:
    """
    Waits before pages are written, so that a rate is not exceeded on average.

    Time that was not used is not made up for later.

    Args:
        max_per_second: the limit on pages; None for no limit.
        now_s: returns the time.
        sleep_s: sleeps.
    """

    def __init__(
        self,
        max_per_second: float | None,
        *,
        now_s: Callable[[], float] = time.monotonic,
        sleep_s: Callable[[float], None] = time.sleep,
    ) -> None:
        self._max_per_second = max_per_second
        self._now_s, self._sleep_s = now_s, sleep_s
        self._next_s = 0.0

    def wait(self, count: int = 1) -> None:
        """Wait until `count` more pages may be written."""
        if self._max_per_second is None:
            return
        now_s = self._now_s()
        if self._next_s > now_s:
            self._sleep_s(self._next_s - now_s)
        self._next_s = max(self._next_s, now_s) + count / self._max_per_second

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items at this rate."""
        for item in items:
            self.wait()
            yield item
