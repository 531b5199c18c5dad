"""
State that a crawl's processes share in Redis: members and seen requests.

All processes run the same spider with the same arguments. Requests are remembered by fingerprint,
20 bytes each. A crawl without a name ends when its requests are done and its last process leaves;
the next process starts it from the beginning.
"""

from __future__ import annotations

from collections.abc import Sequence

import redis

from pinlater.redis.errors import redis_errors
from pinlater.redis.scripts import load_script

LEASE_MS = 60_000
"""How long a killed process still counts as a member."""
KEEP_MS = 7 * 86_400_000
"""How long an abandoned crawl is remembered."""
_WHERE = "the state of a crawl in redis.url"


class OtherSpider(Exception):
    """The crawl has the spider and arguments in `description`, which differ from this process's."""

    def __init__(self, description: str) -> None:
        super().__init__(description)
        self.description = description


class CrawlRunning(Exception):
    """Other processes (`processes`) are members of the crawl."""

    def __init__(self, processes: int) -> None:
        super().__init__(processes)
        self.processes = processes


class CrawlState:
    """
    One crawl's state. Thread-safe.

    Every method is safe to repeat, and raises `BrokerUnavailable` if Redis does not respond.

    Args:
        client: the client for `redis.url`; connects on first use.
        prefix: the start of every key.
        crawl: the crawl's name.
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
        is_new_crawl: bool = False,
        has_requests: bool = False,
        check_only: bool = False,
        must_be_alone: bool = False,
    ) -> int:
        """
        Join the crawl, or renew the membership; returns the number of processes.

        Args:
            description: the spider and its arguments; empty to renew.
            is_new_crawl: True if no request is queued or running. If the crawl has no other
                process, it starts anew and forgets its seen requests.
            has_requests: True if requests are queued or running.
            check_only: only check if the process may join.
            must_be_alone: join only if no other process is in the crawl.

        Raises:
            CrawlRunning: `must_be_alone` is set, and other processes are in the crawl. Nothing
                changed.
            OtherSpider: the crawl runs or has queued requests under another description. Nothing
                changed.
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
                begins=int(is_new_crawl),
                waits=int(has_requests),
                description=description,
                check_only=int(check_only),
                alone=int(must_be_alone),
            )
        if isinstance(answer, bytes):
            raise OtherSpider(answer.decode())
        if answer < 0:
            raise CrawlRunning(-answer)
        return int(answer)

    def leave(self, *, is_over: bool) -> int:
        """
        Leave the crawl; returns how many processes are left.

        Args:
            is_over: if True, the last process to leave also forgets the seen requests.
        """
        with redis_errors(_WHERE):
            script = load_script("aragog.addons.scrapy", "crawl_leave")
            return int(
                script.run(
                    self._redis,
                    members=self._members,
                    seen=self._seen,
                    spider=self._spider,
                    member=self._member,
                    over=int(is_over),
                )
            )

    def has_seen(self, fingerprint: bytes) -> bool:
        """True if the request was seen before."""
        with redis_errors(_WHERE):
            return bool(self._redis.smismember(self._seen, [fingerprint])[0])

    def remember(self, fingerprints: Sequence[bytes]) -> bool:
        """Remember requests; returns True if any of them is new."""
        with redis_errors(_WHERE):
            return bool(self._redis.sadd(self._seen, *fingerprints))

    def seen_count(self) -> int:
        """Return how many requests were seen. Takes one round trip."""
        with redis_errors(_WHERE):
            return int(self._redis.scard(self._seen))

    def forget(self) -> None:
        """Forget all requests."""
        with redis_errors(_WHERE):
            self._redis.delete(self._seen)
