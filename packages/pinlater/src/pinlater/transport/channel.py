"""
The channel of `pinlater://`. Task messages become jobs; other messages use kombu's Redis lists.

Broadcasts, events and replies use kombu's own lists and pub/sub on the first server. Each queue is
read from its shards and from kombu's list, so messages left over from `redis://` are processed as
well.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from queue import Empty
from typing import Any

from kombu.transport import virtual
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from pinlater import doors, envelope, job_body, job_codec, publish_receipts
from pinlater.claims import TAG
from pinlater.clock import SystemClock
from pinlater.consumer import JobConsumer
from pinlater.errors import BrokerUnavailable, InvalidMessage
from pinlater.models import Claimed
from pinlater.redis.address import is_sentinel
from pinlater.redis.errors import redis_errors
from pinlater.shard import MAX_BATCH, ServerShard, ShardPoller
from pinlater.transport import connections, subscriptions
from pinlater.transport.publishing import JobBatch
from pinlater.transport.qos import QoS, is_job_tag
from pinlater.transport.queues import QueueChannel
from pinlater.transport.revocations import Revocations, get_revoked_ids

logger = logging.getLogger(__name__)

MAX_POSTPONE_S = 0.02
"""A claim waits at most this long for room for more jobs, so that it takes several."""

REPEATED_LOSS_S = 0.1
"""If two connections break within this time, the server counts as broken."""

CONNECTION_LOST = (ConnectionError, RedisConnectionError, RedisTimeoutError)

HEARTBEAT_PREFIX = "worker."
"""Prefix of routing keys for workers' heartbeats."""

_clock = SystemClock()


class HeartbeatNotSent(Exception):
    """
    Sending a worker's heartbeat failed. This is not a connection error, so kombu does not retry it.

    Celery makes kombu retry heartbeats forever. That would block the thread that must notice a
    hanging broker, reconnect, and obey a request to stop.
    """


class Channel(QueueChannel):
    """A kombu channel whose task messages are jobs."""

    QoS = QoS
    # kombu's own channel waits forever for a server that hangs.
    socket_timeout: float = 10.0  # type: ignore[assignment]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._unacknowledged: set[str] = set()
        # The tag of the message being delivered. Celery rejects an unknown task's message during
        # delivery.
        self.delivering_tag = ""
        self._consumer: JobConsumer | None = None
        self._postponed_at_s: float | None = None
        """When the current claim was first postponed; None if not postponed."""
        self._replaced_at_s = float("-inf")
        """When a lost connection was last replaced."""
        super().__init__(*args, **kwargs)
        self._revocations = Revocations(self.global_keyprefix)
        # Unless optional, the first server has just answered a PING.
        self.cluster.record_channel_open(first_answered=not self._is_first_optional)

    # Publishing

    def _put(self, queue: str, message: dict[str, Any], **kwargs: Any) -> None:
        if not envelope.is_job(message):
            with self._reply_expiry(queue):
                super()._put(queue, message, **kwargs)
            return
        priority, now = self._get_message_priority(message), datetime.now(UTC)
        batch = kwargs.get("_publish_batch")
        if envelope.is_collected(message):
            frame, items = envelope.to_items(message, priority=priority, now=now)
            if batch is not None:
                batch.collect(queue, frame, items)
            else:
                self.cluster.collect(queue, frame, items)
            return
        job = envelope.to_job(message, priority=priority, now=now)
        if batch is not None:
            batch.put(queue, job)
        else:
            publish_receipts.add(self.cluster.enqueue(queue, [job])[0])

    def _put_fanout(self, exchange: str, message: Any, routing_key: str, **kwargs: Any) -> None:
        if ids := get_revoked_ids(exchange, message):
            # Store them before the broadcast: a starting worker reads them, and running workers get
            # the broadcast.
            with self.conn_or_acquire() as client:
                self._revocations.add(client, ids)
        try:
            super()._put_fanout(exchange, message, routing_key, **kwargs)
        except self.connection_errors as error:
            if not routing_key.startswith(HEARTBEAT_PREFIX):
                raise
            raise HeartbeatNotSent(str(error) or type(error).__name__) from error

    def create_publish_batch(self, max_size: int) -> JobBatch:
        return JobBatch(self, max_size)

    # Consuming

    @property
    def job_queues(self) -> list[str]:
        """Return the consumed queues that may contain jobs, not reply queues."""
        reply_queues = self._reply_queues
        return [queue for queue in self.active_queues if queue not in reply_queues]

    @property
    def _reply_queues(self) -> set[str]:
        return self._unacknowledged & (self.auto_delete_queues | self._expires.keys())

    @property
    def consumer(self) -> JobConsumer:
        if self._consumer is None:
            self._consumer = JobConsumer(self.claims, self._deliver_job)
            self._log_config_warnings()
        return self._consumer

    def _log_config_warnings(self) -> None:
        """Log servers' configuration problems; the worker starts anyway."""
        for shard in self._usable_shards():
            with suppress(BrokerUnavailable):
                for warning in shard.config_warnings():
                    logger.warning("shard %s %s", shard.name, warning)

    @property
    def pollers(self) -> list[ShardPoller]:
        return self._consumer.pollers if self._consumer else []

    def basic_consume(self, queue: str, no_ack: bool, *args: Any, **kwargs: Any) -> Any:
        if no_ack:
            self._unacknowledged.add(queue)
        if "celery.worker.control" in sys.modules:
            # Publishers, and programs without Celery, do not need this.
            import_module("pinlater.transport.inspection")
            import_module("pinlater.worker")
        tag = super().basic_consume(queue, no_ack, *args, **kwargs)
        if queue in self.active_fanout_queues:
            # kombu subscribes at its first poll, after the worker has reported that it is ready. A
            # broadcast in between would be lost.
            subscriber = self.subclient
            if subscriber.connection is None:
                subscriber.connection = subscriber.connection_pool.get_connection()
            self._subscribe()
            subscriptions.wait_until_confirmed(self, self.socket_timeout)
        return tag

    def basic_get(self, queue: str, no_ack: bool = False, **kwargs: Any) -> Any:
        message = super().basic_get(queue, no_ack=no_ack, **kwargs)
        if message is not None and no_ack and is_job_tag(message.delivery_tag):
            self.claims.ack(message.delivery_tag)
        return message

    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:  # noqa: ARG002
        payloads: list[dict[str, Any]] = []

        def collect_payload(shard: ServerShard, queue: str, job: Claimed) -> None:
            payload = self._to_message(shard, queue, job)
            if payload is not None:
                payloads.append(payload)

        consumer = JobConsumer(self.claims, collect_payload)
        consumer.consume([queue])
        consumer.take(1)
        return payloads[0] if payloads else super()._get(queue)

    def _brpop_read(self, **options: Any) -> Any:
        # A server that becomes a replica ends blocked pops with an error.
        with redis_errors("broker, waiting for messages"):
            try:
                return super()._brpop_read(**options)
            except CONNECTION_LOST as error:
                if not self._should_reconnect():
                    raise
                raise Empty from error

    def _should_reconnect(self) -> bool:
        """
        Return whether to replace a lost connection and continue to wait.

        Only callers that wait for replies do this. Their connection may have been cut since their
        last call, and the replies are safe in a list. A worker reopens its whole connection
        instead. If the server is gone, or the new connection breaks too, that is an error.
        """
        queues, now_s = set(self.active_queues), _clock.monotonic_s()
        is_caller = self.connection.cycle.hub is None and queues <= self._reply_queues
        was_replaced_recently = now_s - self._replaced_at_s < REPEATED_LOSS_S
        self._replaced_at_s = now_s
        return is_caller and not was_replaced_recently

    def _deliver_job(self, shard: ServerShard, queue: str, job: Claimed) -> None:
        payload = self._to_message(shard, queue, job)
        if payload is None:
            return
        self._record_revocation(payload)
        tag = self.delivering_tag = payload["properties"]["delivery_tag"]
        try:
            self.connection._deliver(payload, queue)
        except self.connection_errors:
            raise
        # A message that kombu or Celery cannot process must not stop every worker that receives it.
        except Exception as error:
            logger.exception("job %s of %s cannot be delivered", job.job_id, queue)
            self.claims.fail(tag, f"cannot be delivered: {type(error).__name__}: {error}")
            virtual.QoS.ack(self.qos, tag)
        finally:
            self.delivering_tag = ""
        if queue in self._unacknowledged:
            self.claims.ack(tag)

    def _record_revocation(self, payload: dict[str, Any]) -> None:
        """Tell Celery if the task is among the revoked tasks read from the server."""
        task_id = payload.get("headers", {}).get("id")
        if task_id in self._revocations and "celery.worker.state" in sys.modules:
            sys.modules["celery.worker.state"].revoked.add(task_id)

    def _to_message(self, shard: ServerShard, queue: str, job: Claimed) -> dict[str, Any] | None:
        """Return the message for a claimed job. A malformed job becomes FAILED, with the reason."""
        tag = self.claims.add(shard, queue, job)
        try:
            record = job_codec.decode(job.record)
            if job_body.is_plain(record.body):
                plain = envelope.PlainJob(
                    doors.get_task_name(queue, record.name),
                    record.key or tag.removeprefix(TAG),
                    queue, record.priority, tag, job.attempt,
                )  # fmt: skip
                return envelope.from_plain(job_body.decode(record.body), plain)
            return envelope.from_job(record.body, tag=tag, attempt=job.attempt)
        except InvalidMessage as error:
            logger.error("job %s of %s is malformed: %s", job.job_id, queue, error)  # noqa: TRY400
            self.claims.fail(tag, f"malformed: {error}")
            return None

    def work(self, *, at_most: int) -> int:
        """
        Send pending acks, deliver due jobs and wait for more. Returns how many were delivered.

        Called in each iteration of the event loop.
        """
        self.claims.acks.flush()
        self.consumer.consume(self.job_queues)
        if not self.consumer.queues:
            return 0
        if self._revocations.must_read:
            with self.conn_or_acquire() as client:
                self._revocations.read(client)
        room, delivered = self.qos.room(at_most=MAX_BATCH), 0
        if room and not self._should_wait_for_room(room):
            delivered = self.consumer.take(min(room, at_most))
        if self.qos.can_consume():
            self.consumer.wait()
        return delivered

    def _should_wait_for_room(self, room: int) -> bool:
        now_s = _clock.monotonic_s()
        if room >= self.qos.min_room:
            self._postponed_at_s = None
        elif self._postponed_at_s is None:
            self._postponed_at_s = now_s
        elif now_s - self._postponed_at_s >= MAX_POSTPONE_S:
            self._postponed_at_s = None
        return self._postponed_at_s is not None

    @property
    def next_work_s(self) -> float:
        if not self._consumer or not self._consumer.queues or not self.qos.can_consume():
            return float("inf")
        next_check_s = self._consumer.next_check_s
        return (
            next_check_s
            if self._postponed_at_s is None
            else max(next_check_s, self._postponed_at_s + MAX_POSTPONE_S)
        )

    def queue_delete(self, queue: str, *args: Any, **kwargs: Any) -> None:
        try:
            super().queue_delete(queue, *args, **kwargs)
        except self.connection_errors as error:
            # The server may be gone. Closing must still complete.
            if not self._closing:
                raise
            logger.debug("queue %s is left in place: %s", queue, error)

    def _unsubscribe_from(self, queue: str) -> None:
        try:
            super()._unsubscribe_from(queue)
        except self.connection_errors as error:
            logger.debug("the subscription of %s ended with its connection: %s", queue, error)

    def close(self) -> None:
        if self._consumer is not None:
            self.connection and self.connection.cycle.forget(self._consumer)
            self._consumer.close()
        super().close()
        self.claims.acks.flush()

    def _get_pool(self, asynchronous: bool = False) -> Any:
        if is_sentinel(self.connection.control_url):
            return connections.sentinel_pool(self, asynchronous=asynchronous)
        return super()._get_pool(asynchronous)

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        return connections.parameters(self, asynchronous=asynchronous)
