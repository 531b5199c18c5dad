"""
Worker roles: the queues, pool and size of each role.

`fetch` and `webhooks` wait for the network, so they use threads. A `fetch` process also fetches
robots.txt, so that both share a host's connections; `share_threads` divides the threads.
`canonicalize` needs CPU time, so it uses processes. `store` waits for disks and gateways, so it
uses threads: a few that write, and many that wait until the pack (a file of many bodies) with their
pages' content is stored. `upkeep` writes watches, and runs the maintenance tasks that beat (the
scheduler) starts. `render` is only needed if `rendering.hosts` lists hosts; its threads wait for
browsers. A role is just a set of command-line options: any Celery worker with the same queues does
the same work.

Brokers other than pinlater cannot limit a process's jobs from one queue. Slow robots.txt files
would use up all `fetch` threads there, so `upkeep` consumes their queue.

An idle process takes 25 MB, so a process can have several roles (`combined_role`): on one
machine, the `upkeep` process also delivers webhooks.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from aragog.crawl.pipeline.messages import URGENT
from aragog.crawl.pipeline.routing import Queue
from aragog.errors import ConfigError
from aragog.runtime.open_files import threads_within_limit
from aragog.settings import Settings, StoreSettings, WorkerSettings
from aragog.workers.cpu_demand import LimitByDemand
from pinlater import gates
from pinlater.brokers import kind_of


@dataclass(frozen=True, slots=True)
class Role:
    """A kind of worker."""

    queues: tuple[str, ...]
    pool: Literal["threads", "prefork", "solo"]
    concurrency: int
    niceness: int = 0
    """See `aragog.workers.niceness`."""

    def options(self) -> list[str]:
        """Return the command-line options for `celery -A aragog.workers worker`."""
        return [
            "--queues", ",".join(self.queues),
            "--pool", self.pool,
            "--concurrency", str(self.concurrency),
            # With gossip, each worker would read all others' events for nothing.
            "--without-gossip", "--without-mingle",
        ]  # fmt: skip


CORES = os.cpu_count() or 1
DEFAULTS = WorkerSettings()
# canonicalize and store have priority over the roles that give them work. On two cores, this yields
# 20% more pages per second.
LOW_PRIORITY = 10

ROLES = {
    "fetch": Role(("fetch", "robots"), "threads", DEFAULTS.fetch, LOW_PRIORITY),
    "upkeep": Role(("upkeep", "watches"), "threads", DEFAULTS.upkeep, LOW_PRIORITY),
    "canonicalize": Role(("canonicalize",), "prefork", max(1, CORES // 2)),
    "render": Role(("render",), "threads", DEFAULTS.render, LOW_PRIORITY),
    "store": Role(("store",), "threads", DEFAULTS.store),
    "webhooks": Role(("webhooks",), "threads", DEFAULTS.webhooks),
}


# One in this many fetch or store threads is reserved for urgent batches.
RESERVED_SHARE = 8
# At most this many store threads are reserved for urgent batches.
MAX_RESERVED_STORE_THREADS = 4
# At most one in this many threads fetches robots.txt files.
ROBOTS_SHARE = 4
# A process may always work on this many batches of pages, however busy its CPU is.
MIN_FETCHES = 8
# How many of upkeep's threads write watches. One is enough: a message has at most 500 URLs.
WATCHES_THREADS = 1


# Descriptors that a thread needs per SQLite file: the file and its log.
FILES_PER_SHARD = 2
# Sockets that a thread needs: to Redis, and to a store's server.
SOCKETS_PER_THREAD = 4


def files_per_thread(store: StoreSettings) -> int:
    """Return how many descriptors a worker thread needs at most, without its requests."""
    shards = store.sqlite_shards if store.engine == "sqlite" else 0
    return SOCKETS_PER_THREAD + FILES_PER_SHARD * shards


def configured_role(role: str, settings: Settings) -> Role:
    """Return the configured role, with as many threads as the limit on open files allows."""
    default, workers = ROLES[role], settings.workers
    concurrency, queues = getattr(workers, role) or default.concurrency, default.queues
    robots_role = "fetch"
    if kind_of(settings.resolved().broker.url) != "pinlater":
        robots_role = "upkeep"
        queues = tuple(queue for queue in queues if queue != "robots")
        queues = (*queues, "robots") if role == robots_role else queues
    if role == robots_role:
        concurrency += workers.robots
    if role == "store":
        # The other threads wait for packs and have no connection.
        writing = threads_within_limit(concurrency, files_per_thread(settings.store))
        is_packed = settings.content.layout == "packs"
        concurrency = max(writing, workers.store_batches) if is_packed else writing
    elif default.pool == "threads":
        concurrency = threads_within_limit(concurrency, files_per_thread(settings.store))
    return replace(default, queues=queues, concurrency=concurrency)


BEAT = "beat"
JOINED = ("upkeep", "webhooks")
"""The roles that one process may combine; other roles would use up each other's threads."""


def combined_role(roles: Sequence[str], settings: Settings) -> Role:
    """
    Combine several roles into one, with the queues and threads of all of them.

    It has the first role's niceness.

    Args:
        roles: one role, or several of `JOINED`; in addition, beat can be a thread.
        settings: the broker and the thread counts.

    Raises:
        ConfigError: these roles cannot be combined.
    """
    name, worker_roles = ",".join(roles), [role for role in roles if role != BEAT]
    if len(worker_roles) > 1 and (
        set(worker_roles) != set(JOINED) or len(worker_roles) != len(JOINED)
    ):
        raise ConfigError(f"{name}: only {' and '.join(JOINED)} can share a process")
    if len(worker_roles) > 1 and kind_of(settings.resolved().broker.url) != "pinlater":
        raise ConfigError(f"{name}: their jobs can only be limited on a pinlater broker")
    first, *further = (configured_role(role, settings) for role in worker_roles)
    if BEAT in roles and first.pool != "threads":
        raise ConfigError(f"{name}: beat needs a role that uses threads")
    queues = (*first.queues, *(queue for role in further for queue in role.queues))
    concurrency = first.concurrency + sum(role.concurrency for role in further)
    return replace(first, queues=queues, concurrency=concurrency)


def share_upkeep(concurrency: int, workers: WorkerSettings, queues: Collection[str]) -> None:
    """
    Limit the webhook, watch and upkeep jobs in a process that consumes several of these queues.

    A slow webhook receiver then does not delay compaction, and a million watches do not delay
    refreshes. If such a process fetches robots.txt files, slow files delay neither compaction nor
    refreshes.

    Args:
        concurrency: the worker's concurrency. Webhooks and upkeep share it in proportion to their
            settings; watches get one of upkeep's threads.
        workers: the settings.
        queues: the queues that the worker consumes.
    """
    if Queue.UPKEEP not in queues or concurrency < len(JOINED):
        return
    upkeep = concurrency
    if Queue.WEBHOOKS in queues:
        share = concurrency * workers.webhooks // (workers.upkeep + workers.webhooks)
        webhooks = min(max(1, share), concurrency - 1)
        gates.limit(Queue.WEBHOOKS, webhooks)
        upkeep -= webhooks
    if Queue.ROBOTS in queues and Queue.FETCH not in queues:
        robots = min(workers.robots, upkeep - 1)
        gates.limit(Queue.ROBOTS, robots)
        upkeep -= robots
    if Queue.WATCHES in queues:
        gates.limit(Queue.WATCHES, WATCHES_THREADS)
        upkeep -= min(WATCHES_THREADS, upkeep - 1)
    gates.limit(Queue.UPKEEP, upkeep)


def share_threads(concurrency: int, robots: int, queues: Collection[str]) -> None:
    """
    Limit the fetch and robots batches in this process, and reserve threads for urgent fetches.

    Slow pages and slow robots.txt files then do not delay each other. A process whose core is busy
    fetches fewer batches at once.

    Args:
        concurrency: the worker's concurrency.
        robots: the number of threads for robots.txt; at most a quarter of all threads.
        queues: the queues that the worker consumes.
    """
    fetches, robots = concurrency, min(robots, concurrency // ROBOTS_SHARE)
    if {Queue.FETCH, Queue.ROBOTS} <= set(queues) and robots:
        fetches -= robots
        gates.limit(Queue.ROBOTS, robots)
    # A slow site can occupy all other threads for a minute.
    reserved = fetches // RESERVED_SHARE
    gates.reserve_room(Queue.FETCH, gates.ReservedRoom(reserved, URGENT))
    gates.limit(Queue.FETCH, LimitByDemand(MIN_FETCHES + reserved, fetches, reserved))


def reserve_store_threads(concurrency: int, queues: Collection[str]) -> None:
    """
    Keep threads free for urgent batches in a `store` process, because all others may be waiting for
    a pack.

    Args:
        concurrency: the worker's concurrency.
        queues: the queues that the worker consumes.
    """
    if set(queues) == {Queue.STORE}:
        reserved = min(MAX_RESERVED_STORE_THREADS, concurrency // RESERVED_SHARE)
        gates.reserve_room(Queue.STORE, gates.ReservedRoom(reserved, URGENT))
