"""
The rows of the crawl log that are in no file yet: one Redis stream, about 500 bytes a row.

The ids of a stream never go back, even if the server's clock does. So once a span of time has
passed, the rows of that span are final: everyone who reads them reads the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import redis

from aragog.redis_kit.errors import redis_errors
from aragog.redis_kit.scripts import load_script

PAGE_ROWS = 5000


class CrawlLogStream:
    """
    The stream. Every method raises `BrokerUnavailable` if Redis does not answer.

    Args:
        client: of the server of `redis.url`.
        prefix: put before every key.
    """

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._key = f"{prefix}crawl_log"

    def add(self, rows: Sequence[bytes]) -> None:
        """Append rows, in one round trip, also while the server's memory is full."""
        if rows:
            with redis_errors("crawl log"):
                load_script("aragog.pipeline", "crawl_log_add").run(
                    self._redis, crawl_log=self._key, rows=rows
                )

    def now_ms(self) -> int:
        """The time by the clock that makes the ids."""
        with redis_errors("crawl log"):
            seconds, micros = self._redis.time()
        return seconds * 1000 + micros // 1000

    def first(self) -> bytes | None:
        """The id of the oldest row; None: there are none."""
        with redis_errors("crawl log"):
            entries = cast("list[Any]", self._redis.xrange(self._key, count=1))
        return entries[0][0] if entries else None

    def has(self, row_id: bytes) -> bool:
        """Whether the row is still in the stream."""
        with redis_errors("crawl log"):
            return bool(self._redis.xrange(self._key, row_id, row_id))

    def pages(self, from_id: bytes, until_ms: int) -> Iterator[list[tuple[int, bytes]]]:
        """Pages of (time in ms, row), from an id to an instant (exclusive), in order."""
        start = from_id.decode()
        while True:
            with redis_errors("crawl log"):
                entries = cast(
                    "list[Any]",
                    self._redis.xrange(self._key, start, str(until_ms - 1), count=PAGE_ROWS),
                )
            if not entries:
                return
            yield [(at_ms(row_id), row[b"r"]) for row_id, row in entries]
            start = f"({entries[-1][0].decode()}"

    def forget(self, until_ms: int) -> None:
        """Remove the rows before an instant, all at once. Safe to repeat."""
        with redis_errors("crawl log"):
            self._redis.xtrim(self._key, minid=f"{until_ms}-0", approximate=False)

    def waiting(self) -> int:
        """How many rows are in no file yet."""
        with redis_errors("crawl log"):
            return self._redis.xlen(self._key)


def at_ms(row_id: bytes) -> int:
    """When the row of that id was added, in ms since the epoch."""
    return int(row_id.partition(b"-")[0])
