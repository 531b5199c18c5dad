"""kombu's `Producer.batch()` for jobs, with one round trip per shard and queue."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

from kombu.exceptions import BatchPublishError
from kombu.transport import redis as kombu_redis

from pinlater import publish_receipts
from pinlater.clock import SystemClock
from pinlater.errors import BrokerUnavailable
from pinlater.models import JobFrame, JobItem, NewJob

_clock = SystemClock()


class JobBatch(kombu_redis.PublishBatch):
    """
    Collects jobs until the batch ends or is full. Other messages use kombu's own batch.

    An error in the batch drops unsent jobs. After a failed flush, it is unknown which jobs arrived.
    """

    def __init__(self, channel: Any, max_size: int) -> None:
        super().__init__(channel, max_size)
        self._jobs: dict[str, list[tuple[NewJob, float]]] = defaultdict(list)
        self._collected: list[tuple[str, JobFrame, list[JobItem], float]] = []
        self._count = 0

    def collect(self, queue: str, frame: JobFrame, items: list[JobItem]) -> None:
        self._collected.append((queue, frame, items, _clock.monotonic_s()))
        self._count += len(items)

    def put(self, queue: str, job: NewJob) -> None:
        self._jobs[queue].append((job, _clock.monotonic_s()))
        self._count += 1

    def publish(self, message: Any, **kwargs: Any) -> Any:
        result = super().publish(message, **kwargs)
        if self._count >= self.max_size:
            self.flush()
        return result

    def flush(self) -> None:
        super().flush()
        jobs, self._jobs, self._count = self._jobs, defaultdict(list), 0
        collected, self._collected = self._collected, []
        now_s = _clock.monotonic_s()
        try:
            for queue, entries in jobs.items():
                due_jobs = [
                    replace(job, delay_ms=_remaining_ms(job.delay_ms, now_s - at_s))
                    for job, at_s in entries
                ]
                for receipt in self.channel.cluster.enqueue(queue, due_jobs):
                    publish_receipts.add(receipt)
            for queue, frame, items, at_s in collected:
                due_items = [JobItem(data, _remaining_ms(ms, now_s - at_s)) for data, ms in items]
                self.channel.cluster.collect(queue, frame, due_items)
        except BrokerUnavailable as error:
            self._failed = error
            raise BatchPublishError(
                "publish batch failed; it is unknown which messages arrived"
            ) from error

    def discard(self) -> None:
        super().discard()
        self._jobs.clear()
        self._collected.clear()
        self._count = 0


def _remaining_ms(delay_ms: int, elapsed_s: float) -> int:
    """Return how much of a delay is left after `elapsed_s` in the batch."""
    return max(0, delay_ms - round(elapsed_s * 1000))
