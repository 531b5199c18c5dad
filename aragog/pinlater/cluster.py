"""
`Cluster`: several shards that act as one. Jobs go to a random healthy shard; queries go to all.

A job stays on the shard that accepted it: adding a shard moves no jobs, and the jobs of a lost
shard wait until it returns. Its public id is `<shard>-<id>`. Rendezvous hashing over the healthy
shards assigns jobs with the same unique key to the same shard, so that duplicates are detected.
"""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import redis

from aragog.clock import Clock, SystemClock
from aragog.errors import BrokerUnavailable
from aragog.pinlater.models import Enqueued, JobFrame, JobItem, NewJob
from aragog.pinlater.shards.health import Breaker
from aragog.pinlater.shards.redis_shard import RedisShard
from aragog.pinlater.shards.shard import Shard
from aragog.redis_kit.connect import connect

SOCKET_TIMEOUT_S = 2.0
CONNECT_TIMEOUT_S = 1.0
SETTINGS_FRESH_S = 2.0


class Cluster:
    """
    The shards of a pinlater broker, used as one.

    Args:
        shards: in a fixed order, which names them; appending one is safe at any time.
        clock: its stopwatch; its wall clock only spreads items over the shards.
        rng: picks a shard for each job.
    """

    def __init__(
        self,
        shards: Sequence[Shard],
        *,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.shards = tuple(shards)
        self.breakers = {shard.name: Breaker() for shard in self.shards}
        self._clock = clock or SystemClock()
        self._rng = rng or random.Random()
        self._settings: dict[str, tuple[float, dict[str, float]]] = {}

    @contextmanager
    def watched(self, shard: Shard) -> Iterator[None]:
        """Record the duration and errors of the block in the shard's circuit breaker."""
        started_s = self._clock.monotonic_s()
        breaker = self.breakers[shard.name]
        try:
            yield
        except BrokerUnavailable as error:
            unreachable = isinstance(error.__cause__, redis.TimeoutError | OSError)
            breaker.failed(self._clock.monotonic_s(), at_once=unreachable)
            raise
        now_s = self._clock.monotonic_s()
        breaker.answered(now_s - started_s, now_s)

    def usable(self, shard: Shard) -> bool:
        """Return whether the shard is in rotation; probes one that is out after its rest time."""
        breaker = self.breakers[shard.name]
        if breaker.worth_asking(self._clock.monotonic_s()):
            try:
                with self.watched(shard):
                    shard.queues()
            except BrokerUnavailable:
                return False
        return breaker.healthy

    def require(self, shard: Shard) -> None:
        """
        Check that the shard may be called now; the first one always may.

        Raises:
            BrokerUnavailable: the shard is out of rotation.
        """
        if shard is not self.shards[0] and not self.usable(shard):
            raise BrokerUnavailable(f"shard {shard.name}", "is out of rotation")

    def healthy(self) -> list[Shard]:
        """Return the shards in rotation, or all shards when none is."""
        return [s for s in self.shards if self.usable(s)] or list(self.shards)

    @property
    def share(self) -> float:
        """Return the fraction of a queue's rate for each shard; jobs are distributed evenly."""
        return 1 / max(1, sum(b.healthy for b in self.breakers.values()))

    def enqueue(self, queue: str, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """
        Enqueue new jobs, in one round trip per shard; returns receipts in the order given.

        A shard that fails leaves the rotation, and its jobs go to the others.

        Raises:
            BrokerUnavailable: no shard accepted some or all of them.
        """
        receipts: list[Enqueued | None] = [None] * len(jobs)
        left = list(range(len(jobs)))
        for _ in range(len(self.shards) + 1):
            failed: list[int] = []
            problem: BrokerUnavailable | None = None
            for shard, places in self._deal(jobs, left).items():
                try:
                    with self.watched(shard):
                        accepted = shard.enqueue(queue, [jobs[i] for i in places])
                except BrokerUnavailable as error:
                    self.breakers[shard.name].failed(self._clock.monotonic_s(), at_once=True)
                    failed, problem = failed + places, error
                    continue
                for i, receipt in zip(places, accepted, strict=True):
                    receipts[i] = receipt._replace(job_id=f"{shard.name}-{receipt.job_id}")
            if problem is None:
                break
            if not any(b.healthy for b in self.breakers.values()):
                raise problem
            left = failed
        return [receipt for receipt in receipts if receipt is not None]

    def collect(self, queue: str, frame: JobFrame, items: Sequence[JobItem]) -> None:
        """
        Enqueue items that share jobs; see `Shard.collect`. One round trip per shard.

        Items due at about the same time go to the same shard, so that they find each other. The
        items of a shard that fails go to the others.

        Raises:
            BrokerUnavailable: no shard accepted some or all of them.
        """
        left = list(items)
        for _ in range(len(self.shards) + 1):
            failed: list[JobItem] = []
            problem: BrokerUnavailable | None = None
            for shard, part in self._deal_items(frame.span_ms, left).items():
                try:
                    with self.watched(shard):
                        shard.collect(queue, frame, part)
                except BrokerUnavailable as error:
                    self.breakers[shard.name].failed(self._clock.monotonic_s(), at_once=True)
                    failed, problem = failed + part, error
            if problem is None:
                return
            if not any(b.healthy for b in self.breakers.values()):
                raise problem
            left = failed

    def _deal_items(self, span_ms: int, items: Sequence[JobItem]) -> dict[Shard, list[JobItem]]:
        shards = self.healthy()
        if len(shards) == 1:
            return {shards[0]: list(items)} if items else {}
        # A wrong clock only makes the jobs less full.
        now_ms = self._clock.now_ms()
        dealt: dict[Shard, list[JobItem]] = defaultdict(list)
        for item in items:
            dealt[_pick(shards, str((now_ms + item.delay_ms) // span_ms))].append(item)
        return dealt

    def _deal(self, jobs: Sequence[NewJob], places: Sequence[int]) -> dict[Shard, list[int]]:
        shards = self.healthy()
        if len(shards) == 1:
            return {shards[0]: list(places)} if places else {}
        dealt: dict[Shard, list[int]] = defaultdict(list)
        for i in places:
            key = jobs[i].unique_key
            dealt[_pick(shards, key) if key else self._rng.choice(shards)].append(i)
        return dealt

    def settings(self, queue: str) -> Mapping[str, float]:
        """Return a queue's settings, at most two seconds old; empty when no shard answers."""
        now_s = self._clock.monotonic_s()
        cached = self._settings.get(queue)
        if cached and now_s - cached[0] < SETTINGS_FRESH_S:
            return cached[1]
        result = cached[1] if cached else {}
        for shard in self.healthy():
            try:
                with self.watched(shard):
                    result = shard.settings(queue)
                break
            except BrokerUnavailable:
                continue
        self._settings[queue] = (now_s, result)
        return result

    def find(self, name: str) -> Shard | None:
        """Return the shard with this name, or None."""
        return next((s for s in self.shards if s.name == name), None)


def _pick(shards: Sequence[Shard], key: str) -> Shard:
    """Rendezvous hashing: losing a shard moves only the keys of that shard."""
    return max(
        shards,
        key=lambda s: hashlib.blake2b(f"{s.name}\0{key}".encode(), digest_size=8).digest(),
    )


def connect_shards(
    urls: Sequence[str], *, prefix: str = "", socket_timeout_s: float = SOCKET_TIMEOUT_S
) -> list[RedisShard]:
    """Return a shard for each Redis URL, named by its position; sends nothing yet."""
    return [
        RedisShard(_client(url, socket_timeout_s), name=str(place), prefix=prefix)
        for place, url in enumerate(urls)
    ]


def _client(url: str, socket_timeout_s: float) -> redis.Redis:
    """Return a client that retries a broken connection once and never retries a timeout."""
    return connect(
        url,
        setting="broker.url",
        timeout_s=socket_timeout_s,
        connect_timeout_s=CONNECT_TIMEOUT_S,
        attempts=2,
        retry_timeouts=False,
    )
