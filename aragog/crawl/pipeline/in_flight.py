"""
The in-flight set: URLs that were enqueued and are not yet stored or given up, and which crawls want
them.

If several callers enqueue the same URL, it is fetched once: while it is in flight for the first
caller, the others get the status "already waiting". An entry has its expiry and the crawls that
want the URL, in about 55 bytes of Redis memory for up to two crawls.

A producer calls `mark` before it sends the message and `confirm` afterwards. Other producers do not
rely on an unconfirmed entry: they wait a moment for the confirmation and then take the entry over.
If a producer is killed between the two calls, the next caller therefore sends the URL. If the
producer was only slow, the URL is sent twice, which is harmless.

A confirmed entry expires after two days, so that a URL can be enqueued again if a server lost its
message. The entry of a named crawl expires after 30 days, because such a crawl may be paused.
Marking, confirming and ending may each be repeated.

The same script that changes an entry also updates the crawl's counters. A URL is counted as
enqueued when its crawl is added to the entry, and with its outcome when the crawl is removed. A
message that is delivered twice is therefore counted once, and the enqueued URLs are always the sum
of the waiting URLs and all outcomes.

Ending a URL also publishes its key on a Redis channel, so that callers that wait for the URL are
notified at once (`completions`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import redis

from aragog.crawl.pipeline.in_flight_values import (
    ANYONE,
    Heir,
    Held,
    Mark,
    Question,
    UrlEnding,
    Wants,
)
from aragog.crawl.shared_redis.leases import field
from aragog.crawl.shared_redis.nodes import RedisNodes
from pinlater.redis.errors import redis_errors
from pinlater.redis.scripts import LuaScript, load_script
from urlspelling import url_key
from urlspelling.domain import host, registered_domain

# Long enough to send a chunk of messages to a slow broker. After that, the sweep may remove the
# unconfirmed entry.
UNCONFIRMED_S = 60
# Sending a chunk takes about 50 ms. After this time another producer takes the entry over.
TAKEN_OVER_AFTER_S = 3
LONGEST_PAUSE_S = 0.5
# Slots are reserved at most `politeness.horizon_s` (a day by default) ahead, so a URL rarely waits
# for longer than this.
COUNTS_FOR_S = 172_800
# Longer for a named crawl, because it may be paused, and a million URLs of one domain take weeks.
NAMED_COUNTS_FOR_S = 30 * 86_400
# `insist` sends a URL again after this time, in case its message was lost; a second fetch is
# harmless.
INSIST_AFTER_S = 3600
MOST_AT_ONCE = 500
"""Maximum number of URLs in one script call, which blocks Redis for about 10 ms."""
MOST_DOMAINS = 50_000
"""
Maximum number of (domain, outcome) pairs that a server counts for a crawl; the rest is
summed.
"""
DELETED = "deleted"
"""The outcome of URLs whose messages an operator deleted."""
UNSENT = ""
"""Used instead of an outcome for URLs that must count as never enqueued."""


def done_channel(prefix: str) -> str:
    """The channel on which the keys of finished URLs are published, 16 bytes each, concatenated."""
    return f"{prefix}in_flight.done"


_MARKS = {ord(str(mark.value)): mark for mark in Mark} | {ord("?"): Mark.UNCLEAR}


_HELD = {b"+": Held.GOES_ON, b"x": Held.ENDS, b"p": Held.WAITS}


class InFlightSet:
    """
    The in-flight set. A call takes a round trip per server and may raise `BrokerUnavailable`.

    Args:
        nodes: the servers that share the set, or the client of a single server. Finished URLs are
            published on the first server.
        prefix: prepended to every key.
    """

    def __init__(self, nodes: redis.Redis | RedisNodes, *, prefix: str) -> None:
        self._nodes = RedisNodes.of(nodes)
        self._prefix = prefix
        self._key = f"{prefix}in_flight"
        self._counts = f"{prefix}crawl:"

    def mark(
        self, urls: Sequence[str], *, insist: bool = False, wants: Wants = ANYONE
    ) -> list[Mark]:
        """
        Mark URLs for a crawl; returns a `Mark` for each URL, in order.

        The caller must send the URLs with `Mark.NEW`, the only true value. With `insist`, these
        include URLs that have been in flight for `INSIST_AFTER_S`.

        Takes one round trip, and a few more within 3 s if another producer is sending one of the
        URLs at the same time.
        """
        marks = self._acquire(urls, wants, insist)
        pause_s = 0.02
        while unclear := [place for place, mark in enumerate(marks) if mark is Mark.UNCLEAR]:
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            again = self._acquire([urls[place] for place in unclear], wants, insist)
            for place, mark in zip(unclear, again, strict=True):
                marks[place] = mark
        return marks

    def _acquire(self, urls: Sequence[str], wants: Wants, insist: bool) -> list[Mark]:
        marks = [Mark.WAITING] * len(urls)
        with _our_errors():
            for client, places in self._nodes.group((url, at) for at, url in enumerate(urls)):
                found = self._mark(client, [urls[at] for at in places], wants, insist)
                for at, mark in zip(places, found, strict=True):
                    marks[at] = _MARKS[mark]
        return marks

    def _mark(self, client: redis.Redis, urls: Sequence[str], wants: Wants, insist: bool) -> bytes:
        counts, by_host = f"{self._counts}{wants.crawl}", wants.max_per_host is not None
        places = ((registered_domain(url), host(url) if by_host else "") for url in urls)
        server = self._nodes.clients.index(client)
        most_today, most_waiting = wants.quota.bounds(server) if wants.quota else (-1, -1)
        found: bytes = _script("in_flight_mark").run(
            client,
            in_flight=self._key,
            counts=counts,
            hosts=f"{counts}:hosts",
            by_domain=f"{counts}:domains",
            use=f"{counts}:use",
            crawl=wants.crawl,
            depth=wants.depth,
            unconfirmed_s=UNCONFIRMED_S,
            patience_s=TAKEN_OVER_AFTER_S,
            counts_for_s=COUNTS_FOR_S,
            named_counts_for_s=NAMED_COUNTS_FOR_S,
            insist_after_s=INSIST_AFTER_S if insist else -1,
            max_urls=self._room(client, wants),
            max_per_host=-1 if wants.max_per_host is None else wants.max_per_host,
            most_domains=MOST_DOMAINS,
            most_today=most_today,
            most_waiting=most_waiting,
            names=b"".join(map(field, urls)),
            places=[value for place in places for value in place],
        )
        return found

    def _room(self, client: redis.Redis, wants: Wants) -> int:
        """Maximum number of the crawl's URLs on this server, given the counts of other servers."""
        if wants.max_urls is None:
            return -1
        others = 0
        for other in self._nodes.clients:
            if other is not client:
                values: Any = other.hmget(f"{self._counts}{wants.crawl}", ["enqueued", "repeated"])
                others += int(values[0] or 0) - int(values[1] or 0)
        return max(0, wants.max_urls - others)

    def confirm(self, urls: Sequence[str]) -> None:
        """Record that the messages of these URLs were sent, which extends their entries' expiry."""
        with _our_errors():
            for client, mine in self._by_server(urls):
                _script("in_flight_confirm").run(
                    client,
                    in_flight=self._key,
                    counts_for_s=COUNTS_FOR_S,
                    named_counts_for_s=NAMED_COUNTS_FOR_S,
                    names=b"".join(map(field, mine)),
                )

    def clear(self, urls: Sequence[str], outcome: str = DELETED) -> None:
        """Remove the URLs, counting this outcome for every crawl that wants them."""
        self.end([UrlEnding(url, 0, outcome, for_all=True) for url in urls])

    def end(self, endings: Sequence[UrlEnding]) -> list[Heir | None]:
        """
        Count the endings of URLs, and notify callers that wait for the finished ones.

        Returns for each URL, in order, the next crawl that wants it and needs a separate job, or
        None if no other crawl wants it.
        """
        heirs: list[Heir | None] = [None] * len(endings)
        if not endings:
            return heirs
        with _our_errors():
            for client, places in self._portions(ending.url for ending in endings):
                found = _script("in_flight_end", *_COUNTING).run(
                    client,
                    in_flight=self._key,
                    **self._lasting(),
                    endings=[v for at in places for v in _values(endings[at])],
                )
                for at, value in zip(places, found, strict=True):
                    heirs[at] = _heir(value) if value else None
            self._publish(ending.url for ending in endings)
        return heirs

    def _lasting(self) -> dict[str, Any]:
        return {
            "prefix": self._counts,
            "counts_for_s": COUNTS_FOR_S,
            "named_counts_for_s": NAMED_COUNTS_FOR_S,
        }

    def _publish(self, urls: Iterable[str]) -> None:
        done = b"".join(map(url_key, urls))
        self._nodes.first.publish(done_channel(self._prefix), done)

    def stop(
        self, questions: Sequence[Question], *, ended: Iterable[int], paused: Iterable[int]
    ) -> list[Held | Heir]:
        """
        Remove URLs from the sets of ended crawls. Returns the next step of each job, in order.

        Args:
            questions: the URLs.
            ended: the numbers of crawls that have ended.
            paused: the numbers of crawls that are paused.
        """
        replies: list[Held | Heir] = [Held.GOES_ON] * len(questions)
        with _our_errors():
            for client, places in self._portions(q.url for q in questions):
                found = _script("in_flight_stop", *_COUNTING).run(
                    client,
                    in_flight=self._key,
                    **self._lasting(),
                    unconfirmed_s=UNCONFIRMED_S,
                    ended=_numbers(ended),
                    paused=_numbers(paused),
                    urls=[value for at in places for value in _asked(questions[at])],
                )
                for at, value in zip(places, found, strict=True):
                    replies[at] = _HELD[value] if value in _HELD else _heir(value)
            gone = [q.url for q, held in zip(questions, replies, strict=True) if held is Held.ENDS]
            if gone:
                self._publish(gone)
        return replies

    def wanted(
        self, questions: Sequence[Question], *, ended: Iterable[int], now_s: int
    ) -> list[bool]:
        """
        For each URL, in order: True if a crawl that has not ended wants it. Changes nothing.

        A URL without an entry counts as wanted by the crawl of its job, as in `stop`.

        Args:
            questions: the URLs.
            ended: the numbers of crawls that have ended.
            now_s: the server's time (s since the epoch).
        """
        found, over = [False] * len(questions), frozenset(ended)
        with _our_errors():
            for client, places in self._portions(q.url for q in questions):
                names = [field(questions[at].url) for at in places]
                held: Any = client.hmget(self._key, names)
                for at, value in zip(places, held, strict=True):
                    found[at] = _is_wanted(questions[at], value, over, now_s)
        return found

    def _portions(self, urls: Iterable[str]) -> Iterator[tuple[redis.Redis, list[int]]]:
        """Yield each server with the positions of its URLs, at most `MOST_AT_ONCE` at a time."""
        for client, places in self._nodes.group((url, at) for at, url in enumerate(urls)):
            for start in range(0, len(places), MOST_AT_ONCE):
                yield client, places[start : start + MOST_AT_ONCE]

    def _by_server(self, urls: Sequence[str]) -> list[tuple[redis.Redis, list[str]]]:
        return self._nodes.group((url, url) for url in urls)

    def contains(self, url: str) -> bool:
        """True if a normalized URL is in flight."""
        return bool(self.among([url]))

    def among(self, urls: Sequence[str]) -> set[str]:
        """Those of the normalized URLs that are in flight. One round trip per server."""
        found: set[str] = set()
        with _our_errors():
            for client, mine in self._by_server(urls):
                now_s, entries = self._entries(client, mine)
                expiries = (entry and expiry_s(entry) for entry in entries)
                found |= {url for url, at in zip(mine, expiries, strict=True) if at and at > now_s}
        return found

    def _entries(self, client: redis.Redis, urls: list[str]) -> tuple[int, list[bytes | None]]:
        with client.pipeline(transaction=False) as pipe:
            pipe.time()
            pipe.hmget(self._key, list(map(field, urls)))
            (now_s, _), entries = pipe.execute()
        return now_s, entries

    def count(self) -> int:
        """The number of URLs in flight."""
        with _our_errors():
            return sum(int(client.hlen(self._key)) for client in self._nodes.clients)

    def sweep(self, ended: Iterable[int] = ()) -> Swept:
        """Remove expired entries and entries of ended crawls, in steps of about 500."""
        swept, numbers = Swept(0, 0), _numbers(ended)
        with _our_errors():
            for client in self._nodes.clients:
                cursor = b"0"
                while True:
                    cursor, expired, cancelled = _script("in_flight_sweep", *_COUNTING).run(
                        client,
                        in_flight=self._key,
                        **self._lasting(),
                        cursor=cursor,
                        ended=numbers,
                    )
                    swept = Swept(swept.expired + expired, swept.cancelled + cancelled)
                    if int(cursor) == 0:
                        break
        return swept


class Swept(NamedTuple):
    """How many entries a sweep removed."""

    expired: int
    cancelled: int


def _is_wanted(question: Question, held: bytes | None, ended: frozenset[int], now_s: int) -> bool:
    if held is None:
        return question.crawl not in ended
    until_s, members = expiry_s(held), held.partition(b":")[2]
    crawls = [_heir(member).crawl for member in members.split()] or [0]
    lasts_s = NAMED_COUNTS_FOR_S if crawls[0] > 1 else COUNTS_FOR_S
    if until_s - now_s <= UNCONFIRMED_S:
        lasts_s = UNCONFIRMED_S
    enqueued_s = until_s - lasts_s
    return enqueued_s > question.cut_s and not ended.issuperset(crawls)


def expiry_s(entry: bytes) -> int:
    """When an entry of the set expires (s since the epoch), see in_flight_entry.lua."""
    digits = entry.partition(b":")[0]
    return int(digits, 36 if len(digits) < 10 else 10)


def _values(ending: UrlEnding) -> tuple[Any, ...]:
    domain = registered_domain(ending.url)
    name = field(ending.url)
    notes = " ".join(ending.notes)
    return name, ending.crawl, ending.outcome, domain, ending.bytes, int(ending.for_all), notes


def _asked(question: Question) -> tuple[Any, ...]:
    url, crawl, depth, cut_s = question
    return field(url), crawl, depth, registered_domain(url), cut_s


def _numbers(numbers: Iterable[int]) -> str:
    return f" {' '.join(map(str, sorted(numbers)))} "


def _heir(value: bytes) -> Heir:
    crawl, _, depth = value.partition(b".")
    return Heir(int(crawl), int(depth) if depth else None)


_COUNTING = ("in_flight_prelude",)


def _script(name: str, *preludes: str) -> LuaScript:
    return load_script("aragog.crawl.pipeline", name, prelude=("in_flight_entry", *preludes))


def _our_errors() -> AbstractContextManager[None]:
    return redis_errors("redis, URLs on their way")
