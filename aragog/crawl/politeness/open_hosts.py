"""
Limits how many hosts a crawl has open at once (`max_open_hosts`).

Such a crawl only sends URLs of its open hosts. A host stays open for a turn of `TURN_URLS` URLs.
Then, if other hosts wait, it goes to the end of the queue, so every host gets one turn before any
host gets two, and the crawl proceeds breadth first. A host without URLs gives up its place when its
last requests are over.

A host here is whatever has a line of its own: a registered domain, or a host if an override says
so. Losing these records does no harm: a host opens or closes early. If a process dies, its places
become free after `LEASE_MS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import redis

from aragog.crawl.shared_redis.nodes import RedisNodes
from pinlater.redis.errors import redis_errors
from pinlater.redis.scripts import load_script

TURN_URLS = 20
LEASE_MS = 60_000
"""An open host loses its place if none of its URLs was sent for this time."""
NEW_LEASE_MS = 10_000
"""The same for a host that was just opened, which may have nothing left to send."""
TAIL_MS = 2_000
"""The slots of sent URLs are at most this far ahead."""
KEPT_S = 86_400


class AskedHosts(NamedTuple):
    """The result of requesting places."""

    open: frozenset[str]
    """The requested hosts that are open."""
    others: list[str]
    """Other hosts that were opened now, whose lines must be checked."""


class SentOfHost(NamedTuple):
    """The requests that were sent to an open host."""

    host: str
    urls: int
    is_empty: bool
    """True if none of its URLs is waiting for the crawl anymore."""


class OpenHosts:
    """
    The open hosts of all crawls. A call is one round trip and may raise `BrokerUnavailable`.

    Args:
        nodes: the servers of the lines. The first one stores these records.
        prefix: the start of every key.
        tail_ms: how long a host keeps its place after its turn, or after its last URL.
    """

    def __init__(
        self, nodes: redis.Redis | RedisNodes, *, prefix: str, tail_ms: int = TAIL_MS
    ) -> None:
        self._redis = RedisNodes.of(nodes).first
        self._prefix = f"{prefix}hosts:"
        self._tail_ms = tail_ms

    def ask(self, crawl: int, most: int, hosts: Sequence[str]) -> AskedHosts:
        """Request places for hosts whose URLs could be sent; without hosts, only open new ones."""
        with redis_errors("redis, open hosts"):
            count, *found = load_script("aragog.crawl.politeness", "hosts_ask").run(
                self._redis,
                **self._keys(crawl),
                most=most,
                new_lease_ms=NEW_LEASE_MS,
                kept_s=KEPT_S,
                hosts=list(hosts),
            )
        names = [host.decode() for host in found]
        return AskedHosts(frozenset(names[:count]), names[count:])

    def served(self, crawl: int, sent: Sequence[SentOfHost]) -> None:
        """Report how many URLs of open hosts were sent."""
        with redis_errors("redis, open hosts"):
            load_script("aragog.crawl.politeness", "hosts_served").run(
                self._redis,
                **self._keys(crawl),
                turn=TURN_URLS,
                lease_ms=LEASE_MS,
                tail_ms=self._tail_ms,
                served=[v for one in sent for v in (one.host, one.urls, int(one.is_empty))],
            )

    def _keys(self, crawl: int) -> dict[str, str]:
        return {name: f"{self._prefix}{crawl}:{name}" for name in ("open", "next", "turns")}
