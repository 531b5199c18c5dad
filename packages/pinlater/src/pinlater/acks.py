"""
Send acks and nacks of this process's claims in batches.

Acks for an unavailable shard are kept until it answers again.
"""

from __future__ import annotations

import logging
import random
import threading
from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Literal, cast

from pinlater import job_codec, run_log
from pinlater.clock import Clock
from pinlater.cluster import Cluster
from pinlater.errors import BrokerUnavailable, InvalidMessage
from pinlater.models import Claimed, JobState, Nack, Step
from pinlater.retry_policy import RetryPolicy
from pinlater.shard import Shard

logger = logging.getLogger(__name__)
RETRY_AFTER_S = 0.25
"""Seconds before resending acks that a shard did not accept."""
_STEPS: dict[str, Step] = {"policy": "again", "wait": "release"}


@dataclass(frozen=True, slots=True)
class Disposition:
    """
    What happens to a job when its delivery ends.

    With `policy`, it runs again after the queue's retry delay. With `wait`, it also runs again, but
    this attempt does not count.
    """

    step: Step | Literal["policy", "wait"]
    delay_ms: int = 0
    problem: str = ""


@dataclass(slots=True)
class Claim:
    """A claim that this process holds on a job."""

    tag: str
    shard: Shard
    queue: str
    job: Claimed
    claimed_s: float
    has_ended: bool = False
    """True after its job has run, before the worker's event loop acknowledges or rejects it."""
    is_orphan: bool = False
    """True if the channel is closed. The renewer keeps the claim until the job has ended."""
    ended_s: float | None = None
    """When the renewer saw that an orphan's job had ended; None before that."""
    task: str = ""
    """Name of the job's task; empty unless runs are logged."""
    started_s: float | None = None
    """When the task started; None unless runs are logged."""
    run_s: float | None = None
    """How long the task ran; None until it ends."""
    on_ack: Disposition | None = None
    on_reject: Disposition | None = None


@dataclass(frozen=True, slots=True)
class _PendingAck:
    """An ack, or a nack if `nack` is set, that a shard has not accepted yet."""

    claim: Claim
    nack: Nack | None


class AckBuffer:
    """
    Reports to the shards how jobs ended. Thread-safe.

    Args:
        cluster: the shards, whose queue settings include the retry policies.
        clock: only its monotonic clock is used.
    """

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self.deferred = False
        """True if `add` leaves sending to the event loop, which calls `flush` soon."""
        self._cluster = cluster
        self._clock = clock
        # Not the global generator, which the program may have seeded.
        self._rng = random.Random()
        self._pending: deque[_PendingAck] = deque()
        self._lock = threading.Lock()
        self._retry_at_s = 0.0
        self._unavailable_shards: set[str] = set()
        """Names of shards that refused acks and have accepted none since."""

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, claim: Claim, disposition: Disposition | None) -> None:
        """Record that a claim ended; None means that its job SUCCEEDED."""
        nack = self._make_nack(claim, disposition) if disposition else None
        self._pending.append(_PendingAck(claim, nack))
        if not self.deferred:
            self.flush()

    def _make_nack(self, claim: Claim, disposition: Disposition) -> Nack:
        delay_ms, step = disposition.delay_ms, _STEPS.get(disposition.step)
        if step is not None:
            policy = RetryPolicy.of(self._cluster.settings(claim.queue), _job_type(claim.job))
            delay_ms = policy.delay_ms(claim.job.attempt, self._rng.random())
        final_step: Step = step or cast("Step", disposition.step)
        return Nack(claim.job.job_id, claim.job.token, final_step, delay_ms, disposition.problem)

    def flush(self) -> None:
        """
        Send pending acks and nacks. Keep those that a shard does not accept.

        Any thread may call this. While one thread is sending, other callers return at once.
        """
        if not self._pending or self._clock.monotonic_s() < self._retry_at_s:
            return
        if not self._lock.acquire(blocking=False):
            return
        try:
            pending = [self._pending.popleft() for _ in range(len(self._pending))]
            groups: dict[tuple[Shard, str, bool], list[_PendingAck]] = defaultdict(list)
            for ack in pending:
                groups[ack.claim.shard, ack.claim.queue, ack.nack is None].append(ack)
            for (shard, queue, acks), group in groups.items():
                self._send(shard, queue, group, acks=acks)
        finally:
            self._lock.release()

    def _send(self, shard: Shard, queue: str, group: list[_PendingAck], *, acks: bool) -> None:
        try:
            self._cluster.check_usable(shard)
            with self._cluster.track(shard):
                results: list[bool] | list[JobState | None] = (
                    shard.ack(queue, [(ack.claim.job.job_id, ack.claim.job.token) for ack in group])
                    if acks
                    else shard.nack(queue, [ack.nack for ack in group if ack.nack])
                )
        except BrokerUnavailable as error:
            self._requeue(shard, group, error)
            return
        self._unavailable_shards.discard(shard.name)
        for ack, accepted in zip(group, results, strict=True):
            run_log.write(ack.claim, _state_after(accepted))
            if not accepted:
                logger.warning(
                    "the ack of job %s of %s came too late: another worker has it, or the server "
                    "restarted and it runs again",
                    ack.claim.job.job_id, queue,
                )  # fmt: skip

    def _requeue(self, shard: Shard, group: list[_PendingAck], error: BrokerUnavailable) -> None:
        """Keep a group for a later attempt. Logs an outage only once."""
        level = logging.DEBUG if shard.name in self._unavailable_shards else logging.WARNING
        self._unavailable_shards.add(shard.name)
        logger.log(level, "%d acks are kept until their shard answers: %s", len(group), error)
        self._pending.extendleft(reversed(group))
        self._retry_at_s = self._clock.monotonic_s() + RETRY_AFTER_S


def _state_after(accepted: bool | JobState | None) -> JobState | None:
    if isinstance(accepted, JobState):
        return accepted
    return JobState.SUCCEEDED if accepted else None


def _job_type(job: Claimed) -> str:
    try:
        return job_codec.decode(job.record).name
    except InvalidMessage:
        return ""
