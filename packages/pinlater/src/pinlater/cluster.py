"""
`Cluster` makes several shards act as one. Jobs go to a random healthy shard, queries to all shards.

A job stays on the shard that accepted it. So adding a shard moves no jobs, and a lost shard's jobs
wait until it returns. A job's public id is `<shard>-<id>`. Rendezvous hashing over the healthy
shards assigns jobs with the same unique key to the same shard, so that duplicates are detected.
"""

from __future__ import annotations

import hashlib
import logging
import math
import random
import threading
import time
import weakref
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module

import redis

from pinlater.breaker import Breaker
from pinlater.brokers import is_postgres
from pinlater.clock import Clock, SystemClock
from pinlater.errors import BrokerFull, BrokerUnavailable, InvalidConfig
from pinlater.masking import reveal, without_password
from pinlater.models import Enqueued, JobFrame, JobItem, NewJob
from pinlater.redis.connect import connect
from pinlater.redis_shard import RedisShard
from pinlater.shard import ServerShard, Shard

logger = logging.getLogger(__name__)

SOCKET_TIMEOUT_S = 2.0
CONNECT_TIMEOUT_S = 1.0
SETTINGS_TTL_S = 2.0
PROBE_CHECK_EVERY_S = 0.25


class Cluster:
    """
    The shards of a pinlater broker, used as one.

    >>> from pinlater.models import ClaimRequest, NewJob
    >>> from pinlater.testing.memory_shard import MemoryShard
    >>> cluster = Cluster([MemoryShard(name="a"), MemoryShard(name="b")])
    >>> [first] = cluster.enqueue("mail", [NewJob(b"hello", unique_key="ada")])
    >>> [again] = cluster.enqueue("mail", [NewJob(b"hello", unique_key="ada")])
    >>> again.already_there, again.job_id == first.job_id
    (True, True)
    >>> request = ClaimRequest(limit=10, timeout_ms=30_000, worker="w1")
    >>> for shard in cluster.shards:
    ...     for claimed in shard.claim("mail", request).claims:
    ...         print(claimed.attempt, shard.ack("mail", [(claimed.job_id, claimed.token)]))
    1 [True]

    Args:
        shards: in a fixed order, because a shard's position is its name. Appending one is safe at
            any time.
        clock: its monotonic clock measures durations; its wall clock only spreads items over
            shards.
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
        self.first_shard = next(
            (s for s in self.shards[:1] if not getattr(s, "jobs_only", False)), None
        )
        """
        The shard whose server also carries messages that are not jobs. If this shard is lost, the
        channel is lost, too. None if another server carries such messages; then any shard may be
        out of rotation.
        """
        self.breakers = {shard.name: self._make_breaker() for shard in self.shards}
        self._clock = clock or SystemClock()
        self._rng = rng or random.Random()
        self._settings: dict[str, tuple[float, dict[str, float]]] = {}
        self._full_breakers = {shard.name: Breaker(max_errors=1) for shard in self.shards}
        self._probers_lock = threading.Lock()
        self._probers: dict[str, threading.Thread] = {}

    def _make_breaker(self) -> Breaker:
        if self.first_shard is None and len(self.shards) == 1:
            # No other shard can replace it, so slow answers do not take it out of rotation.
            return Breaker(slow_s=math.inf, first_wait_s=PROBE_CHECK_EVERY_S)
        return Breaker()

    @contextmanager
    def track(self, shard: Shard) -> Iterator[None]:
        """Record the block's duration and errors in the shard's circuit breaker."""
        started_s = self._clock.monotonic_s()
        try:
            yield
        except BrokerFull:
            # A full shard still works, and acknowledging its jobs frees space.
            self.record_answer(shard, self._clock.monotonic_s() - started_s)
            raise
        except BrokerUnavailable as error:
            unreachable = isinstance(error.__cause__, redis.TimeoutError | OSError)
            self.record_failure(shard, error, at_once=unreachable)
            raise
        self.record_answer(shard, self._clock.monotonic_s() - started_s)

    def record_answer(self, shard: Shard, took_s: float = 0.0) -> None:
        """Record that the shard answered after `took_s`."""
        with self._log_changes(shard, f"it took {took_s:.1f} s to answer") as breaker:
            breaker.record_answer(took_s, self._clock.monotonic_s())

    def record_failure(self, shard: Shard, error: Exception, *, at_once: bool = True) -> None:
        """Record that the shard did not answer. `at_once` takes it out of rotation immediately."""
        with self._log_changes(shard, str(error)) as breaker:
            breaker.record_failure(self._clock.monotonic_s(), at_once=at_once)

    @contextmanager
    def _log_changes(self, shard: Shard, reason: str) -> Iterator[Breaker]:
        breaker = self.breakers[shard.name]
        out_since_s = breaker.out_since_s
        yield breaker
        if out_since_s is None and not breaker.is_healthy:
            logger.warning("shard %s is out of rotation, and its jobs wait: %s", shard.name, reason)
        elif out_since_s is not None and breaker.is_healthy:
            out_s = self._clock.monotonic_s() - out_since_s
            logger.warning("shard %s is back after %.0f s", shard.name, out_s)

    def is_usable(self, shard: Shard) -> bool:
        """
        Return whether the shard is in rotation.

        A thread probes each shard that is out of rotation every `PROBE_EVERY_S`, so that no caller
        waits for a server that hangs.
        """
        is_healthy = self.breakers[shard.name].is_healthy
        if not is_healthy:
            self._start_probing(shard)
        return is_healthy

    def _start_probing(self, shard: Shard) -> None:
        with self._probers_lock:
            prober = self._probers.get(shard.name)
            # In a forked child, the parent's thread is not alive.
            if prober is None or not prober.is_alive():
                prober = self._probers[shard.name] = threading.Thread(
                    target=_probe_until_back,
                    args=(weakref.ref(self), shard),
                    name=f"pinlater-probe-{shard.name}",
                    daemon=True,
                )
                prober.start()

    def probe(self, shard: Shard) -> bool:
        """Probe the shard if a probe is due; returns whether it is in rotation."""
        breaker = self.breakers[shard.name]
        if not breaker.is_healthy and breaker.may_call(self._clock.monotonic_s()):
            with suppress(BrokerUnavailable), self.track(shard):
                shard.ping()
        return breaker.is_healthy

    def record_channel_open(self, *, first_answered: bool) -> None:
        """
        Record that a channel opens, and whether the first shard has answered.

        Raises:
            BrokerUnavailable: `first_shard` is None, and no shard is in rotation. This makes
                kombu pause, which it does between attempts to connect, but not between attempts
                to publish.
        """
        if self.first_shard is None and not any(map(self.is_usable, self.shards)):
            raise BrokerUnavailable("broker", "no shard is in rotation")
        if self.first_shard is not None and first_answered:
            self.record_answer(self.first_shard)

    def ping(self) -> bool:
        """
        Return True if any shard answers.

        Raises:
            BrokerUnavailable: no shard answers.
        """
        last_error: BrokerUnavailable | None = None
        for shard in self.healthy_shards():
            try:
                with self.track(shard):
                    shard.ping()
            except BrokerUnavailable as error:
                last_error = error
            else:
                return True
        raise last_error or BrokerUnavailable("broker", "no shard answers")

    def check_usable(self, shard: Shard) -> None:
        """
        Check that the shard may be called; the first shard always may.

        Raises:
            BrokerUnavailable: the shard is out of rotation.
        """
        if shard is not self.first_shard and not self.is_usable(shard):
            raise BrokerUnavailable(f"shard {shard.name}", "is out of rotation")

    def healthy_shards(self) -> list[Shard]:
        """Return the shards in rotation, or all if none is."""
        return [s for s in self.shards if self.is_usable(s)] or list(self.shards)

    def accepting_shards(self) -> list[Shard]:
        """
        Return the shards in rotation that have free memory for new jobs.

        If all are full, return all of them, so that the caller gets their error.
        """
        now_s = self._clock.monotonic_s()
        shards = self.healthy_shards()
        return [s for s in shards if self._full_breakers[s.name].may_call(now_s)] or shards

    @property
    def rate_share(self) -> float:
        """Return each shard's fraction of a queue's rate; jobs are spread evenly."""
        return 1 / max(1, sum(b.is_healthy for b in self.breakers.values()))

    def enqueue(self, queue: str, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """
        Enqueue new jobs in one round trip per shard. Returns receipts in the same order.

        A shard that fails is taken out of rotation. A full shard gets no new jobs for
        `PROBE_EVERY_S`. Their jobs go to other shards.

        Raises:
            BrokerUnavailable: some jobs were not accepted by any shard.
            BrokerFull: the same, because the shards that answer are full.
        """
        receipts: list[Enqueued | None] = [None] * len(jobs)
        remaining = list(range(len(jobs)))
        for _ in range(len(self.shards) + 1):
            failed: list[int] = []
            last_error: BrokerUnavailable | None = None
            for shard, indexes in self._distribute(jobs, remaining).items():
                try:
                    with self.track(shard):
                        accepted = shard.enqueue(queue, [jobs[i] for i in indexes])
                except BrokerUnavailable as error:
                    self._record_refusal(shard, error)
                    failed, last_error = failed + indexes, error
                    continue
                self._mark_accepting(shard)
                for i, receipt in zip(indexes, accepted, strict=True):
                    receipts[i] = receipt._replace(job_id=f"{shard.name}-{receipt.job_id}")
            if last_error is None:
                break
            if not self._any_shard_accepts():
                raise last_error
            remaining = failed
        return [receipt for receipt in receipts if receipt is not None]

    def collect(self, queue: str, frame: JobFrame, items: Sequence[JobItem]) -> None:
        """
        Enqueue items that share jobs, in one round trip per shard. See `Shard.collect`.

        Items due at about the same time go to the same shard, so that they can share a job. If a
        shard fails, its items go to others.

        Raises:
            BrokerUnavailable: some items were not accepted by any shard.
        """
        remaining = list(items)
        for _ in range(len(self.shards) + 1):
            failed: list[JobItem] = []
            last_error: BrokerUnavailable | None = None
            for shard, part in self._distribute_items(frame.span_ms, remaining).items():
                try:
                    with self.track(shard):
                        shard.collect(queue, frame, part)
                    self._mark_accepting(shard)
                except BrokerUnavailable as error:
                    self._record_refusal(shard, error)
                    failed, last_error = failed + part, error
            if last_error is None:
                return
            if not self._any_shard_accepts():
                raise last_error
            remaining = failed

    def _record_refusal(self, shard: Shard, error: BrokerUnavailable) -> None:
        """Record an error. A full shard stays in rotation, but gets no new jobs for a while."""
        if not isinstance(error, BrokerFull):
            self.record_failure(shard, error)
            return
        if self._full_breakers[shard.name].is_healthy:
            logger.warning("shard %s gets no new jobs: %s", shard.name, error.reason)
        self._full_breakers[shard.name].record_failure(self._clock.monotonic_s())

    def _mark_accepting(self, shard: Shard) -> None:
        breaker = self._full_breakers[shard.name]
        if not breaker.is_healthy:
            breaker.record_answer(0.0, self._clock.monotonic_s())
            logger.warning("shard %s gets new jobs again", shard.name)

    def _any_shard_accepts(self) -> bool:
        now_s = self._clock.monotonic_s()
        return any(
            breaker.is_healthy and self._full_breakers[name].may_call(now_s)
            for name, breaker in self.breakers.items()
        )

    def _distribute_items(
        self, span_ms: int, items: Sequence[JobItem]
    ) -> dict[Shard, list[JobItem]]:
        shards = self.accepting_shards()
        if len(shards) == 1:
            return {shards[0]: list(items)} if items else {}
        # A wrong clock only makes jobs smaller.
        now_ms = self._clock.now_ms()
        by_shard: dict[Shard, list[JobItem]] = defaultdict(list)
        for item in items:
            by_shard[_pick(shards, str((now_ms + item.delay_ms) // span_ms))].append(item)
        return by_shard

    def _distribute(self, jobs: Sequence[NewJob], indexes: Sequence[int]) -> dict[Shard, list[int]]:
        shards = self.accepting_shards()
        if len(shards) == 1:
            return {shards[0]: list(indexes)} if indexes else {}
        by_shard: dict[Shard, list[int]] = defaultdict(list)
        for i in indexes:
            key = jobs[i].unique_key
            by_shard[_pick(shards, key) if key else self._rng.choice(shards)].append(i)
        return by_shard

    def settings(self, queue: str) -> Mapping[str, float]:
        """
        Return a queue's settings, at most two seconds old. If no shard answers, return the last
        known settings; empty if there are none.
        """
        now_s = self._clock.monotonic_s()
        cached = self._settings.get(queue)
        if cached and now_s - cached[0] < SETTINGS_TTL_S:
            return cached[1]
        result = cached[1] if cached else {}
        for shard in self.healthy_shards():
            try:
                with self.track(shard):
                    result = shard.settings(queue)
                break
            except BrokerUnavailable:
                continue
        self._settings[queue] = (now_s, result)
        return result

    def find(self, name: str) -> Shard | None:
        return next((s for s in self.shards if s.name == name), None)


def _pick(shards: Sequence[Shard], key: str) -> Shard:
    """Choose a shard by rendezvous hashing, so losing a shard moves only its own keys."""
    return max(
        shards,
        key=lambda s: hashlib.blake2b(f"{s.name}\0{key}".encode(), digest_size=8).digest(),
    )


def _probe_until_back(cluster: weakref.ref[Cluster], shard: Shard) -> None:
    """Probe the shard until it answers, or until nobody is using the cluster."""
    while True:
        time.sleep(PROBE_CHECK_EVERY_S)
        live_cluster = cluster()
        if live_cluster is None or live_cluster.probe(shard):
            return
        del live_cluster


def connect_shards(
    urls: Sequence[str], *, prefix: str = "", socket_timeout_s: float = SOCKET_TIMEOUT_S
) -> list[ServerShard]:
    """
    Return a shard for each Redis or PostgreSQL URL, named by its position, without connecting.

    Raises:
        InvalidConfig: a URL is unusable, or a PostgreSQL URL needs psycopg, which is missing.
    """
    return [
        _connect_postgres(url, str(position), prefix)
        if is_postgres(url)
        else RedisShard(_connect_redis(url, socket_timeout_s), name=str(position), prefix=prefix)
        for position, url in enumerate(urls)
    ]


def _connect_postgres(url: str, name: str, prefix: str) -> ServerShard:
    try:
        # psycopg is an optional dependency.
        shards = import_module("pinlater.postgres.shard")
    except ImportError as error:
        masked_url = without_password(url)
        raise InvalidConfig(
            f"{masked_url} needs psycopg, which is missing: pip install 'psycopg[binary]'"
        ) from error
    shard: ServerShard = shards.PostgresShard(reveal(url), name=name, prefix=prefix)
    return shard


def _connect_redis(url: str, socket_timeout_s: float) -> redis.Redis:
    """Return a client that retries broken connections once, and timeouts never."""
    return connect(
        url,
        setting="broker URL",
        timeout_s=socket_timeout_s,
        connect_timeout_s=CONNECT_TIMEOUT_S,
        attempts=2,
        retry_timeouts=False,
    )
