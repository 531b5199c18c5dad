"""
Stores a crawl's requests as pinlater jobs, in the queue `scrapy.<crawl>`.

A process claims the jobs that it runs, and a thread renews the claims until the jobs end. A killed
process's claims expire (`broker.claim_timeout_s`), and other processes return its jobs to the
queue. Delivery is at least once.
"""

from __future__ import annotations

import logging
import os
import select
from collections import deque
from contextlib import suppress
from typing import NamedTuple

from aragog.errors import BrokerUnavailable, ConfigError, InvalidMessage
from aragog.runtime.clock import Clock, SystemClock
from aragog.settings import Settings
from pinlater.acks import Disposition
from pinlater.admin import Admin
from pinlater.brokers import kind_of, shard_urls
from pinlater.claims import ClaimRegistry
from pinlater.cluster import Cluster, connect_shards
from pinlater.consumer import JobConsumer
from pinlater.job_codec import decode
from pinlater.models import Claimed, JobState, NewJob, Sizes
from pinlater.shard import Shard

log = logging.getLogger(__name__)
DECLINE_DELAY_MS = 10_000


class ClaimedRequest(NamedTuple):
    """A request that this process has claimed."""

    tag: str
    body: bytes


class RequestQueue:
    """
    One crawl's queue.

    Only one thread may call `wait`, `take` and `close`; any thread may call the others.

    Args:
        settings: the settings, including the broker's.
        crawl: the crawl's name.

    Raises:
        ConfigError: the broker is not pinlater.
    """

    def __init__(self, settings: Settings, crawl: str, *, clock: Clock | None = None) -> None:
        broker = settings.resolved().broker
        if kind_of(broker.url) != "pinlater":
            raise ConfigError(
                f"broker.url: the scheduler for Scrapy needs pinlater://, not {kind_of(broker.url)}"
            )
        self.name = f"scrapy.{crawl}"
        self.decline_delay_ms = DECLINE_DELAY_MS
        """
        How long to delay a request that could not run here, so that other processes can try it.
        """
        self._clock = clock or SystemClock()
        cluster = Cluster(connect_shards((*shard_urls(broker.url), *broker.shards)))
        self._claims = ClaimRegistry(cluster, claim_timeout_ms=round(broker.claim_timeout_s * 1000))
        # The thread that renews claims sends the acks, so the event loop does not wait for them.
        self._claims.acks.deferred = True
        self._claimed: deque[ClaimedRequest] = deque()
        self._consumer = JobConsumer(self._claims, self._deliver)
        self._consumer.consume([self.name])
        self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._is_closed = False

    def put(self, job: NewJob) -> bool:
        """
        Enqueue a request in one round trip. Returns False if a job with its unique key is already
        queued or running.

        Raises:
            BrokerUnavailable: no server accepted it, or the response was lost.
        """
        (receipt,) = self._claims.cluster.enqueue(self.name, [job])
        return not receipt.already_there

    def count_unfinished(self) -> int:
        """
        Return how many requests are queued or running in all processes. Takes one round trip per
        server, or two if the first ones find no requests.

        Raises:
            BrokerUnavailable: a server does not respond and may have more requests.
        """
        # Each server counts running jobs before pending ones, so it misses a job that is claimed
        # between the two counts. Check again before returning 0.
        return self._count_jobs() or self._count_jobs()

    def count_failed(self) -> int:
        """
        Return how many requests are FAILED, including those from earlier runs. Raises the same
        errors as `count_unfinished`.
        """
        return self._sizes().failed

    def abandon(self) -> int:
        """
        Delete queued and running requests, 200 per round trip; returns how many there were.

        Call this only if no other process is working on the crawl.

        Raises:
            BrokerUnavailable: a server does not respond; some requests may be left.
        """
        for shard in self._claims.cluster.shards:
            running = shard.jobs(self.name, JobState.RUNNING, limit=shard.sizes(self.name).running)
            for job in running:
                shard.release(self.name, job.worker, [job.job_id])
        return Admin(self._claims.cluster).purge(self.name)

    def _count_jobs(self) -> int:
        total = self._sizes()
        return total.pending + total.running

    def _sizes(self) -> Sizes:
        return sum((shard.sizes(self.name) for shard in self._claims.cluster.shards), Sizes())

    def take(self, max_jobs: int) -> list[ClaimedRequest]:
        """Claim up to `max_jobs` due requests. Claims none while the broker does not respond."""
        with suppress(BrokerUnavailable):
            self._consumer.take(max_jobs)
        claimed, self._claimed = list(self._claimed), deque()
        return claimed

    def wait(self, seconds: float, *, max_jobs: int) -> None:
        """Wait until requests may be due, `wake` is called, or `seconds` have passed."""
        with suppress(BrokerUnavailable):
            if max_jobs > 0:
                self._consumer.wait()
                check_in_s = self._consumer.next_check_s - self._clock.monotonic_s()
                seconds = min(seconds, max(0.0, check_in_s))
            pollers = {p.fileno: p for p in self._consumer.pollers if p.fileno is not None}
            ready, _, _ = select.select([self._wake_fd, *pollers], [], [], max(0.0, seconds))
            for fileno in ready:
                if fileno == self._wake_fd:
                    os.eventfd_read(self._wake_fd)
                else:
                    self._consumer.on_readable(pollers[fileno], room=max_jobs)

    def wake(self) -> None:
        """End the current or the next `wait`."""
        if not self._is_closed:
            os.eventfd_write(self._wake_fd, 1)

    def done(self, tag: str) -> None:
        """Mark a job as SUCCEEDED, because its output was processed."""
        self._claims.ack(tag)

    def put_back(self, tag: str, delay_ms: int) -> None:
        """Put an unstarted request back into the queue. The attempt does not count."""
        self._finish(tag, Disposition("release", delay_ms))

    def retry(self, tag: str, problem: str) -> None:
        """Retry the request according to the queue's retry policy; the attempt counts."""
        self._finish(tag, Disposition("policy", 0, problem))

    def decline(self, tag: str, problem: str) -> None:
        """
        Leave a request to other processes, after `decline_delay_ms`.

        The attempt counts, so a request that no process can run is FAILED after ten attempts.
        """
        self._finish(tag, Disposition("again", self.decline_delay_ms, problem))

    def fail(self, tag: str, problem: str) -> None:
        """Mark a job as FAILED, because no process can run it. It is kept for a week."""
        self._claims.fail(tag, problem)

    def flush(self) -> None:
        """Send buffered acknowledgements."""
        self._claims.acks.flush()

    def close(self) -> None:
        """Send buffered acknowledgements; remaining claims will expire."""
        self._is_closed = True
        self._claims.stop()
        for poller in self._consumer.pollers:
            poller.drop()
        os.close(self._wake_fd)

    def _finish(self, tag: str, disposition: Disposition) -> None:
        self._claims.set_dispositions(tag, on_ack=disposition, on_reject=disposition)
        self._claims.ack(tag)

    def _deliver(self, shard: Shard, queue: str, job: Claimed) -> None:
        tag = self._claims.add(shard, queue, job)
        try:
            self._claimed.append(ClaimedRequest(tag, decode(job.record).body))
        except InvalidMessage as error:
            self.fail(tag, str(error))
