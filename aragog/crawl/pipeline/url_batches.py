"""
Batches of enqueued URLs. A batch records which URLs a producer enqueued together, to report how
many are left.

A batch is a Redis list with one element per call. An element maps rate-limit keys (of domains) to
the keys of the call's URLs. The remaining time is estimated from the domains' slots (times reserved
for requests). The empty key contains the earliest time at which the URLs may be fetched. A URL is
done when it is no longer in flight, and counts as not done if it is enqueued again.
"""

from __future__ import annotations

import re
import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import redis

from aragog.crawl.pipeline.in_flight import ENTRY_TTL_S, expiry_s
from aragog.errors import BadInput
from pinlater.redis.errors import redis_errors
from urlspelling import url_key

MAX_CALLS = 100
"""Maximum number of calls per batch. Each call has up to 1,000 URLs (32 KB in Redis)."""
TTL_S = ENTRY_TTL_S + 86_400
"""How long a batch is kept after its most recent call. By then its URLs are no longer in flight,
except those of named crawls."""
ERROR_SOURCE = "redis, batches"
_ID = re.compile(r"[A-Za-z0-9_-]{8,64}", re.ASCII)
_MAX_KEYS_PER_READ = 5000
_NOT_BEFORE_FIELD = ""


@dataclass(frozen=True, slots=True)
class BatchState:
    """The URLs left in a batch."""

    total: int
    in_flight: Mapping[str, int]
    """Number of URLs left, by rate-limit key."""
    not_before_ms: Mapping[str, int]
    """For each rate-limit key, the latest of the URLs' earliest fetch times."""


class UrlBatches:
    """The batches of one installation. Every call may raise `BrokerUnavailable`."""

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._prefix = prefix

    def add(
        self, batch: str | None, urls: Mapping[str, Iterable[str]], not_before_ms: int = 0
    ) -> str:
        """
        Add normalized URLs to a batch. Returns its ID.

        Args:
            batch: the batch's ID; None for a new batch.
            urls: normalized URLs by rate-limit key.
            not_before_ms: the URLs are not fetched before this time; 0 if they may be fetched now.

        Raises:
            BadInput: the ID is malformed, or `MAX_CALLS` calls have already added URLs to the
                batch.
        """
        batch = secrets.token_urlsafe(12) if batch is None else check_id(batch)
        call: dict[str, str | int] = {
            domain: b"".join(map(url_key, domain_urls)).hex()
            for domain, domain_urls in urls.items()
        }
        if not_before_ms:
            call[_NOT_BEFORE_FIELD] = not_before_ms
        key = f"{self._prefix}batch:{batch}"
        with redis_errors(ERROR_SOURCE):
            if int(self._redis.llen(key)) >= MAX_CALLS:
                raise BadInput(f"batch: {MAX_CALLS} calls have added to it; start another one")
            with self._redis.pipeline() as pipe:
                pipe.rpush(key, orjson.dumps(call))
                pipe.expire(key, TTL_S)
                pipe.execute()
        return batch

    def state(self, batch: str) -> BatchState | None:
        """
        Return the URLs left in a batch; None for an unknown batch.

        Takes two round trips per domain with up to 5,000 URLs, and more for larger domains.
        """
        with redis_errors(ERROR_SOURCE):
            calls = self._redis.lrange(f"{self._prefix}batch:{check_id(batch)}", 0, -1)
        if not calls:
            return None
        by_domain: dict[str, set[bytes]] = defaultdict(set)
        not_before_ms: dict[str, int] = {}
        for call in calls:
            keys_by_domain = orjson.loads(call)
            at_ms = keys_by_domain.pop(_NOT_BEFORE_FIELD, 0)
            for domain, keys in keys_by_domain.items():
                if at_ms > not_before_ms.get(domain, 0):
                    not_before_ms[domain] = at_ms
                data = bytes.fromhex(keys)
                by_domain[domain].update(
                    data[start : start + 16] for start in range(0, len(data), 16)
                )
        counts = {domain: self._count_in_flight(list(keys)) for domain, keys in by_domain.items()}
        total = sum(map(len, by_domain.values()))
        in_flight = {domain: count for domain, count in counts.items() if count}
        return BatchState(total, in_flight, not_before_ms)

    def _count_in_flight(self, keys: list[bytes]) -> int:
        count = 0
        with redis_errors(ERROR_SOURCE):
            now_s = self._redis.time()[0]
            for start in range(0, len(keys), _MAX_KEYS_PER_READ):
                entries: Any = self._redis.hmget(
                    f"{self._prefix}in_flight", keys[start : start + _MAX_KEYS_PER_READ]
                )
                count += sum(1 for entry in entries if entry and expiry_s(entry) > now_s)
        return count


def check_id(batch: str) -> str:
    """Return the ID. Raises BadInput if it is malformed."""
    if not _ID.fullmatch(batch):
        raise BadInput("batch: must be an ID returned by POST /v1/enqueue")
    return batch
