"""
What the processes of a crawl share in Redis, besides its requests: who is there, and what was seen.

All of them run the same spider with the same arguments. Requests are remembered by their
fingerprints, 20 bytes each. A crawl without a name of its own ends when its requests are done and
its last process leaves; the next process begins it again.
"""

from __future__ import annotations

from collections.abc import Sequence

import redis

from pinlater.redis.errors import redis_errors
from pinlater.redis.scripts import load_script

LEASE_MS = 60_000
"""How long a process counts as present that said so and was killed."""
KEEP_MS = 7 * 86_400_000
"""How long a crawl is remembered that no process continues."""
_WHERE = "the state of a crawl in redis.url"


class OtherSpider(Exception):
    """The crawl belongs to another spider, or to one with other arguments: `description`."""

    def __init__(self, description: str) -> None:
        super().__init__(description)
        self.description = description


class OthersRun(Exception):
    """Other processes are in the crawl: `processes`."""

    def __init__(self, processes: int) -> None:
        super().__init__(processes)
        self.processes = processes


class CrawlState:
    """
    One crawl's state. Thread-safe.

    Every method raises `BrokerUnavailable` when Redis does not answer; all are safe to repeat.

    Args:
        client: of `redis.url`; connects on first use.
        prefix: the start of every key.
        crawl: its name.
        member: this process's name.
    """

    def __init__(self, client: redis.Redis, *, prefix: str, crawl: str, member: str) -> None:
        self._redis = client
        self._member = member
        start = f"{prefix}scrapy:{crawl}:"
        self._members, self._seen = f"{start}members", f"{start}seen"
        self._spider = f"{start}spider"

    def join(
        self,
        description: str = "",
        *,
        begins: bool = False,
        waits: bool = False,
        tries: bool = False,
        alone: bool = False,
    ) -> int:
        """
        Join the crawl, or stay in it; returns how many processes are in it.

        Args:
            description: of the spider and its arguments; empty to stay.
            begins: no request waits or runs. If no other process is there, a new crawl begins, and
                what the last one had seen is forgotten.
            waits: requests wait or run.
            tries: only find out whether it may join.
            alone: join only if no other process is in the crawl.

        Raises:
            OthersRun: `alone`, and others are in it. Nothing changed.
            OtherSpider: another process runs the crawl, or its requests wait, with another
                description. Nothing changed.
        """
        with redis_errors(_WHERE):
            script = load_script("aragog.addons.scrapy", "crawl_join")
            answer = script.run(
                self._redis,
                members=self._members,
                seen=self._seen,
                spider=self._spider,
                member=self._member,
                lease_ms=LEASE_MS,
                keep_ms=KEEP_MS,
                begins=int(begins),
                waits=int(waits),
                description=description,
                tries=int(tries),
                alone=int(alone),
            )
        if isinstance(answer, bytes):
            raise OtherSpider(answer.decode())
        if answer < 0:
            raise OthersRun(-answer)
        return int(answer)

    def leave(self, *, over: bool) -> int:
        """Leave; returns how many are left. `over`: with the last one, forget what was seen."""
        with redis_errors(_WHERE):
            script = load_script("aragog.addons.scrapy", "crawl_leave")
            return int(
                script.run(
                    self._redis,
                    members=self._members,
                    seen=self._seen,
                    spider=self._spider,
                    member=self._member,
                    over=int(over),
                )
            )

    def has_seen(self, fingerprint: bytes) -> bool:
        """Whether the request was remembered; one round trip."""
        with redis_errors(_WHERE):
            return bool(self._redis.smismember(self._seen, [fingerprint])[0])

    def remember(self, fingerprints: Sequence[bytes]) -> bool:
        """Remember requests; returns whether one of them is new. One round trip."""
        with redis_errors(_WHERE):
            return bool(self._redis.sadd(self._seen, *fingerprints))

    def remembered(self) -> int:
        """How many requests are remembered; one round trip."""
        with redis_errors(_WHERE):
            return int(self._redis.scard(self._seen))

    def forget(self) -> None:
        """Forget all requests; one round trip."""
        with redis_errors(_WHERE):
            self._redis.delete(self._seen)
