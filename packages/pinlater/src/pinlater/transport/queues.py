"""
A channel's queues. Each has jobs on every shard, and kombu's own list on the first server.

In kombu, the process that declares a list also sets its expiry. Workers send replies without
declaring lists, so the reply lists of dead callers would stay forever. Therefore a reply's sender
sets the expiry.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kombu.utils.imports import symbol_by_name
from redis.exceptions import ExecAbortError, OutOfMemoryError

from pinlater.admin import BeforeDelete, delete_some
from pinlater.claims import ClaimRegistry, claims_for
from pinlater.cluster import Cluster
from pinlater.errors import BrokerUnavailable
from pinlater.models import JobState, Sizes
from pinlater.redis.errors import redis_errors
from pinlater.shard import MAX_BATCH, ServerShard
from pinlater.transport.connections import SingleClientChannel

logger = logging.getLogger(__name__)

CONTROL_REPLY_TTL_MS = 3_600_000
"""How long remote control's replies are kept; callers wait only seconds."""
RESULT_TTL_MS = 7 * 86_400_000
"""How long results of `rpc://` are kept after the last one arrives; Celery's default is a day."""
_CONTROL_REPLY = re.compile(r"\.reply\.[^.]+\.pidbox$")
_RESULT_QUEUE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def reply_ttl_ms(queue: str) -> int | None:
    """Return how long a reply queue is kept (ms), or None for other queues."""
    if _CONTROL_REPLY.search(queue):
        return CONTROL_REPLY_TTL_MS
    return RESULT_TTL_MS if _RESULT_QUEUE.fullmatch(queue) else None


class QueueChannel(SingleClientChannel):
    """A channel whose queues have jobs on every shard."""

    shards: Sequence[str] = ()
    claim_timeout_s = 60.0
    max_claim_s = 86_400.0
    before_delete: BeforeDelete | None = None
    publishes_only = False
    """
    True if the channel opens without the first server when another shard answers. A worker needs
    the first server; a program that only publishes needs it just for broadcasts and named
    exchanges.
    """

    from_transport_options: tuple[str, ...] = (  # type: ignore[assignment]
        *SingleClientChannel.from_transport_options,
        "shards",
        "claim_timeout_s",
        "max_claim_s",
        "before_delete",
        "publishes_only",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.before_delete = symbol_by_name(self.before_delete)

    @property
    def _is_first_optional(self) -> bool:
        return (
            self.publishes_only and bool(self.cluster.first_shard) and len(self.cluster.shards) > 1
        )

    @property
    def _is_first_down(self) -> bool:
        first_shard = self.cluster.first_shard
        return (
            self._is_first_optional
            and first_shard is not None
            and not self.cluster.is_usable(first_shard)
        )

    def _create_client(self, asynchronous: bool = False) -> Any:
        client = super()._create_client(asynchronous)
        if self._is_first_optional:
            client.ping = self.cluster.ping  # kombu opens a channel with a PING
        return client

    @property
    def urls(self) -> tuple[str, ...]:
        return (*self.connection.shard_urls, *self.shards)

    @property
    def claims(self) -> ClaimRegistry:
        registry = self.__dict__.get("_registry")
        if registry is None or registry[0] != os.getpid():
            claims = claims_for(
                self.urls,
                prefix=self.global_keyprefix,
                claim_timeout_s=self.claim_timeout_s,
                max_claim_s=self.max_claim_s,
            )
            registry = self.__dict__["_registry"] = (os.getpid(), claims)
        return registry[1]

    @property
    def cluster(self) -> Cluster:
        return self.claims.cluster

    def _usable_shards(self) -> Iterator[ServerShard]:
        """Yield usable shards, because a lost shard must not prevent a declaration."""
        for shard in self.cluster.shards:
            if isinstance(shard, ServerShard) and (
                len(self.cluster.shards) == 1 or self.cluster.is_usable(shard)
            ):
                yield shard

    @contextmanager
    def _reply_expiry(self, queue: str) -> Iterator[None]:
        """
        Set an expiry on replies that are sent in this block.

        kombu adds a message and sets its expiry from `_expires` in one transaction, so a killed
        sender leaves no reply without an expiry.
        """
        ttl_ms = reply_ttl_ms(queue)
        if ttl_ms is None or queue in self._expires:
            yield
            return
        self._expires[queue] = ttl_ms
        try:
            yield
        finally:
            del self._expires[queue]

    def _size(self, queue: str) -> int:
        sizes = Sizes()
        for shard in self._usable_shards():
            try:
                with self.cluster.track(shard):
                    sizes += shard.sizes(queue)
            except BrokerUnavailable:
                level = logging.DEBUG if queue in self.auto_delete_queues else logging.WARNING
                logger.log(level, "the size of %s does not include shard %s", queue, shard.name)
        return sizes.pending + self._count_list_messages(queue)

    def _count_list_messages(self, queue: str) -> int:
        """Count kombu's messages without a transaction, which a full server would refuse."""
        if self._is_first_down:
            return 0
        with self.conn_or_acquire() as client, client.pipeline(transaction=False) as pipe:
            for step in self.priority_steps:
                pipe.llen(self._q_for_pri(queue, step))
            return int(sum(pipe.execute()))

    def _queue_bind(self, exchange: str, *args: Any) -> None:
        if self._is_first_down:
            return  # tasks are published directly to their queue
        with redis_errors(f"broker, binding of {exchange}"):
            try:
                super()._queue_bind(exchange, *args)
            except (OutOfMemoryError, ExecAbortError):
                # Every connection binds again, and a full server refuses even existing bindings.
                if not self._is_bound(exchange, *args):
                    raise

    def _is_bound(self, exchange: str, routing_key: str, pattern: str, queue: str) -> bool:
        member = self.sep.join([routing_key or "", pattern or "", queue or ""])
        with self.conn_or_acquire() as client:
            return bool(client.sismember(self.keyprefix_queue % (exchange,), member))

    def _has_queue(self, queue: str, **kwargs: Any) -> bool:
        return bool(super()._has_queue(queue, **kwargs)) or any(
            queue in shard.queues() for shard in self._usable_shards()
        )

    def _purge(self, queue: str) -> int:
        purged = 0
        for shard in self._usable_shards():
            purged += self._delete_jobs(shard, queue, JobState.PENDING)
        return purged + int(super()._purge(queue))

    def _delete_jobs(self, shard: ServerShard, queue: str, state: JobState) -> int:
        deleted = 0
        while count := delete_some(shard, queue, state, MAX_BATCH, self.before_delete):
            deleted += count
        return deleted

    def _delete(self, queue: str, *args: Any, **kwargs: Any) -> None:
        for shard in self._usable_shards():
            try:
                self._drop(shard, queue)
            except BrokerUnavailable:
                # Such queues contain only replies, on the first server.
                if queue not in self.auto_delete_queues:
                    raise
        super()._delete(queue, *args, **kwargs)

    def _drop(self, shard: ServerShard, queue: str) -> None:
        if self.before_delete is not None:
            for state in (JobState.PENDING, JobState.FAILED):
                self._delete_jobs(shard, queue, state)
        shard.drop(queue)
