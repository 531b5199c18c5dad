"""
Prometheus metrics that are collected when Prometheus requests (scrapes) them.

All components are read in parallel. A scrape waits for at most `SCRAPE_TIMEOUT_S`, and slower reads
continue in the background. A slow response usually means that the machine is busy, so the scrape
shows the component's previous values if they are at most `MAX_AGE_S` old. `aragog_part_up` is 0 for
a component that failed or has not responded for `MAX_AGE_S`. Until one of these happens or the
component responds, the metric is absent.
"""

from __future__ import annotations

import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial

import redis
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from aragog.crawl.pipeline import counters
from aragog.crawl.pipeline.crawl_log import row_time_ms
from aragog.dashboard.components import Components
from aragog.errors import ALL
from aragog.observability.instruments import INSTRUMENTS
from aragog.observability.prometheus_export import buckets, family
from aragog.runtime.clock import Clock
from pinlater.admin import count_jobs
from pinlater.models import EVENTS, LATENESS_BOUNDS_MS, JobState, QueueStatus

SCRAPE_TIMEOUT_S = 1.0
MAX_AGE_S = 60.0
"""How long a component's previous values are shown while its response is late."""


class ComponentMetrics:
    """
    One component's metrics, and the read in progress. Thread-safe.

    Args:
        read: returns the metrics.
        clock: measures the age of the metrics.
        max_age_s: how long previous metrics are shown while newer ones are late.
    """

    def __init__(self, read: Callable[[], list[Metric]], clock: Clock, max_age_s: float) -> None:
        self._read = read
        self._clock = clock
        self._max_age_s = max_age_s
        self._lock = threading.Lock()
        self._running: Future[None] | None = None
        self._last_metrics: list[Metric] | None = None
        self._unanswered_since_s: float | None = None
        self._failed = False

    def start_read(self, threads: ThreadPoolExecutor) -> Future[None]:
        with self._lock:
            if self._running is None or self._running.done():
                if self._unanswered_since_s is None:
                    self._unanswered_since_s = self._clock.monotonic_s()
                self._running = threads.submit(self._read_and_store)
            return self._running

    def _read_and_store(self) -> None:
        """Read, and keep the result for this scrape or, if it is late, for the next one."""
        try:
            metrics = self._read()
        except (*ALL, redis.RedisError, OSError) as error:
            if not _is_timeout(error):  # a timeout counts as late
                with self._lock:
                    self._last_metrics, self._failed = None, True
            return
        with self._lock:
            self._last_metrics, self._failed, self._unanswered_since_s = metrics, False, None

    def state_and_metrics(self) -> tuple[bool | None, list[Metric]]:
        """Return whether the component is up (None if unknown), and the metrics to show."""
        with self._lock:
            since_s = self._unanswered_since_s
            late_s = 0.0 if since_s is None else self._clock.monotonic_s() - since_s
            if self._failed or late_s > self._max_age_s:
                return False, []
            return (True, self._last_metrics) if self._last_metrics is not None else (None, [])


def _is_timeout(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, TimeoutError | redis.TimeoutError):
            return True
        error = error.__cause__
    return False


class MetricsCollector(Collector):
    """
    Collects the crawler's metrics. Register one in each process. Scrapes may run in many threads.

    Args:
        components: the components to read.
        wait_s: the maximum duration of a scrape.
        max_age_s: how long previous metrics are shown while a component is late.
    """

    def __init__(
        self,
        components: Components,
        *,
        wait_s: float = SCRAPE_TIMEOUT_S,
        max_age_s: float = MAX_AGE_S,
    ) -> None:
        self._wait_s = wait_s
        self._threads = ThreadPoolExecutor(len(READERS), thread_name_prefix="metrics")
        self._components = {
            name: ComponentMetrics(
                partial(_read_all, read, components), components.clock, max_age_s
            )
            for name, read in READERS
        }

    def describe(self) -> Iterable[Metric]:
        """Return nothing, so that registration reads no component."""
        return []

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily(
            "aragog_part_up",
            "1: this component responded within the last minute.",
            labels=["part"],
        )
        futures = [component.start_read(self._threads) for component in self._components.values()]
        wait(futures, self._wait_s)
        for name, component in self._components.items():
            is_up, metrics = component.state_and_metrics()
            if is_up is not None:
                up.add_metric([name], is_up)
            yield from metrics
        yield up

    def close(self) -> None:
        """Shut down the threads without waiting for reads in progress."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _read_all(
    read: Callable[[Components], Iterator[Metric]], components: Components
) -> list[Metric]:
    return list(read(components))


MAX_DOMAINS = 20
# The store is sampled at most this often. A scrape shows the previous sample if a new one is late.
FRESHNESS_CACHE_S = 30.0
# Limits a scrape if many applications with many queues share the broker.
MAX_QUEUES = 100


def _fill_with_zero(names: Iterable[str], counts: Mapping[str, int]) -> dict[str, int]:
    """
    Return the counts, with 0 for missing ones, because Prometheus computes rates only from series
    that start at 0.
    """
    return {**dict.fromkeys(names, 0), **counts}


def _url_metrics(components: Components) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "aragog_in_flight",
        "URLs in flight: not stored or given up yet.",
        value=components.in_flight.count(),
    )
    events = CounterMetricFamily(
        "aragog_urls", "Outcomes of URLs, and the bytes of their bodies.", labels=["event"]
    )
    counts = components.counters.read()
    if counts:  # otherwise Redis may not have responded, and 0 would look like a restart
        known_counts = {name: counts[name] for name in counters.EVENTS if name in counts}
        # The counts by outcome are included in `failed` and must not be added to it.
        for name, count in sorted(_fill_with_zero(counters.EVENTS, known_counts).items()):
            events.add_metric([name], count)
    yield events


def _measurement_metrics(components: Components) -> Iterator[Metric]:
    sums = components.totals.read()
    for instrument in INSTRUMENTS:
        yield family(instrument, sums)


def _outage_metrics(components: Components) -> Iterator[Metric]:
    is_out_metric = GaugeMetricFamily(
        "aragog_part_outage",
        "1: tasks wait because this component does not respond.",
        labels=["part"],
    )
    failures = CounterMetricFamily(
        "aragog_part_failures",
        "Task runs that failed because a component did not respond.",
        labels=["part"],
    )
    for part, (is_out, count) in components.outages.read(components.clock.now_ms()).items():
        is_out_metric.add_metric([part], is_out)
        failures.add_metric([part], count)
    yield from (is_out_metric, failures)


def _egress_metrics(components: Components) -> Iterator[Metric]:
    failing = GaugeMetricFamily(
        "aragog_egress_failing", "Machines on which an egress route fails.", labels=["way"]
    )
    counts = Counter(row.way for row in components.failing_routes.read())
    for name in sorted(components.egress.names):
        failing.add_metric([name], counts[name])
    yield failing


def _spool_metrics(components: Components) -> Iterator[Metric]:
    state = components.spool.state()
    yield GaugeMetricFamily(
        "aragog_spool_bytes", "Bodies between two stages.", value=state.used_bytes
    )
    yield GaugeMetricFamily(
        "aragog_spool_max_bytes",
        "Maximum of aragog_spool_bytes.",
        value=components.spool.bounds().max_bytes,
    )
    yield GaugeMetricFamily(
        "aragog_fetching_waits", "1: fetches wait for space in the spool.", value=state.closed
    )


def crawl_log_metrics(components: Components) -> Iterator[Metric]:
    """Yield the number of rows that are not in a file yet, if the crawl log is on."""
    log = components.crawl_log
    if log is None:
        return
    first = log.oldest_row_id()
    yield GaugeMetricFamily(
        "aragog_crawl_log_rows",
        "Rows of the crawl log that are not in a file yet.",
        value=log.count_rows(),
    )
    yield GaugeMetricFamily(
        "aragog_crawl_log_lag_seconds",
        "Age of the oldest of these rows; normally up to twice crawl_log.span_s.",
        value=(log.now_ms() - row_time_ms(first)) / 1000 if first else 0,
    )


def _queue_metrics(components: Components) -> Iterator[Metric]:
    if components.admin is None:
        return
    jobs = GaugeMetricFamily("aragog_jobs", "Jobs by state.", labels=["queue", "state"])
    due = GaugeMetricFamily("aragog_jobs_due", "PENDING jobs that are due.", labels=["queue"])
    age = GaugeMetricFamily(
        "aragog_oldest_due_age_seconds",
        "How long the oldest due job has been due.",
        labels=["queue"],
    )
    paused = GaugeMetricFamily("aragog_queue_paused", "1: no jobs are delivered.", labels=["queue"])
    events = CounterMetricFamily(
        "aragog_queue_events", "What happened to jobs.", labels=["queue", "event"]
    )
    lateness = HistogramMetricFamily(
        "aragog_job_lateness_seconds",
        "Time from when a job was due to its claim by a worker, by the broker's clock.",
        labels=["queue"],
    )
    for queue in components.admin.queues()[:MAX_QUEUES]:
        status = components.admin.status(queue)
        for state in JobState:
            jobs.add_metric([queue, state.value.lower()], count_jobs(status.sizes, state))
        due.add_metric([queue], status.sizes.due)
        age.add_metric([queue], status.sizes.oldest_due_ms / 1000)
        paused.add_metric([queue], status.paused)
        for event, count in _fill_with_zero(EVENTS, status.events).items():
            events.add_metric([queue, event], count)
        lateness.add_metric(
            [queue], _lateness_buckets(status), status.stats.get("late_ms", 0) / 1000
        )
    yield from (jobs, due, age, paused, events, lateness)


def _lateness_buckets(status: QueueStatus) -> list[tuple[str, float]]:
    """Return how many jobs were claimed within each bound after they were due."""
    claimed_counts = [status.claimed_within(ms) for ms in LATENESS_BOUNDS_MS]
    bounds_s = [ms / 1000 for ms in LATENESS_BOUNDS_MS]
    return buckets(bounds_s, [*claimed_counts, status.stats.get("claimed", 0)])


def _shard_metrics(components: Components) -> Iterator[Metric]:
    """Yield each shard's last known state in this process, without a request."""
    shards = GaugeMetricFamily("aragog_shard_up", "1: in rotation.", labels=["shard"])
    for name, breaker in components.admin.cluster.breakers.items() if components.admin else ():
        shards.add_metric([name], breaker.is_healthy)
    yield shards


def _domain_metrics(components: Components) -> Iterator[Metric]:
    backlog = GaugeMetricFamily(
        "aragog_domain_backlog_seconds",
        f"How long a domain's URLs that wait for slots will take, for the {MAX_DOMAINS} longest.",
        labels=["domain"],
    )
    slowed = GaugeMetricFamily(
        "aragog_domain_backoff_factor", "How many times slower than its rate.", labels=["domain"]
    )
    for report in components.limiter().busiest_domains(MAX_DOMAINS):
        backlog.add_metric([report.key], report.backlog_ms / 1000)
        slowed.add_metric([report.key], report.backoff_factor)
    yield from (backlog, slowed)


def _refusal_metrics(components: Components) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "aragog_domains_refusing",
        "Domains whose last ten or more responses were all 401, 402, 403, 429 or 451.",
        value=components.outcomes.count_refusing(),
    )
    since = GaugeMetricFamily(
        "aragog_domain_refusing_seconds",
        f"How long a domain has refused us, for the {MAX_DOMAINS} with the most recent refusals.",
        labels=["domain"],
    )
    keys = components.outcomes.refusing_domains(MAX_DOMAINS)
    for key, outcomes in components.outcomes.read(keys).items():
        since.add_metric([key], (outcomes.refused_at_ms - outcomes.refused_since_ms) / 1000)
    yield since


def _store_metrics(components: Components) -> Iterator[Metric]:
    maintenance = components.store().maintenance
    yield GaugeMetricFamily(
        "aragog_compaction_lag_seconds",
        "Age of the oldest link not yet compacted.",
        value=maintenance.compaction_lag_ms() / 1000,
    )
    if (dead_bytes := maintenance.dead_pack_bytes()) is not None:
        yield GaugeMetricFamily(
            "aragog_pack_dead_bytes",
            "Unused bytes in up to 25,600 packs.",
            value=dead_bytes,
        )


def _freshness_metrics(components: Components) -> Iterator[Metric]:
    """Yield the freshness of each page type, from a sample of the store."""
    age = GaugeMetricFamily(
        "aragog_field_age_seconds",
        "Time since a fetch last confirmed the fields, from a sample of pages.",
        labels=["type", "quantile"],
    )
    on_time = GaugeMetricFamily(
        "aragog_refreshed_on_time_ratio",
        "Share of the refreshed pages whose refresh is not overdue, from the same sample.",
        labels=["type"],
    )
    for page_type, freshness in (
        components.store().maintenance.freshness(cached_s=FRESHNESS_CACHE_S).items()
    ):
        age.add_metric([page_type, "0.5"], freshness.age_p50_s)
        age.add_metric([page_type, "0.95"], freshness.age_p95_s)
        on_time.add_metric([page_type], freshness.on_time)
    now_ms = components.clock.now_ms()
    oldest_ms = components.store().schedule.oldest_due_ms(now_ms)
    yield from (age, on_time)
    yield GaugeMetricFamily(
        "aragog_refresh_lag_seconds",
        "How long the oldest URL that is due has been due.",
        value=0 if oldest_ms is None else (now_ms - oldest_ms) / 1000,
    )


def _disk_metrics(components: Components) -> Iterator[Metric]:
    if components.folder is not None:
        free = shutil.disk_usage(components.folder).free
        yield GaugeMetricFamily(
            "aragog_disk_free_bytes",
            "Free space of the file system with the embedded store.",
            value=free,
        )


def _redis_metrics(components: Components) -> Iterator[Metric]:
    used = GaugeMetricFamily("aragog_redis_used_bytes", "Memory in use.", labels=["server"])
    max_bytes = GaugeMetricFamily(
        "aragog_redis_max_bytes",
        "maxmemory; missing for servers without this limit.",
        labels=["server"],
    )
    up = GaugeMetricFamily("aragog_redis_up", "1: it responds.", labels=["server"])
    for name, client in components.servers().items():
        try:
            info = client.info("memory")
        except redis.RedisError:
            up.add_metric([name], 0)
            continue
        up.add_metric([name], 1)
        used.add_metric([name], info["used_memory"])
        if info.get("maxmemory"):
            max_bytes.add_metric([name], info["maxmemory"])
    yield from (up, used, max_bytes)


READERS: tuple[tuple[str, Callable[[Components], Iterator[Metric]]], ...] = (
    ("urls", _url_metrics),
    ("totals", _measurement_metrics),
    ("outages", _outage_metrics),
    ("egress", _egress_metrics),
    ("spool", _spool_metrics),
    ("crawl_log", crawl_log_metrics),
    ("queues", _queue_metrics),
    ("shards", _shard_metrics),
    ("domains", _domain_metrics),
    ("refusing", _refusal_metrics),
    ("store", _store_metrics),
    ("freshness", _freshness_metrics),
    ("disk", _disk_metrics),
    ("redis", _redis_metrics),
)
