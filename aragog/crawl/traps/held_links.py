"""
Held links (links waiting for a verdict) and links left out because of traps, by crawl.

    traps.links:<host>  hash  `<crawl number> <link>` -> its options for enqueuing, as JSON
    traps.waiting       zset  host with held links -> when they last changed (s)
    crawl:<n>           hash  `of held`: number of held links; `of trap`: number left out
    crawl:<n>:left      hash  bucket -> codes of the links that were left out, 6 bytes each

All data about a host is on one of the `redis.nodes`. The host's name determines which one. Each
server counts the links it stores for each crawl. For a crawl, a link is held, left out, or neither.
One script changes that state. It changes the counts only if a link was really added or removed, so
a batch that runs twice counts nothing twice.

A crawl is not done while it has held links. They do not expire: a periodic sweep releases them or
drops them for good (`aragog.crawl.stages.held_link_sweep`).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple, cast

from aragog.crawl.shared_redis.nodes import RedisNodes
from pinlater.redis.errors import redis_errors
from pinlater.redis.scripts import load_script
from urlspelling import url_key

MAX_HELD = 10_000
MAX_LEFT = 1_000_000
"""Maximum number of left-out links that one server counts for a crawl. They take 7 MB."""
LOOKED_AT = 500
"""How many of a host's held links are checked when one of its pages arrives."""
CODE_BYTES = 6
_BUCKETS = 4_096
_WHERE = "redis, held links of hosts"


class Move(StrEnum):
    """What happens to a link."""

    HOLD = "h"
    FOLLOW = "f"
    LEAVE_OUT = "d"
    LEAVE_OUT_UNHELD = "u"
    """Left out unless it is held, because the page it was found on says nothing new."""
    FORGET = "x"
    """Removed, because its crawl has ended."""


class HeldLink(NamedTuple):
    """A link waiting for a verdict."""

    crawl: int
    url: str
    options: bytes
    """Its options for enqueuing, as JSON."""


class MovedLink(NamedTuple):
    """A link of a crawl, and what happens to it."""

    move: Move
    crawl: int
    url: str
    options: bytes = b""


class Moved(NamedTuple):
    """The result of `HeldLinks.move`."""

    held: int
    """Number of the host's held links."""
    left_out: int
    """Number of links that are now counted as left out."""
    taken_back: int
    """Number of links that are no longer counted as left out."""


class HeldLinks:
    """
    The held and left-out links of all hosts. Thread-safe. Every call may raise `BrokerUnavailable`.

    Args:
        nodes: the Redis servers that share the hosts.
        prefix: prefix of all keys.
        max_held: maximum number of held links per host. Additional links are left out.
    """

    def __init__(self, nodes: RedisNodes, *, prefix: str, max_held: int = MAX_HELD) -> None:
        self._nodes, self._max_held = nodes, max_held
        self._links, self._waiting = f"{prefix}traps.links:", f"{prefix}traps.waiting"
        self._crawls = f"{prefix}crawl:"

    def move(self, host: str, moves: Iterable[MovedLink]) -> Moved:
        """Store what happens to these links of a host. Takes one round trip."""
        with redis_errors(_WHERE):
            found = load_script("aragog.crawl.traps", "traps_move").run(
                self._nodes.client(host),
                held=self._links + host,
                waiting=self._waiting,
                host=host,
                crawls=self._crawls,
                max_held=self._max_held,
                max_left=MAX_LEFT,
                moves=[value for one in moves for value in _values(one)],
            )
        return Moved(*map(int, found))

    def some(self, host: str) -> list[HeldLink]:
        """Return a random sample of a host's held links, at most `LOOKED_AT`."""
        with redis_errors(_WHERE):
            found: Any = self._nodes.client(host).hrandfield(self._links + host, LOOKED_AT, True)
        return [_link(found[at], found[at + 1]) for at in range(0, len(found), 2)]

    def all(self, host: str) -> list[HeldLink]:
        """Return all held links of a host, at most `MAX_HELD`."""
        with redis_errors(_WHERE):
            found: Any = self._nodes.client(host).hgetall(self._links + host)
        return [_link(name, options) for name, options in found.items()]

    def hosts(self, most: int) -> dict[str, int]:
        """
        Return hosts with held links, and the seconds since their last change, longest first.

        Returns at most `most` hosts per server.
        """
        ages: dict[str, int] = {}
        with redis_errors(_WHERE):
            for client in self._nodes.clients:
                now_s = int(cast("Any", client.time())[0])
                names: Any = client.zrange(self._waiting, 0, most - 1, withscores=True)
                ages |= {name.decode(): now_s - int(at_s) for name, at_s in names}
        return dict(sorted(ages.items(), key=lambda item: -item[1]))

    def looked_at(self, host: str) -> None:
        """Record that the sweep checked a host's held links and changed nothing."""
        self.move(host, ())


def _values(one: MovedLink) -> tuple[Any, ...]:
    key = url_key(one.url)
    bucket = int.from_bytes(key[:2]) % _BUCKETS
    return one.move.value, one.crawl, one.url, one.options, bucket, key[2 : 2 + CODE_BYTES]


def _link(name: bytes, options: bytes) -> HeldLink:
    crawl, _, url = name.decode().partition(" ")
    return HeldLink(int(crawl), url, options)
