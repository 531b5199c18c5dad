"""
Which queues, pool and size each kind of worker has.

`fetch`, `robots` and `webhooks` wait for the network, so threads; `canonicalize` is CPU, so
processes; `store` waits for disk and gateways, with little CPU of its own. A role is only a set of
command-line options: any Celery worker started by hand with the same queues does the same work.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Role:
    """A kind of worker."""

    queues: tuple[str, ...]
    pool: Literal["threads", "prefork", "solo"]
    concurrency: int
    """Bundles at once in one worker."""

    def options(self) -> list[str]:
        """For `celery -A workers.app worker …`."""
        return [
            "--queues", ",".join(self.queues),
            "--pool", self.pool,
            "--concurrency", str(self.concurrency),
            # Every worker would read every event of every other, and act on none of them.
            "--without-gossip", "--without-mingle",
        ]  # fmt: skip


CORES = os.cpu_count() or 1

ROLES = {
    "fetch": Role(("fetch",), "threads", 4),
    "robots": Role(("robots", "upkeep"), "threads", 4),
    "canonicalize": Role(("canonicalize",), "prefork", max(1, CORES // 2)),
    "store": Role(("store",), "threads", 2),
    "webhooks": Role(("webhooks",), "threads", 4),
}
