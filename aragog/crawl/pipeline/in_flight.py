"""
The in-flight set: URLs that were enqueued and are not yet stored or given up.

When several callers enqueue one URL, it is fetched once: while the first request is in flight, the
others are answered "already waiting". An entry is a lease (`aragog.crawl.shared_redis.leases`) of
about 80 bytes in Redis.

A producer calls `mark` before it sends the message and `confirm` after it has sent it. Other
producers do not rely on an unconfirmed entry: they wait a moment for its confirmation, and take
the entry over if none comes. If a producer is killed between the two calls, the next caller
therefore sends the URL. If the producer was only slow, the URL is sent twice, which is harmless.

A confirmed entry expires after two days, so that a URL whose message was lost with the server can
be enqueued again. Marking, confirming and clearing twice is harmless.

Clearing also publishes the keys on a Redis channel, so that callers who wait for a URL learn at
once that it is done (`completions`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager

import redis

from aragog.crawl.shared_redis.leases import UNCONFIRMED, Leases
from aragog.crawl.shared_redis.nodes import RedisNodes
from pinlater.redis.errors import redis_errors
from urlspelling import url_key

# Long enough to send a chunk of messages to a slow broker; then the sweep may drop the entry.
UNCONFIRMED_S = 60
# Sending a chunk takes about 50 ms; a producer that has not confirmed it by then is dead or slow.
TAKEN_OVER_AFTER_S = 3
LONGEST_PAUSE_S = 0.5
# A slot is reserved at most `politeness.horizon_s` ahead (a day by default); twice that is safe.
COUNTS_FOR_S = 172_800
# With `insist`, the caller believes that the message was lost; a second fetch is harmless.
INSIST_AFTER_S = 3600


def done_channel(prefix: str) -> str:
    """The channel on which keys of cleared URLs are published, 16 bytes each, concatenated."""
    return f"{prefix}in_flight.done"


class InFlightSet:
    """
    The in-flight set. A call costs a round trip per server and may raise `BrokerUnavailable`.

    Args:
        nodes: the servers that share the set, or a client of the only one; the first of them also
            has the channel of URLs that are done.
        prefix: put before every key.
    """

    def __init__(self, nodes: redis.Redis | RedisNodes, *, prefix: str) -> None:
        self._nodes = RedisNodes.of(nodes)
        self._prefix = prefix
        self._key = f"{prefix}in_flight"

    def mark(self, urls: Sequence[str], *, insist: bool = False) -> list[bool]:
        """
        Mark the URLs. Returns True for each that the caller must send, False if it is in flight.

        With `insist` the caller must also send a URL that has been in flight for `INSIST_AFTER_S`.

        This costs one round trip. If another producer is currently sending one of the URLs, it
        costs a few more within the next 3 s.
        """
        grants = self._acquire(urls, insist)
        pause_s = 0.02
        while unclear := [place for place, grant in enumerate(grants) if grant == UNCONFIRMED]:
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            again = self._acquire([urls[place] for place in unclear], insist)
            for place, grant in zip(unclear, again, strict=True):
                grants[place] = grant
        return [grant > 0 for grant in grants]

    def _acquire(self, urls: Sequence[str], insist: bool) -> list[int]:
        renewed_s = COUNTS_FOR_S - INSIST_AFTER_S if insist else 0
        grants = [0] * len(urls)
        with _our_errors():
            for client, places in self._nodes.group((url, at) for at, url in enumerate(urls)):
                taken = self._leases(client).acquire(
                    [urls[at] for at in places], renewed_s=renewed_s
                )
                for at, grant in zip(places, taken, strict=True):
                    grants[at] = grant
        return grants

    def _leases(self, client: redis.Redis) -> Leases:
        return Leases(client, self._key, UNCONFIRMED_S, TAKEN_OVER_AFTER_S, whole=True)

    def confirm(self, urls: Sequence[str]) -> None:
        """Record that the messages of these URLs were sent; their entries then last two days."""
        with _our_errors():
            for client, mine in self._by_server(urls):
                self._leases(client).renew(mine, COUNTS_FOR_S)

    def clear(self, urls: Sequence[str]) -> None:
        """Remove the URLs from the set, and report to those who wait that they are done."""
        if not urls:
            return
        with _our_errors():
            for client, mine in self._by_server(urls):
                self._leases(client).release(mine)
            done = b"".join(url_key(url) for url in urls)
            self._nodes.first.publish(done_channel(self._prefix), done)

    def _by_server(self, urls: Sequence[str]) -> list[tuple[redis.Redis, list[str]]]:
        return self._nodes.group((url, url) for url in urls)

    def contains(self, url: str) -> bool:
        """Whether a normalized URL is in flight."""
        return bool(self.among([url]))

    def among(self, urls: Sequence[str]) -> set[str]:
        """The normalized URLs among these that are in flight. Costs one round trip a server."""
        found: set[str] = set()
        with _our_errors():
            for client, mine in self._by_server(urls):
                left_s = self._leases(client).left_s(mine)
                found |= {url for url, left in zip(mine, left_s, strict=True) if left > 0}
        return found

    def count(self) -> int:
        """How many URLs are in flight."""
        with _our_errors():
            return sum(self._leases(client).count() for client in self._nodes.clients)

    def sweep(self) -> int:
        """Drop expired entries, in steps of about 500; returns how many were dropped."""
        with _our_errors():
            return sum(self._leases(client).sweep() for client in self._nodes.clients)


def _our_errors() -> AbstractContextManager[None]:
    return redis_errors("redis, URLs on their way")
