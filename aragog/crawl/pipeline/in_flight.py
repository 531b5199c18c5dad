"""
The in-flight set: URLs that were enqueued and are not yet stored or given up, and the crawls that
want each URL.

A URL that several callers enqueue is fetched once. While it is in flight, later callers get the
status "already waiting". An entry takes about 55 bytes of Redis memory for up to two crawls.

A producer calls `mark` before it sends the message and `confirm` afterward. Other producers wait a
moment for the confirmation, and then take the entry over. So if a producer is killed between the
two calls, the next caller sends the URL. If the producer was only slow, the URL is sent twice,
which is harmless.

A confirmed entry expires after two days, so that a URL can be enqueued again if a server lost its
message. A named crawl's entries expire after 30 days, because the crawl may be paused. Marking,
confirming and ending are idempotent.

The script that changes an entry also updates the crawl's counters: a URL is counted as enqueued
when its crawl is added to the entry, and with its outcome when the crawl is removed. So a message
that is delivered twice is counted once, and the enqueued URLs are always the sum of the waiting
URLs and all outcomes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import redis

from aragog.crawl.pipeline.in_flight_values import (
    NO_CRAWL,
    CancelQuery,
    Mark,
    MarkingCrawl,
    NextCrawl,
    NextStep,
    UrlEnding,
)
from aragog.crawl.shared_redis.leases import field
from aragog.crawl.shared_redis.nodes import RedisNodes
from pinlater.redis.errors import redis_errors
from pinlater.redis.scripts import LuaScript, load_script
from urlspelling import url_key
from urlspelling.domain import host, registered_domain

# Long enough to send a chunk of messages to a slow broker. After that, the sweep may remove an
# unconfirmed entry.
UNCONFIRMED_TTL_S = 60
# Sending a chunk takes about 50 ms. After this time, another producer takes the entry over.
TAKEOVER_AFTER_S = 3
MAX_PAUSE_S = 0.5
# Slots (reserved times of requests) are at most `politeness.horizon_s` ahead, a day by default.
# URLs rarely wait longer than this.
ENTRY_TTL_S = 172_800
# Longer for a named crawl: it may be paused, and a million URLs of one domain take weeks.
NAMED_ENTRY_TTL_S = 30 * 86_400
# After this time, `insist` sends a URL again, in case its message was lost. A second fetch is
# harmless.
INSIST_AFTER_S = 3600
MAX_URLS_PER_CALL = 500
"""Maximum number of URLs per script call. A call blocks Redis for about 10 ms."""
MAX_DOMAINS = 50_000
"""Maximum number of (domain, outcome) pairs that a server counts per crawl. All others are
summed."""
DELETED = "deleted"
"""The outcome of a URL if an operator deleted its message."""
UNSENT = ""
"""Replaces an outcome for URLs that must count as never enqueued."""


def done_channel(prefix: str) -> str:
    """Return the channel for the keys of finished URLs (16 bytes each, concatenated)."""
    return f"{prefix}in_flight.done"


_MARKS = {ord(str(mark.value)): mark for mark in Mark} | {ord("?"): Mark.UNCLEAR}


_NEXT_STEPS = {b"+": NextStep.CONTINUES, b"x": NextStep.ENDS, b"p": NextStep.WAITS}


class InFlightSet:
    """
    The in-flight set. Each call takes one round trip per server and may raise `BrokerUnavailable`.

    Args:
        nodes: the servers that share the set, or the client of the only server. Finished URLs are
            published on the first server.
        prefix: prefix of every key.
    """

    def __init__(self, nodes: redis.Redis | RedisNodes, *, prefix: str) -> None:
        self._nodes = RedisNodes.wrap(nodes)
        self._prefix = prefix
        self._key = f"{prefix}in_flight"
        self._counts = f"{prefix}crawl:"

    def mark(
        self, urls: Sequence[str], *, insist: bool = False, for_crawl: MarkingCrawl = NO_CRAWL
    ) -> list[Mark]:
        """
        Mark URLs as in flight. Returns a `Mark` for each URL, in order.

        The caller must send the URLs with `Mark.NEW`. With `insist`, these include URLs that have
        been in flight for `INSIST_AFTER_S`.

        Takes one round trip, and a few more within 3 s if another producer is sending one of the
        URLs at the same time.
        """
        marks = self._mark_once(urls, for_crawl, insist)
        pause_s = 0.02
        while unclear := [index for index, mark in enumerate(marks) if mark is Mark.UNCLEAR]:
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, MAX_PAUSE_S)
            retried = self._mark_once([urls[index] for index in unclear], for_crawl, insist)
            for index, mark in zip(unclear, retried, strict=True):
                marks[index] = mark
        return marks

    def _mark_once(self, urls: Sequence[str], for_crawl: MarkingCrawl, insist: bool) -> list[Mark]:
        marks = [Mark.WAITING] * len(urls)
        with _translate_errors():
            for client, indexes in self._nodes.group(
                (url, index) for index, url in enumerate(urls)
            ):
                replies = self._mark_on_server(
                    client, [urls[index] for index in indexes], for_crawl, insist
                )
                for index, mark in zip(indexes, replies, strict=True):
                    marks[index] = _MARKS[mark]
        return marks

    def _mark_on_server(
        self, client: redis.Redis, urls: Sequence[str], for_crawl: MarkingCrawl, insist: bool
    ) -> bytes:
        counts, counts_hosts = (
            f"{self._counts}{for_crawl.crawl}",
            for_crawl.max_per_host is not None,
        )
        domains_and_hosts = (
            (registered_domain(url), host(url) if counts_hosts else "") for url in urls
        )
        server = self._nodes.clients.index(client)
        max_today, max_waiting = for_crawl.quota.bounds(server) if for_crawl.quota else (-1, -1)
        marks: bytes = _script("in_flight_mark").run(
            client,
            in_flight=self._key,
            counts=counts,
            hosts=f"{counts}:hosts",
            by_domain=f"{counts}:domains",
            use=f"{counts}:use",
            crawl=for_crawl.crawl,
            depth=for_crawl.depth,
            unconfirmed_s=UNCONFIRMED_TTL_S,
            patience_s=TAKEOVER_AFTER_S,
            counts_for_s=ENTRY_TTL_S,
            named_counts_for_s=NAMED_ENTRY_TTL_S,
            insist_after_s=INSIST_AFTER_S if insist else -1,
            max_urls=self._remaining_urls(client, for_crawl),
            max_per_host=-1 if for_crawl.max_per_host is None else for_crawl.max_per_host,
            max_domains=MAX_DOMAINS,
            max_today=max_today,
            max_waiting=max_waiting,
            names=b"".join(map(field, urls)),
            places=[value for pair in domains_and_hosts for value in pair],
        )
        return marks

    def _remaining_urls(self, client: redis.Redis, for_crawl: MarkingCrawl) -> int:
        if for_crawl.max_urls is None:
            return -1
        count_elsewhere = 0
        for other_client in self._nodes.clients:
            if other_client is not client:
                values: Any = other_client.hmget(
                    f"{self._counts}{for_crawl.crawl}", ["enqueued", "repeated"]
                )
                count_elsewhere += int(values[0] or 0) - int(values[1] or 0)
        return max(0, for_crawl.max_urls - count_elsewhere)

    def confirm(self, urls: Sequence[str]) -> None:
        """Record that these URLs' messages were sent, and extend the entries' expiry."""
        with _translate_errors():
            for client, server_urls in self._group_by_server(urls):
                _script("in_flight_confirm").run(
                    client,
                    in_flight=self._key,
                    counts_for_s=ENTRY_TTL_S,
                    named_counts_for_s=NAMED_ENTRY_TTL_S,
                    names=b"".join(map(field, server_urls)),
                )

    def clear(self, urls: Sequence[str], outcome: str = DELETED) -> None:
        """Remove the URLs, and count this outcome for every crawl that wants them."""
        self.end([UrlEnding(url, 0, outcome, for_all=True) for url in urls])

    def end(self, endings: Sequence[UrlEnding]) -> list[NextCrawl | None]:
        """
        Count the outcomes of ended URLs, and notify the callers waiting for them.

        Returns for each URL, in order, the next crawl that wants it and needs a separate job, or
        None.
        """
        next_crawls: list[NextCrawl | None] = [None] * len(endings)
        if not endings:
            return next_crawls
        with _translate_errors():
            for client, indexes in self._group_indexes_by_server(ending.url for ending in endings):
                replies = _script("in_flight_end", *_COUNTING_PRELUDE).run(
                    client,
                    in_flight=self._key,
                    **self._count_arguments(),
                    endings=[v for index in indexes for v in _ending_values(endings[index])],
                )
                for index, value in zip(indexes, replies, strict=True):
                    next_crawls[index] = NextCrawl.parse(value) if value else None
            self._publish(ending.url for ending in endings)
        return next_crawls

    def _count_arguments(self) -> dict[str, Any]:
        return {
            "prefix": self._counts,
            "counts_for_s": ENTRY_TTL_S,
            "named_counts_for_s": NAMED_ENTRY_TTL_S,
        }

    def _publish(self, urls: Iterable[str]) -> None:
        keys = b"".join(map(url_key, urls))
        self._nodes.first.publish(done_channel(self._prefix), keys)

    def stop(
        self, queries: Sequence[CancelQuery], *, ended: Iterable[int], paused: Iterable[int]
    ) -> list[NextStep | NextCrawl]:
        """
        Remove ended crawls from these URLs' entries. Returns what to do with each job, in order.

        Args:
            queries: jobs' URLs.
            ended: numbers of crawls that have ended.
            paused: numbers of crawls that are paused.
        """
        replies: list[NextStep | NextCrawl] = [NextStep.CONTINUES] * len(queries)
        with _translate_errors():
            for client, indexes in self._group_indexes_by_server(q.url for q in queries):
                values = _script("in_flight_stop", *_COUNTING_PRELUDE).run(
                    client,
                    in_flight=self._key,
                    **self._count_arguments(),
                    unconfirmed_s=UNCONFIRMED_TTL_S,
                    ended=_join_numbers(ended),
                    paused=_join_numbers(paused),
                    urls=[value for index in indexes for value in _query_values(queries[index])],
                )
                for index, value in zip(indexes, values, strict=True):
                    replies[index] = (
                        _NEXT_STEPS[value] if value in _NEXT_STEPS else NextCrawl.parse(value)
                    )
            ended_urls = [
                q.url for q, step in zip(queries, replies, strict=True) if step is NextStep.ENDS
            ]
            if ended_urls:
                self._publish(ended_urls)
        return replies

    def are_wanted(
        self, queries: Sequence[CancelQuery], *, ended: Iterable[int], now_s: int
    ) -> list[bool]:
        """
        Return for each URL, in order, True if a crawl that has not ended wants it.

        A URL without an entry counts as wanted by the crawl of its job, as in `stop`.

        Args:
            queries: the URLs.
            ended: numbers of crawls that have ended.
            now_s: the server's time (s since the epoch).
        """
        results, ended_crawls = [False] * len(queries), frozenset(ended)
        with _translate_errors():
            for client, indexes in self._group_indexes_by_server(q.url for q in queries):
                names = [field(queries[index].url) for index in indexes]
                entries: Any = client.hmget(self._key, names)
                for index, value in zip(indexes, entries, strict=True):
                    results[index] = _is_wanted(queries[index], value, ended_crawls, now_s)
        return results

    def _group_indexes_by_server(
        self, urls: Iterable[str]
    ) -> Iterator[tuple[redis.Redis, list[int]]]:
        for client, indexes in self._nodes.group((url, index) for index, url in enumerate(urls)):
            for start in range(0, len(indexes), MAX_URLS_PER_CALL):
                yield client, indexes[start : start + MAX_URLS_PER_CALL]

    def _group_by_server(self, urls: Sequence[str]) -> list[tuple[redis.Redis, list[str]]]:
        return self._nodes.group((url, url) for url in urls)

    def contains(self, url: str) -> bool:
        return bool(self.intersection([url]))

    def intersection(self, urls: Sequence[str]) -> set[str]:
        """Return which of these normalized URLs are in flight. Takes one round trip per server."""
        in_flight: set[str] = set()
        with _translate_errors():
            for client, server_urls in self._group_by_server(urls):
                now_s, entries = self._read_entries(client, server_urls)
                expiries = (entry and expiry_s(entry) for entry in entries)
                in_flight |= {
                    url
                    for url, expires_s in zip(server_urls, expiries, strict=True)
                    if expires_s and expires_s > now_s
                }
        return in_flight

    def _read_entries(self, client: redis.Redis, urls: list[str]) -> tuple[int, list[bytes | None]]:
        with client.pipeline(transaction=False) as pipe:
            pipe.time()
            pipe.hmget(self._key, list(map(field, urls)))
            (now_s, _), entries = pipe.execute()
        return now_s, entries

    def count(self) -> int:
        with _translate_errors():
            return sum(int(client.hlen(self._key)) for client in self._nodes.clients)

    def sweep(self, ended: Iterable[int] = ()) -> SweepCounts:
        """Remove expired entries and entries of ended crawls, in steps of about 500."""
        swept, numbers = SweepCounts(0, 0), _join_numbers(ended)
        with _translate_errors():
            for client in self._nodes.clients:
                cursor = b"0"
                while True:
                    cursor, expired, cancelled = _script("in_flight_sweep", *_COUNTING_PRELUDE).run(
                        client,
                        in_flight=self._key,
                        **self._count_arguments(),
                        cursor=cursor,
                        ended=numbers,
                    )
                    swept = SweepCounts(swept.expired + expired, swept.cancelled + cancelled)
                    if int(cursor) == 0:
                        break
        return swept


class SweepCounts(NamedTuple):
    """How many entries a sweep removed."""

    expired: int
    cancelled: int


def _is_wanted(query: CancelQuery, entry: bytes | None, ended: frozenset[int], now_s: int) -> bool:
    if entry is None:
        return query.crawl not in ended
    expires_s, members = expiry_s(entry), entry.partition(b":")[2]
    crawls = [NextCrawl.parse(member).crawl for member in members.split()] or [0]
    ttl_s = NAMED_ENTRY_TTL_S if crawls[0] > 1 else ENTRY_TTL_S
    if expires_s - now_s <= UNCONFIRMED_TTL_S:
        ttl_s = UNCONFIRMED_TTL_S
    enqueued_s = expires_s - ttl_s
    return enqueued_s > query.cancelled_until_s and not ended.issuperset(crawls)


def expiry_s(entry: bytes) -> int:
    """Return when an entry expires, in s since the epoch (see in_flight_entry.lua)."""
    digits = entry.partition(b":")[0]
    return int(digits, 36 if len(digits) < 10 else 10)


def _ending_values(ending: UrlEnding) -> tuple[Any, ...]:
    domain = registered_domain(ending.url)
    name = field(ending.url)
    notes = " ".join(ending.notes)
    return name, ending.crawl, ending.outcome, domain, ending.bytes, int(ending.for_all), notes


def _query_values(query: CancelQuery) -> tuple[Any, ...]:
    url, crawl, depth, cancelled_until_s = query
    return field(url), crawl, depth, registered_domain(url), cancelled_until_s


def _join_numbers(numbers: Iterable[int]) -> str:
    return f" {' '.join(map(str, sorted(numbers)))} "


_COUNTING_PRELUDE = ("in_flight_prelude",)


def _script(name: str, *preludes: str) -> LuaScript:
    return load_script("aragog.crawl.pipeline", name, prelude=("in_flight_entry", *preludes))


def _translate_errors() -> AbstractContextManager[None]:
    return redis_errors("redis, URLs on their way")
