"""Wake a worker when Redis has new jobs, with a blocking pop on its queues' wake lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from redis.connection import Connection
from redis.exceptions import RedisError

if TYPE_CHECKING:
    from pinlater.redis_shard import RedisShard

WAIT_S = 1
"""Timeout of one blocking pop."""
OVERDUE_S = 5.0
"""If a pop takes longer than this, its connection is considered dead."""


class RedisPoller:
    """A blocking pop on one shard's wake lists, on its own connection."""

    check_every_s = 1.0

    def __init__(self, shard: RedisShard) -> None:
        self.shard = shard
        self.connection: Connection | None = None
        self.waiting_since_s: float | None = None
        self._queues: Sequence[str] = ()

    @property
    def fileno(self) -> int | None:
        sock = getattr(self.connection, "_sock", None)
        return None if sock is None else int(sock.fileno())

    def must_send(self, now_s: float) -> bool:  # noqa: ARG002
        return self.waiting_since_s is None

    def is_overdue(self, now_s: float) -> bool:
        return self.waiting_since_s is not None and now_s - self.waiting_since_s > OVERDUE_S

    def send(self, queues: Sequence[str], now_s: float) -> None:
        if self.connection is None:
            pool: Any = self.shard.client.connection_pool
            # Not from the pool, because this connection is never returned.
            self.connection = pool.connection_class(**pool.connection_kwargs)
        try:
            # `send_command` alone would connect to the default address without asking Sentinel.
            self.connection.connect()
            self.connection.send_command("BRPOP", *map(self.shard.wake_key, queues), WAIT_S)
        except RedisError as error:
            raise ConnectionError(str(error)) from error
        self._queues, self.waiting_since_s = queues, now_s

    def read(self) -> tuple[str, ...]:
        self.waiting_since_s = None
        try:
            reply: Any = self.connection and self.connection.read_response()
        except RedisError as error:
            raise ConnectionError(str(error)) from error
        key = reply[0].decode() if reply else None
        return tuple(queue for queue in self._queues if self.shard.wake_key(queue) == key)

    def drop(self) -> None:
        connection, self.connection, self.waiting_since_s = self.connection, None, None
        if connection is not None:
            connection.disconnect()  # type: ignore[no-untyped-call]
