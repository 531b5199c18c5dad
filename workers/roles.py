"""
The roles of workers: the queues, pool and size of each.

`fetch`, `robots` and `webhooks` wait for the network, so they use threads. `canonicalize` needs the
CPU, so it uses processes. `store` waits for disk and gateways and needs little CPU, so it uses
threads. `render` is only needed where `rendering.hosts` names hosts; its threads wait for browsers,
whose processes need the CPU. A role is only a set of command-line options: any Celery
worker that is started by hand with the same queues does the same work.
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
    """How many batches one worker processes at once."""
    niceness: int = 0
    """The niceness of its process: see `aragog.workers.niceness`."""

    def options(self) -> list[str]:
        """The command-line options for `celery -A aragog.workers worker`."""
        return [
            "--queues", ",".join(self.queues),
            "--pool", self.pool,
            "--concurrency", str(self.concurrency),
            # With gossip, every worker would read all events of the others without using them.
            "--without-gossip", "--without-mingle",
        ]  # fmt: skip


CORES = os.cpu_count() or 1
DEFAULT = WorkerSettings()
# On a machine with all roles, canonicalize and store run before what brings them more work: a fifth
# more pages a second on two cores than with the same niceness.
YIELDING = 10

ROLES = {
    "fetch": Role(("fetch",), "threads", DEFAULT.fetch, YIELDING),
    "robots": Role(("robots", "upkeep"), "threads", DEFAULT.robots, YIELDING),
    "canonicalize": Role(("canonicalize",), "prefork", max(1, CORES // 2)),
    "render": Role(("render",), "threads", DEFAULT.render, YIELDING),
    "store": Role(("store",), "threads", DEFAULT.store),
    "webhooks": Role(("webhooks",), "threads", DEFAULT.webhooks),
}


def sized(role: str, settings: WorkerSettings) -> Role:
    """The role with the concurrency from the settings."""
    default = ROLES[role]
    return replace(default, concurrency=getattr(settings, role) or default.concurrency)
