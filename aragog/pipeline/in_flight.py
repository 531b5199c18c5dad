"""
The in-flight set: URLs that were enqueued and are not yet stored or given up.

When several callers enqueue one URL, it is fetched once: while the first request is in flight, the
others are answered "already waiting". An entry is one hash field of about 80 bytes in Redis.

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

from aragog.redis_kit.errors import redis_errors
from aragog.redis_kit.nodes import RedisNodes
from aragog.redis_kit.scripts import load_script
from aragog.urls import url_key

# Long enough to send a chunk of messages to a slow broker; then the sweep may drop the entry.
UNCONFIRMED_S = 60
# Sending a chunk takes about 50 ms; a producer that has not confirmed it by then is dead or slow.
TAKEN_OVER_AFTER_S = 3
LONGEST_PAUSE_S = 0.5
OURS, UNCLEAR = ord("1"), ord("?")
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
        For each normalized URL: True if the caller must send it, False if it is already in flight.

        With `insist` the caller must also send a URL that has been in flight for `INSIST_AFTER_S`.

        This costs one round trip. If another producer is currently sending one of the URLs, it
        costs a few more within the next 3 s.
        """
        flags = self._flags(urls, insist)
        pause_s = 0.02
        while unclear := [place for place, flag in enumerate(flags) if flag == UNCLEAR]:
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            for place, flag in zip(
                unclear, self._flags([urls[p] for p in unclear], insist), strict=True
            ):
                flags[place] = flag
        return [flag == OURS for flag in flags]

    def _flags(self, urls: Sequence[str], insist: bool) -> bytearray:
        takes_s = COUNTS_FOR_S - INSIST_AFTER_S if insist else 0
        flags = bytearray(len(urls))
        with _our_errors():
            for client, places in self._nodes.group((url, at) for at, url in enumerate(urls)):
                result = load_script("aragog.pipeline", "mark").run(
                    client,
                    in_flight=self._key,
                    unconfirmed_s=UNCONFIRMED_S,
                    taken_over_after_s=TAKEN_OVER_AFTER_S,
                    insist_s=takes_s,
                    url_keys=b"".join(url_key(urls[at]) for at in places),
                )
                for at, flag in zip(places, result, strict=True):
                    flags[at] = flag
        return flags

    def confirm(self, urls: Sequence[str]) -> None:
        """Record that the messages of these URLs were sent; their entries then last two days."""
        with _our_errors():
            for client, keys in self._keys(urls):
                load_script("aragog.pipeline", "confirm").run(
                    client, in_flight=self._key, ttl_s=COUNTS_FOR_S, url_keys=b"".join(keys)
                )

    def clear(self, urls: Sequence[str]) -> None:
        """Remove the URLs from the set, and report to those who wait that they are done."""
        if not urls:
            return
        with _our_errors():
            for client, keys in self._keys(urls):
                client.hdel(self._key, *keys)
            done = b"".join(url_key(url) for url in urls)
            self._nodes.first.publish(done_channel(self._prefix), done)

    def _keys(self, urls: Sequence[str]) -> list[tuple[redis.Redis, list[bytes]]]:
        return self._nodes.group((url, url_key(url)) for url in urls)

    def contains(self, url: str) -> bool:
        """Whether a normalized URL is in flight."""
        with _our_errors(), self._nodes.client(url).pipeline(transaction=False) as pipe:
            pipe.time()
            pipe.hget(self._key, url_key(url))
            (now_s, _), until_s = pipe.execute()
        return until_s is not None and float(until_s) > now_s

    def among(self, urls: Sequence[str]) -> set[str]:
        """Those of these normalized URLs that are in flight; a round trip per server."""
        found: set[str] = set()
        with _our_errors():
            for client, places in self._nodes.group((url, at) for at, url in enumerate(urls)):
                with client.pipeline(transaction=False) as pipe:
                    pipe.time()
                    pipe.hmget(self._key, [url_key(urls[at]) for at in places])
                    (now_s, _), until = pipe.execute()
                for at, until_s in zip(places, until, strict=True):
                    if until_s is not None and float(until_s) > now_s:
                        found.add(urls[at])
        return found

    def count(self) -> int:
        """How many URLs are in flight."""
        with _our_errors():
            return sum(int(client.hlen(self._key)) for client in self._nodes.clients)

    def sweep(self) -> int:
        """Drop expired entries, in steps of about 500; returns how many were dropped."""
        with _our_errors():
            return sum(self._sweep(client) for client in self._nodes.clients)

    def _sweep(self, client: redis.Redis) -> int:
        script, cursor, dropped = load_script("aragog.pipeline", "sweep"), "0", 0
        while True:
            cursor, result = script.run(client, in_flight=self._key, cursor=cursor)
            dropped += result
            cursor = cursor.decode() if isinstance(cursor, bytes) else cursor
            if cursor == "0":
                return int(dropped)


def _our_errors() -> AbstractContextManager[None]:
    return redis_errors("redis, URLs on their way")
