"""Slow down domains whose requests fail."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from aragog.politeness.ratelimit.nodes.node_ring import NodeRing

# Consecutive errors before the backoff starts, and the maximum backoff factor in percent.
PATIENCE = 3
SLOWEST = 3_200
MOST_DOMAINS = 100_000


class Backoff:
    """Backoff factors. Thread-safe. Raises `LimiterUnavailable`."""

    def __init__(self, nodes: NodeRing) -> None:
        self._nodes = nodes
        self._failing: set[str] = set()

    def report_many(self, reports: Iterable[tuple[str, bool]]) -> None:
        """
        Report whether requests succeeded, which adjusts the backoff factor of their domains.

        Three consecutive errors halve the rate, and each further one again, down to 1/32; each
        success reduces the factor by a quarter. Successes of domains without errors need no round
        trip. Safe to repeat.
        """
        reported = [(key, (key, ok)) for key, ok in reports if not ok or key in self._failing]
        for node, group in self._nodes.group(reported):
            prefix = node.key("slot", "")
            reply = node.call(
                "report",
                failing=node.key("slots", "failing"),
                slots=[prefix + key for key, _ in group],
                results=bytes(ok for _, ok in group),
                errors_to_slow=PATIENCE,
                max_factor=SLOWEST,
                prefix_bytes=len(prefix.encode()),
            )
            for (key, _), (factor,) in zip(group, struct.iter_unpack("<H", reply[8:]), strict=True):
                if factor:
                    self.remember(key)
                else:
                    self._failing.discard(key)

    def remember(self, key: str) -> None:
        """A domain has recent errors: its successes must also be reported."""
        if len(self._failing) > MOST_DOMAINS:
            self._failing.clear()  # learned again with the next slot
        self._failing.add(key)
