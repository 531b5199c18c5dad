"""
Which URLs are on their way: asked for and not yet stored or given up.

N callers for one URL make one fetch: a second enqueue while the first waits is answered "already
waiting". A note is one hash entry of about 80 bytes in Redis. `mark` comes before the message is
sent; `confirm`, after it was sent, makes the note last. Until then nobody else relies on it: who
meets one waits for a moment until it is confirmed, and takes it over when it is not. So a producer
that is killed between the two loses nothing, whoever asks next; the price is that a URL whose
producer was only slow is sent twice, which is harmless.
A confirmed note stops to count after two days, so that a URL whose message was lost with the server
can be asked for again. Marking, confirming and clearing twice is harmless.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager

import redis

from aragog.redis_kit.errors import redis_errors
from aragog.redis_kit.scripts import load_script
from aragog.urls import url_key

# Long enough to send a chunk of messages to a slow broker; after that the sweep may drop it.
UNCONFIRMED_S = 60
# A chunk is sent in some 50 ms; who has not confirmed it by then is dead, or slow.
TAKEN_OVER_AFTER_S = 3
LONGEST_PAUSE_S = 0.5
OURS, UNCLEAR = ord("1"), ord("?")
# A slot is reserved at most `politeness.horizon_s` ahead (a day by default); twice that is safe.
COUNTS_FOR_S = 172_800
# Who insists has reason to think that the message was lost; a second fetch is polite, if in vain.
INSIST_AFTER_S = 3600


class InFlightSet:
    """The notes. One round trip a call; every call raises `BrokerUnavailable`."""

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._key = f"{prefix}in_flight"

    def mark(self, urls: Sequence[str], *, insist: bool = False) -> list[bool]:
        """
        For each normalized URL: True when it is the caller's to send, False when it waits already.

        With `insist` a URL is the caller's as well when it has waited for `INSIST_AFTER_S`.

        One round trip; where another producer is sending one of them just now, some more within
        the next 3 s.
        """
        keys = [url_key(url) for url in urls]
        flags = self._flags(keys, insist)
        pause_s = 0.02
        while unclear := [place for place, flag in enumerate(flags) if flag == UNCLEAR]:
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            for place, flag in zip(
                unclear, self._flags([keys[p] for p in unclear], insist), strict=True
            ):
                flags[place] = flag
        return [flag == OURS for flag in flags]

    def _flags(self, keys: Sequence[bytes], insist: bool) -> bytearray:
        if not keys:
            return bytearray()
        takes_s = COUNTS_FOR_S - INSIST_AFTER_S if insist else 0
        with _our_errors():
            flags = load_script("aragog.pipeline", "mark").run(
                self._redis,
                in_flight=self._key,
                unconfirmed_s=UNCONFIRMED_S,
                taken_over_after_s=TAKEN_OVER_AFTER_S,
                insist_s=takes_s,
                url_keys=b"".join(keys),
            )
        return bytearray(flags)

    def confirm(self, urls: Sequence[str]) -> None:
        """The messages of these URLs are sent: their notes last until they are cleared."""
        if urls:
            with _our_errors():
                load_script("aragog.pipeline", "confirm").run(
                    self._redis,
                    in_flight=self._key,
                    ttl_s=COUNTS_FOR_S,
                    url_keys=b"".join(map(url_key, urls)),
                )

    def clear(self, urls: Sequence[str]) -> None:
        """The URLs wait no longer."""
        if urls:
            with _our_errors():
                self._redis.hdel(self._key, *[url_key(url) for url in urls])

    def contains(self, url: str) -> bool:
        """A normalized URL is on its way."""
        with _our_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.time()
            pipe.hget(self._key, url_key(url))
            (now_s, _), until_s = pipe.execute()
        return until_s is not None and float(until_s) > now_s

    def count(self) -> int:
        """How many URLs wait."""
        with _our_errors():
            return int(self._redis.hlen(self._key))

    def sweep(self) -> int:
        """Drop what no longer counts, in steps of about 500; how many there were."""
        script, cursor, dropped = load_script("aragog.pipeline", "sweep"), "0", 0
        with _our_errors():
            while True:
                cursor, found = script.run(self._redis, in_flight=self._key, cursor=cursor)
                dropped += found
                cursor = cursor.decode() if isinstance(cursor, bytes) else cursor
                if cursor == "0":
                    return int(dropped)


def _our_errors() -> AbstractContextManager[None]:
    return redis_errors("redis, URLs on their way")
