"""
`ClaimRegistry`: the claims that this process holds, and what it has to say about them.

It belongs to the process, not to a connection: a channel may die and be closed twice while its
jobs run on, and their acks must still reach the server under the same claim token. Acks are
gathered and sent together. A thread extends the claims of jobs that are still at work, so a busy
event loop loses none; it also gives back what dead workers left (`sweep`).
"""

from __future__ import annotations

import atexit
import logging
import os
import random
import socket
import sys
import threading
import uuid
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from aragog.clock import Clock, SystemClock
from aragog.errors import BrokerUnavailable
from aragog.pinlater.cluster import Cluster, connect_shards
from aragog.pinlater.health import ReapGuard
from aragog.pinlater.models import Claimed, JobState, Nack, Step
from aragog.pinlater.policy import RetryPolicy
from aragog.pinlater.shard import RedisShard, Shard

logger = logging.getLogger(__name__)

KEEPER_PERIOD_S = 0.25
SWEEP_PERIOD_S = 1.0
SWEEP_STEP = 100
"""Claims that one call gives back; others are served between two calls."""
SWEEP_STEPS = 50
"""Calls in one round at most, so that the claims of a dead host go back at once."""
TAG = "pinlater:"
"""How the tags of jobs begin, whatever became of their channel."""


@dataclass(frozen=True, slots=True)
class EndHint:
    """
    What a delivery's end means for its job.

    `policy`: again, when its queue's policy says. `wait`: the same, and the attempt does not count.
    """

    step: Step | Literal["policy", "wait"]
    delay_ms: int = 0
    problem: str = ""


_STEPS: dict[str, Step] = {"policy": "again", "wait": "release"}


@dataclass(slots=True)
class HeldClaim:
    """A claim of ours."""

    tag: str
    shard: Shard
    queue: str
    job: Claimed
    since_s: float
    orphan: bool = False
    """Its channel is gone; it is extended while `still_running` says so, and a while longer."""
    ended_s: float | None = None
    """Since when an orphan has been known to run no more."""
    on_ack: EndHint | None = None
    on_reject: EndHint | None = None


@dataclass(frozen=True, slots=True)
class _PendingAck:
    """One thing to tell a shard: an ack (no nack) or a nack."""

    held: HeldClaim
    nack: Nack | None


class ClaimRegistry:
    """
    Claims held by this process on one cluster.

    Args:
        cluster: the shards.
        claim_timeout_ms: how long a claim lasts without an extension.
        max_claim_ms: no claim is extended beyond this age, so a wedged job runs elsewhere.
        still_running: is the delivery with this tag at work? For claims whose channel is gone.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        claim_timeout_ms: int = 60_000,
        max_claim_ms: int = 86_400_000,
        clock: Clock | None = None,
        still_running: Callable[[str], bool] = lambda _tag: False,
    ) -> None:
        self.cluster = cluster
        self.claim_timeout_ms = claim_timeout_ms
        self.max_claim_ms = max_claim_ms
        self.worker = f"{worker_name(os.getpid())}{uuid.uuid4().hex[:6]}"
        self.gathering = False
        """Acks wait for `flush`, which an event loop promises to call soon."""
        self._clock = clock or SystemClock()
        self._still_running = still_running
        self._held: dict[str, HeldClaim] = {}
        self._words: deque[_PendingAck] = deque()
        self._lock = threading.Lock()
        self._queues: set[str] = set()
        self._guards = {s.name: ReapGuard(claim_timeout_ms) for s in cluster.shards}
        # Not the module's: its state is the program's own, which may have seeded it.
        self._rng = random.Random()
        self._keeper: threading.Thread | None = None
        self._stopped = threading.Event()
        self._behind = False
        self._speak_again_s = 0.0
        self._unheard: set[str] = set()
        """Shards that acks wait for."""

    def hold(self, shard: Shard, queue: str, job: Claimed) -> str:
        """
        Note a claim; its tag, by which everything else here names it.

        Ids and tokens count per queue and shard, so the tag contains both.
        """
        tag = f"{TAG}{shard.name}-{job.job_id}-{job.token}-{queue}"
        self._held[tag] = HeldClaim(tag, shard, queue, job, self._clock.monotonic_s())
        self._start_keeper()
        return tag

    def watch(self, queue: str) -> None:
        """Sweep this queue from now on."""
        self._queues.add(queue)
        self._start_keeper()

    def __contains__(self, tag: object) -> bool:
        return tag in self._held

    def __len__(self) -> int:
        return len(self._held)

    def hint(self, tag: str, *, on_ack: EndHint | None, on_reject: EndHint | None) -> None:
        """Say beforehand what an ack and a reject of `tag` mean; None: what they mean anyway."""
        held = self._held.get(tag)
        if held is not None:
            held.on_ack, held.on_reject = on_ack, on_reject

    def ack(self, tag: str) -> None:
        """The job is done, unless a hint says that it failed."""
        held = self._held.pop(tag, None)
        self._say(tag, held, held.on_ack if held else None)

    def fail(self, tag: str, problem: str) -> None:
        """The job is FAILED, attempts left or not."""
        self._say(tag, self._held.pop(tag, None), EndHint("fail", 0, problem))

    def reject(self, tag: str, *, requeue: bool, problem: str = "rejected") -> None:
        """Run it again at once (the attempt counts), or FAILED."""
        held = self._held.pop(tag, None)
        default = EndHint("again") if requeue else EndHint("fail", 0, problem)
        self._say(tag, held, (held.on_reject if held else None) or default)

    def give_back(self, tags: Iterable[str]) -> None:
        """
        Their channel is closed. What still runs is kept and may be acknowledged later; the rest
        was never begun and goes back uncounted.
        """
        for tag in tags:
            held = self._held.get(tag)
            if held is None:
                continue
            if self._still_running(tag):
                held.orphan = True
            else:
                self._say(tag, self._held.pop(tag, None), EndHint("release"))

    def _say(self, tag: str, held: HeldClaim | None, hint: EndHint | None) -> None:
        if held is None:
            logger.info("claim %s is no longer held: its ack is ignored", tag)
            return
        self._words.append(_PendingAck(held, self._nack(held, hint) if hint else None))
        if not self.gathering:
            self.flush()

    def _nack(self, held: HeldClaim, hint: EndHint) -> Nack:
        delay_ms, step = hint.delay_ms, _STEPS.get(hint.step)
        if step is not None:
            policy = RetryPolicy.of(self.cluster.settings(held.queue))
            delay_ms = policy.delay_ms(held.job.attempt, self._rng.random())
        given: Step = step or cast("Step", hint.step)
        return Nack(held.job.job_id, held.job.token, given, delay_ms, hint.problem)

    def flush(self) -> None:
        """
        Tell the shards what there is to tell. What one cannot hear now is kept for later.

        Safe to call from any thread; a second caller returns at once.
        """
        if not self._words or self._clock.monotonic_s() < self._speak_again_s:
            return
        if not self._lock.acquire(blocking=False):
            return
        try:
            words = [self._words.popleft() for _ in range(len(self._words))]
            groups: dict[tuple[Shard, str, bool], list[_PendingAck]] = defaultdict(list)
            for word in words:
                groups[word.held.shard, word.held.queue, word.nack is None].append(word)
            for (shard, queue, acks), group in groups.items():
                self._tell(shard, queue, group, acks=acks)
        finally:
            self._lock.release()

    def _tell(self, shard: Shard, queue: str, words: list[_PendingAck], *, acks: bool) -> None:
        try:
            if shard is not self.cluster.shards[0] and not self.cluster.usable(shard):
                raise BrokerUnavailable(f"shard {shard.name}", "is out of rotation")
            with self.cluster.watched(shard):
                done: list[bool] | list[JobState | None] = (
                    shard.ack(queue, [(w.held.job.job_id, w.held.job.token) for w in words])
                    if acks
                    else shard.nack(queue, [w.nack for w in words if w.nack])
                )
        except BrokerUnavailable as error:
            # Once an outage: it is tried several times a second.
            level = logging.DEBUG if shard.name in self._unheard else logging.WARNING
            self._unheard.add(shard.name)
            logger.log(level, "%d acks wait for their shard: %s", len(words), error)
            self._words.extendleft(reversed(words))
            # Not at every turn of an event loop.
            self._speak_again_s = self._clock.monotonic_s() + KEEPER_PERIOD_S
            return
        self._unheard.discard(shard.name)
        for word, fine in zip(words, done, strict=True):
            if not fine:
                logger.warning(
                    "the ack of job %s of %s came too late: another worker has it, or its server "
                    "restarted and it runs again",
                    word.held.job.job_id, queue,
                )  # fmt: skip

    def extend(self) -> None:
        """Extend what is at work; drop what was lost, or outlived `max_claim_ms`."""
        self._behind = False
        groups: dict[tuple[Shard, str], list[str]] = defaultdict(list)
        now_s = self._clock.monotonic_s()
        for tag, held in list(self._held.items()):
            if (now_s - held.since_s) * 1000 > self.max_claim_ms:
                self._held.pop(tag, None)
            else:
                groups[held.shard, held.queue].append(tag)
        for (shard, queue), tags in groups.items():
            self._extend(shard, queue, tags)

    def _extend(self, shard: Shard, queue: str, tags: list[str]) -> None:
        pairs = [(tag, held) for tag in tags if (held := self._held.get(tag))]
        try:
            with self.cluster.watched(shard):
                kept = shard.extend(
                    queue,
                    [(held.job.job_id, held.job.token) for _, held in pairs],
                    timeout_ms=self.claim_timeout_ms,
                )
        except BrokerUnavailable as error:
            guard = self._guards[shard.name]
            level = logging.DEBUG if guard.needs_connecting else logging.WARNING
            logger.log(level, "%d claims could not be extended: %s", len(tags), error)
            guard.lost()
            self._behind = True
            return
        for (tag, held), fine in zip(pairs, kept, strict=True):
            # One that was acknowledged in the meantime is not lost.
            if not fine and self._held.pop(tag, None) is not None:
                logger.warning("the claim on job %s of %s was lost", held.job.job_id, queue)
            elif held.orphan:
                self._let_go(held)

    def _let_go(self, orphan: HeldClaim) -> None:
        """
        Drop an orphan that ended a claim timeout ago.

        Its ack may have to wait until the worker's event loop runs again, on a new connection.
        """
        now_s = self._clock.monotonic_s()
        if self._still_running(orphan.tag):
            orphan.ended_s = None
        elif orphan.ended_s is None:
            orphan.ended_s = now_s
        elif (now_s - orphan.ended_s) * 1000 >= self.claim_timeout_ms:
            self._held.pop(orphan.tag, None)

    def sweep(self) -> None:
        """One round over all shards and watched queues."""
        for shard in self.cluster.shards:
            try:
                if shard is not self.cluster.shards[0] and not self.cluster.usable(shard):
                    raise BrokerUnavailable(f"shard {shard.name}", "is out of rotation")
                with self.cluster.watched(shard):
                    self._sweep(shard, self._guards[shard.name])
            except BrokerUnavailable as error:
                self._guards[shard.name].lost()
                logger.debug("not swept: %s", error)

    def _sweep(self, shard: Shard, guard: ReapGuard) -> None:
        if guard.needs_connecting and isinstance(shard, RedisShard):
            server_ms, uptime_ms = shard.age_ms()
            guard.connected(server_ms, uptime_ms, self._clock.monotonic_s() * 1000)
            for remark in shard.remarks():
                logger.warning("shard %s: %s", shard.name, remark)
            if guard.lost_before:
                self.extend()
        for queue in list(self._queues):
            given_back = failed = 0
            for _ in range(SWEEP_STEPS):
                before_ms = guard.reap_before_ms(self._clock.monotonic_s() * 1000)
                swept = shard.sweep(queue, reap_before_ms=before_ms, limit=SWEEP_STEP)
                guard.collect_receipts(swept.now_ms, self._clock.monotonic_s() * 1000)
                given_back += swept.given_back
                failed += swept.failed
                if swept.given_back + swept.failed < SWEEP_STEP:
                    break
            if given_back or failed:
                logger.warning(
                    "claims ran out on %s: %d given back, %d failed", queue, given_back, failed
                )

    def _start_keeper(self) -> None:
        if self._keeper is None:
            self._keeper = threading.Thread(target=self._keep, name="pinlater-keeper", daemon=True)
            self._keeper.start()
            atexit.register(self.flush)

    def _keep(self) -> None:
        extended_s = swept_s = self._clock.monotonic_s()
        while not self._stopped.wait(KEEPER_PERIOD_S):
            now_s = self._clock.monotonic_s()
            try:
                self.flush()
                # A server that comes back must hear of our claims before others reap them.
                if self._behind or (now_s - extended_s) * 1000 >= self.claim_timeout_ms / 3:
                    extended_s = now_s
                    self.extend()
                if now_s - swept_s >= SWEEP_PERIOD_S:
                    # Apart from other workers' rounds.
                    swept_s = now_s + self._rng.uniform(-0.1, 0.1)
                    self.sweep()
            except Exception:
                logger.exception("the keeper of claims goes on after an unexpected error")

    def stop(self) -> None:
        """Tell what is left to tell, and end the thread; claims still held will run out."""
        self.flush()
        self._stopped.set()
        atexit.unregister(self.flush)
        if self._keeper is not None and self._keeper is not threading.current_thread():
            self._keeper.join(5)


def worker_name(pid: int) -> str:
    """How the name of a worker with this process id on this host begins; see `Admin.release`."""
    return f"{socket.gethostname()}:{pid}:"


_registries: dict[tuple[object, ...], ClaimRegistry] = {}


def claims_for(
    urls: Sequence[str], *, prefix: str, claim_timeout_s: float, max_claim_s: float
) -> ClaimRegistry:
    """The book of this process for these shards; a forked child gets one of its own."""
    key = (os.getpid(), tuple(urls), prefix)
    if key not in _registries:
        _registries[key] = ClaimRegistry(
            Cluster(connect_shards(urls, prefix=prefix)),
            claim_timeout_ms=round(claim_timeout_s * 1000),
            max_claim_ms=round(max_claim_s * 1000),
            still_running=celery_runs,
        )
    return _registries[key]


def stop_claims() -> None:
    """Stop the books of this process; a connection that is used later gets a new one."""
    while _registries:
        _registries.popitem()[1].stop()


def celery_runs(tag: str) -> bool:
    """Is a Celery worker in this process at work on this delivery? A task id may be shared."""
    state = sys.modules.get("celery.worker.state")
    return state is not None and any(
        r.message.delivery_tag == tag for r in list(state.active_requests)
    )
