"""
Links that wait for a verdict, and those that were left out as parts of traps, by crawl.

    traps.links:<host>  hash  number of a crawl, blank, link -> how it is enqueued, as JSON
    traps.waiting       zset  host with such links -> when they changed last (s)
    crawl:<n>           hash  `of held`: how many links wait for a verdict; `of trap`: were left out
    crawl:<n>:left      hash  bucket -> codes of the links that were left out, 6 bytes each

All of a host is on the server of its name among `redis.nodes`, with a part of the counts of each
crawl. A link is held or left out for a crawl, or neither. One script changes that and the counts
by whether the link was added or removed, so a batch that runs twice counts nothing twice.

Held links are a part of what a crawl still has to do: it is not done while it has some. Nothing
expires; upkeep releases them or closes them for good (`aragog.crawl.stages.held_link_sweep`).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple, cast

from aragog.crawl.shared_redis.nodes import RedisNodes
from pinlater.redis.errors import redis_errors
from pinlater.redis.scripts import load_script
from urlspelling import url_key

MOST_HELD = 10_000
MOST_LEFT = 1_000_000
"""Links that are counted as left out for a crawl on one server; they take 7 MB there."""
LOOKED_AT = 500
"""Held links of a host that are checked together when a page comes."""
CODE_BYTES = 6
_BUCKETS = 4_096
_WHERE = "redis, links of hosts that wait"


class Move(StrEnum):
    """What becomes of a link."""

    HOLD = "h"
    FOLLOW = "f"
    LEAVE_OUT = "d"
    LEAVE_OUT_UNHELD = "u"
    """Left out, unless it is held: a page that says nothing new names it."""
    FORGET = "x"
    """Its crawl has ended."""


class HeldLink(NamedTuple):
    """A link that waits for a verdict."""

    crawl: int
    url: str
    options: bytes
    """How it is enqueued, as JSON."""


class MovedLink(NamedTuple):
    """A link of a crawl, and what becomes of it."""

    move: Move
    crawl: int
    url: str
    options: bytes = b""


class Moved(NamedTuple):
    """What a call of `move` changed."""

    held: int
    """Links of the host that wait."""
    left_out: int
    """Links that are counted as left out now."""
    taken_back: int
    """Links that were, and are no longer."""


class HeldLinks:
    """
    One system's links. Thread-safe; every call may raise `BrokerUnavailable`.

    Args:
        nodes: the servers that share the hosts.
        prefix: put before every key.
        most_held: links of a host that wait; further ones are left out.
    """

    def __init__(self, nodes: RedisNodes, *, prefix: str, most_held: int = MOST_HELD) -> None:
        self._nodes, self._most_held = nodes, most_held
        self._links, self._waiting = f"{prefix}traps.links:", f"{prefix}traps.waiting"
        self._crawls = f"{prefix}crawl:"

    def move(self, host: str, moves: Iterable[MovedLink]) -> Moved:
        """Write down what becomes of links of a host; one round trip."""
        with redis_errors(_WHERE):
            found = load_script("aragog.crawl.traps", "traps_move").run(
                self._nodes.client(host),
                held=self._links + host,
                waiting=self._waiting,
                host=host,
                crawls=self._crawls,
                most_held=self._most_held,
                most_left=MOST_LEFT,
                moves=[value for one in moves for value in _values(one)],
            )
        return Moved(*map(int, found))

    def some(self, host: str) -> list[HeldLink]:
        """Held links of a host, at most `LOOKED_AT`, at random."""
        with redis_errors(_WHERE):
            found: Any = self._nodes.client(host).hrandfield(self._links + host, LOOKED_AT, True)
        return [_link(found[at], found[at + 1]) for at in range(0, len(found), 2)]

    def all(self, host: str) -> list[HeldLink]:
        """All held links of a host, at most `MOST_HELD`."""
        with redis_errors(_WHERE):
            found: Any = self._nodes.client(host).hgetall(self._links + host)
        return [_link(name, options) for name, options in found.items()]

    def hosts(self, most: int) -> dict[str, int]:
        """
        Hosts with held links, those that have not changed for longest first; for how long (s).

        At most `most` of each server.
        """
        ages: dict[str, int] = {}
        with redis_errors(_WHERE):
            for client in self._nodes.clients:
                now_s = int(cast("Any", client.time())[0])
                names: Any = client.zrange(self._waiting, 0, most - 1, withscores=True)
                ages |= {name.decode(): now_s - int(at_s) for name, at_s in names}
        return dict(sorted(ages.items(), key=lambda item: -item[1]))

    def looked_at(self, host: str) -> None:
        """Note that upkeep looked at the held links of a host and left them as they are."""
        self.move(host, ())


def _values(one: MovedLink) -> tuple[Any, ...]:
    key = url_key(one.url)
    bucket = int.from_bytes(key[:2]) % _BUCKETS
    return one.move.value, one.crawl, one.url, one.options, bucket, key[2 : 2 + CODE_BYTES]


def _link(name: bytes, options: bytes) -> HeldLink:
    crawl, _, url = name.decode().partition(" ")
    return HeldLink(int(crawl), url, options)
