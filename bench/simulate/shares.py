"""
A domain's line in memory, equivalent to the scripts of `aragog.crawl.politeness`.

`tests/contract/test_simulated_line.py` runs the same histories on both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Generic, TypeVar

from aragog.crawl.politeness.lines import USUAL_COST

T = TypeVar("T")
LAST_BAND = 3
USUAL_PRIORITY = 5


class SharedLine(Generic[T]):
    """
    One line.

    Args:
        costs: the cost of a request by share, if it is not `USUAL_COST`.
    """

    def __init__(self, costs: Mapping[int, int] | None = None) -> None:
        self._costs = costs or {}
        self._queues: dict[tuple[int, int], dict[int, deque[T]]] = {}
        """Requests by band and share, then by priority."""
        self._tags: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return sum(len(q) for queues in self._queues.values() for q in queues.values())

    def push(self, share: int, priority: int, request: T) -> None:
        """Add a request at the end."""
        band = min(priority, LAST_BAND)
        key = band, share
        if key not in self._tags:
            tags = [tag for (other, _), tag in self._tags.items() if other == band]
            self._tags[key] = min(tags, default=0)
            self._queues[key] = {}
        self._queues[key].setdefault(priority, deque()).append(request)

    def pop(self) -> T:
        """Take the next request to send."""
        band = min(band for band, share in self._queues if self._queues[band, share])
        waiting = [key for key in self._queues if key[0] == band and self._queues[key]]
        key = min(waiting, key=lambda candidate: self._tags[candidate] + self._cost(candidate))
        queues, cost = self._queues[key], self._cost(key)
        priority = min(queues)
        request = queues[priority].popleft()
        if not queues[priority]:
            del queues[priority]
        self._tags[key] += cost
        self._tidy(band)
        return request

    def _cost(self, key: tuple[int, int]) -> int:
        cost = self._costs.get(key[1], USUAL_COST)
        return max(1, int(cost * 2.0 ** (min(self._queues[key]) - USUAL_PRIORITY) + 0.5))

    def _tidy(self, band: int) -> None:
        """
        Like `line_settle`: remove shares that have nothing and are not ahead, and
        rebase the rest.
        """
        keys = [key for key in self._tags if key[0] == band]
        min_tag = min((self._tags[key] for key in keys if self._queues[key]), default=None)
        for key in keys:
            if min_tag is None or not (self._queues[key] or self._tags[key] > min_tag):
                del self._tags[key], self._queues[key]
            else:
                self._tags[key] = max(0, self._tags[key] - min_tag)
