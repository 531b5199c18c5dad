"""
Lines: queues of requests waiting for their domain's slots (times to send), most urgent first.

The limiter only reserves slots for the next second or two. All other requests wait here without a
scheduled time, so a changed rate applies to all, and urgent requests overtake others. A line has
one Redis list per priority and share. It is checked when its domain has a free slot.

A share is one crawl's part of a domain's slots. Priorities 0 to 2 go first. Other requests take
turns according to their crawls' weights, and priority 6 gets half as many slots as priority 5, and
so on. So a crawl with a million URLs delays others only as much as its weight allows.

There are also lines for URLs that wait for an origin's robots.txt or belong to a paused crawl. They
leave these lines without a slot.

Entries are leased: they return to their line if the process that took them dies before `settle`.
Every call raises `BrokerUnavailable` if Redis does not respond.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import redis

from aragog.crawl.politeness.open_hosts import OpenHosts
from aragog.crawl.shared_redis.nodes import RedisNodes
from pinlater.redis.errors import redis_errors
from pinlater.redis.scripts import LuaScript, load_script

# If a claimed line is not settled within this time, another process checks it.
CHECK_LEASE_MS = 10_000
# Taken entries return to their lines after this time. Settling them takes milliseconds.
TAKEN_LEASE_MS = 60_000
# A call adds at most this many entries, because it blocks Redis for other clients.
MAX_ENTRIES_PER_CALL = 1_000


LIST_PREFIX = "line2:"
PAUSED_PREFIX = "paused://"
"""The key prefix of paused crawls' lines."""


def is_rules_line(key: str) -> bool:
    """Return True if a line's URLs wait for an origin's robots.txt."""
    return "://" in key and not key.startswith(PAUSED_PREFIX)


def is_without_slots(key: str) -> bool:
    """Return True if a line does not belong to a domain, so requests leave it without a slot."""
    return "://" in key


@dataclass(frozen=True, slots=True)
class LineEntry:
    """A request waiting in its domain's line."""

    key: str
    """The domain's key, from `Limiter.key_for`, or another key; see `is_without_slots`."""
    priority: int
    """0 (most urgent) to 9."""
    payload: bytes
    """What the caller needs to pass the request on."""
    crawl_delay_s: float | None = None
    check_after_ms: int = 0
    """The line is checked within this time."""
    to_front: bool = False
    """True to put the request back at the front of the line."""
    share: int = 0
    """The crawl's number. The request uses this crawl's share."""


class DueLine(NamedTuple):
    """A line that must be checked."""

    waiting: int
    shares: frozenset[int]
    """The crawls with requests in the line."""


USUAL_COST = 1_000_000
"""How much a request with priority 5 and weight 1 adds to its share's virtual time."""
CLOSED = 0
"""The cost of a share from which nothing is taken."""


class TakenEntry(NamedTuple):
    """A request taken from its line."""

    key: str
    priority: int
    crawl_delay_s: float | None
    payload: bytes
    location: tuple[bytes, bytes]
    """The key of the Redis list that contained it, and its value there, needed to put it back."""


class Lines:
    """
    The lines of all domains. Thread-safe; may be used across a fork.

    Args:
        nodes: the servers of the lines, or the only server's client.
        prefix: the start of every key.
        lease_ms: how long taken entries may stay unsettled before they return to their lines.
    """

    def __init__(
        self, nodes: redis.Redis | RedisNodes, *, prefix: str, lease_ms: int = TAKEN_LEASE_MS
    ) -> None:
        self._nodes = RedisNodes.wrap(nodes)
        self._prefix = prefix
        self.servers = tuple(LineServer(client, prefix, lease_ms) for client in self._nodes.clients)
        self.open_hosts = OpenHosts(self._nodes, prefix=prefix)

    def park(self, entries: Sequence[LineEntry]) -> None:
        """Add requests to their domains' lines. Takes a round trip per server and 1,000 entries."""
        for client, group in self._nodes.group((entry.key, entry) for entry in entries):
            for start in range(0, len(group), MAX_ENTRIES_PER_CALL):
                _park(client, self._prefix, group[start : start + MAX_ENTRIES_PER_CALL])

    def waiting(self, keys: Sequence[str]) -> dict[str, int]:
        counts = dict.fromkeys(keys, 0)
        for server in self.servers if keys else ():
            for key, count in zip(keys, server.waiting(keys), strict=True):
                counts[key] += count
        return counts

    def check(self, keys: Sequence[str], after_ms: int) -> None:
        """Have the lines for `keys` checked within this time, on all servers."""
        for server in self.servers if keys else ():
            server.check(keys, after_ms)

    def longest(self, count: int) -> dict[str, int]:
        """Return the `count` longest lines with their lengths."""
        lines = [line for server in self.servers for line in server.longest(count)]
        return dict(sorted(lines, key=lambda line: -line[1])[:count])

    def total(self) -> int:
        return sum(server.total() for server in self.servers)

    def waiting_for_rules(self) -> int:
        """Return how many requests wait for a robots.txt."""
        return sum(server.total(rules_only=True) for server in self.servers)

    def contents(self, key: str, limit: int) -> list[bytes]:
        """Return the payloads of a line's first `limit` requests."""
        payloads: list[bytes] = []
        for server in self.servers:
            payloads += server.contents(key, limit - len(payloads))
        return payloads


class LineServer:
    """The lines on one server."""

    def __init__(self, client: redis.Redis, prefix: str, lease_ms: int) -> None:
        self._redis = client
        self._lease_ms = lease_ms
        self._prefix = prefix
        self._lists = f"{prefix}{LIST_PREFIX}"
        self._due, self._waiting = f"{prefix}lines2:due", f"{prefix}lines2:waiting"
        self._taken, self._leases = f"{prefix}lines2:taken", f"{prefix}lines2:leases"
        self._shares = f"{prefix}lines2:shares"

    def claim_due(self, limit: int) -> dict[str, DueLine]:
        """Claim up to `limit` due lines. Returns them by key."""
        with _translate_errors():
            has_old_lines, *reply = _script("line_due").run(
                self._redis,
                due=self._due,
                waiting=self._waiting,
                taken=self._taken,
                leases=self._leases,
                shares=self._shares,
                old_due=f"{self._prefix}lines:due",
                old_leases=f"{self._prefix}lines:leases",
                most=limit,
                lease_ms=CHECK_LEASE_MS,
                prefix_bytes=len(self._lists.encode()),
            )
        if has_old_lines:
            self.move_old()
        parts = zip(reply[::3], reply[1::3], reply[2::3], strict=True)
        return {key.decode(): DueLine(count, _parse_shares(text)) for key, count, text in parts}

    def move_old(self) -> int:
        """
        Move up to 1,000 entries out of lines created by version 0.1. Returns how many such lines
        are left.
        """
        with _translate_errors():
            remaining = _script("line_move").run(
                self._redis,
                due=self._due,
                waiting=self._waiting,
                shares=self._shares,
                old_due=f"{self._prefix}lines:due",
                old_waiting=f"{self._prefix}lines:waiting",
                old_taken=f"{self._prefix}lines:taken",
                old_leases=f"{self._prefix}lines:leases",
                prefix=self._lists,
                old_prefix=f"{self._prefix}line:",
                most=MAX_ENTRIES_PER_CALL,
            )
        return int(remaining)

    def take(
        self, counts: Mapping[str, int], costs: Mapping[str, Mapping[int, int]] | None = None
    ) -> tuple[str, list[TakenEntry]]:
        """
        Take up to `counts` entries from the domains' lines, most urgent first.

        Args:
            counts: how many entries to take, by domain.
            costs: by domain and share, the cost of a request with priority 5, if not `USUAL_COST`.
                `CLOSED` takes nothing from the share.

        Returns the token for `settle`, and the entries.
        """
        token, costs = secrets.token_hex(8), costs or {}
        with _translate_errors():
            reply = _script("line_take").run(
                self._redis,
                waiting=self._waiting,
                taken=self._taken,
                leases=self._leases,
                shares=self._shares,
                token=token,
                lease_ms=self._lease_ms,
                prefix=self._lists,
                asks=[
                    value
                    for key, count in counts.items()
                    for value in (key, count, _format_costs(costs.get(key, {})))
                ],
            )
        return token, list(self._parse_entries(reply))

    def _parse_entries(self, reply: Sequence[bytes]) -> Iterator[TakenEntry]:
        prefix = len(self._lists.encode())
        for location in zip(reply[::2], reply[1::2], strict=True):
            priority, _, key = location[0][prefix:].split(b":", 2)
            delay_s, _, payload = location[1].partition(b"|")
            crawl_delay_s = float(delay_s) if delay_s else None
            yield TakenEntry(key.decode(), int(priority), crawl_delay_s, payload, location)

    def settle(
        self, token: str, entries_to_return: Sequence[TakenEntry], check_after_ms: Mapping[str, int]
    ) -> dict[str, frozenset[int]]:
        """
        Finish a `take`: put some entries back at the front, and set when to check the lines again.

        Args:
            token: from `take`.
            entries_to_return: the entries to put back, in the order in which they were taken.
            check_after_ms: by domain, for every line that `claim_due` returned.

        Returns, for each of these lines, the shares that still have requests.
        """
        with _translate_errors():
            shares = _script("line_settle").run(
                self._redis,
                due=self._due,
                waiting=self._waiting,
                taken=self._taken,
                leases=self._leases,
                shares=self._shares,
                token=token,
                prefix=self._lists,
                returned=len(entries_to_return),
                rest=[
                    *(part for entry in entries_to_return for part in entry.location),
                    *(part for check in check_after_ms.items() for part in check),
                ],
            )
        return dict(zip(check_after_ms, map(_parse_shares, shares), strict=True))

    def domains(self) -> Iterator[str]:
        with _translate_errors():
            for key, _ in self._redis.zscan_iter(self._due, count=1_000):
                yield key.decode()

    def check_now(self, keys: Iterable[str]) -> None:
        with _translate_errors():
            scores = dict.fromkeys(keys, 0)
            if scores:
                self._redis.zadd(self._due, scores, xx=True)

    def check(self, keys: Iterable[str], after_ms: int) -> None:
        """Have lines checked within this time, even lines created in the meantime."""
        with _translate_errors():
            _script("line_check").run(
                self._redis, due=self._due, after_ms=after_ms, domains=list(keys)
            )

    def waiting(self, keys: Sequence[str]) -> list[int]:
        with _translate_errors():
            scores = cast("list[Any]", self._redis.zmscore(self._waiting, list(keys)))
        return [int(score or 0) for score in scores]

    def longest(self, count: int) -> list[tuple[str, int]]:
        with _translate_errors():
            lines: Any = self._redis.zrevrange(self._waiting, 0, count - 1, withscores=True)
        return [(key.decode(), int(score)) for key, score in lines]

    def total(self, *, rules_only: bool = False) -> int:
        """
        Return how many requests wait in all lines, or only for a robots.txt. Reads every line's
        length.
        """
        with _translate_errors():
            return sum(
                int(score)
                for key, score in self._redis.zscan_iter(self._waiting, count=1000)
                if not rules_only or is_rules_line(key.decode())
            )

    def contents(self, key: str, limit: int) -> list[bytes]:
        lists = self._list_names(key)
        with _translate_errors(), self._redis.pipeline(transaction=False) as pipe:
            for name in lists:
                pipe.lrange(name, 0, max(0, limit - 1))
            line_entries = [entry for entries in pipe.execute() for entry in entries]
        return [entry.partition(b"|")[2] for entry in line_entries[:limit]]

    def walk(self, key: str) -> Iterator[bytes]:
        """Yield a line's payloads. Requests that move in the meantime may be missed or repeated."""
        for name in self._list_names(key):
            start = 0
            while True:
                with _translate_errors():
                    entries = cast(
                        "list[bytes]",
                        self._redis.lrange(name, start, start + MAX_ENTRIES_PER_CALL - 1),
                    )
                yield from (entry.partition(b"|")[2] for entry in entries)
                start += len(entries)
                if len(entries) < MAX_ENTRIES_PER_CALL:
                    break

    def _list_names(self, key: str) -> list[str]:
        """Return the keys of a line's Redis lists, most urgent first."""
        with _translate_errors():
            text = cast("bytes | None", self._redis.hget(self._shares, key)) or b""
        priorities_and_shares = sorted(
            (priority, int(share))
            for share, _, _, priorities in (
                share_text.split(":") for share_text in text.decode().split()
            )
            for priority in priorities
        )
        return [
            f"{self._lists}{priority}:{share}:{key}" for priority, share in priorities_and_shares
        ]


def _park(client: redis.Redis, prefix: str, entries: Sequence[LineEntry]) -> None:
    lists = f"{prefix}{LIST_PREFIX}"
    with _translate_errors():
        _script("line_park").run(
            client,
            due=f"{prefix}lines2:due",
            waiting=f"{prefix}lines2:waiting",
            shares=f"{prefix}lines2:shares",
            lists=[f"{lists}{entry.priority}:{entry.share}:{entry.key}" for entry in entries],
            prefix_bytes=len(lists.encode()),
            entries=[value for entry in entries for value in _script_values(entry)],
        )


def _script_values(entry: LineEntry) -> tuple[int, int, bytes]:
    delay = b"" if entry.crawl_delay_s is None else f"{entry.crawl_delay_s:g}".encode()
    return max(0, entry.check_after_ms), int(entry.to_front), delay + b"|" + entry.payload


def _parse_shares(text: bytes) -> frozenset[int]:
    """
    Return the shares that have entries. Redis keeps other shares only because they used more slots
    than they were due.
    """
    parts = (part.split(b":") for part in text.split())
    return frozenset(int(share) for share, _, _, priorities in parts if priorities)


def _format_costs(costs: Mapping[int, int]) -> str:
    return "".join(f" {share}={cost}" for share, cost in costs.items())


def _script(name: str) -> LuaScript:
    return load_script("aragog.crawl.politeness", name, prelude="line_prelude")


def _translate_errors() -> AbstractContextManager[None]:
    return redis_errors("redis, lines of domains")
