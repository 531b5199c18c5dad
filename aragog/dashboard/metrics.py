"""
Prometheus metrics, collected at scrape time: counts, queues, domains, lag, memory.

The parts are read in parallel, with one reading at a time for each part, and a scrape waits for all
of them at most `WAIT_S`. A slower reading continues in the background, and the scrape shows the
part's previous values if they are at most `WINDOW_S` old: a busy machine is slow, not down.
`aragog_part_up` is 0 for a part that failed or has not answered for that long; it is absent until
the first answer arrives.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial

import redis
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from aragog.dashboard.components import Components
from aragog.dashboard.metric_readers import READERS
from aragog.errors import ALL
from aragog.runtime.clock import Clock

WAIT_S = 1.0
WINDOW_S = 60.0
"""How long the last good values of a late part are shown."""


class MetricsPart:
    """
    The metrics of one part: the current reading and the last good one. Thread-safe.

    Args:
        read: returns the metrics.
        clock: measures the age of the metrics.
        window_s: how long the last good metrics are used while newer ones are late.
    """

    def __init__(self, read: Callable[[], list[Metric]], clock: Clock, window_s: float) -> None:
        self._read = read
        self._clock = clock
        self._window_s = window_s
        self._lock = threading.Lock()
        self._running: Future[None] | None = None
        self._good: list[Metric] | None = None
        self._unanswered_since_s: float | None = None
        self._failed = False

    def ask(self, threads: ThreadPoolExecutor) -> Future[None]:
        """The reading in progress; starts one if there was none."""
        with self._lock:
            if self._running is None or self._running.done():
                if self._unanswered_since_s is None:
                    self._unanswered_since_s = self._clock.monotonic_s()
                self._running = threads.submit(self._take)
            return self._running

    def _take(self) -> None:
        """Read, and store the result or the error; a late result is used by the next scrape."""
        try:
            metrics = self._read()
        except (*ALL, redis.RedisError, OSError) as error:
            if not _is_timeout(error):  # a timeout counts as late
                with self._lock:
                    self._good, self._failed = None, True
            return
        with self._lock:
            self._good, self._failed, self._unanswered_since_s = metrics, False, None

    def figures(self) -> tuple[bool | None, list[Metric]]:
        """Whether the part is up (None: not known yet), and the metrics to show."""
        with self._lock:
            since_s = self._unanswered_since_s
            late_s = 0.0 if since_s is None else self._clock.monotonic_s() - since_s
            if self._failed or late_s > self._window_s:
                return False, []
            return (True, self._good) if self._good is not None else (None, [])


def _is_timeout(error: BaseException | None) -> bool:
    """Whether the error, or the error that caused it, is a timeout."""
    while error is not None:
        if isinstance(error, TimeoutError | redis.TimeoutError):
            return True
        error = error.__cause__
    return False


class MetricsCollector(Collector):
    """
    The metrics of one system. Register one in each process; safe to scrape from many threads.

    Args:
        components: the parts to read.
        wait_s: the longest duration of a scrape.
        window_s: how long the last good metrics of a late part are shown.
    """

    def __init__(
        self, components: Components, *, wait_s: float = WAIT_S, window_s: float = WINDOW_S
    ) -> None:
        self._wait_s = wait_s
        self._threads = ThreadPoolExecutor(len(READERS), thread_name_prefix="metrics")
        self._parts = {
            name: MetricsPart(partial(_figures_of, read, components), components.clock, window_s)
            for name, read in READERS
        }

    def describe(self) -> Iterable[Metric]:
        """Returns nothing: registering must not read."""
        return []

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily(
            "aragog_part_up", "1: this part answered within the last minute.", labels=["part"]
        )
        futures = [part.ask(self._threads) for part in self._parts.values()]
        wait(futures, self._wait_s)
        for name, part in self._parts.items():
            is_up, metrics = part.figures()
            if is_up is not None:
                up.add_metric([name], is_up)
            yield from metrics
        yield up

    def close(self) -> None:
        """Close the threads, without waiting for readings in progress."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _figures_of(
    read: Callable[[Components], Iterator[Metric]], components: Components
) -> list[Metric]:
    return list(read(components))
