"""
`JobConsumer` claims due jobs from all shards for one channel of a worker.

It claims as many jobs as the worker has room for, several per round trip. It does so when a shard's
poller is woken (by a wake token on Redis or a notification on PostgreSQL), when the next job
becomes due, and at least once a second. The caller sets a timer for due times (`next_check_s`),
because Redis's own timeouts have a resolution of 100 ms.
"""

from __future__ import annotations

import logging
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pinlater import gates
from pinlater.claims import ClaimRegistry
from pinlater.clock import Clock, SystemClock
from pinlater.errors import BrokerUnavailable
from pinlater.models import Claimed, ClaimRequest
from pinlater.shard import MAX_BATCH, ServerShard, ShardPoller

logger = logging.getLogger(__name__)

Deliver = Callable[[ServerShard, str, Claimed], None]


@dataclass(slots=True, eq=False)
class _ShardQueue:
    """A queue on one shard, and this consumer's state for it."""

    poller: ShardPoller
    queue: str
    check_at_s: float = 0.0
    """When to check it next, on the monotonic clock."""
    is_nearly_full: bool = False
    """True if the remaining room is reserved for urgent jobs, so only urgent jobs were claimed."""
    is_at_limit: bool = False
    """True if this process had reached its limit for the queue."""
    is_not_polled: bool = False
    """True if the poller is not waiting for this queue, because there is no room for its jobs."""


class JobConsumer:
    """
    Claims jobs of some queues from all shards of a cluster.

    Args:
        claims: the registry that stores the claims.
        deliver: called once with each job.
    """

    def __init__(self, claims: ClaimRegistry, deliver: Deliver, clock: Clock | None = None) -> None:
        self.claims = claims
        self._deliver = deliver
        self._clock = clock or SystemClock()
        self.queues: tuple[str, ...] = ()
        self.pollers: list[ShardPoller] = [
            s.poller() for s in claims.cluster.shards if isinstance(s, ServerShard)
        ]
        self._allowances = gates.Allowances()
        self._round_robin: deque[_ShardQueue] = deque()
        self._by_key: dict[tuple[str, str], _ShardQueue] = {}

    def consume(self, queues: Sequence[str]) -> None:
        if tuple(queues) == self.queues:
            return
        self.queues = tuple(queues)
        for queue in queues:
            self.claims.watch(queue)
        previous = self._by_key
        self._by_key = {
            (poller.shard.name, queue): _ShardQueue(poller, queue)
            for poller in self.pollers
            for queue in queues
        }
        for key in self._by_key.keys() & previous.keys():
            self._by_key[key].check_at_s = previous[key].check_at_s
            self._by_key[key].is_not_polled = previous[key].is_not_polled
        self._round_robin = deque(self._by_key.values())
        self._round_robin.rotate(
            random.randrange(len(self._round_robin)) if self._round_robin else 0
        )
        # The pollers are still waiting for the old queues.
        for poller in self.pollers:
            poller.drop()

    @property
    def next_check_s(self) -> float:
        """Return the latest time for the next `take`, on the monotonic clock."""
        return min(
            (shard_queue.check_at_s for shard_queue in self._round_robin), default=float("inf")
        )

    def take(self, room: int) -> int:
        """
        Claim and deliver up to `room` due jobs, in round-robin order of shards and queues.

        Raises:
            BrokerUnavailable: the first shard is unavailable. Others are skipped until they answer.
        """
        count = 0
        for shard_queue in list(self._round_robin):
            if count >= room:
                break
            count += self._take_from(shard_queue, room - count)
        return count

    def _take_from(self, shard_queue: _ShardQueue, room: int) -> int:
        """Claim and deliver a queue's jobs if a check is due; return how many."""
        queue, now_s = shard_queue.queue, self._clock.monotonic_s()
        reserved, free_room = gates.reserved_room(queue), self._free_room(queue, room)
        unreserved_room = free_room - reserved.jobs
        if free_room <= 0:
            shard_queue.is_at_limit, shard_queue.check_at_s = True, now_s + gates.GATE_CHECK_EVERY_S
            return 0
        if shard_queue.is_at_limit or (unreserved_room > 0 and shard_queue.is_nearly_full):
            shard_queue.is_at_limit, shard_queue.check_at_s = False, now_s
        shard_queue.is_nearly_full = shard_queue.is_nearly_full and unreserved_room <= 0
        if shard_queue.check_at_s > now_s:
            return 0
        allowance, next_read_s = self._allowances.remaining(queue, now_s)
        if allowance.jobs == 0:
            # The queue keeps its turn for the next jobs that the gate allows.
            shard_queue.check_at_s = next_read_s
            return 0
        if unreserved_room <= 0:
            shard_queue.is_nearly_full = True
            allowance = allowance._replace(lowest=min(allowance.lowest, reserved.lowest))
        self._round_robin.remove(shard_queue)
        self._round_robin.append(shard_queue)
        return self._claim(
            shard_queue,
            min(unreserved_room if unreserved_room > 0 else free_room, MAX_BATCH),
            allowance,
        )

    def _free_room(self, queue: str, room: int) -> int:
        count_held = partial(self.claims.count_held, queue)
        limit = gates.get_limit(queue, count_held)
        return room if limit is None else min(room, limit - count_held())

    def _claim(self, shard_queue: _ShardQueue, limit: int, allowance: gates.Allowance) -> int:
        shard, queue, now_s = shard_queue.poller.shard, shard_queue.queue, self._clock.monotonic_s()
        cluster = self.claims.cluster
        # Schedule the next check before the claim, which may fail.
        shard_queue.check_at_s = now_s + self._check_interval_s(shard_queue, allowance)
        if allowance.lowest == gates.NOTHING:
            return 0
        if allowance.jobs is not None:
            limit = min(limit, allowance.jobs)
        if shard is not cluster.first_shard and not cluster.is_usable(shard):
            return 0
        request = ClaimRequest(
            limit=limit, timeout_ms=self.claims.claim_timeout_ms, worker=self.claims.worker,
            share=cluster.rate_share, lowest=allowance.lowest,
        )  # fmt: skip
        try:
            with cluster.track(shard):
                result = shard.claim(queue, request)
        except BrokerUnavailable:
            if shard is cluster.first_shard:
                raise
            return 0
        self._allowances.count_claimed(queue, len(result.claims))
        if result.more:
            shard_queue.check_at_s = now_s
        elif result.next_due_ms is not None:
            wait_s = max(0, result.next_due_ms - result.now_ms) / 1000
            if wait_s < shard_queue.poller.check_every_s:
                shard_queue.check_at_s = self._clock.monotonic_s() + wait_s
        undelivered = deque(result.claims)
        try:
            while undelivered:
                self._deliver(shard, queue, undelivered.popleft())
        finally:
            # After an error during delivery, return the other jobs. Otherwise they would wait until
            # their claims expire.
            tags = [self.claims.add(shard, queue, job) for job in undelivered]
            self.claims.on_channel_closed(tags)
        return len(result.claims)

    def _check_interval_s(self, shard_queue: _ShardQueue, allowance: gates.Allowance) -> float:
        if shard_queue.is_nearly_full:
            return gates.URGENT_CHECK_EVERY_S
        if allowance.is_open and not shard_queue.is_not_polled:
            return shard_queue.poller.check_every_s
        return min(shard_queue.poller.check_every_s, gates.GATE_CHECK_EVERY_S)

    def wait(self) -> None:
        """
        Make each reachable shard's poller wait for the queues that have room.

        A worker with room only for urgent jobs checks for them on a timer. By waiting, it would
        take wake tokens from workers with room for other jobs.
        """
        now_s = self._clock.monotonic_s()
        for poller in self.pollers:
            if poller.is_overdue(now_s):
                logger.warning("shard %s has not answered for seconds", poller.shard.name)
                poller.drop()
            cluster, shard = self.claims.cluster, poller.shard
            if poller.must_send(now_s) and (
                shard is cluster.first_shard or cluster.is_usable(shard)
            ):
                if not (queues := self._queues_to_poll(shard)):
                    continue
                try:
                    poller.send(queues, now_s)
                except (BrokerUnavailable, OSError) as error:
                    self._report_failure(poller, error)

    def _queues_to_poll(self, shard: ServerShard) -> list[str]:
        """Return the queues that a poller waits for; mark the others as not polled."""
        shard_queues = [self._by_key[shard.name, queue] for queue in self.queues]
        for shard_queue in shard_queues:
            shard_queue.is_not_polled = shard_queue.is_nearly_full or shard_queue.is_at_limit
        return [shard_queue.queue for shard_queue in shard_queues if not shard_queue.is_not_polled]

    def on_readable(self, poller: ShardPoller, *, room: int) -> None:
        try:
            queues = poller.read()
        except OSError as error:
            self._report_failure(poller, error)
            return
        for queue in queues:
            if queue in self.queues:
                self._by_key[poller.shard.name, queue].check_at_s = 0.0
                if self._free_room(queue, room) <= gates.reserved_room(queue).jobs:
                    self._return_wake_token(poller.shard, queue)

    def _return_wake_token(self, shard: ServerShard, queue: str) -> None:
        """Return a wake token, so that a worker with room can claim the job."""
        try:
            shard.wake(queue)
        except BrokerUnavailable:
            logger.debug("a wake token for %s was lost; other workers check within a second", queue)

    def _report_failure(self, poller: ShardPoller, error: Exception) -> None:
        poller.drop()
        shard, cluster = poller.shard, self.claims.cluster
        cluster.record_failure(shard, error)
        if shard is cluster.first_shard:
            raise BrokerUnavailable(f"shard {shard.name}", str(error)) from error

    def close(self) -> None:
        for poller in self.pollers:
            poller.drop()
