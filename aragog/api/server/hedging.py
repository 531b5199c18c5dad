"""
Hedged reads. A slow read is also sent to a standby store, and the first result is used.

A networked store stalls occasionally, for example during garbage collection or when HBase moves a
region. Asking a second replica after a delay hides the stall and costs little (J. Dean and L.
Barroso, "The Tail at Scale", 2013; Pinterest's SmartFeed read its two HBase clusters this way).
Writes are never hedged.

As long as stalls are rare, the delay is the 99.9th percentile of the measured latencies. If more
than one read in a thousand stalls, that percentile is the latency of a stalled read. The delay is
then four times the median, or longer if more reads than `MAX_STANDBY_SHARE` would be hedged.

Each store has its own permits for large reads (`large_reads.py`), so the standby can respond even
if hanging reads hold all of the primary's permits. A read stops before its next row once its caller
has disconnected or has a result from the other store.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from aragog.api.operations.abandonment import abandonment
from aragog.api.operations.large_reads import (
    MAX_CONCURRENT,
    BoundedRead,
    ReadAbandoned,
    ReadTooLarge,
    SmallRead,
    TooManyReads,
)
from aragog.api.operations.store_reads import HedgedResult
from aragog.errors import TRANSIENT
from aragog.urlstore.store import UrlStore

T = TypeVar("T")

MAX_STANDBY_SHARE = 0.02
"""The maximum fraction of reads that are also sent to the standby."""
MIN_STANDBY_SHARE = 0.01
"""The minimum fraction, to keep the standby's caches and connections warm."""
MIN_DELAY_S, MAX_DELAY_S, INITIAL_DELAY_S = 0.001, 0.1, 0.02
DOWN_P99_FACTOR = 10
MIN_DOWN_S, MAX_DOWN_S = 0.05, 0.25
"""
If the primary has not responded for ten times its 99th-percentile latency, within these bounds, it
counts as down. Every late read is then hedged regardless of `MAX_STANDBY_SHARE`.
"""
DEADLINE_SHARE = 0.5
"""A read that has waited for this fraction of its deadline is always hedged."""
_MAX_BUDGET = 20.0
_MAX_SAMPLES = 10_000
_MIN_SAMPLES = 100
_BUCKET_RATIO = 1.1
_MIN_BUCKET_S = 50e-6
_BUCKET_COUNT = 140


class Latencies:
    """A histogram of recent latencies, in buckets that grow by 10%, from 50 µs to 30 s."""

    def __init__(self) -> None:
        self._counts = [0.0] * _BUCKET_COUNT
        self._total = 0.0

    def add(self, latency_s: float) -> None:
        """Count a latency. Older latencies lose weight."""
        bucket, bound_s = 0, _MIN_BUCKET_S
        while bound_s < latency_s and bucket < _BUCKET_COUNT - 1:
            bucket, bound_s = bucket + 1, bound_s * _BUCKET_RATIO
        self._counts[bucket] += 1
        self._total += 1
        if self._total > _MAX_SAMPLES:
            self._counts = [count / 2 for count in self._counts]
            self._total = sum(self._counts)

    def quantiles(self, *shares: float) -> list[float]:
        """Return upper bounds, in seconds, of these quantiles. Pass them in ascending order."""
        result: list[float] = []
        total, bound_s = 0.0, _MIN_BUCKET_S
        for count in self._counts:
            total += count
            while len(result) < len(shares) and total >= shares[len(result)] * self._total:
                result.append(bound_s)
            bound_s *= _BUCKET_RATIO
        return result

    @property
    def has_enough_samples(self) -> bool:
        return self._total >= _MIN_SAMPLES


class HedgePolicy:
    """
    Decides when to send a read to the standby. It is not thread-safe.

    Attributes:
        delay_s: how long to wait for the primary.
        down_after_s: the primary counts as down after this long without any response.
        reads: number of reads.
        hedged: reads that were late and were sent to the standby.
        repeated: reads that failed on the primary and were sent to the standby.
        mirrored: reads that were sent to the standby to keep it warm.
        won: reads whose result came from the standby.
    """

    def __init__(self) -> None:
        self.delay_s = INITIAL_DELAY_S
        self.down_after_s = MAX_DOWN_S
        self.reads = self.hedged = self.repeated = self.mirrored = self.won = 0
        self._latencies = Latencies()
        self._budget = 1.0
        self._mirror_credit = 0.0

    def count_read(self) -> None:
        self.reads += 1
        self._budget = min(_MAX_BUDGET, self._budget + MAX_STANDBY_SHARE)
        self._mirror_credit += MIN_STANDBY_SHARE
        if self.reads % 64 == 0 and self._latencies.has_enough_samples:
            median_s, budget_s, p99_s, p999_s = self._latencies.quantiles(
                0.5, 1 - 0.9 * MAX_STANDBY_SHARE, 0.99, 0.999
            )
            target_s = min(p999_s, max(budget_s, 4 * median_s))
            self.delay_s = min(MAX_DELAY_S, max(MIN_DELAY_S, target_s))
            self.down_after_s = min(MAX_DOWN_S, max(MIN_DOWN_S, DOWN_P99_FACTOR * p99_s))

    def count_response(self, latency_s: float) -> None:
        self._latencies.add(latency_s)

    def hedge(self, *, down: bool = False) -> bool:
        """Return True to send a late read to the standby. With `down`, always returns True."""
        if self._budget < 1 and not down:
            return False
        self.hedged += 1
        self._spend()
        return True

    def try_mirror(self) -> bool:
        """Return True to repeat a completed read on the standby, to keep it warm."""
        if self._mirror_credit < 1 or self._budget < 1:
            return False
        self.mirrored += 1
        self._spend()
        return True

    def _spend(self) -> None:
        self._budget = max(0.0, self._budget - 1)
        self._mirror_credit = max(0.0, self._mirror_credit - 1)


class _SharedRead:
    """
    A read that may run on both stores.

    Attributes:
        call: performs the read.
        is_decided: True once its caller has a result.
    """

    __slots__ = ("_is_abandoned", "call", "is_decided")

    def __init__(self, call: Callable[[UrlStore], Any]) -> None:
        self.call = call
        self.is_decided = False
        self._is_abandoned = abandonment()

    def is_over(self) -> bool:
        """Return True if nobody is waiting for a result. Thread-safe."""
        return self.is_decided or self._is_abandoned()

    def check_waiting(self) -> None:
        if self.is_over():
            raise ReadAbandoned("read", "its caller has disconnected")

    def run_on(self, store: UrlStore, permits: threading.BoundedSemaphore) -> Any:
        with BoundedRead(self.is_over, permits):
            return self.call(store)


class HedgedReads:
    """
    Reads from two stores. Thread-safe.

    Args:
        primary: the store that is written to.
        standby: a replica. Its data may be older.
        threads: how many reads from each store run at the same time.
        deadline_s: how long callers wait for a read.
        policy: decides when to use the standby.
    """

    def __init__(
        self,
        primary: UrlStore,
        standby: UrlStore,
        *,
        threads: int = 16,
        deadline_s: float = 1.0,
        policy: HedgePolicy | None = None,
    ) -> None:
        self.policy = policy or HedgePolicy()
        self._stores = primary, standby
        self._permits = tuple(threading.BoundedSemaphore(MAX_CONCURRENT) for _ in self._stores)
        self._primary = ThreadPoolExecutor(threads, thread_name_prefix="primary")
        self._standby = ThreadPoolExecutor(threads, thread_name_prefix="standby")
        self._lock = threading.Lock()
        self._deadline_s = deadline_s
        self._last_response_s = time.monotonic()
        self._waiting_since_s: dict[Future[Any], float] = {}
        """The primary's unfinished reads with their start times, oldest first."""

    def read(self, call: Callable[[UrlStore], T]) -> HedgedResult:
        """
        Run `call(store)` on the primary, and on the standby if the primary is slow or fails.

        An empty result from the standby is ignored, because the standby may lag behind.

        Raises:
            Exception: `call` raised it on the primary, and the standby has no result.
        """
        shared_read = _SharedRead(call)
        try:
            return self._read(shared_read)
        finally:
            shared_read.is_decided = True

    def _read(self, shared_read: _SharedRead) -> HedgedResult:
        started_s = time.monotonic()
        primary_read = self._primary.submit(self._read_primary, shared_read)
        with self._lock:
            self.policy.count_read()
            delay_s = self.policy.delay_s
            self._waiting_since_s[primary_read] = started_s
        primary_read.add_done_callback(self._stop_waiting)
        while not wait([primary_read], delay_s).done:
            delay_s = self._wait_before_hedge_s(started_s)
            if delay_s <= 0:
                return self._hedge(primary_read, shared_read)
        return self._result_after_primary(primary_read, shared_read)

    def _stop_waiting(self, primary_read: Future[Any]) -> None:
        with self._lock:
            self._waiting_since_s.pop(primary_read, None)

    def _wait_before_hedge_s(self, started_s: float) -> float:
        """Return the time until the next check of a late read, or 0 to hedge it now."""
        now_s = time.monotonic()
        hedge_at_s = started_s + DEADLINE_SHARE * self._deadline_s
        with self._lock:
            oldest_s = next(iter(self._waiting_since_s.values()), now_s)
            down_at_s = max(self._last_response_s, oldest_s) + self.policy.down_after_s
            remaining_s = min(down_at_s, hedge_at_s) - now_s
            return 0.0 if self.policy.hedge(down=remaining_s <= 0) else remaining_s

    def _hedge(self, primary_read: Future[Any], shared_read: _SharedRead) -> HedgedResult:
        standby_read = self._submit_to_standby(shared_read)
        wait([primary_read, standby_read], return_when=FIRST_COMPLETED)
        if not primary_read.done() and _is_complete_result(standby_read):
            primary_read.cancel()  # it may still be queued behind stalled reads
            return self._take_standby_result(standby_read)
        return self._choose_result(primary_read, standby_read)

    def close(self) -> None:
        """Release the threads without waiting for running reads."""
        for pool in (self._primary, self._standby):
            pool.shutdown(wait=False, cancel_futures=True)

    def _read_primary(self, shared_read: _SharedRead) -> Any:
        shared_read.check_waiting()
        started_at_s = time.monotonic()
        try:
            value = shared_read.run_on(self._stores[0], self._permits[0])
        except ReadAbandoned:  # count the read anyway, because it took at least this long
            self._count_response(started_at_s)
            raise
        self._count_response(started_at_s)
        return value

    def _count_response(self, started_at_s: float) -> None:
        self._last_response_s = ended_s = time.monotonic()
        with self._lock:
            self.policy.count_response(ended_s - started_at_s)

    def _submit_to_standby(self, shared_read: _SharedRead) -> Future[Any]:
        def read() -> Any:
            shared_read.check_waiting()
            return shared_read.run_on(self._stores[1], self._permits[1])

        return self._standby.submit(read)

    def _read_for_warmth(self, shared_read: _SharedRead) -> None:
        with SmallRead():
            shared_read.call(self._stores[1])

    def _result_after_primary(
        self, primary_read: Future[Any], shared_read: _SharedRead
    ) -> HedgedResult:
        """Return the primary's result, or the standby's if the primary reported an outage."""
        if _is_outage(primary_read.exception()):
            with self._lock:
                self.policy.repeated += 1
            return self._choose_result(primary_read, self._submit_to_standby(shared_read))
        with self._lock:
            is_mirrored = self.policy.try_mirror()
        if is_mirrored:
            self._standby.submit(self._read_for_warmth, shared_read)
        return HedgedResult(primary_read.result(), from_standby=False)

    def _take_standby_result(self, standby_read: Future[T]) -> HedgedResult:
        with self._lock:
            self.policy.won += 1
        return HedgedResult(standby_read.result(), from_standby=True)

    def _choose_result(self, primary_read: Future[T], standby_read: Future[T]) -> HedgedResult:
        """Return the primary's result, or the standby's if the primary failed temporarily."""
        error = primary_read.exception()
        if _is_outage(error) or isinstance(error, TooManyReads):
            wait([standby_read])
            if _is_complete_result(standby_read):
                return self._take_standby_result(standby_read)
        return HedgedResult(primary_read.result(), from_standby=False)


def _is_outage(error: BaseException | None) -> bool:
    """Return True if the store failed temporarily. This process's own limits do not count."""
    limit_errors = (ReadAbandoned, ReadTooLarge, TooManyReads)
    return isinstance(error, TRANSIENT) and not isinstance(error, limit_errors)


def _is_complete_result(read: Future[Any]) -> bool:
    """Return True if the standby found everything that was requested."""
    if read.exception() is not None:
        return False
    value = read.result()
    return value is not None and not (isinstance(value, list) and None in value)


class HedgingMetrics(Collector):
    """Exports one process's counters to Prometheus."""

    def __init__(self, hedged: HedgedReads) -> None:
        self._policy = hedged.policy

    def collect(self) -> Iterator[Metric]:
        policy = self._policy
        reads = CounterMetricFamily(
            "aragog_hedged_reads",
            "Reads sent to the primary and to the standby.",
            labels=["sent_to"],
        )
        reads.add_metric(["primary"], policy.reads)
        reads.add_metric(["standby, late"], policy.hedged)
        reads.add_metric(["standby, failed"], policy.repeated)
        reads.add_metric(["standby, mirrored"], policy.mirrored)
        yield reads
        yield CounterMetricFamily(
            "aragog_hedged_reads_won", "Reads whose result came from the standby.", policy.won
        )
        yield GaugeMetricFamily(
            "aragog_hedge_delay_seconds",
            "Delay after which a read is also sent to the standby.",
            policy.delay_s,
        )
