"""
The roles of workers: the queues, pool and size of each.

`fetch` and `webhooks` wait for the network, so they use threads. A process of `fetch` also fetches
robots.txt, so that a host gets one connection for both; `share_threads` keeps each from taking the
threads of the other. `canonicalize` needs the CPU, so it uses processes. `store` waits for disk and
gateways and needs little CPU, so it uses threads: few that write, and many that wait for their
pack. `upkeep` runs what beat starts, and writes watches, which have a queue and a thread of their
own. `render` is only needed where `rendering.hosts` names hosts; its threads wait for browsers,
whose processes need the CPU. A role is only a set of command-line options: any Celery worker that
is started by hand with the same queues does the same work.

Brokers other than pinlater cannot bound how many jobs of a queue a process has. There, slow
robots.txt files would take all threads of `fetch`, so `upkeep` serves their queue.

Each process takes 25 MB at rest, so a process may have several roles (`joined`): on one machine,
that of `upkeep` also delivers to webhooks.
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
# more pages per second on two cores than with the same niceness.
YIELDING = 10

ROLES = {
    "fetch": Role(("fetch", "robots"), "threads", DEFAULT.fetch, YIELDING),
    "upkeep": Role(("upkeep", "watches"), "threads", DEFAULT.upkeep, YIELDING),
    "canonicalize": Role(("canonicalize",), "prefork", max(1, CORES // 2)),
    "render": Role(("render",), "threads", DEFAULT.render, YIELDING),
    "store": Role(("store",), "threads", DEFAULT.store),
    "webhooks": Role(("webhooks",), "threads", DEFAULT.webhooks),
}


# One in this number of threads for fetches is for urgent ones.
KEPT_SHARE = 8
# robots.txt files get at most this share of the threads: one of four.
ROBOTS_SHARE = 4
# The batches of pages that a process always takes at once, whatever CPU it needs.
LEAST_FETCHES = 8
# Of upkeep's threads; a message of watches has 500 URLs at most, and its order does not matter.
WATCHES_THREADS = 1


# A thread has a connection to each SQLite file that it reads: two descriptors (file and log).
FILES_OF_SHARD = 2
# Sockets of a thread to Redis, and to the store where that is a server.
SOCKETS_OF_THREAD = 4


def files_of_thread(store: StoreSettings) -> int:
    """How many descriptors a thread of a worker takes at most, beside its requests."""
    shards = store.sqlite_shards if store.engine == "sqlite" else 0
    return SOCKETS_OF_THREAD + FILES_OF_SHARD * shards


def sized(role: str, settings: Settings) -> Role:
    """The role on the broker of the settings, with the threads that its open files allow."""
    default, workers = ROLES[role], settings.workers
    concurrency, queues = getattr(workers, role) or default.concurrency, default.queues
    with_robots = "fetch"
    if kind_of(settings.resolved().broker.url) != "pinlater":
        with_robots = "upkeep"
        queues = tuple(queue for queue in queues if queue != "robots")
        queues = (*queues, "robots") if role == with_robots else queues
    if role == with_robots:
        concurrency += workers.robots
    if role == "store":
        # Its other threads wait for packs, and have no connection.
        writing = threads_within_limit(concurrency, files_of_thread(settings.store))
        is_packed = settings.content.layout == "packs"
        concurrency = max(writing, workers.store_batches) if is_packed else writing
    elif default.pool == "threads":
        concurrency = threads_within_limit(concurrency, files_of_thread(settings.store))
    return replace(default, queues=queues, concurrency=concurrency)


BEAT = "beat"
JOINED = ("upkeep", "webhooks")
"""The roles that one process may have together: others would take each other's threads."""


def joined(roles: Sequence[str], settings: Settings) -> Role:
    """
    Return the role of a process that has several: all queues and threads, the first's niceness.

    Args:
        roles: one role, or those of `JOINED`; with either, beat as a thread.
        settings: the broker and the numbers of threads.

    Raises:
        ConfigError: such a process would not do the work of one of them.
    """
    name, others = ",".join(roles), [role for role in roles if role != BEAT]
    if len(others) > 1 and (set(others) != set(JOINED) or len(others) != len(JOINED)):
        raise ConfigError(f"{name}: only {' and '.join(JOINED)} can share a process")
    if len(others) > 1 and kind_of(settings.resolved().broker.url) != "pinlater":
        raise ConfigError(f"{name}: their jobs can be bounded on a pinlater broker only")
    first, *more = (sized(role, settings) for role in others)
    if BEAT in roles and first.pool != "threads":
        raise ConfigError(f"{name}: beat needs a process that forks no others")
    queues = (*first.queues, *(queue for role in more for queue in role.queues))
    concurrency = first.concurrency + sum(role.concurrency for role in more)
    return replace(first, queues=queues, concurrency=concurrency)


def share_upkeep(concurrency: int, workers: WorkerSettings, queues: Collection[str]) -> None:
    """
    Bound the jobs of webhooks, of watches and of upkeep in a process that serves several of them.

    A slow receiver of webhooks then delays no compaction, and a million watches no refresh. Nor do
    slow robots.txt files, on brokers where such a process fetches them.

    Args:
        concurrency: of the worker; webhooks and upkeep get a part of it, in proportion to their
            settings, and watches one thread of upkeep's part.
        workers: the settings.
        queues: those that the worker serves.
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
    Bound the batches of fetch and robots in this process, and keep room for urgent fetches.

    Slow pages then delay no robots.txt, and slow robots.txt files no page. A process whose core is
    busy fetches fewer batches of pages at once.

    Args:
        concurrency: of the worker.
        robots: how many threads are for robots.txt; at most a quarter of all.
        queues: those that the worker serves.
    """
    fetches, robots = concurrency, min(robots, concurrency // ROBOTS_SHARE)
    if {Queue.FETCH, Queue.ROBOTS} <= set(queues) and robots:
        fetches -= robots
        gates.limit(Queue.ROBOTS, robots)
    # Fetches of a slow site may hold all threads for a minute.
    kept = fetches // KEPT_SHARE
    gates.reserve_room(Queue.FETCH, gates.ReservedRoom(kept, URGENT))
    gates.limit(Queue.FETCH, LimitByDemand(LEAST_FETCHES + kept, fetches, kept))
