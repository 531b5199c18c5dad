"""
Which queues, pool and size each kind of worker has.

`fetch`, `robots` and `webhooks` wait for the network, so threads; `canonicalize` is CPU, so
processes; `store` waits for disk and gateways, with little CPU of its own. A role is only a set of
command-line options: any Celery worker started by hand with the same queues does the same work.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Literal

from aragog.settings import WorkerSettings


@dataclass(frozen=True, slots=True)
class Role:
    """A kind of worker."""

    queues: tuple[str, ...]
    pool: Literal["threads", "prefork", "solo"]
    concurrency: int
    """Batches at once in one worker."""

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
DEFAULT = WorkerSettings()

ROLES = {
    "fetch": Role(("fetch",), "threads", DEFAULT.fetch),
    "robots": Role(("robots", "upkeep"), "threads", DEFAULT.robots),
    "canonicalize": Role(("canonicalize",), "prefork", max(1, CORES // 2)),
    "store": Role(("store",), "threads", DEFAULT.store),
    "webhooks": Role(("webhooks",), "threads", DEFAULT.webhooks),
}


def sized(role: str, settings: WorkerSettings) -> Role:
    """The role as large as the settings say."""
    given = ROLES[role]
    return replace(given, concurrency=getattr(settings, role) or given.concurrency)
