"""A channel's unacknowledged deliveries, and how many more it accepts."""

from __future__ import annotations

import logging
from typing import Any

from kombu.transport import redis as kombu_redis
from kombu.transport import virtual

from pinlater.claims import TAG

logger = logging.getLogger(__name__)


def is_job_tag(tag: str) -> bool:
    """Return whether the tag belongs to a job, not to a kombu message."""
    return tag.startswith(TAG)


class QoS(kombu_redis.QoS):
    """A channel's unacknowledged deliveries. Jobs are also in the claim registry."""

    def append(self, message: Any, delivery_tag: str) -> None:
        if is_job_tag(delivery_tag):
            virtual.QoS.append(self, message, delivery_tag)
        else:
            super().append(message, delivery_tag)

    def ack(self, delivery_tag: str) -> None:
        if is_job_tag(delivery_tag):
            self.channel.claims.ack(delivery_tag)
            virtual.QoS.ack(self, delivery_tag)
        elif self.channel.connection is not None:
            super().ack(delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        if is_job_tag(delivery_tag):
            is_unknown_task = self.channel.delivering_tag == delivery_tag
            problem = (
                "refused: the worker does not know this task" if is_unknown_task else "rejected"
            )
            self.channel.claims.reject(delivery_tag, requeue=requeue, problem=problem)
            virtual.QoS.ack(self, delivery_tag)
        elif self.channel.connection is not None:
            super().reject(delivery_tag, requeue=requeue)

    def restore_unacked(self, client: Any = None) -> list[Any]:
        """
        Return unacknowledged messages to their queues. Never raises, because the server may be
        gone.
        """
        self._flush()
        tags = list(self._delivered)
        jobs = [tag for tag in tags if is_job_tag(tag)]
        self.channel.claims.on_channel_closed(jobs)
        for tag in jobs:
            self._delivered.pop(tag, None)
        if self._delivered and self.channel.connection is not None:
            try:
                super().restore_unacked(client)
            except (*self.channel.connection_errors, AttributeError):
                logger.warning(
                    "%d messages return to their queue only after the visibility timeout",
                    len(self._delivered),
                )
        self._delivered.clear()
        return []

    def room(self, *, at_most: int) -> int:
        if not self.can_consume():
            return 0
        if "can_consume" in vars(self):
            # With Celery's `worker_disable_prefetch`, check again after every message.
            return 1
        kombu_limit = self.can_consume_max_estimate()
        return at_most if kombu_limit is None else min(kombu_limit, at_most)

    @property
    def min_room(self) -> int:
        """
        Return the room below which the channel briefly postpones its claim.

        A prefork pool frees room one job at a time. If all deliveries are acknowledged, no more
        room can become free.
        """
        unacknowledged = len(self._delivered) - len(self._dirty)
        return max(1, min(8, self.prefetch_count // 4)) if unacknowledged else 1
