"""
Records which store a Redis server belongs to, to detect workers that use another store.

The first process writes the record, and all others compare it with their store. Workers that share
a Redis server share its jobs, so they must also share a store. Otherwise, two machines with an
embedded store each would silently split the pages between them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import orjson
import redis

from aragog.fetch_record.known_fields import known_fields
from pinlater.redis.errors import redis_errors


@dataclass(frozen=True, slots=True)
class StoreIdentity:
    """A store and its location when the record was written."""

    id: str
    engine: str
    where: str
    """Host and folder, or gateways, for display."""

    def __str__(self) -> str:
        return f"{self.engine} {self.where} (store id {self.id})"


class StoreClaim:
    """The record in Redis. Every call raises `BrokerUnavailable` if Redis does not respond."""

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._key = f"{prefix}store"

    def owner(self) -> StoreIdentity | None:
        """Return the store that this Redis belongs to, or None."""
        with redis_errors("store id"):
            return _parse_identity(self._redis.get(self._key))  # type: ignore[arg-type]

    def claim(self, mine: StoreIdentity) -> StoreIdentity:
        """Return the store that this Redis belongs to. An unclaimed Redis is assigned to `mine`."""
        with redis_errors("store id"):
            self._redis.set(self._key, orjson.dumps(asdict(mine)), nx=True)
        return self.owner() or mine

    def take(self, mine: StoreIdentity) -> None:
        """Assign this Redis to `mine`, even if it belonged to another store."""
        with redis_errors("store id"):
            self._redis.set(self._key, orjson.dumps(asdict(mine)))


def _parse_identity(value: bytes | None) -> StoreIdentity | None:
    try:
        return (
            None
            if value is None
            else StoreIdentity(**known_fields(StoreIdentity, orjson.loads(value)))
        )
    except (ValueError, TypeError):
        return None


def conflict_message(
    mine: StoreIdentity, owner: StoreIdentity | None, redis_url: str
) -> str | None:
    """Return an error message if this Redis belongs to another store; otherwise None."""
    if owner is None or owner.id == mine.id:
        return None
    return (
        f"redis.url: {redis_url} belongs to another store, {owner}; this one is {mine}. Workers "
        "that share a Redis must share one store, or the pages are split between them: set "
        "store.engine to hbase on all machines, or give this one its own Redis. If the other "
        "store no longer exists, run `aragog store adopt` here"
    )
