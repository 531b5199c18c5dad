"""
What Prometheus reads: counts, queues, domains, lag, memory; asked for at scrape time.

The parts are read side by side, and a scrape waits for them `WAIT_S` together: one that is late or
fails costs its own figures (`aragog_part_up` is 0), never the scrape. A part that is still being
read is not asked a second time.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import redis
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from aragog.dashboard.parts import Parts
from aragog.errors import AragogError
from aragog.pinlater.admin import count_of
from aragog.pinlater.job import State

WAIT_S = 1.0
MOST_DOMAINS = 20
# A sample is read so often at most; a scrape that it is too slow for has it the next time.
FRESHNESS_S = 30.0
# A broker used by many applications may have any number of queues; a scrape asks for so many.
MOST_QUEUES = 100


class Figures(Collector):
    """
    The metrics of one system. Register one in a process; safe to scrape from many threads.

    Args:
        parts: read from.
        wait_s: how long a scrape may take at most.
    """

    def __init__(self, parts: Parts, *, wait_s: float = WAIT_S) -> None:
        self._parts = parts
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(len(_READERS), thread_name_prefix="metrics")
        self._running: dict[str, Future[list[Metric]]] = {}

    def describe(self) -> Iterable[Metric]:
        """Nothing: registering must not read."""
        return []

    def collect(self) -> Iterator[Metric]:
        until_s = time.monotonic() + self._wait_s
        up = GaugeMetricFamily(
            "aragog_part_up", "1: this part answered the scrape in time.", labels=["part"]
        )
        with self._lock:
            asked = {name: self._ask(name, read) for name, read in _READERS}
        for name, future in asked.items():
            found = _within(future, until_s - time.monotonic())
            up.add_metric([name], found is not None)
            yield from found or ()
        yield up

    def _ask(self, name: str, read: Callable[[Parts], Iterator[Metric]]) -> Future[list[Metric]]:
        last = self._running.get(name)
        if last is None or last.done():
            last = self._running[name] = self._threads.submit(lambda: list(read(self._parts)))
        return last

    def close(self) -> None:
        """Let go of the threads; what is being read is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _within(future: Future[list[Metric]], wait_s: float) -> list[Metric] | None:
    try:
        return future.result(max(0.0, wait_s))
    except (TimeoutError, AragogError, redis.RedisError, OSError):
        return None


def _urls(parts: Parts) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "aragog_waiting",
        "URLs on their way, not yet stored or given up.",
        value=parts.waiting.count(),
    )
    events = CounterMetricFamily(
        "aragog_urls", "What URLs came to; bytes are bytes of bodies.", labels=["event"]
    )
    for name, count in sorted(parts.tally.read().items()):
        events.add_metric([name], count)
    yield events


def _spool(parts: Parts) -> Iterator[Metric]:
    state = parts.spool.state()
    yield GaugeMetricFamily(
        "aragog_spool_bytes", "Bodies between two stages.", value=state.used_bytes
    )
    yield GaugeMetricFamily(
        "aragog_spool_max_bytes", "Its bound.", value=parts.spool.bounds().max_bytes
    )
    yield GaugeMetricFamily(
        "aragog_fetching_waits", "1: fetches wait for room in the spool.", value=state.closed
    )


def _queues(parts: Parts) -> Iterator[Metric]:
    if parts.admin is None:
        return
    jobs = GaugeMetricFamily("aragog_jobs", "Jobs by state.", labels=["queue", "state"])
    due = GaugeMetricFamily("aragog_jobs_due", "PENDING jobs that are due.", labels=["queue"])
    age = GaugeMetricFamily(
        "aragog_oldest_due_age_seconds",
        "How long the oldest due job has been due.",
        labels=["queue"],
    )
    paused = GaugeMetricFamily("aragog_queue_paused", "1: nothing is handed out.", labels=["queue"])
    events = CounterMetricFamily(
        "aragog_queue_events", "What happened to jobs.", labels=["queue", "event"]
    )
    for queue in parts.admin.queues()[:MOST_QUEUES]:
        status = parts.admin.status(queue)
        for state in State:
            jobs.add_metric([queue, state.value.lower()], count_of(status.sizes, state))
        due.add_metric([queue], status.sizes.due)
        age.add_metric([queue], status.sizes.oldest_due_ms / 1000)
        paused.add_metric([queue], status.paused)
        for event, count in status.stats.items():
            events.add_metric([queue, event], count)
    yield from (jobs, due, age, paused, events)


def _shards(parts: Parts) -> Iterator[Metric]:
    """What this process thinks of each shard; told without asking, so also while none answers."""
    shards = GaugeMetricFamily("aragog_shard_up", "1: in rotation.", labels=["shard"])
    for name, breaker in parts.admin.cluster.breakers.items() if parts.admin else ():
        shards.add_metric([name], breaker.healthy)
    yield shards


def _domains(parts: Parts) -> Iterator[Metric]:
    backlog = GaugeMetricFamily(
        "aragog_domain_backlog_seconds",
        f"How far ahead slots are given away, the {MOST_DOMAINS} longest.",
        labels=["domain"],
    )
    slowed = GaugeMetricFamily(
        "aragog_domain_slow_down", "How many times slower than its rate.", labels=["domain"]
    )
    for report in parts.limiter().busiest(MOST_DOMAINS):
        backlog.add_metric([report.key], report.backlog_ms / 1000)
        slowed.add_metric([report.key], report.slow_down)
    yield from (backlog, slowed)


def _store(parts: Parts) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "aragog_fold_lag_seconds",
        "Age of the oldest link not yet folded.",
        value=parts.store().fold_lag_ms() / 1000,
    )


def _freshness(parts: Parts) -> Iterator[Metric]:
    """From a sample of the store, by type."""
    age = GaugeMetricFamily(
        "aragog_field_age_seconds",
        "Since served fields were last seen to be so, from a sample.",
        labels=["type", "quantile"],
    )
    on_time = GaugeMetricFamily(
        "aragog_refreshed_on_time_ratio",
        "Of pages that are refreshed, those whose refresh is not overdue.",
        labels=["type"],
    )
    for of, found in parts.store().freshness(cached_s=FRESHNESS_S).items():
        age.add_metric([of, "0.5"], found.age_p50_s)
        age.add_metric([of, "0.95"], found.age_p95_s)
        on_time.add_metric([of], found.on_time)
    now_ms = parts.clock.now_ms()
    oldest_ms = parts.store().oldest_due_ms(now_ms)
    yield from (age, on_time)
    yield GaugeMetricFamily(
        "aragog_refresh_lag_seconds",
        "How long the oldest URL that is due has been due.",
        value=0 if oldest_ms is None else (now_ms - oldest_ms) / 1000,
    )


def _disk(parts: Parts) -> Iterator[Metric]:
    if parts.folder is not None:
        free = shutil.disk_usage(parts.folder).free
        yield GaugeMetricFamily("aragog_disk_free_bytes", "For the embedded store.", value=free)


def _memory(parts: Parts) -> Iterator[Metric]:
    used = GaugeMetricFamily("aragog_redis_used_bytes", "Memory in use.", labels=["server"])
    most = GaugeMetricFamily(
        "aragog_redis_max_bytes", "maxmemory; missing where there is none.", labels=["server"]
    )
    up = GaugeMetricFamily("aragog_redis_up", "1: it answers.", labels=["server"])
    for name, client in parts.servers.items():
        try:
            info = client.info("memory")
        except redis.RedisError:
            up.add_metric([name], 0)
            continue
        up.add_metric([name], 1)
        used.add_metric([name], info["used_memory"])
        if info.get("maxmemory"):
            most.add_metric([name], info["maxmemory"])
    yield from (up, used, most)


_READERS: tuple[tuple[str, Callable[[Parts], Iterator[Metric]]], ...] = (
    ("urls", _urls),
    ("spool", _spool),
    ("queues", _queues),
    ("shards", _shards),
    ("domains", _domains),
    ("store", _store),
    ("freshness", _freshness),
    ("disk", _disk),
    ("redis", _memory),
)
