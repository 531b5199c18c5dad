"""
Limits how many hosts a crawl fetches at the same time (`max_open_hosts`).

Such a crawl only requests its open hosts. A host stays open for one turn of `TURN_URLS` URLs. If
others are waiting, it then goes to the end of the queue, so the crawl proceeds breadth first. A
host without URLs is closed after its last requests.

A "host" is whatever has its own queue of requests (`lines`): a registered domain, or a host with an
override. If these records are lost, hosts only open or close too early. If a process dies, its open
hosts close after `LEASE_MS`.
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
"""An open host is closed if no URL of the host was sent for this long."""
NEW_LEASE_MS = 10_000
"""The same for a newly opened host, which may have nothing left to send."""
TAIL_MS = 2_000
"""The slots (times to send) of sent URLs are at most this far ahead."""
TTL_S = 86_400


class OpenedHosts(NamedTuple):
    """The result of opening hosts."""

    open: frozenset[str]
    """The requested hosts that are open."""
    others: list[str]
    """Other hosts opened by this call. Their lines must be checked."""


class SentUrls(NamedTuple):
    """Reports how many URLs of an open host were sent."""

    host: str
    urls: int
    is_empty: bool
    """True if the crawl has no more waiting URLs of the host."""


class OpenHosts:
    """
    All crawls' open hosts. Each call takes one round trip and may raise `BrokerUnavailable`.

    Args:
        nodes: the lines' servers. The first one stores these records.
        prefix: the start of every key.
        tail_ms: how long a host stays open after its turn or its last URL.
    """

    def __init__(
        self, nodes: redis.Redis | RedisNodes, *, prefix: str, tail_ms: int = TAIL_MS
    ) -> None:
        self._redis = RedisNodes.wrap(nodes).first
        self._prefix = f"{prefix}hosts:"
        self._tail_ms = tail_ms

    def open(self, crawl: int, max_open: int, hosts: Sequence[str]) -> OpenedHosts:
        """Try to open hosts with URLs to send. If `hosts` is empty, only open waiting hosts."""
        with redis_errors("redis, open hosts"):
            count, *opened = load_script("aragog.crawl.politeness", "hosts_open").run(
                self._redis,
                **self._keys(crawl),
                most=max_open,
                new_lease_ms=NEW_LEASE_MS,
                kept_s=TTL_S,
                hosts=list(hosts),
            )
        names = [host.decode() for host in opened]
        return OpenedHosts(frozenset(names[:count]), names[count:])

    def report_sent(self, crawl: int, sent: Sequence[SentUrls]) -> None:
        """Report how many URLs were sent."""
        with redis_errors("redis, open hosts"):
            load_script("aragog.crawl.politeness", "hosts_report").run(
                self._redis,
                **self._keys(crawl),
                turn=TURN_URLS,
                lease_ms=LEASE_MS,
                tail_ms=self._tail_ms,
                sent=[
                    v
                    for sent_urls in sent
                    for v in (sent_urls.host, sent_urls.urls, int(sent_urls.is_empty))
                ],
            )

    def _keys(self, crawl: int) -> dict[str, str]:
        return {name: f"{self._prefix}{crawl}:{name}" for name in ("open", "next", "turns")}
